"""Flags that nothing reads, and the flag about warnings of old: their own descriptions."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from unittest import mock

from test_theano_config import run

import theano
from theano.configdefaults import warn_default
from theano_graph import ConfigError
from theano_testing.tiers import slow

UNREAD = {
    "ctc.root": "folder",
    "cycle_detection": "fast",
    "lib.amdlibm": "True",
    "warn.subtensor_merge_bug": "True",
}


#: Set while a program runs; the last line is refused.
PROGRAM = """
import sys, theano
c = theano.config
c.lib.amdlibm = False
c.warn.subtensor_merge_bug = False
print("silent until here", file=sys.stderr)
print(c.lib.amdlibm)
c.lib.amdlibm = True
c.lib.amdlibm = False
c.lib.amdlibm = True
print(c.lib.amdlibm)
print(c.scan.allow_gc, c.scan.allow_output_prealloc, c.scan.debug)
c.scan.allow_gc, c.scan.allow_output_prealloc, c.scan.debug = True, False, True
print(c.scan.debug)
c.warn.ignore_bug_before = "all"
"""


class TestUnread(unittest.TestCase):
    @slow
    def test_values_set_in_a_program(self) -> None:
        done = run(PROGRAM)
        self.assertTrue(done.stderr.startswith("silent until here\n"), done.stderr)
        self.assertEqual(done.stdout, "False\nTrue\nFalse True False\nTrue\n")
        self.assertEqual(done.stderr.count("`lib.amdlibm` has no effect"), 1)
        self.assertIn("cannot be changed once the program runs", done.stderr)

    @slow
    def test_values_from_the_environment(self) -> None:
        flags = {**UNREAD, "warn.ignore_bug_before": "1.0"}
        code = "from theano.configdefaults import warn_default as w; print(w('0.3'), w('1.0.1'))"
        done = run(code, ",".join(f"{name}={value}" for name, value in flags.items()))
        for name in UNREAD:
            self.assertEqual(done.stderr.count(f"the flag `{name}` has no effect in this version: "), 1, done.stderr)
        self.assertEqual(done.stdout, "False True\n")

    def test_the_listing_says_so(self) -> None:
        listing = str(theano.config)
        self.assertGreaterEqual(listing.count("Has no effect: "), len(UNREAD))

    @slow
    def test_wrong_values_stop_the_import_all_the_same(self) -> None:
        self.assertIn(
            "flag `warn.ignore_bug_before` cannot be", run("import theano", "warn.ignore_bug_before=2.0").stderr
        )

    def test_wrong_values_are_refused_all_the_same(self) -> None:
        with self.assertRaisesRegex(ConfigError, "`cycle_detection` cannot be"):
            theano.config.cycle_detection = "slow"
        with self.assertRaisesRegex(ConfigError, "`lib.amdlibm` cannot be"):
            setattr(theano.config.lib, "amdlibm", "perhaps")  # noqa: B010  (of a wrong type)


class TestWarningsOfOld(unittest.TestCase):
    def test_versions(self) -> None:
        self.assertEqual([warn_default(v) for v in ("0.3", "0.7", "0.8", "0.10", "1.0.1")], [False] * 3 + [True] * 2)

    def test_all_and_none(self) -> None:
        for value, answers in (("None", [True, True]), ("all", [False, False]), ("1.0", [False, True])):
            section = SimpleNamespace(ignore_bug_before=value)
            with self.subTest(value), mock.patch(f"{warn_default.__module__}.config", SimpleNamespace(warn=section)):
                self.assertEqual([warn_default("0.3"), warn_default("1.0.1")], answers)
