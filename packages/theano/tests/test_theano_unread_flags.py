"""Flags that nothing reads, and the flag about warnings of old: what they say of themselves."""

from __future__ import annotations

import unittest

from test_theano_config import run

import theano
from theano.configdefaults import warn_default
from theano_testing.tiers import slow

UNREAD = {
    "ctc.root": "folder",
    "cycle_detection": "fast",
    "lib.amdlibm": "True",
    "warn.subtensor_merge_bug": "True",
}


class TestUnread(unittest.TestCase):
    @slow
    def test_defaults_are_silent(self) -> None:
        done = run("import theano; theano.config.lib.amdlibm = False; theano.config.warn.subtensor_merge_bug = False")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @slow
    def test_other_values_are_told_once(self) -> None:
        done = run("import theano", ",".join(f"{name}={value}" for name, value in UNREAD.items()))
        for name in UNREAD:
            self.assertEqual(done.stderr.count(f"the flag `{name}` has no effect in this version: "), 1, done.stderr)
        code = (
            "import theano; c = theano.config; print(c.lib.amdlibm); c.lib.amdlibm = True; c.lib.amdlibm = False; "
            "c.lib.amdlibm = True; print(c.lib.amdlibm)"
        )
        done = run(code)
        self.assertEqual(done.stdout, "False\nTrue\n")
        self.assertEqual(done.stderr.count("`lib.amdlibm` has no effect"), 1)

    def test_the_listing_says_so(self) -> None:
        listing = str(theano.config)
        self.assertGreaterEqual(listing.count("Has no effect: "), len(UNREAD))

    @slow
    def test_flags_of_loops_can_be_set(self) -> None:
        code = (
            "import theano; c = theano.config.scan; print(c.allow_gc, c.allow_output_prealloc, c.debug); "
            "c.allow_gc, c.allow_output_prealloc, c.debug = True, False, True; print(c.debug)"
        )
        self.assertEqual(run(code).stdout, "False True False\nTrue\n")

    @slow
    def test_wrong_values_are_refused_all_the_same(self) -> None:
        for setting in ("cycle_detection=slow", "lib.amdlibm=perhaps", "warn.ignore_bug_before=2.0"):
            with self.subTest(setting):
                self.assertIn(f"flag `{setting.split('=')[0]}` cannot be", run("import theano", setting).stderr)


class TestWarningsOfOld(unittest.TestCase):
    def test_versions(self) -> None:
        self.assertEqual([warn_default(v) for v in ("0.3", "0.7", "0.8", "0.10", "1.0.1")], [False] * 3 + [True] * 2)

    @slow
    def test_all_and_none(self) -> None:
        code = "from theano.configdefaults import warn_default as w; print(w('0.3'), w('1.0.1'))"
        for value, answers in (("None", "True True"), ("all", "False False"), ("1.0", "False True")):
            with self.subTest(value):
                self.assertEqual(run(code, f"warn.ignore_bug_before={value}").stdout.strip(), answers)

    @slow
    def test_the_flag_counts_at_start(self) -> None:
        done = run("import theano; theano.config.warn.ignore_bug_before = 'all'")
        self.assertIn("cannot be changed once the program runs", done.stderr)
