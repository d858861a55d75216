"""Streams over NumPy's generators: seeds, states that move by themselves, copies, pickles."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_linker_c import Mode, function
from theano_tensor import ShapeError, random as R
from theano_tensor.random import (
    GeneratorStreams,
    RandomFunction,
    RandomStreams,
    RandomVariable,
    generator_type,
    permute_row_elements,
    random_state_type,
)
from theano_testing.tensor import verify_grad

MODES: tuple[Any, ...] = (None, Mode("vm", "fast_compile"))


def first_state(seed: int, skipped: int = 0) -> np.random.RandomState:
    """Return the state of a draw: its seed comes from a generator that the seed of the streams seeds."""
    seeds = np.random.RandomState(seed)
    for _ in range(skipped):
        seeds.randint(2**30)
    return np.random.RandomState(int(seeds.randint(2**30)))


class TestSeeds(unittest.TestCase):
    def test_numbers_that_are_documented(self) -> None:
        for seed, expected in ((123, [0.72803009, 0.59044123]), (987, [0.55056769])):
            for mode in MODES:
                f = function([], RandomStreams(seed).uniform(size=(1,)), mode=mode)
                np.testing.assert_allclose([f()[0] for _ in expected], expected, atol=5e-9)

    def test_zeros_and_ones_that_are_documented(self) -> None:
        w = T.matrix("W")
        f = function([w], RandomStreams(1234).binomial(size=w[1].shape))
        results = [f(np.ones((2, 2))).tolist() for _ in range(10)]
        rows = ("10", "01", "00", "11", "10", "01", "01", "01", "00", "11")
        self.assertEqual(results, [[int(row[0]), int(row[1])] for row in rows])

    def test_each_draw_has_a_state_of_its_own(self) -> None:
        streams = RandomStreams(234)
        f = function([], [streams.uniform((2, 2)), streams.normal((2, 2))])
        states = first_state(234), first_state(234, 1)
        for _ in range(2):
            uniform, normal = f()
            np.testing.assert_array_equal(uniform, states[0].uniform(size=(2, 2)))
            np.testing.assert_array_equal(normal, states[1].normal(size=(2, 2)))

    def test_seed_gives_every_draw_another_state(self) -> None:
        for streams, again in ((RandomStreams(1), RandomStreams(902340)), (GeneratorStreams(1), GeneratorStreams(9))):
            with self.subTest(type(streams).__name__):
                draws = [streams.uniform((3,)), streams.gen(R.normal, (3,))]
                twins = [again.uniform((3,)), again.normal((3,))]
                f, g = function([], draws), function([], twins)
                f()
                streams.seed(902340 if isinstance(streams, RandomStreams) else 9)
                for a, b in zip(f(), g(), strict=True):
                    np.testing.assert_array_equal(a, b)

    def test_seed_without_argument_starts_again(self) -> None:
        streams: Any
        for streams in (RandomStreams(5), GeneratorStreams(5, "Philox"), GeneratorStreams(np.random.SeedSequence(5))):
            f = function([], streams.uniform((3,)))
            before = f()
            f()
            self.assertIsNone(streams.seed())
            np.testing.assert_array_equal(f(), before)

    def test_without_seed_streams_differ(self) -> None:
        for kind in (RandomStreams, GeneratorStreams):
            f, g = (function([], kind().uniform((4,))) for _ in range(2))
            self.assertFalse(np.array_equal(f(), g()))

    def test_wrong_seeds(self) -> None:
        for kind, seed in ((RandomStreams, -1), (RandomStreams, "x"), (GeneratorStreams, -1), (GeneratorStreams, 0.5)):
            with self.subTest(f"{kind.__name__}({seed!r})"), self.assertRaises((TypeError, ValueError)) as caught:
                kind(seed)
            self.assertIn("is no seed", str(caught.exception))
            self.assertIn("Hint: ", str(caught.exception))

    def test_bit_generators(self) -> None:
        for name in ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"):
            sequence = np.random.SeedSequence(3).spawn(1)[0]
            expected = np.random.Generator(getattr(np.random, name)(sequence)).normal(size=4)
            np.testing.assert_array_equal(function([], GeneratorStreams(3, name).normal((4,)))(), expected)
        with self.assertRaises(ValueError) as caught:
            GeneratorStreams(3, "Mersenne")
        self.assertIn("PCG64", str(caught.exception))


class TestStates(unittest.TestCase):
    def streams(self) -> list[Any]:
        return [RandomStreams(3), GeneratorStreams(3), GeneratorStreams(3, "Philox")]

    def test_states_move_with_each_call(self) -> None:
        for mode in MODES:
            for streams in self.streams():
                f = function([], streams.uniform((3,)), mode=mode)
                self.assertFalse(np.array_equal(f(), f()))

    def test_no_default_updates_keeps_the_state(self) -> None:
        for streams in self.streams():
            x = streams.normal((3,))
            for without in (True, [x.rng]):
                g = function([], x, no_default_updates=without)
                np.testing.assert_array_equal(g(), g())

    def test_a_variable_is_drawn_once_in_a_call(self) -> None:
        for streams in self.streams():
            x = streams.uniform((2, 2))
            np.testing.assert_allclose(function([], x + x - 2 * x)(), np.zeros((2, 2)), atol=1e-15)

    def test_functions_share_the_state(self) -> None:
        for streams in self.streams():
            x = streams.uniform((2, 2))
            f, zeros = function([], x), function([], x + x - 2 * x)
            before = x.rng.get_value()
            zeros()
            later = f()
            rng = x.rng.get_value(borrow=True)
            x.rng.set_value(before, borrow=True)
            self.assertIsNot(rng, before)
            self.assertFalse(np.array_equal(f(), later))
            np.testing.assert_array_equal(f(), later)

    def test_explicit_updates(self) -> None:
        streams = RandomStreams(3)
        x = streams.uniform((2,))
        self.assertEqual(streams.updates(), streams.state_updates)
        self.assertEqual(streams.updates(), [x.update])
        f = function([], x, updates=streams.updates())
        expected = first_state(3)
        for _ in range(2):
            np.testing.assert_array_equal(f(), expected.uniform(size=2))

    def test_what_is_not_used_is_not_drawn(self) -> None:
        streams = RandomStreams(3)
        used, unused = streams.uniform((2,)), streams.normal((2,))
        f = function([], used)
        before = unused.rng.get_value()
        f()
        self.assertTrue(random_state_type.values_eq(unused.rng.get_value(borrow=True), before))
        self.assertEqual(sum(isinstance(n.op, RandomFunction) for n in f.maker.fgraph.apply_nodes), 1)

    def test_a_seed_for_one_variable(self) -> None:
        streams = RandomStreams(3)
        x = streams.uniform((2,))
        value = x.rng.get_value(borrow=True)
        value.seed(89234)
        x.rng.set_value(value, borrow=True)
        np.testing.assert_array_equal(function([], x)(), np.random.RandomState(89234).uniform(size=2))

    def test_states_are_copied_from_one_graph_to_another(self) -> None:
        for first, second in zip(self.streams(), self.streams(), strict=True):
            second.seed(11)
            f, g = function([], first.uniform((2,))), function([], second.uniform((2,)))
            f()
            for mine, theirs in zip(first.state_updates, second.state_updates, strict=True):
                theirs[0].set_value(mine[0].get_value())
            for _ in range(2):
                np.testing.assert_array_equal(f(), g())

    def test_items_are_the_generators(self) -> None:
        streams = RandomStreams(3)
        x = streams.uniform((2,))
        state, new_state = x.update
        for key in (x, state, new_state):
            self.assertIs(streams[key], state.get_value(borrow=True))
        streams[x] = np.random.RandomState(8)
        np.testing.assert_array_equal(function([], x)(), np.random.RandomState(8).uniform(size=2))
        with self.assertRaises(TypeError):
            streams[x] = 8
        with self.assertRaises(KeyError) as caught:
            streams[RandomStreams(1).uniform()]
        self.assertIn("no draw of these streams", str(caught.exception))

    def test_pickled_functions_and_variables_go_on_where_they_were(self) -> None:
        for streams in self.streams():
            f = function([], streams.uniform((3,)))
            f()
            twin = pickle.loads(pickle.dumps(f))
            np.testing.assert_array_equal(twin(), f())
            np.testing.assert_array_equal(twin(), f())
            again = pickle.loads(pickle.dumps(streams))
            (x,) = (v for v in again.state_updates[0][1].owner.outputs if isinstance(v, RandomVariable))
            self.assertIs(x.rng, again.state_updates[0][0])
            np.testing.assert_array_equal(function([], x)(), f())


class TestMethods(unittest.TestCase):
    def test_all_distributions_are_those_of_numpy(self) -> None:
        streams = RandomStreams(17)
        p = [0.25, 0.75]
        cases: list[tuple[RandomVariable, Any]] = [
            (streams.uniform((2,), 1.0, 3.0), lambda r: r.uniform(1, 3, 2)),
            (streams.uniform(low=[0.0, 5.0], high=9.0), lambda r: r.uniform([0, 5], 9)),
            (streams.normal((2,), 1.0, 3.0, dtype="float32"), lambda r: r.normal(1, 3, 2).astype("float32")),
            (streams.binomial((2,), 9, 0.25), lambda r: r.binomial(9, 0.25, 2)),
            (streams.binomial((2,), 9, prob=0.25), lambda r: r.binomial(9, 0.25, 2)),
            (streams.random_integers((5,), 1, 6), lambda r: r.randint(1, 7, 5)),
            (streams.choice((5,), 4, True, [0.1, 0.2, 0.3, 0.4]), lambda r: r.choice(4, 5, True, [0.1, 0.2, 0.3, 0.4])),
            (streams.poisson((5,), 2.5), lambda r: r.poisson(2.5, 5)),
            (streams.permutation(n=5), lambda r: r.permutation(5)),
            (streams.multinomial((3,), 6, p), lambda r: r.multinomial(6, p, 3)),
            (streams.multinomial(), lambda r: r.multinomial(1, [0.5, 0.5])),
            (streams.uniform(), lambda r: r.uniform()),
        ]
        for i, (draw, expected) in enumerate(cases):
            with self.subTest(i):
                result = function([], draw)()
                np.testing.assert_array_equal(result, expected(first_state(17, i)))
                self.assertEqual(result.dtype, draw.dtype)

    def test_rows_are_shuffled_by_a_permutation(self) -> None:
        for mode in MODES:
            x = T.matrix("x")
            shuffled = RandomStreams(3).shuffle_row_elements(x)
            f = function([x], [shuffled, shuffled.permutation], mode=mode)
            value = np.arange(12.0).reshape(3, 4)
            result, permutation = f(value)
            np.testing.assert_array_equal(result, np.take_along_axis(value, permutation, -1))
            np.testing.assert_array_equal(np.sort(result), value)
            state = first_state(3)
            np.testing.assert_array_equal(permutation, [state.permutation(4) for _ in range(3)])

    def test_shuffling_vectors_tensors_and_numbers(self) -> None:
        v = function([], RandomStreams(1).shuffle_row_elements(np.arange(5)))()
        self.assertEqual(sorted(v), list(range(5)))
        cube = np.arange(24).reshape(2, 3, 4)
        np.testing.assert_array_equal(np.sort(function([], RandomStreams(1).shuffle_row_elements(cube))()), cube)
        with self.assertRaises(ShapeError) as caught:
            RandomStreams(1).shuffle_row_elements(3.0)
        self.assertIn("no rows", str(caught.exception))

    def test_one_permutation_for_all_rows_and_its_gradient(self) -> None:
        x = np.arange(6.0).reshape(2, 3)
        np.testing.assert_array_equal(permute_row_elements(x, [2, 0, 1]).eval(), x[:, [2, 0, 1]])
        verify_grad(lambda v: permute_row_elements(v, [2, 0, 1]), [x])

    def test_gen_takes_ops_functions_and_either_order(self) -> None:
        streams = RandomStreams(3)
        op = RandomFunction("exponential", T.dvector)
        expected = first_state(3).exponential(2.0, 4), first_state(3, 1).normal(size=4)
        for draw, reference in zip((streams.gen(op, [4], 2.0), streams.gen(R.normal, (4,))), expected, strict=True):
            self.assertIsInstance(draw, RandomVariable)
            np.testing.assert_array_equal(function([], draw)(), reference)

    def test_gen_refuses_what_gives_no_state(self) -> None:
        for op in (lambda r: r, lambda r: (T.vector("x"), T.vector("y")), lambda r: (r, r)):
            with self.assertRaises(TypeError) as caught:
                RandomStreams(3).gen(op)
            self.assertIn("no draw with a new state", str(caught.exception))

    def test_kinds_of_states(self) -> None:
        self.assertEqual(RandomStreams(1).uniform().rng.type, random_state_type)
        self.assertEqual(GeneratorStreams(1).uniform().rng.type, generator_type)
