"""Copies of states: the same numbers, quickly, and never memory that somebody still holds."""

from __future__ import annotations

import copy
import pickle
import threading
import unittest
from typing import Any
from unittest import mock

import numpy as np

from theano_linker_c import function
from theano_tensor.random import RandomStreams, copy_state
from theano_tensor.random._states import POOL, Mersenne, _spares


def numbers(state: Any) -> list[float]:
    return [*state.normal(size=3), *state.uniform(size=700), float(state.randint(100)), *state.gamma(2.0, size=3)]


def bits_of(state: Any) -> Any:
    return state._bit_generator


class TestCopies(unittest.TestCase):
    def test_a_copy_draws_the_same_numbers(self) -> None:
        for used in range(4):
            plain = np.random.RandomState(used)
            plain.normal(size=used)  # the second of a pair of normal numbers is kept for later
            plain.uniform(size=500 * used)
            first = copy_state(plain)
            second = copy_state(first)
            expected = numbers(plain)
            self.assertEqual(numbers(first), expected)
            self.assertEqual(numbers(second), expected)

    def test_copies_go_on_for_themselves(self) -> None:
        first = copy_state(np.random.RandomState(3))
        second = copy_state(first)
        expected = numbers(np.random.RandomState(3))
        self.assertEqual(numbers(second), expected)
        self.assertEqual(numbers(first), expected)

    def test_states_have_numpys_form(self) -> None:
        plain = np.random.RandomState(5)
        twin: Any = copy_state(plain)
        self.assertIsInstance(bits_of(twin), Mersenne)
        for legacy in (True, False):
            mine, expected = twin.get_state(legacy=legacy), plain.get_state(legacy=legacy)
            np.testing.assert_equal(mine, expected)
        other = np.random.RandomState(9)
        twin.set_state(other.get_state())
        self.assertEqual(numbers(twin), numbers(other))
        twin.seed(11)
        self.assertEqual(numbers(twin), numbers(np.random.RandomState(11)))

    def test_states_that_are_none(self) -> None:
        twin: Any = copy_state(np.random.RandomState(5))
        for wrong in (
            3,
            {},
            {"bit_generator": "PCG64", "state": {}},
            {"bit_generator": "MT19937", "state": {"key": [1]}},
        ):
            with self.subTest(wrong=wrong), self.assertRaises((TypeError, ValueError, KeyError, IndexError)):
                bits_of(twin).state = wrong

    def test_lists_are_states_too(self) -> None:
        plain = np.random.RandomState(5)
        reference: Any = plain.get_state(legacy=False)
        twin: Any = copy_state(np.random.RandomState(6))
        bits_of(twin).state = {
            "bit_generator": "MT19937",
            "state": {**reference["state"], "key": list(reference["state"]["key"])},
        }
        self.assertEqual(list(twin.uniform(size=5)), list(plain.uniform(size=5)))

    def test_pickles_and_deep_copies_are_numpys(self) -> None:
        twin = copy_state(np.random.RandomState(5))
        twin.normal()
        again = [pickle.loads(pickle.dumps(twin)), copy.deepcopy(twin)]
        expected = numbers(twin)
        for other in again:
            self.assertIs(type(bits_of(other)), np.random.MT19937)
            self.assertEqual(numbers(other), expected)
        alone = pickle.loads(pickle.dumps(bits_of(copy_state(np.random.RandomState(5)))))
        self.assertEqual(numbers(np.random.RandomState(alone)), numbers(np.random.RandomState(5)))

    def test_jumps(self) -> None:
        twin = copy_state(np.random.RandomState(5))
        plain: Any = np.random.RandomState(5)
        self.assertEqual(list(bits_of(twin).jumped().random_raw(4)), list(bits_of(plain).jumped().random_raw(4)))

    def test_where_numpy_keeps_states_in_another_way(self) -> None:
        with mock.patch("theano_tensor.random._states._ONE_BLOCK", False):
            twin = copy_state(np.random.RandomState(5))
        self.assertIs(type(bits_of(twin)), np.random.MT19937)
        self.assertEqual(numbers(twin), numbers(np.random.RandomState(5)))

    def test_other_bit_generators(self) -> None:
        for kind in (np.random.PCG64, np.random.Philox, np.random.SFC64):
            plain = np.random.RandomState(kind(4))
            twin = copy_state(plain)
            self.assertIs(type(bits_of(twin)), kind)
            self.assertEqual(numbers(twin), numbers(plain))


class TestReuse(unittest.TestCase):
    def setUp(self) -> None:
        _spares.clear()

    def test_copies_that_were_given_up_are_used_again(self) -> None:
        state = copy_state(np.random.RandomState(1))
        seen = set()
        for _ in range(20):
            state = copy_state(state)
            seen.add(id(state))
        self.assertLessEqual(len(seen), 3)
        self.assertLessEqual(len(_spares), 4)

    def test_copies_that_are_held_are_left_alone(self) -> None:
        held = [copy_state(np.random.RandomState(i)) for i in range(5)]
        views = [copy_state(np.random.RandomState(i))._bit_generator for i in range(5)]
        for i in range(50):
            copy_state(np.random.RandomState(1000 + i)).uniform()
        for i, state in enumerate(held):
            self.assertEqual(numbers(state), numbers(np.random.RandomState(i)))
        for i, bits in enumerate(views):
            self.assertEqual(numbers(np.random.RandomState(bits)), numbers(np.random.RandomState(i)))

    def test_not_more_are_remembered_than_needed(self) -> None:
        held = [copy_state(np.random.RandomState(i)) for i in range(POOL + 10)]
        self.assertLessEqual(len(_spares), POOL)
        self.assertEqual(numbers(held[0]), numbers(np.random.RandomState(0)))

    def test_a_borrowed_state_stays_as_it_was(self) -> None:
        streams = RandomStreams(7)
        f = function([], streams.uniform((4,)))
        state = streams.state_updates[0][0]
        f()
        borrowed = state.get_value(borrow=True)
        expected = list(copy_state(borrowed).uniform(size=4))
        drawn = [list(f()) for _ in range(5)]
        self.assertEqual(list(borrowed.uniform(size=4)), expected)
        self.assertEqual(drawn[0], expected)

    def test_many_threads(self) -> None:
        wrong: list[int] = []

        def draw(seed: int) -> None:
            mine, plain = copy_state(np.random.RandomState(seed)), np.random.RandomState(seed)
            for _ in range(200):
                mine = copy_state(mine)
                if mine.uniform() != plain.uniform():
                    wrong.append(seed)

        threads = [threading.Thread(target=draw, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
