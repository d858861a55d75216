"""Check the rules that import-linter cannot express: no private names of another package, no star imports.

The umbrella's modules that have the names of another module under a second documented address say so with a star, so
that there is one list of names; `MIRRORS` names these places, and no other.

    python tools/check_imports.py

A module or name that begins with an underscore belongs to its distribution; the tests of a distribution may use its
private modules. `__version__` and the like are public.

All that tests of a layer make Python import belongs to the layers that are installed where they run.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from _house import LAYERS, ROOT, Layer, closure, layer, split_requirements
from _reach import reach

OURS = frozenset(layer(name).module for name in LAYERS)
SCRIPTS = ("tools", "examples", "benchmarks")
UMBRELLA = ROOT / "packages" / "theano" / "src" / "theano"
#: Module of the umbrella -> the module whose names it has.
MIRRORS = {
    UMBRELLA / "scalar" / "__init__.py": ".basic",
    UMBRELLA / "sparse" / "__init__.py": ".basic",
    UMBRELLA / "tensor" / "__init__.py": ".basic",
    UMBRELLA / "graph" / "basic.py": "..gof.graph",
    UMBRELLA / "typed_list" / "__init__.py": ".basic",
}


def is_private(name: str) -> bool:
    """Tell whether a name is private, dunder names being public."""
    return name.startswith("_") and not name.startswith("__")


def problems(path: Path, owner: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each import that breaks a rule in a file that belongs to `owner`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            names = [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]
        for name in names:
            root, *parts = name.split(".")
            if root in OURS and root != owner and any(map(is_private, parts)):
                yield node.lineno, f"takes the private name {name} of another package"
            if parts[-1:] == ["*"] and MIRRORS.get(path) != name[:-2]:
                yield node.lineno, f"star import from {name[:-2]}"


def files() -> Iterator[tuple[Path, str]]:
    """Yield each Python file with the import root that it belongs to."""
    for name in LAYERS:
        item = layer(name)
        for folder in (item.folder / "src", item.folder / "tests"):
            yield from ((path, item.module) for path in sorted(folder.rglob("*.py")))
    for folder_name in SCRIPTS:
        yield from ((path, "") for path in sorted((ROOT / folder_name).rglob("*.py")))


def unreachable(paths: list[Path], item: Layer) -> Iterator[tuple[Path, str]]:
    """Yield the imports of a layer's tests from layers that are not installed where they run."""
    installed = {other.module for other in closure(item, *split_requirements(item.test_requires)[0])}
    reference: set[str] = set()
    for path in paths:
        reached = list(reach(path, reference))
        wrong = next((names for names in reached if names[-1].split(".")[0] not in installed), None)
        if wrong is None:
            reference.update(names[-1] for names in reached)
        else:
            yield path, f"imports {' -> '.join(wrong)}, which is not installed where the tests of {item.name} run"


def main() -> None:
    """Print the broken rules."""
    count = 0
    for path, owner in files():
        for line, text in problems(path, owner):
            print(f"{path.relative_to(ROOT)}:{line}: {text}")
            count += 1
    for item in map(layer, LAYERS):
        for path, text in unreachable(sorted((item.folder / "tests").rglob("*.py")), item):
            print(f"{path.relative_to(ROOT)}: {text}")
            count += 1
    print(f"{count} forbidden imports")
    sys.exit(int(count > 0))


if __name__ == "__main__":
    main()
