"""Tests run in several processes: failures, tiers, and that nothing is lost."""

from __future__ import annotations

import contextlib
import io
import tempfile
import threading
import unittest
import xml.etree.ElementTree as ElementTree
from collections import deque
from pathlib import Path
from unittest import mock

import run_tests
from _house import Layer
from _slots import CORES, one_slot
from run_tests import Run, modules_in

HEAD = "import os, unittest\nclass TestIt(unittest.TestCase):\n"
GOOD = HEAD + "    def test_one(self): pass\n    def test_two(self): pass\n    test_two.slow = True\n"
BAD = HEAD + "    def test_one(self): self.assertEqual(1, 2, 'not the same')\n"
ENDS = HEAD + "    def test_one(self): os._exit(3)\n"
HANGS = HEAD + "    def test_one(self):\n        import time\n        time.sleep(600)\n"
UNFIT = "import no_module_of_this_name\n"
SLOW = HEAD.replace("class", "class TestNone(unittest.TestCase): pass\nclass") + "    slow = True\n" + GOOD[len(HEAD) :]


class TestRuns(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.tests = self.folder / "tests"
        self.tests.mkdir()
        (self.folder / "parts").mkdir()
        self.enterContext(mock.patch.object(run_tests, "REPORTS", self.folder / "reports"))

    def run_modules(self, options: tuple[str, ...] = (), jobs: int = 2, **texts: str) -> tuple[Run, str]:
        for name, text in texts.items():
            (self.tests / f"test_{name}.py").write_text(text)
        item = Layer("it", self.folder, "it", (), ())
        run = Run(item, "it", options, deque(modules_in(self.tests, ())), self.folder / "parts")
        threads = [threading.Thread(target=run.work, args=(number,)) for number in range(jobs)]
        with contextlib.redirect_stdout(io.StringIO()) as said:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return run, said.getvalue()

    def test_all_pass(self) -> None:
        run, said = self.run_modules(a=GOOD, b=GOOD, c=GOOD)
        self.assertEqual(({"passed": 6}, []), (run.outcomes, run.failed))
        self.assertIn("3 of 3 modules, 6 passed", said)
        with run_tests.merged(self.folder / "reports" / "it.xml") as parts:
            parts += run.parts
        self.assertEqual(6, sum(1 for _ in ElementTree.parse(self.folder / "reports" / "it.xml").iter("testcase")))

    def test_the_quick_tier_leaves_slow_tests_out(self) -> None:
        run, _ = self.run_modules(("-A", "!slow"), a=GOOD, b=SLOW)
        self.assertEqual({"passed": 1}, run.outcomes)
        self.assertEqual([], run.failed)

    def test_another_order_runs_the_same_tests(self) -> None:
        for seed in ("1", "2"):
            run, _ = self.run_modules(("--shuffle", seed), a=GOOD, b=SLOW)
            self.assertEqual({"passed": 4}, run.outcomes)

    def test_a_failure_is_shown(self) -> None:
        run, said = self.run_modules(a=GOOD, b=BAD)
        self.assertEqual(({"passed": 2, "failed": 1}, ["test_b"]), (run.outcomes, run.failed))
        self.assertIn("not the same", said)

    def test_a_process_that_ends_is_one_failure(self) -> None:
        run, said = self.run_modules(jobs=1, a=ENDS, b=GOOD, c=ENDS + "# last\n")
        self.assertEqual({"passed": 2, "failed": 2}, run.outcomes)
        self.assertIn("test_a: the test process ended with exit status 3", said)

    def test_a_module_that_hangs_is_stopped(self) -> None:
        with mock.patch.object(run_tests, "TIME_LIMIT", 2):
            run, said = self.run_modules(jobs=1, a=HANGS, b=GOOD)
        self.assertEqual({"passed": 2, "failed": 1}, run.outcomes)
        self.assertIn("test_a: it was stopped after 2 seconds", said)

    def test_a_module_that_cannot_be_imported_is_a_failure(self) -> None:
        run, said = self.run_modules(a=UNFIT)
        self.assertEqual(["test_a"], run.failed)
        self.assertIn("no_module_of_this_name", said)

    def test_modules_are_chosen_by_parts_of_their_paths(self) -> None:
        (self.tests / "deep").mkdir()
        (self.tests / "deep" / "test_a.py").write_text(GOOD)
        (self.tests / "test_b.py").write_text(GOOD)
        self.assertEqual(["test_a"], [module.name for module in modules_in(self.tests, ["deep/"])])
        self.assertEqual(2, len(modules_in(self.tests, [])))
        (other,) = modules_in(self.tests, [], ["deep/"])
        self.assertNotEqual("test_a", other.name)


class TestSlots(unittest.TestCase):
    def test_as_many_as_processors(self) -> None:
        inside, most = [0], [0]
        lock = threading.Lock()

        def take() -> None:
            for _ in range(5):
                with one_slot():
                    with lock:
                        inside[0] += 1
                        most[0] = max(most[0], inside[0])
                    with lock:
                        inside[0] -= 1

        with tempfile.TemporaryDirectory() as folder, mock.patch("_slots.SLOTS", Path(folder)):
            threads = [threading.Thread(target=take) for _ in range(2 * CORES + 2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertLessEqual(most[0], CORES)
        self.assertEqual(0, inside[0])


if __name__ == "__main__":
    unittest.main()
