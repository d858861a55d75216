"""Random numbers and lists as programs of Theano 1.0 write them."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.sandbox.multinomial import ChoiceFromUniform
from theano.tensor import raw_random
from theano.tensor.type_other import SliceType
from theano.typed_list import GetItem, TypedListType


class TestRawRandom(unittest.TestCase):
    def test_everything_comes_with_the_modules(self) -> None:
        result: dict[str, Any] = {}
        exec("from theano.tensor.raw_random import *", result)
        self.assertIs(result["theano"], theano)
        self.assertIs(result["tensor"], T)
        self.assertIs(result["uniform"], raw_random.uniform)

    def test_choice_without_probabilities(self) -> None:
        state = raw_random.random_state_type()
        expected = np.random.RandomState(3).choice(10, (4, 2))
        p = T.dvector()
        without: list[Any] = [None, [], 0, np.zeros(0)]
        for chances in without:
            _, draw = raw_random.choice(state, (4, 2), 10, True, chances)
            np.testing.assert_array_equal(theano.function([state], draw)(np.random.RandomState(3)), expected)
        _, draw = raw_random.choice(state, (4, 2), 10, True, p)
        np.testing.assert_array_equal(theano.function([state, p], draw)(np.random.RandomState(3), []), expected)

    def test_a_length_of_one_is_certain(self) -> None:
        state, chances = raw_random.random_state_type(), T.dtensor3()
        _, draw = raw_random.multinomial(state, n=9, pvals=chances, size=(10, 1, -1))
        self.assertEqual(draw.broadcastable, (False, True, False, False))
        run = theano.function([state, chances], draw)
        result = run(np.random.RandomState(1), [[[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]]])
        self.assertEqual(result.shape, (10, 1, 3, 2))
        self.assertTrue((result.sum(3) == 9).all())
        with self.assertRaises(ValueError):
            run(np.random.RandomState(1), np.full((2, 3, 2), 0.5))

    def test_longer_parameters_than_the_size(self) -> None:
        state, low = raw_random.random_state_type(), T.dvector()
        for draw in (
            raw_random.uniform(state, (1,), low, 9.0)[1],
            raw_random.random_integers(state, (1,), T.cast(low, "int64"), 9)[1],
        ):
            self.assertEqual(draw.broadcastable, (True,))
            with self.assertRaises(ValueError):
                theano.function([state, low], draw)(np.random.RandomState(1), [1.0, 2.0])


class TestChoiceFromUniform(unittest.TestCase):
    def test_categories_are_integers(self) -> None:
        for dtype, expected in (("auto", "int64"), ("int32", "int32")):
            picks = ChoiceFromUniform(odtype=dtype)(
                np.array([[0.25, 0.25, 0.5]], "float32"), np.array([0.1, 0.5], "float32"), 2
            )
            self.assertEqual(picks.dtype, expected)
            np.testing.assert_array_equal(picks.eval(), [[0, 2]])


class TestListsBySlices(unittest.TestCase):
    def test_a_symbolic_slice(self) -> None:
        x, part = TypedListType(T.dvector)(), SliceType()()
        result = GetItem()(x, part)
        self.assertEqual(result.type, x.type)
        run = theano.function([x, part], result)
        self.assertEqual([list(v) for v in run([[1.0], [2.0], [3.0]], slice(0, None, 2))], [[1.0], [3.0]])
