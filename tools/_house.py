"""Facts of the repository for the other tools: its layers, their needs, and the path of ``uv``."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WHEELS = ROOT / "dist" / "wheels"
REPORTS = ROOT / "reports"

LAYERS = (
    "graph",
    "optimize",
    "linker-c",
    "gpuarray",
    "tensor",
    "scan",
    "sparse",
    "testing",
    "testing-workshop",
    "theano",
    "pytensor",
)
"""The folders of ``packages``, each layer after the ones it may import."""
RELEASED = tuple(name for name in LAYERS if name != "testing-workshop")
"""The layers that users get; the workshop is built, installed, checked and tested like them, for the tests alone."""
STACK = tuple(name for name in RELEASED if name != "pytensor")
"""The layers that make up Theano; those beside them lead other libraries to it, and are installed on their own."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One distribution of the repository."""

    name: str
    folder: Path
    distribution: str
    requires: tuple[str, ...]
    test_requires: tuple[str, ...]

    @property
    def module(self) -> str:
        """The import root: the package in the sources, whose name need not be that of the distribution."""
        roots = (path.parent.name for path in sorted((self.folder / "src").glob("*/__init__.py")))
        return next(roots, self.distribution.replace("-", "_"))

    @property
    def source(self) -> Path:
        """The folder of the import root."""
        return self.folder / "src" / self.module


@cache
def layer(name: str) -> Layer:
    """Read the tables of ``packages/<name>/pyproject.toml`` of a layer."""
    if name not in LAYERS:
        sys.exit(f"no such layer: {name!r}; the layers are {', '.join(LAYERS)}")
    folder = ROOT / "packages" / name
    data: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())
    project = data["project"]
    groups = data.get("dependency-groups", {})
    return Layer(name, folder, project["name"], tuple(project["dependencies"]), tuple(groups.get("test", ())))


@cache
def by_distribution() -> dict[str, Layer]:
    """Map distribution names to layers."""
    return {layer(name).distribution: layer(name) for name in LAYERS}


def split_requirements(requirements: Iterable[str]) -> tuple[list[Layer], list[str]]:
    """Split requirements into layers of this repository and packages of others."""
    ours: list[Layer] = []
    others: list[str] = []
    for text in requirements:
        name = re.split(r"[^A-Za-z0-9_.-]", text, maxsplit=1)[0].rstrip("~=<>! ")
        entry = by_distribution().get(name)
        if entry is None:
            others.append(text)
        else:
            ours.append(entry)
    return ours, others


def closure(*roots: Layer) -> list[Layer]:
    """Return the given layers and all that they require, lowest first."""
    reached: set[str] = set()
    todo = list(roots)
    while todo:
        item = todo.pop()
        if item.name not in reached:
            reached.add(item.name)
            todo += split_requirements(item.requires)[0]
    return [layer(name) for name in LAYERS if name in reached]


def import_base(path: Path) -> Path:
    """Return the folder from which a test file is imported: the nearest one above it that is no package."""
    folder = path.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


def layer_of(environment: str) -> Layer:
    """Return the layer that an environment such as ``py312-linker-c`` is for: the longest layer name it ends with."""
    parts = environment.split("-")
    for start in range(len(parts)):
        name = "-".join(parts[start:])
        if name in LAYERS:
            return layer(name)
    return layer(environment)


def find_uv() -> str:
    """Return the path of ``uv``: named by UV_BIN, beside this Python, in ``.venv``, or on the search path."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), str(ROOT / ".venv" / "bin")])
    executable = os.environ.get("UV_BIN") or shutil.which("uv", path=beside) or shutil.which("uv")
    if not executable:
        sys.exit("uv was not found. Hint: run `python3 bootstrap.py test`, which installs it, or put uv on PATH.")
    return executable


def pyenv_path(path: str) -> str:
    """Return a search path with the interpreters of pyenv added in front, if there is a pyenv."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    reference = path.split(os.pathsep)
    folders = [str(folder) for folder in sorted(root.glob("versions/3.1[1-5].*/bin"), reverse=True)]
    return os.pathsep.join([*(folder for folder in folders if folder not in reference), *reference])
