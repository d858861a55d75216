"""The names that layers take from each other, read from their text: names, base classes, tables and hooks.

A *contract* is a name that one layer defines and the source of another one takes, by any address: re-exports are
followed to the module that defines the name. The use in higher layers gives its kind:

- they derive classes from it, and override some of its methods;
- they register something with it, by a method of the name (``pullback.register``), as a decorator or when a module is
  imported;
- they call it when a module is imported (``set_perform_hook(...)``), or decorate with it;
- they use it otherwise.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeAlias

from _house import LAYERS, layer
from _reach import find_module

#: A module and a name that it defines.
Place: TypeAlias = tuple[str, str]
Definition: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign | None


@dataclass(frozen=True, slots=True)
class Module:
    """The text of a module, and the meaning of its names.

    Parameters
    ----------
    name : str
    path : Path
    tree : ast.Module
    lines : list of str
    imports : dict of str to tuple
        Name here -> the module that it is taken from and its name there; an empty name is the module itself.
    definitions : dict of str to ast.stmt
        Definitions at the top level.
    """

    name: str
    path: Path
    tree: ast.Module
    lines: list[str]
    imports: dict[str, Place]
    definitions: dict[str, Definition]


@dataclass(slots=True)
class Contract:
    """A name of one layer that others take.

    Parameters
    ----------
    place : tuple
        The module that defines it, and its name there.
    address : str
        The public address under which most modules take it.
    users, derived, registered, called : collections.Counter
        Layer -> how many of its modules take the name, of its classes derive from it, of its statements register
        something, and of its statements call it at import.
    overridden : collections.Counter
        Members of a class -> how many classes of other layers have one of their own.
    """

    place: Place
    address: str = ""
    users: Counter[str] = field(default_factory=Counter)
    derived: Counter[str] = field(default_factory=Counter)
    registered: Counter[str] = field(default_factory=Counter)
    called: Counter[str] = field(default_factory=Counter)
    overridden: Counter[str] = field(default_factory=Counter)
    addresses: Counter[str] = field(default_factory=Counter)

    @property
    def definition(self) -> Definition:
        """The definition of the name, or None where no statement defines it."""
        module = read(self.place[0])
        return module.definitions.get(self.place[1]) if module is not None else None


def layer_at(module: str) -> str:
    """Return the layer that a module belongs to."""
    return _layers()[module.partition(".")[0]]


def looks_on(name: str) -> bool:
    """Tell whether a layer only renames others' definitions (the umbrella), or tests them: that makes no contract."""
    return name == "theano" or name.startswith("testing")


@cache
def _layers() -> dict[str, str]:
    return {layer(name).module: name for name in LAYERS}


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, those inside of its conditions and blocks as well."""
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, part, []))


def _base(node: ast.ImportFrom, package: str) -> str:
    parts = package.split(".")[: 1 - node.level or None] if node.level else []
    return ".".join([*parts, *([node.module] if node.module else [])])


@cache
def read(name: str) -> Module | None:
    """Read a module of the repository; None where there is none of this name."""
    path = find_module(name)
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    module = Module(name, path, ast.parse(text), text.splitlines(), {}, {})
    for node in _statements(module.tree.body):
        if isinstance(node, ast.ImportFrom):
            base = _base(node, name if path.name == "__init__.py" else name.rpartition(".")[0])
            module.imports.update({alias.asname or alias.name: (base, alias.name) for alias in node.names})
        elif isinstance(node, ast.Import):
            for alias in node.names:
                name_bound = alias.name if alias.asname else alias.name.partition(".")[0]
                module.imports[alias.asname or name_bound] = (name_bound, "")
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            # Of several definitions, such as overloads, one with a docstring counts.
            if node.name not in module.definitions or ast.get_docstring(node):
                module.definitions[node.name] = node
        elif isinstance(node, ast.Assign):
            module.definitions.update({item.id: node for item in node.targets if isinstance(item, ast.Name)})
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            module.definitions[node.target.id] = node
    return module


@cache
def resolve(module: str, name: str) -> Place | None:
    """Return where the name that a module has is defined; an empty name stands for a module."""
    if not name or find_module(f"{module}.{name}") is not None:
        full_name = f"{module}.{name}".rstrip(".")
        return (full_name, "") if find_module(full_name) is not None else None
    text = read(module)
    if text is None:
        return None
    if name in text.definitions:
        return module, name
    # A package that imports a module without a file from itself is where the name ends.
    if text.imports.get(name) == (module, name):
        return None
    if name in text.imports:
        return resolve(*text.imports[name])
    stars = (base for alias, (base, original) in text.imports.items() if alias == original == "*")
    return next((target for base in stars if (target := resolve(base, name)) is not None), None)


def place_of(module: Module, node: ast.expr) -> Place | None:
    """Return the place of the definition of a name or a dotted name in a module."""
    if isinstance(node, ast.Subscript):
        return place_of(module, node.value)
    if isinstance(node, ast.Name):
        return resolve(module.name, node.id) if node.id in module.imports or node.id in module.definitions else None
    if isinstance(node, ast.Attribute):
        holder = place_of(module, node.value)
        return resolve(holder[0], node.attr) if holder is not None and not holder[1] else None
    return None


def modules() -> Iterator[Module]:
    """Read all modules of all layers, in order."""
    for name in LAYERS:
        source = layer(name).source
        for path in sorted(source.rglob("*.py")):
            parts = path.relative_to(source.parent).with_suffix("").parts
            module = read(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
            if module is not None and module.path == path:
                yield module


def contracts() -> list[Contract]:
    """Return all contracts, those of lower layers first, in the order of modules and names."""
    places = {address for module in modules() for address in tables(module)}
    contracts_by_place = {position: Contract(position) for position in places}
    for module in modules():
        for target in taken(module, contracts_by_place):
            contracts_by_place[target].users[layer_at(module.name)] += 1
    for module in modules():
        _note_uses(module, contracts_by_place)
    for contract in contracts_by_place.values():
        addresses = contract.addresses or Counter([public_address(contract.place)])
        contract.address = min(addresses, key=lambda text: (-addresses[text], len(text), text))
    for contract in contracts_by_place.values():
        if not set(contract.registered) - {layer_at(contract.place[0])} and contract.place not in places:
            contract.registered.clear()
    chosen = [item for item in contracts_by_place.values() if item.registered or not all(map(looks_on, item.users))]
    return sorted(chosen, key=lambda item: (LAYERS.index(layer_at(item.place[0])), item.address.lower(), item.address))


def tables(module: Module) -> Iterator[Place]:
    """Yield the public tables of rules and functions by single dispatch that a module defines."""
    for name, node in module.definitions.items():
        if isinstance(node, ast.AnnAssign):
            is_table = ast.unparse(node.annotation).startswith("RuleTable[")
        else:
            is_table = isinstance(node, ast.FunctionDef) and any(
                ast.unparse(item).endswith("singledispatch") for item in node.decorator_list
            )
        if is_table and not name.startswith("_") and public_address((module.name, name)):
            yield module.name, name


@cache
def public_address(position: Place) -> str:
    """Return the shortest address of a name without underscores, or an empty text."""
    layer = layer_at(position[0])
    holders = (module.name for module in modules() if layer_at(module.name) == layer and "._" not in module.name)
    addresses = [f"{name}.{position[1]}" for name in holders if resolve(name, position[1]) == position]
    return min(addresses, key=lambda text: (len(text), text), default="")


def taken(module: Module, match: dict[Place, Contract]) -> set[Place]:
    """Return the names that a module takes of other layers; they are added to `known`."""
    places: set[Place] = set()
    layer = layer_at(module.name)
    holders = {alias for alias, (base, name) in module.imports.items() if _is_module(base, name)}
    for base, name in module.imports.values():
        target = resolve(base, name)
        if target is not None and target[1]:
            places |= _noted(match, target, f"{base}.{name}", layer)
    for node in ast.walk(module.tree) if holders else ():
        if isinstance(node, ast.Attribute) and _root(node) in holders:
            target, holder = place_of(module, node), place_of(module, node.value)
            if target is not None and target[1] and holder is not None:
                places |= _noted(match, target, f"{holder[0]}.{node.attr}", layer)
    return places


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_module(base: str, name: str) -> bool:
    target = resolve(base, name)
    return target is not None and not target[1]


def _noted(match: dict[Place, Contract], position: Place, address: str, private: str) -> set[Place]:
    if layer_at(position[0]) == private or layer_at(address) == private or position[1].startswith("__"):
        return set()
    match.setdefault(position, Contract(position)).addresses[address] += 1
    return {position}


def ancestors(position: Place) -> Iterator[Place]:
    """Yield the classes that a class derives from, itself first."""
    yield position
    module = read(position[0])
    node = module.definitions.get(position[1]) if module is not None else None
    if module is not None and isinstance(node, ast.ClassDef):
        for base in node.bases:
            above = place_of(module, base)
            if above is not None and above[1] and above != position:
                yield from ancestors(above)


def members_of(node: ast.ClassDef) -> dict[str, ast.stmt]:
    """Return the definitions in the body of a class: methods, and attributes that have a value or a type."""
    members: dict[str, ast.stmt] = {}
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            members[item.name] = item
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            members[item.target.id] = item
        elif isinstance(item, ast.Assign):
            members.update({target.id: item for target in item.targets if isinstance(target, ast.Name)})
    return members


def _note_uses(module: Module, match: dict[Place, Contract]) -> None:
    """Note the uses that a module makes of the names of other layers when it is imported."""
    for node in _statements(module.tree.body):
        if isinstance(node, ast.ClassDef):
            _note_class(module, node, match)
        calls = [node.value] if isinstance(node, ast.Expr) else list(getattr(node, "decorator_list", ()))
        for call in calls:
            _note_call(module, call, match)


def _note_class(module: Module, node: ast.ClassDef, match: dict[Place, Contract]) -> None:
    layer = layer_at(module.name)
    members = set(members_of(node))
    direct = {place_of(module, base) for base in node.bases}
    for position in dict.fromkeys(ancestors((module.name, node.name))):
        if position in match and layer_at(position[0]) != layer:
            match[position].derived[layer] += position in direct
            match[position].overridden.update(members)


def _note_call(module: Module, call: ast.expr, match: dict[Place, Contract]) -> None:
    layer = layer_at(module.name)
    target = call.func if isinstance(call, ast.Call) else call
    # `table.register(A)(function)` registers, too.
    while isinstance(target, ast.Call):
        target = target.func
    position = place_of(module, target)
    holder = place_of(module, target.value) if isinstance(target, ast.Attribute) else None
    if position is not None and position in match:
        match[position].called[layer] += int(layer_at(position[0]) != layer)
    elif holder is not None and holder in match:
        match[holder].registered[layer] += 1
