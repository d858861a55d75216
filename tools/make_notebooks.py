"""Write the programs of the gallery as notebooks, one cell a part; with `--run`, run them and fail where one fails.

    python tools/make_notebooks.py FOLDER [--run] [NAME ...]

A notebook needs the files `demo_tools.py` and, for some, `convolutional_net.py` beside it, which are copied there.
Running needs nbclient and ipykernel.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import importlib
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from _house import ROOT

EXAMPLES = ROOT / "examples"
#: The mark of a program of the gallery: its last line.
LAST = "    run(main, __doc__)"
BESIDE = ("demo_tools.py", "convolutional_net.py")


def programs() -> list[str]:
    """Return the names of the programs that have a notebook form."""
    return [path.stem for path in sorted(EXAMPLES.glob("*.py")) if LAST in path.read_text(encoding="utf-8")]


def parts(source: str) -> Iterator[str]:
    """Yield the parts of a program: its imports, each definition, and the statements between them."""
    lines = source.splitlines()
    body = ast.parse(source).body[1:]
    cell: list[str] = []
    begin = body[0].lineno - 1
    for node in body:
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
            break
        decorators = getattr(node, "decorator_list", [])
        start = min([node.lineno, *(d.lineno for d in decorators)]) - 1
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            # A comment above a definition belongs to it.
            while start > begin and lines[start - 1].startswith("#"):
                start -= 1
            cell.append("\n".join(lines[begin:start]).strip("\n"))
            yield from (text for text in cell if text)
            yield "\n".join(lines[start : node.end_lineno])
            cell, begin = [], int(node.end_lineno or 0)
    remainder = "\n".join(lines[begin : body[-1].lineno - 1]).strip("\n")
    if remainder:
        yield remainder


def notebook(name: str) -> dict[str, Any]:
    """Return the notebook of a program: its subject, its parts, a run of its small form, and the picture."""
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    about = (ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0].replace("\n", " ")
    last = f'from IPython.display import Image\n\nmain(quick=True, picture=Path("{name}.png"))\nImage("{name}.png")'
    cells = [_cell("markdown", f"# {about}"), *(_cell("code", text) for text in (*parts(source), last))]
    for i, cell in enumerate(cells):
        cell["id"] = f"{name}-{i}".replace("_", "-")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, text: str) -> dict[str, Any]:
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True), **code}


def write(folder: Path, names: list[str]) -> list[Path]:
    """Write notebooks into a folder, with the modules that they import."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in BESIDE:
        shutil.copy(EXAMPLES / name, folder)
    paths = [folder / f"{name}.ipynb" for name in names]
    for path in paths:
        path.write_text(json.dumps(notebook(path.stem), indent=1) + "\n", encoding="utf-8")
    return paths


def run(paths: Sequence[Path]) -> None:
    """Run notebooks of a folder and keep the output of their cells.

    All run in one kernel, so that the library is imported once; each begins without the names of the one before.
    """
    # Writing needs the standard library alone.
    nbformat, nbclient = (importlib.import_module(name) for name in ("nbformat", "nbclient"))
    manager = importlib.import_module("jupyter_client").AsyncKernelManager()
    resources = {"metadata": {"path": str(paths[0].parent)}}
    for path in paths:
        book = nbformat.read(path, as_version=4)
        cells = list(book.cells)
        book.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
        nbclient.NotebookClient(book, km=manager, timeout=600, resources=resources).execute()
        book.cells = cells
        if not any("image/png" in output.get("data", {}) for output in cells[-1].outputs):
            sys.exit(f"{path.name} shows no picture")
        nbformat.write(book, path)
        print(f"{path.name}: {len(cells)} cells ran", flush=True)
    asyncio.run(manager.shutdown_kernel(now=True))


def main() -> None:
    """Run the command of the command line."""
    parser = argparse.ArgumentParser(description="Write the programs of the gallery as notebooks.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="programs, by default all of the gallery")
    parser.add_argument("--run", action="store_true", help="run them (needs nbclient and ipykernel)")
    options = parser.parse_intermixed_args()
    paths = write(options.folder, options.names or programs())
    if options.run:
        run(paths)


if __name__ == "__main__":
    main()
