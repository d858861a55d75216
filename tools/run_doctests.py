"""Run the examples in the docstrings of one installed layer, and leave a report beside that of its tests.

    python tools/run_doctests.py LAYER

LAYER may also be the name of an environment that ends with it; the report is named after it.

The texts of `help(theano.tensor.dot)` import `theano`, in every layer that defines them. Such examples have to be
complete, and run with the whole stack: in that of `theano`, for all layers. Other examples run in their own layer.
"""

from __future__ import annotations

import doctest
import importlib
import io
import pkgutil
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from types import ModuleType

from _house import REPORTS, STACK, layer, layer_of

#: The mark of an example of the whole stack.
OF_THE_STACK = re.compile(r"^(import theano\b|from theano[ .])", re.MULTILINE)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules(root: str) -> Iterator[ModuleType]:
    """Import a package and all modules in it."""
    package = importlib.import_module(root)
    yield package
    for info in pkgutil.walk_packages(package.__path__, root + "."):
        if not info.name.endswith("._runtime"):
            yield importlib.import_module(info.name)


def examples(roots: Sequence[str]) -> Iterator[doctest.DocTest]:
    """Yield the docstrings with examples that are to run: those of the last root, and of others those of the stack."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for root in roots:
        for module in modules(root):
            for test in finder.find(module):
                of_the_stack = any(OF_THE_STACK.search(example.source) for example in test.examples)
                if of_the_stack and roots[-1] == "theano":
                    # Nothing is there that the example does not import itself.
                    test.globs = {"__name__": "__main__"}
                if test.examples and (of_the_stack if root != roots[-1] else not of_the_stack or root == "theano"):
                    yield test


def run_examples(roots: Sequence[str], suite: ElementTree.Element) -> tuple[int, int]:
    """Run the examples of each docstring as one test; return how many there were and how many failed."""
    ran = failed = 0
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in examples(roots):
        said = io.StringIO()
        outcome = runner.run(test, out=said.write)
        ran += 1
        case = ElementTree.SubElement(suite, "testcase", classname=test.filename or "", name=test.name)
        if outcome.failed:
            failed += 1
            ElementTree.SubElement(case, "failure", message="the output differs from the one shown")
            print(said.getvalue())
    return ran, failed


def main() -> None:
    """Run the examples that the command line names."""
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/run_doctests.py LAYER")
    suite = ElementTree.Element("testsuite", name="doctests")
    named = layer_of(sys.argv[1])
    roots = [layer(name).module for name in STACK] if named.name == STACK[-1] else [named.module]
    ran, failed = run_examples(roots, suite)
    REPORTS.mkdir(exist_ok=True)
    ElementTree.ElementTree(suite).write(REPORTS / f"{sys.argv[1]}-doctests.xml")
    print(f"{ran} docstrings with examples, {failed} failed")
    sys.exit(int(failed > 0))


if __name__ == "__main__":
    main()
