"""Which modules of the repository a file imports, and which these import in turn, read from their text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path

from _house import LAYERS, layer

SOURCES = {layer(name).module: layer(name).source for name in LAYERS}


@cache
def find_module(name: str) -> Path | None:
    """Return the file of a module of the repository, or None."""
    root, *parts = name.split(".")
    if root not in SOURCES:
        return None
    path = SOURCES[root].joinpath(*parts)
    candidates = (path / "__init__.py", path.with_suffix(".py"))
    return next((item for item in candidates if item.exists()), None)


def package_of(path: Path) -> str:
    """Return the package against which relative imports of a file are resolved, or an empty text for a script."""
    for root, folder in SOURCES.items():
        if path.is_relative_to(folder):
            return ".".join((root, *path.relative_to(folder).parts[:-1]))
    return ""


def _statements(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that are carried out when a module is imported."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _statements(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, field, []))


@cache
def imported_modules(path: Path) -> tuple[str, ...]:
    """List the modules of the repository that a file imports itself, and the packages that they are in."""
    package = package_of(path)
    modules: dict[str, None] = {}
    for node in _statements(ast.parse(path.read_text(encoding="utf-8")).body):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            parts = package.split(".")[: 1 - node.level or None] if node.level and package else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            for end in range(1, len(parts) + 1):
                prefix = ".".join(parts[:end])
                if find_module(prefix) is not None:
                    modules[prefix] = None
    return tuple(modules)


def reach(path: Path, reference: Set[str] = frozenset()) -> Iterator[tuple[str, ...]]:
    """Yield a shortest path of imports, as names of modules, to each module that a file makes Python import.

    Modules in `reference` are left out, with the modules that only they import.
    """
    seen = set(reference)
    paths: list[tuple[str, ...]] = [(name,) for name in imported_modules(path)]
    while paths:
        following: list[tuple[str, ...]] = []
        for names in paths:
            file = find_module(names[-1])
            if file is None or names[-1] in seen:
                continue
            seen.add(names[-1])
            yield names
            following += [(*names, other) for other in imported_modules(file)]
        paths = following
