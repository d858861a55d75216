"""Run the examples in the docstrings of one installed layer, and leave a report beside that of its tests.

    python tools/run_doctests.py LAYER

LAYER may also be the name of an environment that ends with it; the report is named after it.
"""

from __future__ import annotations

import doctest
import importlib
import io
import pkgutil
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from types import ModuleType

from _house import REPORTS, layer_of

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules(root: str) -> Iterator[ModuleType]:
    """Import a package and all modules in it."""
    package = importlib.import_module(root)
    yield package
    for info in pkgutil.walk_packages(package.__path__, root + "."):
        if not info.name.endswith("._runtime"):
            yield importlib.import_module(info.name)


def run_examples(root: str, suite: ElementTree.Element) -> tuple[int, int]:
    """Run the examples of each docstring as one test; return how many there were and how many failed."""
    ran = failed = 0
    finder, runner = doctest.DocTestFinder(exclude_empty=True), doctest.DocTestRunner(optionflags=FLAGS)
    for module in modules(root):
        for test in finder.find(module):
            if not test.examples:
                continue
            said = io.StringIO()
            outcome = runner.run(test, out=said.write)
            ran += 1
            case = ElementTree.SubElement(suite, "testcase", classname=module.__name__, name=test.name)
            if outcome.failed:
                failed += 1
                ElementTree.SubElement(case, "failure", message="the example does not give what it shows")
                print(said.getvalue())
    return ran, failed


def main() -> None:
    """Run what the command line asks for."""
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/run_doctests.py LAYER")
    suite = ElementTree.Element("testsuite", name="doctests")
    ran, failed = run_examples(layer_of(sys.argv[1]).module, suite)
    REPORTS.mkdir(exist_ok=True)
    ElementTree.ElementTree(suite).write(REPORTS / f"{sys.argv[1]}-doctests.xml")
    print(f"{ran} docstrings with examples, {failed} failed")
    sys.exit(int(failed > 0))


if __name__ == "__main__":
    main()
