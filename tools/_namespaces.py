"""Namespaces of layers: packages whose `__init__` imports what its modules define.

A package that takes part has two blocks in its `__init__`, which :func:`written` fills. The first begins with

    # Names that these define, written by tools/generate_names.py:
    #     _arithmetic:abs=abs_ _comparison ...

(`abs` is the name here of what `_arithmetic` calls `abs_`) and holds the imports: every public function, class and
value that a module defines, or what it lists in `__all__`. The word `*` stands for all modules beside the `__init__`
that have such a list. The second block holds their names, for `__all__`.
Whatever else the file holds is written by hand.
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
#: What modules define for their package alone.
PRIVATE = {"RECORDS"}
WIDTH = 120


def packages() -> Iterator[Path]:
    """Find the files with blocks to fill, packages before those that contain them."""
    for name in reversed(LAYERS):
        found = sorted(layer(name).source.rglob("__init__.py"), key=lambda path: -len(path.parts))
        yield from (path for path in found if HEAD in path.read_text(encoding="utf-8"))


def module_path(package: Path, name: str) -> Path:
    """Return the file of a module of the package whose `__init__` is `package`."""
    path = package.parent.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def defined(tree: ast.Module) -> list[str]:
    """Return the names that a module defines at its top level."""
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Assign):
            found += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.append(node.target.id)
    return found


@cache
def exported(path: Path) -> tuple[str, ...]:
    """Return the public names of a module: its `__all__`, or what it defines."""
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
    """Yield the statements that import what modules define."""
    for word in words:
        module, found = names_of(package, word)
        names = [f"{original} as {name}" for name, original in found.items()]
        line = f"from .{module} import {', '.join(names)}"
        if len(line) <= WIDTH:
            yield line
        else:
            yield from (f"from .{module} import (", *filled(names, "    "), ")")


def between(text: str, head: str, foot: str, lines: list[str], path: Path) -> str:
    """Return `text` with other lines between two markers; comments that follow the first one are kept."""
    begin, end = text.find(head), text.find(foot)
    if begin < 0 or end < begin:
        sys.exit(f"{path} has no lines {head!r} and {foot!r}\n  To mend: put both where the names belong.")
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
    """Return the text of a package's `__init__` with its blocks brought up to date."""
    text = path.read_text(encoding="utf-8")
    words: list[str] = []
    for line in text[text.index(HEAD) + len(HEAD) :].splitlines():
        if not line.startswith(NEXT):
            break
        for word in line.removeprefix(NEXT).split():
            words += listing(path) if word == "*" else [word]
    text = between(text, HEAD, FOOT, list(imports(path, words)), path)
    names = sorted({name for word in words for name in names_of(path, word)[1]})
    lines = ["__all__ += [", *filled([f'"{n}"' for n in names], "    "), "]"]
    return between(text, ALL_HEAD, ALL_FOOT, lines, path)
