"""Tests of the attacks on safe loading: right archives pass, nothing gets through, and a breach is noticed."""

from __future__ import annotations

import io
import os
import unittest
from typing import Any
from unittest import mock

from theano_linker_c.archive import UnsafeArchiveError, load
from theano_testing.tiers import slow
from theano_testing_workshop.archives import Mutator, attack, samples

#: The session `nox -s attack` sets this.
LONG = os.environ.get("THEANO_STRESS", "") == "long"


class TestAttacks(unittest.TestCase):
    few: list[bytes]

    @classmethod
    def setUpClass(cls) -> None:
        cls.few = samples(0)[:2]

    @slow
    def test_nothing_gets_through(self) -> None:
        outcome = attack(100_000 if LONG else 1000, seed=7_000_000)
        self.assertEqual(outcome.findings, [])
        self.assertGreater(outcome.counts["refused"], outcome.counts.total() // 10)
        self.assertGreater(outcome.counts["loaded"], outcome.counts.total() // 50)

    def test_right_archives_are_loaded(self) -> None:
        for data in samples():
            load(io.BytesIO(data), safe=True)

    def test_archives_are_those_of_their_seeds(self) -> None:
        archives = samples(5)
        first, second = Mutator(archives), Mutator(archives)
        result = [first.archive(seed) for seed in range(100)]
        self.assertEqual(result, [second.archive(seed) for seed in range(100)])
        self.assertGreater(len(set(result)), 80)

    def finds(self, faulty: Any, words: str) -> None:
        with mock.patch("theano_testing_workshop.archives._attack.load", faulty):
            outcome = attack(3, seed=0, archives=self.few)
        self.assertRegex("\n".join(finding.what for finding in outcome.findings), words)

    def test_a_file_that_is_opened_is_noticed(self) -> None:
        def opening(file: Any, safe: bool) -> None:
            with open(os.devnull, "rb"):
                raise UnsafeArchiveError("refused\n  Hint: nothing")

        self.finds(opening, "events: open")

    def test_another_error_is_noticed(self) -> None:
        def raising(file: Any, safe: bool) -> None:
            raise KeyError("x")

        self.finds(raising, "KeyError")

    def test_the_end_of_the_process_is_noticed(self) -> None:
        def ending(file: Any, safe: bool) -> None:
            if file.getvalue() == Mutator(self.few).archive(1):
                os._exit(3)

        self.finds(ending, "ended with status 3")
