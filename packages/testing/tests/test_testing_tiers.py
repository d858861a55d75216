from __future__ import annotations

import os
import unittest
from unittest import mock

from theano_testing.tiers import each_value, examples, is_quick, slow


class TestTiers(unittest.TestCase):
    def in_tier(self, name: str | None) -> None:
        self.enterContext(mock.patch.dict(os.environ))
        os.environ.pop("THEANO_TESTS", None)
        if name is not None:
            os.environ["THEANO_TESTS"] = name

    def test_all_examples_where_nothing_is_said(self) -> None:
        for name in (None, "all"):
            self.in_tier(name)
            self.assertFalse(is_quick())
            self.assertEqual([150, 3], [examples(150), examples(3)])

    def test_few_examples_in_the_quick_tier(self) -> None:
        self.in_tier("quick")
        self.assertTrue(is_quick())
        self.assertEqual([15, 5, 5, 3], [examples(150), examples(40), examples(7), examples(3)])

    def test_sweeps_meet_each_value_and_in_their_long_form_all_combinations(self) -> None:
        lists = "abcdef", "ABCDEF", (0, 1), ("x",)
        with mock.patch.dict(os.environ, THEANO_ATTACK=""):
            cases = list(each_value(*lists))
            self.assertEqual(cases, list(each_value(*lists)))
        self.assertEqual([set(column) for column in zip(*cases, strict=True)], [set(some) for some in lists])
        self.assertEqual(len(cases), 6)
        self.assertNotEqual([first.upper() for first, *_ in cases], [second for _, second, *_ in cases])
        with mock.patch.dict(os.environ, THEANO_ATTACK="long"):
            self.assertEqual(len(set(each_value(*lists))), 72)

    def test_slow_is_an_attribute_that_nose2_finds(self) -> None:
        @slow
        class Slow(unittest.TestCase):
            def test_it(self) -> None: ...

        class Mixed(unittest.TestCase):
            @slow
            def test_it(self) -> None: ...

        self.assertIs(True, getattr(Slow("test_it"), "slow", None))
        self.assertIs(True, getattr(Mixed.test_it, "slow", None))
        self.assertFalse(hasattr(Mixed("test_it"), "slow"))


if __name__ == "__main__":
    unittest.main()
