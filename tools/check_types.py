"""Run `mypy --strict` over the sources and tests of every layer, and over the repository's own scripts.

    python tools/check_types.py [LAYER ...]

Each layer is checked by itself, since test modules of different layers may have the same name. The diagnoses that type
checkers should find out about a program (`packages/theano/tests/types_of_programs.py`) is shown to pyright, too, and so
are the programs of some pages.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
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


#: The folder of a layer -> the program that pyright checks there.
PROGRAMS = {"theano": "tests/types_of_programs.py"}
#: Pages whose programs are clean under both checkers, as readers copy them.
PAGES = ("docs/howto/own_ops.md",)


def check(name: str, targets: list[str], extra_path: str = "") -> bool:
    """Type-check some targets and tell whether they passed."""
    print(f"mypy: {name}", flush=True)
    environment = {**os.environ, "MYPYPATH": extra_path}
    command = [sys.executable, "-m", "mypy", "--strict", *targets]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0


def check_with_pyright(program: Path) -> bool:
    """Show a program to pyright (basedpyright, which brings its interpreter) and tell whether it passed."""
    print(f"pyright: {program.name}", flush=True)
    command = [sys.executable, "-m", "basedpyright", "--level", "error", "--pythonpath", sys.executable, str(program)]
    return subprocess.run(command, cwd=ROOT).returncode == 0


def check_page(page: str) -> bool:
    """Type-check the program of a page with both checkers and tell whether it passed."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, f"{Path(page).stem}.py")
        program.write_text("\n".join(blocks), encoding="utf-8")
        by_mypy = check(page, [str(program)])
        return check_with_pyright(program) and by_mypy


def main() -> None:
    """Check the layers that are named, or everything."""
    passed = True
    for name in sys.argv[1:] or LAYERS:
        item = layer(name)
        tests = [path for path in (item.folder / "tests").rglob("*.py") if path.name != "__init__.py"]
        folders = sorted({str(import_base(path)) for path in tests})
        passed &= check(name, [str(item.folder / "src"), *map(str, tests)], os.pathsep.join(folders))
        if name in PROGRAMS:
            passed &= check_with_pyright(item.folder / PROGRAMS[name])
            for page in PAGES:
                passed &= check_page(page)
    if not sys.argv[1:]:
        scripts = [name for name in SCRIPTS if (ROOT / name).suffix == ".py" or any((ROOT / name).rglob("*.py"))]
        passed &= check(
            "scripts", scripts, os.pathsep.join(("docs", "examples", "benchmarks", "tools/cluster", "tools/pymc"))
        )
    sys.exit(int(not passed))


if __name__ == "__main__":
    main()
