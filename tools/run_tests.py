"""Run the tests of one layer with nose2 against what is installed, and leave a report in ``reports``.

    python tools/run_tests.py LAYER [--tests FOLDER] [nose2 options]

LAYER may also be the name of an environment that ends with it; the report is named after it.

Fails also when the layer would be imported from the source tree, and when no test was run.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from _house import LAYERS, REPORTS, ROOT, Layer, import_base, layer_of

TIME_LIMIT = 1500
"""Seconds after which the tests of one layer are stopped, so that one that hangs is a failure and not a wait."""


def check_installed(item: Layer) -> None:
    """Stop unless the layer is imported from an installed wheel."""
    spec = importlib.util.find_spec(item.module)
    if spec is None or spec.origin is None:
        sys.exit(f"{item.module} is not installed here; run tools/install_layer.py {item.name} --test first")
    if Path(spec.origin).resolve().is_relative_to(ROOT / "packages"):
        sys.exit(f"{item.module} would be imported from the source tree ({spec.origin}), not from an installed wheel")


def write_crash_report(report: Path, item: Layer, code: int) -> None:
    """Leave a report with one error for a test process that ended without writing one."""
    suite = ElementTree.Element("testsuite", name=item.name, tests="1", errors="1", failures="0", skipped="0")
    case = ElementTree.SubElement(suite, "testcase", classname=item.name, name="process")
    ElementTree.SubElement(case, "error", message=f"the test process ended with exit status {code} and left no report")
    ElementTree.ElementTree(suite).write(report)


def test_folders(tests: Path) -> list[Path]:
    """List the folders from which test files are imported; nose2 does not go into those that are no packages."""
    return sorted({import_base(path) for path in tests.rglob("test_*.py")})


def run(item: Layer, tests: Path, report: Path, options: list[str]) -> int:
    """Run nose2 on one folder of tests and return its exit status."""
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    plugin = ["--plugin", "nose2.plugins.junitxml", "--junit-xml", "--junit-xml-path", str(report)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-m", "nose2", "-s", str(tests), *plugin, *options]
    print(f"nose2 -s {tests.relative_to(ROOT)}", flush=True)
    try:
        code = subprocess.run(command, cwd=item.folder, env=environment, timeout=TIME_LIMIT).returncode
    except subprocess.TimeoutExpired:
        print(f"the tests were stopped after {TIME_LIMIT} seconds", file=sys.stderr)
        code = 1
    if not report.exists():
        write_crash_report(report, item, code)
        return code or 1
    if next(ElementTree.parse(report).iter("testcase"), None) is None:
        print(f"no test was found in {tests}", file=sys.stderr)
        return code or 1
    return code


def run_all(item: Layer, tests: Path, name: str, options: list[str]) -> int:
    """Run all folders of tests, a report for each; return 0 if all passed."""
    check_installed(item)
    failed = False
    folders = test_folders(tests)
    for folder in folders:
        part = "-".join([name, *folder.relative_to(tests).parts])
        failed |= run(item, folder, REPORTS / f"{part}.xml", options) != 0
    if not folders:
        print(f"no test file was found in {tests}", file=sys.stderr)
    return int(failed or not folders)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description="Run the tests of a layer against what is installed.")
    parser.add_argument("layer", help=f"one of {', '.join(LAYERS)}, or an environment's name that ends with one")
    parser.add_argument("--tests", type=Path, help="another folder of tests than that of the layer")
    options, rest = parser.parse_known_args()
    item = layer_of(options.layer)
    tests = (options.tests or item.folder / "tests").resolve()
    sys.exit(run_all(item, tests, options.layer, rest))


if __name__ == "__main__":
    main()
