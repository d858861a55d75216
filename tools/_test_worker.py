"""Run test modules by their names, one after another, in one process; `run_tests.py` starts it.

    python tools/_test_worker.py BASE COMMANDS REPLIES [nose2 options]

COMMANDS and REPLIES are file descriptors. A command is a line of JSON, ``[module, report]``; the reply is the line
``1`` where all tests of the module passed, and ``0`` otherwise.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any
from unittest import TestSuite

import nose2
from nose2.events import Plugin


class Shuffle(Plugin):  # type: ignore[misc]  # nose2 has no types
    """Puts classes of a module, and tests of a class, in an order that a seed decides."""

    def __init__(self) -> None:
        self.seeds: list[str] = []
        self.addArgument(self.seeds, None, "shuffle", "the seed of the order of tests")

    def handleArgs(self, event: Any) -> None:
        """Work only where a seed was named."""
        if self.seeds:
            self.register()

    def moduleLoadedSuite(self, event: Any) -> None:
        """Shuffle the tests of a module."""
        event.suite = self.shuffled(event.suite, random.Random(self.seeds[0] + event.module.__name__))

    def shuffled(self, suite: Any, generator: random.Random) -> Any:
        """Return a suite with its parts in another order; tests of a class stay together."""
        parts = [self.shuffled(part, generator) if isinstance(part, TestSuite) else part for part in suite]
        generator.shuffle(parts)
        return type(suite)(parts)


class Seconds(Plugin):  # type: ignore[misc]  # nose2 has no types
    """Writes the processor's seconds of each test, child processes included, beside the report."""

    alwaysOn = True

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.began = 0.0

    def startTest(self, event: Any) -> None:
        """Look at the clock."""
        self.began = sum(os.times()[:4])

    def stopTest(self, event: Any) -> None:
        """Note the time of the test."""
        self.seconds[event.test.id()] = round(sum(os.times()[:4]) - self.began, 2)


def run_module(base: str, name: str, report: str, options: list[str]) -> bool:
    """Run one module and write its report; return whether all tests passed."""
    plugins = ["nose2.plugins.junitxml", "nose2.plugins.attrib", __name__]
    command = ["nose2", "-s", base, *(word for name in plugins for word in ("--plugin", name))]
    command += ["--junit-xml", "--junit-xml-path", report, *options, name]
    program = nose2.discover(argv=command, exit=False)
    (times,) = (plugin for plugin in program.session.plugins if isinstance(plugin, Seconds))
    Path(report).with_suffix(".json").write_text(json.dumps(times.seconds), encoding="utf-8")
    return bool(program.result.wasSuccessful())


def main() -> None:
    """Run the requests until there are no more."""
    base, commands, replies, options = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    for descriptor in (commands, replies):
        os.set_inheritable(descriptor, False)
    sys.argv = ["nose2"]
    # As with `python -m nose2`: tests do not meet the modules of this folder.
    sys.path[0] = os.getcwd()
    with open(commands, encoding="utf-8") as lines, open(replies, "w", encoding="utf-8") as answers:
        for line in lines:
            name, report = json.loads(line)
            passed = run_module(base, name, report, options)
            sys.stdout.flush()
            sys.stderr.flush()
            print(int(passed), file=answers, flush=True)


if __name__ == "__main__":
    main()
