"""Report modules and functions that are longer than the house rules allow; fail beyond the hard limits.

    python tools/check_size.py

Aims are 300 lines for a module and 40 for a function; the limits are 600 (800 for tests) and 60.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from _house import ROOT

MODULE_LIMIT, TEST_LIMIT, FUNCTION_LIMIT = 600, 800, 60
MODULE_AIM = 300
FOLDERS = ("packages", "tools", "examples", "benchmarks")
C_LIMIT = 600


def python_files() -> Iterator[Path]:
    """Find the Python files of the repository, built copies left out."""
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            if not {"build", "dist", "__pycache__"} & set(path.relative_to(ROOT).parts):
                yield path


def long_functions(tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    """Yield name, line and length of functions beyond the limit, docstrings not counted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            first = node.body[0]
            if ast.get_docstring(node) is not None:
                length -= (first.end_lineno or first.lineno) - first.lineno + 1
            if length > FUNCTION_LIMIT:
                yield node.name, node.lineno, length


def main() -> None:
    """Print the modules and functions that are too long."""
    errors = []
    notes = 0
    for path in sorted(python_files()):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(ROOT)
        lines = text.count("\n")
        limit = TEST_LIMIT if "tests" in name.parts else MODULE_LIMIT
        if lines > limit:
            errors.append(f"{name}: {lines} lines (limit {limit})")
        notes += lines > MODULE_AIM
        for function, line, length in long_functions(ast.parse(text)):
            errors.append(f"{name}:{line}: `{function}` has {length} lines (limit {FUNCTION_LIMIT})")
    for path in sorted((ROOT / "packages").glob("*/src/**/*.[ch]")):
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > C_LIMIT:
            errors.append(f"{path.relative_to(ROOT)}: {lines} lines (limit {C_LIMIT})")
    print(*errors, sep="\n", end="\n" if errors else "")
    print(f"{len(errors)} beyond the limits, {notes} modules above the aim of {MODULE_AIM} lines")
    sys.exit(int(bool(errors)))


if __name__ == "__main__":
    main()
