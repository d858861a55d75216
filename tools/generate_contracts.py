"""Write a page of the contracts between the layers, from their sources.

    python tools/generate_contracts.py            print the page
    python tools/generate_contracts.py graph      print the names that others take from one layer

The site has the page as generated/contracts (`docs/_pages.py`). The text on a name is its docstring, up to the
first section, with the sections "Notes" and "Invariants" where others derive from it, register with it or call it at
import, and the first sentence otherwise.
"""

from __future__ import annotations

import ast
import copy
import inspect
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from _contracts import Contract, Module, ancestors, contracts, layer_at, members_of, read
from _house import LAYERS, layer

HEAD = """# Contracts between the layers

Promises of each layer to the ones above it: its names that the sources of higher layers take, by the use they make of
them. The umbrella `theano` renames what layers define, and `testing` looks at it; that alone counts for nothing here.
The page is written from the sources by `tools/generate_contracts.py`.
[architecture](../architecture.md) says how the layers work together, and [decisions](../design/decisions.md) why.
"""
#: Of which sections of docstrings the page has the text.
SECTIONS = ("Notes", "Invariants")


def page(names: Sequence[str] = LAYERS) -> str:
    """Return the page, or its sections on some layers."""
    parts = [HEAD]
    all_contracts = contracts()
    for name in names:
        items = [item for item in all_contracts if layer_at(item.place[0]) == name]
        if items:
            parts += [f"## `{layer(name).module}`\n", sentence(about_module(name)) + "\n", *sections(items)]
    return "\n".join(parts)


def about_module(name: str) -> str:
    """Return the docstring of a layer's package."""
    module = read(layer(name).module)
    return (ast.get_docstring(module.tree) if module is not None else None) or ""


def sections(match: Sequence[Contract]) -> Iterator[str]:
    """Yield the sections about the names of one layer, each name in one of them."""
    items = list(match)
    for title, about, chosen in (
        ("Tables and registries", "Others register with:", lambda item: item.registered),
        ("Base classes", "Others derive classes from, with the members that these replace:", is_base),
        ("Protocols", "Others may be, without a base class:", is_protocol),
        ("Called at import", "Others call, or decorate with, when they are imported:", lambda item: item.called),
    ):
        here = [item for item in items if chosen(item)]
        items = [item for item in items if item not in here]
        if here:
            yield f"### {title}\n\n{about}\n"
            yield from (entry(item) for item in here)
            yield ""
    if items:
        yield "### Other names\n\n| name | kind | taken by |\n| --- | --- | --- |"
        yield from (row(item) for item in items)
        yield ""


def is_base(item: Contract) -> bool:
    """Tell whether other layers derive classes from a name."""
    return any(item.derived.values())


def is_protocol(item: Contract) -> bool:
    """Tell whether a name is a protocol."""
    node = item.definition
    return isinstance(node, ast.ClassDef) and any(ast.unparse(base).startswith("Protocol") for base in node.bases)


def row(item: Contract) -> str:
    """Return the row of a name that is used otherwise."""
    about = sentence(docstring(item.place)).replace("|", "\\|")
    node = item.definition
    parameters = call(node, short=True) if isinstance(node, ast.FunctionDef) else ""
    return f"| `{shown(item)}{parameters}` | {about} | {', '.join(in_order(item.users))} |"


def entry(item: Contract) -> str:
    """Return the entry of a name that others register with, derive from, or call."""
    about = prose(docstring(item.place))
    lines = [f"- `{shown(item)}{signature(item.place)}`" + (f": {about}" if about else "")]
    uses = {"Registrations": item.registered, "Classes": item.derived, "Calls": item.called}
    for what, counts in uses.items():
        if any(counts.values()):
            lines.append(f"{what}: {', '.join(f'{name} {counts[name]}' for name in in_order(counts))}.")
    lines.append("\n".join(f"- {text}" for text in members(item)))
    return textwrap.indent("\n\n".join(filter(None, lines)), "  ").removeprefix("  ") + "\n"


def shown(item: Contract) -> str:
    """Return the address of a name without the import root of its layer."""
    return item.address.partition(".")[2]


def in_order(counts: Counter[str]) -> list[str]:
    """Return the layers that are counted, in order."""
    return [name for name in LAYERS if counts[name]]


def docstring(position: tuple[str, str]) -> str:
    """Return the docstring of a name; of a value, the text below it or the comment above it that begins with ``#:``."""
    module = read(position[0])
    node = module.definitions.get(position[1]) if module is not None else None
    if module is None or node is None:
        return ""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return ast.get_docstring(node) or ""
    body = module.tree.body
    after = body[body.index(node) + 1] if node in body[:-1] else None
    if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
        return inspect.cleandoc(after.value.value)
    return comment_above(module, node)


def signature(position: tuple[str, str]) -> str:
    """Return the text after the name of a function, the type of a table with its rule, or the type of a value."""
    module = read(position[0])
    node = module.definitions.get(position[1]) if module is not None else None
    if isinstance(node, ast.FunctionDef):
        return call(node)
    if module is None or not isinstance(node, ast.AnnAssign):
        return ""
    text = ast.unparse(node.annotation)
    inner = re.fullmatch(r"\w+\[(\w+)\]", text)
    rule = module.definitions.get(inner[1]) if inner else None
    value = rule.value if isinstance(rule, ast.Assign | ast.AnnAssign) else None
    return f": {text}" + (f" = {ast.unparse(value)}" if value is not None else "").replace("'", "")


def call(node: ast.FunctionDef, skip: int = 0, *, short: bool = False) -> str:
    """Return the parameters and the result of a function, without the first `skip` ones; short: without types."""
    arguments = copy.deepcopy(node.args)
    del arguments.args[:skip]
    if short:
        for item in ast.walk(arguments):
            if isinstance(item, ast.arg):
                item.annotation = None
    result = f" -> {ast.unparse(node.returns)}" if node.returns is not None and not short else ""
    return f"({ast.unparse(arguments)}){result}"


def members(item: Contract) -> Iterator[str]:
    """Yield the members of a base class that other layers replace, or those of a protocol."""
    chosen = item.overridden if is_base(item) else None
    seen: set[str] = set()
    for base in ancestors(item.place) if chosen is not None or is_protocol(item) else ():
        module = read(base[0])
        node = module.definitions.get(base[1]) if module is not None else None
        if module is None or not isinstance(node, ast.ClassDef):
            continue
        for name, member in members_of(node).items():
            if not name.startswith("_") and name not in seen and (chosen is None or chosen[name]):
                seen.add(name)
                yield from about_member(module, name, member)


def about_member(module: Module, name: str, member: ast.stmt) -> Iterator[str]:
    """Yield the description of a method, or of an attribute that has a comment beginning with ``#:``."""
    if isinstance(member, ast.FunctionDef):
        about = sentence(ast.get_docstring(member) or "")
        decorators = [ast.unparse(decorator) for decorator in member.decorator_list]
        after = "" if "property" in decorators else call(member, skip="staticmethod" not in decorators)
        yield f"`{name}{after}`" + (f": {about}" if about else "")
    elif about := sentence(comment_above(module, member)):
        yield f"`{name}{annotation(member)}`: {about}"


def annotation(node: ast.stmt) -> str:
    """Return the type of an attribute as it stands behind the name."""
    return f": {ast.unparse(node.annotation)}" if isinstance(node, ast.AnnAssign) else ""


def comment_above(module: Module, node: ast.stmt) -> str:
    """Return the comment above a value that begins with ``#:``."""
    above: list[str] = []
    line = node.lineno - 2
    while line >= 0 and module.lines[line].lstrip().startswith("#:"):
        above.insert(0, module.lines[line].strip().removeprefix("#:").strip())
        line -= 1
    return "\n".join(above)


def prose(text: str) -> str:
    """Return a docstring up to its first section, and the sections that the page has, as Markdown."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}$", text, flags=re.MULTILINE)
    saved = [parts[0], *(body for title, body in zip(parts[1::2], parts[2::2], strict=True) if title in SECTIONS)]
    paragraphs = [part for body in saved for part in re.split(r"\n\s*\n", body.strip()) if part]
    return "\n\n".join(markdown(part) for part in paragraphs if not part.lstrip().startswith(">>>"))


def sentence(text: str) -> str:
    """Return the first sentence of a docstring as Markdown."""
    first = " ".join(text.split("\n\n")[0].split())
    end = re.search(r"\.(?= [A-Z`]|$)", first)
    return markdown(first[: end.end()] if end else re.sub(":$", ".", first))


def markdown(text: str) -> str:
    """Return the text of a docstring as Markdown: roles and double backquotes become code."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [part.replace("<", "&lt;").replace("*", "\\*") for part in parts[::2]]
    return "".join(parts)


if __name__ == "__main__":
    print(page(sys.argv[1:] or LAYERS))
