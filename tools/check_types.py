"""Run `mypy --strict` over the sources and tests of every layer, and over the repository's own scripts.

    python tools/check_types.py [LAYER ...]

Each layer is checked by itself, since test modules of different layers may have the same name.
"""

from __future__ import annotations

import os
import subprocess
import sys

from _house import LAYERS, ROOT, import_base, layer

SCRIPTS = (
    "tools",
    "docs",
    "examples",
    "benchmarks",
    "packages/linker-c/setup.py",
    *(f"{name}.py" for name in ("bootstrap", "noxfile", "toxfile")),
)


def check(name: str, targets: list[str], extra_path: str = "") -> bool:
    """Type-check some targets and tell whether they passed."""
    print(f"mypy: {name}", flush=True)
    environment = {**os.environ, "MYPYPATH": extra_path}
    command = [sys.executable, "-m", "mypy", "--strict", *targets]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0


def main() -> None:
    """Check the layers that are named, or everything."""
    passed = True
    for name in sys.argv[1:] or LAYERS:
        item = layer(name)
        tests = [path for path in (item.folder / "tests").rglob("*.py") if path.name != "__init__.py"]
        bases = sorted({str(import_base(path)) for path in tests})
        passed &= check(name, [str(item.folder / "src"), *map(str, tests)], os.pathsep.join(bases))
    if not sys.argv[1:]:
        scripts = [name for name in SCRIPTS if (ROOT / name).suffix == ".py" or any((ROOT / name).rglob("*.py"))]
        passed &= check("scripts", scripts, os.pathsep.join(("examples", "benchmarks")))
    sys.exit(int(not passed))


if __name__ == "__main__":
    main()
