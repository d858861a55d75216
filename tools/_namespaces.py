"""Namespaces of layers: packages whose `__init__` imports the definitions of its modules.

A package that takes part has two blocks in its `__init__`, which :func:`written` fills. The first begins with

    # Names that these define, written by tools/generate_names.py:
    #     _arithmetic:abs=abs_ _comparison ...

(`abs` is the name here of `abs_` in `_arithmetic`) and holds the imports: every public function, class and
value that a module defines, or its `__all__`. The word `*` stands for all modules beside the `__init__`
that have such a list. The second block holds their names, for `__all__`.
The rest of the file is written by hand.

Functions of tensors that apply a scalar op to each element are made in one block of `elemwise/_functions.py`, which
:func:`functions_written` fills. It begins with

    # Functions of scalar ops, written by tools/generate_names.py:
    #     abs_=abs -relu ...

and has a function for each op that a module of `theano_linker_c.scalar` makes (`tanh = Tanh()`), `abs_` for the one
that is called `abs` there, and none for `relu`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from _house import LAYERS, layer

HEAD = "# Names that these define, written by tools/generate_names.py:\n"
NEXT = "#     "
FOOT = "# End of the names that these define."
ALL_HEAD = "# Their names, written by tools/generate_names.py.\n"
ALL_FOOT = "# End of their names."
FUNCTIONS_HEAD = "# Functions of scalar ops, written by tools/generate_names.py:\n"
FUNCTIONS_FOOT = "# End of the functions of scalar ops."
#: Names that modules define for their package alone.
PRIVATE = {"RECORDS"}
WIDTH = 120


def packages() -> Iterator[Path]:
    """Find the files with blocks to fill: lower layers first, and packages before their parents."""
    for name in LAYERS:
        if name == "tensor":
            yield functions_path()
        folders = sorted(layer(name).source.rglob("__init__.py"), key=lambda path: -len(path.parts))
        yield from (path for path in folders if HEAD in path.read_text(encoding="utf-8"))


def module_path(package: Path, name: str) -> Path:
    """Return the file of a module of the package whose `__init__` is `package`."""
    path = package.parent.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def defined(tree: ast.Module) -> list[str]:
    """Return the names that a module defines at its top level."""
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
    return names


@cache
def exported(path: Path) -> tuple[str, ...]:
    """Return the public names of a module: its `__all__`, or its definitions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    listed: list[str] = []
    for node in tree.body:
        value = node.value if isinstance(node, ast.Assign | ast.AugAssign) else None
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if not isinstance(target, ast.Name) or target.id != "__all__":
            continue
        if isinstance(value, ast.List):
            listed += ast.literal_eval(value)
        elif isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
            listed += exported(module_path(path, value.value.id))
    if not listed:
        listed = [name for name in defined(tree) if not name.startswith("_") and name not in PRIVATE]
    return tuple(sorted(set(listed)))


def filled(words: list[str], indent: str) -> Iterator[str]:
    """Yield lines of words, as many in a line as its width allows."""
    line = indent
    for word in words:
        if len(line) + len(word) + 2 > WIDTH:
            yield line.rstrip()
            line = indent
        line += word + ", "
    yield line.rstrip()


def names_of(package: Path, word: str) -> tuple[str, dict[str, str]]:
    """Return the module that a word names, and its names: the name here -> the name in the module."""
    module, _, others = word.partition(":")
    aliases = dict(pair.split("=") for pair in others.split(",") if pair)
    plain = {name: name for name in exported(module_path(package, module)) if name not in aliases.values()}
    return module, dict(sorted({**plain, **aliases}.items()))


def imports(package: Path, words: list[str]) -> Iterator[str]:
    """Yield the statements that import the definitions of modules."""
    for word in words:
        module, match = names_of(package, word)
        names = [f"{original} as {name}" for name, original in match.items()]
        line = f"from .{module} import {', '.join(names)}"
        if len(line) <= WIDTH:
            yield line
        else:
            yield from (f"from .{module} import (", *filled(names, "    "), ")")


def between(text: str, head: str, foot: str, lines: list[str], path: Path) -> str:
    """Return `text` with other lines between two markers; comments that follow the first one are kept."""
    begin, end = text.find(head), text.find(foot)
    if begin < 0 or end < begin:
        sys.exit(f"{path} has no lines {head!r} and {foot!r}\n  Hint: put both where the names belong.")
    begin += len(head)
    while text.startswith(NEXT, begin):
        begin = text.index("\n", begin) + 1
    body = "\n".join(["# fmt: off", "# isort: off", *lines, "# isort: on", "# fmt: on"])
    return f"{text[:begin]}{body}\n{text[end:]}"


def listing(package: Path) -> list[str]:
    """Return the modules beside an `__init__` that say in a list which of their names are public."""
    modules = (path for path in sorted(package.parent.glob("_*.py")) if path != package)
    return [
        path.stem for path in modules if re.search(r"^__all__ = \[", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]


def written(path: Path) -> str:
    """Return the text of a package's `__init__`, or of the functions of scalar ops, with its blocks up to date."""
    text = path.read_text(encoding="utf-8")
    if FUNCTIONS_HEAD in text:
        return functions_written(path)
    words: list[str] = []
    for word in words_after(text, HEAD):
        words += listing(path) if word == "*" else [word]
    text = between(text, HEAD, FOOT, list(imports(path, words)), path)
    names = sorted({name for word in words for name in names_of(path, word)[1]})
    lines = ["__all__ += [", *filled([f'"{n}"' for n in names], "    "), "]"]
    return between(text, ALL_HEAD, ALL_FOOT, lines, path)


def words_after(text: str, head: str) -> Iterator[str]:
    """Yield the words of the comment that follows a marker."""
    for line in text[text.index(head) + len(head) :].splitlines():
        if not line.startswith(NEXT):
            return
        yield from line.removeprefix(NEXT).split()


def made_ops(path: Path) -> Iterator[str]:
    """Yield the names of instances that a module, or a package of modules, makes of classes of its own."""
    for file in sorted(path.parent.glob("_*.py")) if path.name == "__init__.py" else [path]:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
        for node in tree.body:
            constructor = node.value.func if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) else None
            if isinstance(node, ast.Assign) and isinstance(constructor, ast.Name) and constructor.id in classes:
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def scalar_ops(package: Path) -> list[str]:
    """Return the public names of the ops that modules of a package make, in their order."""
    ops = []
    for word in words_after(package.read_text(encoding="utf-8"), HEAD):
        module, names = names_of(package, word)
        public = {original: name for name, original in names.items()}
        ops += [public[name] for name in made_ops(module_path(package, module)) if name in public]
    return ops


def functions_path() -> Path:
    """Return the module with the functions of scalar ops."""
    return layer("tensor").source / "elemwise" / "_functions.py"


def functions_written(path: Path, package: Path | None = None) -> str:
    """Return the text of a module with its block of functions of the ops of a package brought up to date."""
    text = path.read_text(encoding="utf-8")
    words = list(words_after(text, FUNCTIONS_HEAD))
    left_out = {word.removeprefix("-") for word in words if word.startswith("-")}
    name_of = {original: name for name, _, original in (word.partition("=") for word in words) if original}
    ops = scalar_ops(package or layer("linker-c").source / "scalar" / "__init__.py")
    unknown = sorted((left_out | set(name_of)).difference(ops))
    if unknown:
        sys.exit(f"{path} names ops that do not exist: {', '.join(unknown)}\n  Hint: name those of the scalar modules.")
    taken = ((name_of.get(op, op), op) for op in ops if op not in left_out)
    lines = [f'{name} = _function("{name}", scalar.{op})' for name, op in taken]
    return between(text, FUNCTIONS_HEAD, FUNCTIONS_FOOT, lines, path)
