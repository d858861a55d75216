"""Measure which lines of the sources all tests run, slow ones and those in other processes included.

    python tools/measure_coverage.py [--baseline FILE] [--write FILE] [LAYER ...]

`nox -s coverage` runs it in an environment that holds the whole stack, coverage.py and the tests' requirements. A table
has the covered lines of each layer in the baseline and now, in percent of all lines with statements; the exit status is
1 where all layers together have lost more than 0.3 points.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from _house import LAYERS, ROOT, layer

BASELINE = ROOT / "tools" / "log" / "coverage.json"
TOLERANCE = 0.3
"""Points by which the share of covered lines may fall."""

SETTINGS = """\
[run]
parallel = true
data_file = {folder}/data
source_pkgs = {modules}
disable_warnings = module-not-imported,no-data-collected,module-not-measured
"""
#: Every Python of the environment begins to measure where the environment variable COVERAGE_PROCESS_START is set.
HOOK = "import coverage; coverage.process_startup()\n"


def run_measured(layers: Sequence[str], folder: Path) -> None:
    """Run the tests and doctests of layers; the data of each process is in `folder`."""
    settings = folder / "settings"
    modules = ",".join(layer(name).module for name in LAYERS)
    settings.write_text(SETTINGS.format(folder=folder, modules=modules), encoding="utf-8")
    Path(sysconfig.get_path("purelib"), "measure_coverage.pth").write_text(HOOK, encoding="utf-8")
    environment = {**os.environ, "COVERAGE_PROCESS_START": str(settings)}
    if sys.version_info >= (3, 12):
        environment["COVERAGE_CORE"] = "sysmon"  # costs nothing for lines that have run before
    for name in layers:
        for script, options in (("run_tests.py", ["--tier", "all"]), ("run_doctests.py", [])):
            subprocess.run([sys.executable, str(ROOT / "tools" / script), name, *options], env=environment, check=False)


def covered_lines(folder: Path) -> dict[str, tuple[int, int]]:
    """Add up the data of all processes; return for each layer how many lines have run, and how many there are."""
    coverage = [sys.executable, "-m", "coverage"]
    options = [f"--data-file={folder / 'data'}"]
    subprocess.run([*coverage, "combine", "--quiet", *options, str(folder)], check=True)
    report = folder / "report.json"
    subprocess.run([*coverage, "json", "--quiet", "-i", *options, "-o", str(report)], check=True)
    sums: dict[str, tuple[int, int]] = {}
    for path, entry in json.loads(report.read_text(encoding="utf-8"))["files"].items():
        owner = next((name for name in LAYERS if f"/{layer(name).module}/" in path), None)
        if owner is not None:
            ran, lines = sums.get(owner, (0, 0))
            summary = entry["summary"]
            sums[owner] = ran + summary["covered_lines"], lines + summary["num_statements"]
    return sums


def percent(pair: Sequence[int]) -> float:
    """Return the share of covered lines."""
    return 100 * pair[0] / pair[1] if pair[1] else 100.0


def compare(before: dict[str, Sequence[int]], now: dict[str, tuple[int, int]]) -> bool:
    """Print both; return whether not too much is lost."""
    print(f"{'layer':18} {'before':>22} {'now':>22}")
    sums = [[0, 0], [0, 0]]
    for name in now:
        pairs = before.get(name, (0, 0)), now[name]
        for total, pair in zip(sums, pairs, strict=True):
            total[0] += pair[0]
            total[1] += pair[1]
        print(f"{name:18}", *(f"{pair[0]:6} of {pair[1]:6} {percent(pair):5.1f}%" for pair in pairs))
    print(f"{'all':18}", *(f"{pair[0]:6} of {pair[1]:6} {percent(pair):5.1f}%" for pair in sums))
    return percent(sums[1]) >= percent(sums[0]) - TOLERANCE


def main() -> int:
    """Measure, compare, and write the figures where that is asked for."""
    parser = argparse.ArgumentParser(description="Measure which lines of the sources all tests run.")
    parser.add_argument("layers", nargs="*", metavar="LAYER", help=f"of {', '.join(LAYERS)}; all if none is named")
    parser.add_argument("--baseline", type=Path, default=BASELINE, help="the figures to compare with")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the figures")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="add up earlier measurements of this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.data or Path(scratch)
        if options.data is None:
            run_measured(options.layers or LAYERS, folder)
        now = covered_lines(folder)
    if options.write is not None:
        options.write.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    before = json.loads(options.baseline.read_text(encoding="utf-8")) if options.baseline.exists() else {}
    return int(not compare(before, now))


if __name__ == "__main__":
    sys.exit(main())
