"""Run `mypy --strict` over the sources and tests of every layer, and over the repository's own scripts.

    python tools/check_types.py [LAYER ...]

Each layer is checked by itself, since test modules of different layers may have the same name. What type checkers
should find out about a program (`packages/theano/tests/types_of_programs.py`) is shown to pyright, too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from _house import LAYERS, ROOT, import_base, layer

SCRIPTS = (
    "tools",
    "docs",
    "examples",
    "benchmarks",
    "packages/gpuarray/setup.py",
    "packages/linker-c/setup.py",
    *(f"{name}.py" for name in ("bootstrap", "noxfile", "toxfile")),
)


#: The folder of a layer -> what is shown to pyright there.
PROGRAMS = {"theano": "tests/types_of_programs.py"}


def check(name: str, targets: list[str], extra_path: str = "") -> bool:
    """Type-check some targets and tell whether they passed."""
    print(f"mypy: {name}", flush=True)
    environment = {**os.environ, "MYPYPATH": extra_path}
    command = [sys.executable, "-m", "mypy", "--strict", *targets]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0


def check_with_pyright(program: Path) -> bool:
    """Show a program to pyright (basedpyright, which brings what it runs on) and tell whether it passed."""
    print(f"pyright: {program.name}", flush=True)
    command = [sys.executable, "-m", "basedpyright", "--level", "error", "--pythonpath", sys.executable, str(program)]
    return subprocess.run(command, cwd=ROOT).returncode == 0


def main() -> None:
    """Check the layers that are named, or everything."""
    passed = True
    for name in sys.argv[1:] or LAYERS:
        item = layer(name)
        tests = [path for path in (item.folder / "tests").rglob("*.py") if path.name != "__init__.py"]
        bases = sorted({str(import_base(path)) for path in tests})
        passed &= check(name, [str(item.folder / "src"), *map(str, tests)], os.pathsep.join(bases))
        if name in PROGRAMS:
            passed &= check_with_pyright(item.folder / PROGRAMS[name])
    if not sys.argv[1:]:
        scripts = [name for name in SCRIPTS if (ROOT / name).suffix == ".py" or any((ROOT / name).rglob("*.py"))]
        passed &= check("scripts", scripts, os.pathsep.join(("docs", "examples", "benchmarks", "tools/cluster")))
    sys.exit(int(not passed))


if __name__ == "__main__":
    main()
