"""Streams over MRG31k3p: states, shapes, dtypes, bounds, categories, gradients, wrong arguments."""

from __future__ import annotations

import pickle
import unittest
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_graph import config
from theano_linker_c import Mode, function, get_default_mode, shared
from theano_tensor import DTypeError, ShapeError
from theano_tensor.gradient import DisconnectedInputError, grad
from theano_tensor.random import RandomVariable
from theano_tensor.random.mrg import (
    M1,
    M2,
    ChoiceFromUniform,
    MRG_RandomStreams,
    MRGUniform,
    MultinomialFromUniform,
    guess_n_streams,
    jump,
    substreams,
)
from theano_testing.tiers import examples, slow

PYTHON = Mode("py", "fast_compile")
P = np.array([[0.98, 0.01, 0.01], [0.01, 0.49, 0.50]])
Draw = Callable[[MRG_RandomStreams, Any], RandomVariable]

#: Draws with a matrix as the one input, which is given as 3 x 4 zeros; and their shapes.
DRAWS: tuple[tuple[str, Draw, tuple[int, ...], str], ...] = (
    ("uniform", lambda r, x: r.uniform((7, 3)), (7, 3), "float64"),
    ("uniform of nothing", lambda r, x: r.uniform((0, 3)), (0, 3), "float64"),
    ("uniform of one", lambda r, x: r.uniform(), (), "float64"),
    ("uniform with bounds", lambda r, x: r.uniform((50,), -2.0, 5), (50,), "float64"),
    ("uniform float32", lambda r, x: r.uniform((50,), dtype="float32"), (50,), "float32"),
    ("uniform float16", lambda r, x: r.uniform((50,), dtype="float16"), (50,), "float16"),
    ("uniform of a shape", lambda r, x: r.uniform(x.shape, nstreams=3), (3, 4), "float64"),
    ("uniform of lengths", lambda r, x: r.uniform((x.shape[1], 2)), (4, 2), "float64"),
    ("uniform of a vector", lambda r, x: r.uniform(T.cast(x[0] + 2, "int64"), ndim=4), (2,) * 4, "float64"),
    ("uniform by bounds", lambda r, x: r.uniform(low=x, high=x[0] + 1), (3, 4), "float64"),
    ("normal", lambda r, x: r.normal((7, 3)), (7, 3), "float64"),
    ("normal of one", lambda r, x: r.normal((), 1.0, 2.0), (), "float64"),
    ("normal of nothing", lambda r, x: r.normal((3, 0)), (3, 0), "float64"),
    ("normal float32", lambda r, x: r.normal((7,), dtype="float32"), (7,), "float32"),
    ("normal float16", lambda r, x: r.normal((7,), dtype="float16"), (7,), "float16"),
    ("normal of a shape", lambda r, x: r.normal(x.shape, x, 2.0), (3, 4), "float64"),
    ("normal by parameters", lambda r, x: r.normal(avg=x), (3, 4), "float64"),
    ("normal truncated", lambda r, x: r.normal((9,), truncate=True), (9,), "float64"),
    ("truncated", lambda r, x: r.truncated_normal(x.shape, dtype="float32"), (3, 4), "float32"),
    ("binomial", lambda r, x: r.binomial((9,)), (9,), "int64"),
    ("binomial of many", lambda r, x: r.binomial((9, 2), 12, 0.25, dtype="int8"), (9, 2), "int8"),
    ("binomial of some", lambda r, x: r.binomial(x.shape, x.shape[0], prob=0.25), (3, 4), "int64"),
    ("binomial by chances", lambda r, x: r.binomial(p=x + 0.5), (3, 4), "int64"),
    ("multinomial", lambda r, x: r.multinomial(pvals=P, n=5), (2, 3), "int64"),
    ("multinomial of a row", lambda r, x: r.multinomial((2, 2), 5, P[1], dtype="float32"), (2, 2, 3), "float32"),
    ("multinomial of some rows", lambda r, x: r.multinomial(x.shape, 5, P[1]), (3, 4, 3), "int64"),
    ("multinomial of rows", lambda r, x: r.multinomial(pvals=x + 0.25, n=x.shape[1]), (3, 4), "int64"),
    ("choice", lambda r, x: r.choice(2, p=P, replace=False), (2, 2), "int64"),
    ("choice again", lambda r, x: r.choice(5, p=P, dtype="int32"), (2, 5), "int32"),
    ("choice of all", lambda r, x: r.choice(x.shape[1], p=x + 0.25, replace=False), (3, 4), "int64"),
    ("choice below", lambda r, x: r.choice((2, 3), 10), (2, 3), "int64"),
    ("choice of floats", lambda r, x: r.choice(3, [0.5, 0.7, 0.9], False), (3,), "float64"),
    ("choice with p", lambda r, x: r.choice(6, 3, p=[0.0, 0.5, 0.5]), (6,), "int64"),
    ("choice of one", lambda r, x: r.choice((), 3), (), "int64"),
    ("different", lambda r, x: r.multinomial_wo_replacement(n=3, pvals=P), (2, 3), "int64"),
)


class TestDraws(unittest.TestCase):
    @slow
    def test_both_machines_draw_the_same_with_the_shape_and_dtype_announced(self) -> None:
        for name, draw, shape, dtype in DRAWS:
            with self.subTest(name):
                x = T.dmatrix("x")
                results = []
                for mode in (None, PYTHON):
                    variable = draw(MRG_RandomStreams(7), x)
                    self.assertIsInstance(variable, RandomVariable)
                    self.assertEqual((variable.ndim, variable.dtype), (len(shape), dtype))
                    f = function([x], variable, on_unused_input="ignore", mode=mode)
                    results.append([f(np.zeros((3, 4))) for _ in range(2)])
                    self.assertEqual((results[-1][0].shape, results[-1][0].dtype), (shape, np.dtype(dtype)))
                tolerance = {"float16": 1e-2, "float32": 1e-5}.get(dtype, 1e-12)
                np.testing.assert_allclose(results[0], results[1], rtol=tolerance, atol=tolerance)

    def test_shapes_are_known_without_drawing(self) -> None:
        for name, draw, shape, _ in DRAWS:
            with self.subTest(name):
                x = T.dmatrix("x")
                lengths = draw(MRG_RandomStreams(7), x).shape
                f = function([x], lengths, on_unused_input="ignore", no_default_updates=True)
                self.assertEqual(tuple(f(np.zeros((3, 4)))), shape)
                self.assertFalse([node for node in f.maker.fgraph.apply_nodes if isinstance(node.op, MRGUniform)])

    def test_standard_draws_are_what_the_streams_give(self) -> None:
        draws: list[Any] = [MRG_RandomStreams(1).uniform((5,), 0, 1.0), MRG_RandomStreams(1).normal((4,), 0, 1)]
        self.assertEqual([type(draw.owner.op).__name__ for draw in draws], ["MRGUniform", "Join"])

    def test_floatx_is_the_dtype_without_parameters(self) -> None:
        with config.change_flags(floatX="float32"):
            streams = MRG_RandomStreams(1)
            self.assertEqual(streams.uniform((2,)).dtype, "float32")
            self.assertEqual(streams.normal((2,)).dtype, "float32")
            self.assertEqual(streams.uniform((2,), T.dscalar("low")).dtype, "float64")

    def test_parameters_are_cast_to_the_dtype_that_is_asked_for(self) -> None:
        draw = MRG_RandomStreams(1).uniform((4,), T.constant(np.float64(0.1)), np.float64(0.2), dtype="float32")
        self.assertEqual(function([], draw)().dtype, np.float32)

    def test_no_bound_is_reached(self) -> None:
        cases = ((1.0, 2.0, "float32"), (-1.0, 0.0, "float32"), (2.0, 1.0, "float32"), (5.0, 6.0, "float16"))
        for low, high, dtype in (*cases, (0.0, 1.0, "float16"), (1e9, 1e9 + 1, "float64")):
            with self.subTest(low=low, high=high, dtype=dtype):
                result = function([], MRG_RandomStreams(3).uniform((200_000,), low, high, dtype=dtype))()
                first, last = sorted((low, high))
                self.assertGreater(result.min(), np.dtype(dtype).type(first))
                self.assertLess(result.max(), np.dtype(dtype).type(last))

    def test_truncated_numbers_stay_within_two_deviations(self) -> None:
        for dtype in ("float32", "float64"):
            result = function([], MRG_RandomStreams(3).truncated_normal((100_000,), 5.0, 3.0, dtype=dtype))()
            self.assertLess(abs(result.std() - 3), 0.05)
            self.assertLessEqual(np.abs(result - 5).max(), 6.0001 / 0.87962566103423978)
            result = function([], MRG_RandomStreams(3).normal((100_000,), 5.0, 3.0, dtype=dtype, truncate=True))()
            self.assertLess(abs(result.std() - 3 * 0.87962566103423978), 0.05)
            self.assertLessEqual(np.abs(result - 5).max(), 6.0001)

    def test_truncated_numbers_have_the_distribution_that_their_name_says(self) -> None:
        for dtype in ("float32", "float64"):
            result = function([], MRG_RandomStreams(3).normal((100_000,), dtype=dtype, truncate=True))()
            self.assertGreater(
                scipy.stats.kstest(result.astype("float64"), scipy.stats.truncnorm(-2, 2).cdf).pvalue, 1e-4
            )
            self.assertLess(abs(result[-2000:].std() / result[:2000].std() - 1), 0.08)

    def test_draws_are_those_of_theano_1_0(self) -> None:
        cases = (
            ("uniform", "float32", [0.37257108, 0.65768576, 0.36046427], [0.8636614, 0.66542256, 0.36244646]),
            ("uniform", "float16", [0.819, 0.0989, 0.3887], [0.9175, 0.1357, 0.2925]),
            ("normal", "float64", [-0.891859547, -0.686147378, -1.021968167], [-0.672072632, 1.319164084, 0.110084406]),
        )
        for name, dtype, *expected in cases:
            f = function([], getattr(MRG_RandomStreams(1234), name)((3, 4), dtype=dtype))
            results = [f().ravel()[:3] for _ in range(2)]
            np.testing.assert_allclose(results, expected, rtol=1e-3 if dtype == "float16" else 1e-6, err_msg=name)
        truncated = (
            (False, "float64", [1.195827582, 1.265986575, 1.151453495], [1.270786826, 1.949906412, 1.537544746]),
            (False, "float32", [1.1958275, 1.2659866, 1.1514535], [1.2707868, 1.9499065, 1.5375447]),
            (True, "float64", [1.232442136, 1.294155787, 1.19340955], [1.29837821, 1.895749225, 1.533025322]),
        )
        for narrow, dtype, *expected in truncated:
            streams = MRG_RandomStreams(1234)
            with config.change_flags({"random.truncated_as_1_0": True}):
                draw = streams.normal((3, 4), 1.5, 0.3, dtype=dtype, truncate=True) if narrow else None
                f = function([], streams.truncated_normal((3, 4), 1.5, 0.3, dtype=dtype) if draw is None else draw)
            np.testing.assert_allclose([f().ravel()[:3] for _ in range(2)], expected, rtol=1e-6)

    def test_number_of_streams(self) -> None:
        self.assertEqual(guess_n_streams((6, 10)), 10)
        self.assertEqual(guess_n_streams([5]), 5)
        self.assertEqual(guess_n_streams(12), 60 * 256)
        self.assertEqual(guess_n_streams((np.int64(6), 10)), 60 * 256)
        self.assertEqual(guess_n_streams(()), 1)
        self.assertEqual(guess_n_streams((0, 4)), 1)
        self.assertEqual(guess_n_streams((10**4, 10**4)), 60 * 256)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(guess_n_streams(T.lvector("v")), 60 * 256)
        with self.assertWarns(UserWarning):
            guess_n_streams(T.lvector("v"), warn=True)
        for count, size in ((4, None), (1, 1), (100, 100)):
            draw = MRG_RandomStreams(1).uniform((24,), nstreams=size)
            self.assertEqual(draw.rng.get_value().shape, (count if size is None else size, 6))


class TestStates(unittest.TestCase):
    def test_seeds(self) -> None:
        self.assertEqual(MRG_RandomStreams(5).rstate.tolist(), [5] * 6)
        self.assertEqual(MRG_RandomStreams().rstate.tolist(), [12345] * 6)
        self.assertEqual(MRG_RandomStreams([1, 0, 0, 0, 0, 2]).rstate.tolist(), [1, 0, 0, 0, 0, 2])
        self.assertEqual(MRG_RandomStreams([M1 - 1] * 3 + [M2 - 1] * 3).rstate.dtype, np.int32)

    def test_wrong_seeds(self) -> None:
        wrong: tuple[tuple[type[Exception], Any], ...] = (
            (ValueError, 0),
            (ValueError, -1),
            (ValueError, M2),
            (ValueError, [1, 2, 3]),
            (ValueError, [0, 0, 0, 1, 1, 1]),
            (ValueError, [1, 1, 1, 0, 0, 0]),
            (ValueError, [M1, 1, 1, 1, 1, 1]),
            (ValueError, [1, 1, 1, M2, 1, 1]),
            (TypeError, 1.5),
            (TypeError, "12345"),
            (TypeError, [1.0] * 6),
            (TypeError, True),
            (TypeError, None),
        )
        for error, seed in wrong:
            with self.subTest(repr(seed)), self.assertRaises(error) as caught:
                MRG_RandomStreams(seed)
            self.assertIn("MRG31k3p", str(caught.exception))
            self.assertIn("Hint: ", str(caught.exception))

    def test_each_draw_has_streams_of_its_own(self) -> None:
        streams = MRG_RandomStreams(9)
        first, second = streams.uniform((12,)), streams.normal((12,))
        start = np.full(6, 9, "int32")
        np.testing.assert_array_equal(first.rng.get_value(), substreams(start, 2))
        np.testing.assert_array_equal(second.rng.get_value(), substreams(jump(start, 134), 60 * 256))
        np.testing.assert_array_equal(streams.rstate, jump(jump(start, 134), 134))

    def test_states_of_streams(self) -> None:
        streams = MRG_RandomStreams(9)
        before = streams.rstate
        np.testing.assert_array_equal(streams.get_substream_rstates(3, "float32", inc_rstate=False)[0], before)
        self.assertEqual(streams.get_substream_rstates(3, inc_rstate=False).shape, (3, 6))
        np.testing.assert_array_equal(streams.rstate, before)
        streams.inc_rstate()
        np.testing.assert_array_equal(streams.rstate, jump(before, 134))
        streams.set_rstate(9)
        np.testing.assert_array_equal(streams.rstate, before)
        for count in (0, -1, 1.5, True):
            with self.assertRaises(ValueError):
                streams.get_substream_rstates(count)  # type: ignore[arg-type]  # on purpose
        with self.assertRaises(DTypeError):
            streams.get_substream_rstates(3, "int32")

    def test_states_move_with_each_call_unless_told_otherwise(self) -> None:
        draw = MRG_RandomStreams(9).normal((5,))
        f, g = function([], draw), function([], draw, no_default_updates=True)
        self.assertFalse(np.array_equal(f(), f()))
        np.testing.assert_array_equal(g(), g())
        self.assertEqual(draw.update[0], draw.rng)
        self.assertIs(draw.rstate, draw.rng)

    def test_a_variable_is_drawn_once_in_a_call(self) -> None:
        draw = MRG_RandomStreams(9).uniform((5,), 1.0, 2.0)
        np.testing.assert_allclose(function([], draw + draw - 2 * draw)(), np.zeros(5), atol=1e-15)

    def test_what_is_noted_of_each_draw(self) -> None:
        streams = MRG_RandomStreams(9)
        streams.uniform((5, 2))
        streams.normal((4,), nstreams=3)
        noted = [(len(states.get_value()), size, count) for states, _, size, count in streams.state_updates]
        self.assertEqual(noted, [(1, (5, 2), None), (3, None, 3)])
        self.assertEqual([len(pair) for pair in streams.updates()], [2, 2])

    def test_number_of_streams_can_be_overridden(self) -> None:
        class Few(MRG_RandomStreams):
            def n_streams(self, size: Any) -> int:
                return 3

        self.assertEqual(len(Few(1).normal((50,)).rng.get_value()), 3)

    def test_seed_starts_all_draws_again(self) -> None:
        streams = MRG_RandomStreams(9)
        f = function([], [streams.uniform((5,)), streams.binomial((5,))])
        before = f()
        f()
        streams.seed()
        for a, b in zip(f(), before, strict=True):
            np.testing.assert_array_equal(a, b)
        streams.seed(10)
        again = MRG_RandomStreams(10)
        for a, b in zip(f(), function([], [again.uniform((5,)), again.binomial((5,))])(), strict=True):
            np.testing.assert_array_equal(a, b)
        with self.assertRaises(ValueError):
            streams.seed(-1)

    def test_states_are_copied_from_one_graph_to_another(self) -> None:
        first, second = MRG_RandomStreams(1), MRG_RandomStreams(2)
        f, g = function([], first.uniform((5,))), function([], second.uniform((5,)))
        f()
        second.rstate = first.rstate
        for mine, theirs in zip(first.state_updates, second.state_updates, strict=True):
            theirs[0].set_value(mine[0].get_value())
        for _ in range(2):
            np.testing.assert_array_equal(f(), g())
        np.testing.assert_array_equal(function([], first.normal((5,)))(), function([], second.normal((5,)))())

    def test_states_can_be_replaced_by_other_shared_variables(self) -> None:
        draw = MRG_RandomStreams(1).uniform((5,))
        f, other = function([], draw), shared(draw.rng.get_value())
        g = f.copy(swap={draw.rng: other})
        h = function([], draw, givens={draw.rng: shared(draw.rng.get_value())}, no_default_updates=True)
        first = f()
        np.testing.assert_array_equal(g()[0], first)  # copies return lists
        np.testing.assert_array_equal(h(), first)
        np.testing.assert_array_equal(f(), g()[0])

    def test_updates_may_be_given(self) -> None:
        streams, other = MRG_RandomStreams(1), MRG_RandomStreams(1)
        f = function([], streams.uniform((5,)), updates=streams.updates())
        g = function([], other.uniform((5,)))
        for _ in range(2):
            np.testing.assert_array_equal(f(), g())

    def test_pickled_functions_and_streams_go_on_where_they_were(self) -> None:
        streams = MRG_RandomStreams(1)
        f = function([], streams.normal((5,)))
        f()
        g, again = pickle.loads(pickle.dumps(f)), pickle.loads(pickle.dumps(streams))
        np.testing.assert_array_equal(f(), g())
        np.testing.assert_array_equal(again.rstate, streams.rstate)


class TestCategories(unittest.TestCase):
    def test_documented_cases(self) -> None:
        streams = MRG_RandomStreams(1)
        once = function([], streams.multinomial(pvals=P))()
        np.testing.assert_array_equal(once.sum(axis=1), [1, 1])
        twice = function([], streams.multinomial(pvals=P, n=2))()
        np.testing.assert_array_equal(twice.sum(axis=1), [2, 2])
        negative = [[-0.2, 0.2]]
        self.assertEqual(function([], streams.multinomial(pvals=negative))().tolist(), [[0, 0]])
        self.assertEqual(function([], streams.choice(2, p=negative, replace=False))().tolist(), [[0, 0]])

    def test_draws_without_replacement_differ(self) -> None:
        p = np.random.default_rng(1).dirichlet(np.ones(6), size=300)
        for n in (1, 3, 6):
            result = function([], MRG_RandomStreams(1).choice(n, p=p, replace=False))()
            self.assertTrue(all(len(set(row)) == n for row in result.tolist()))
            self.assertTrue(((result >= 0) & (result < 6)).all())

    def test_impossible_categories_come_last(self) -> None:
        result = function([], MRG_RandomStreams(1).choice(3, p=[[0.0, 0.0, 1.0]] * 20, replace=False))()
        self.assertEqual(result.tolist(), [[2, 0, 1]] * 20)

    def test_sums_that_rounding_left_below_one_leave_no_gap(self) -> None:
        p, top = np.array([[0.5, 0.4999999, 0.0]]), np.array([0.99999995])
        self.assertEqual(MultinomialFromUniform("int64")(p, top).eval().tolist(), [[0, 1, 0]])
        short = np.array([[0.5, 0.25, 0.0]])
        self.assertEqual(MultinomialFromUniform("int64")(short, top).eval().tolist(), [[0, 0, 0]])

    @slow
    @settings(deadline=None, max_examples=examples(30))
    @given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(1, 5), st.booleans())
    def test_c_and_numpy_agree(self, seed: int, rows: int, k: int, replace: bool) -> None:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(0, k + 1))
        p = rng.random((rows, k)) * (rng.random((rows, k)) > 0.3) - 0.1 * (rng.random((rows, k)) > 0.9)
        unis = rng.random(rows * n)
        ops: dict[str, Any] = {
            "m": MultinomialFromUniform("int64"),
            "c" + str(replace): ChoiceFromUniform("int64", replace),
        }
        for key, op in ops.items():
            variables = T.dmatrix("p"), T.dvector("unis"), T.lscalar("n")
            f = _FUNCTIONS.setdefault(key, function(list(variables), op(*variables)))
            cells: list[list[Any]] = [[None]]
            op.perform(op.make_node(*variables), [p.copy(), unis, np.int64(n)], cells)
            np.testing.assert_array_equal(f(p, unis, n), cells[0][0])

    def test_wrong_values(self) -> None:
        variables = T.dmatrix("p"), T.dvector("unis"), T.lscalar("n")
        for mode in (None, PYTHON):
            for op in (MultinomialFromUniform("int64"), ChoiceFromUniform("int64")):
                f = function(list(variables), op(*variables), mode=mode)
                for count, n in ((3, 1), (4, -2)):
                    with self.assertRaises(ValueError):
                        f(P, np.full(count, 0.5), n)
            with self.assertRaises(ValueError) as caught:
                f(P, np.full(8, 0.5), 4)
            self.assertIn("4 draws from 3 categories", str(caught.exception))


_FUNCTIONS: dict[str, Any] = {}


class TestGradients(unittest.TestCase):
    def test_gradients_go_through_bounds_mean_and_deviation(self) -> None:
        low, high, mean, std = (T.dscalar(name) for name in ("low", "high", "mean", "std"))
        streams = MRG_RandomStreams(1)
        u, z = streams.uniform((9,), low, high), streams.normal((9,), mean, std)
        slopes = [*grad(u.sum(), [low, high]), *grad(z.sum(), [mean, std])]
        f = function([low, high, mean, std], [u, z, *slopes])
        u_found, z_found, by_low, by_high, by_mean, by_std = f(1.0, 3.0, 2.0, 0.5)
        share = (u_found - 1) / 2
        np.testing.assert_allclose([by_low, by_high], [(1 - share).sum(), share.sum()], rtol=1e-12)
        np.testing.assert_allclose([by_mean, by_std], [9, ((z_found - 2) / 0.5).sum()], rtol=1e-12)

    def test_size_and_counts_are_disconnected(self) -> None:
        n, p = T.dscalar("n"), T.dmatrix("p")
        streams = MRG_RandomStreams(1)
        for cost, wrt in ((streams.uniform((T.cast(n, "int64"),)).sum(), n), (streams.multinomial(pvals=p).sum(), p)):
            with self.assertRaises(DisconnectedInputError):
                grad(cost, wrt)


class TestBadInput(unittest.TestCase):
    def test_longer_parameters_do_not_repeat_what_is_drawn(self) -> None:
        low, n = T.dvector("low"), T.lscalar("n")
        for mode in (None, PYTHON):
            for size in ((1,), (n,)):
                draw = MRG_RandomStreams(1).uniform(size, low, 9.0)
                f = function([low, n], draw, on_unused_input="ignore", mode=mode)
                self.assertEqual(f([2.0], 1).shape, (1,))
                with self.assertRaises(ValueError):
                    f([2.0, 3.0, 4.0], 1)
        with self.assertRaises(ShapeError):
            MRG_RandomStreams(1).normal((2,), [1.0, 2.0, 3.0])

    def test_wrong_arguments(self) -> None:
        r: Any = MRG_RandomStreams(1)
        x = T.dmatrix("x")
        wrong: tuple[tuple[type[Exception], str, Callable[[], Any]], ...] = (
            (TypeError, "unknown option sze", lambda: r.uniform((2,), sze=3)),
            (TypeError, "target='cuda'", lambda: r.normal((2,), target="cuda")),
            (DTypeError, "draws no int64", lambda: r.uniform((2,), dtype="int64")),
            (DTypeError, "complex", lambda: r.uniform((2,), T.zscalar("z"))),
            (ShapeError, "ndim=2", lambda: r.uniform(T.lvector("v"))),
            (ShapeError, "negative", lambda: r.normal((2, -2))),
            (DTypeError, "integer", lambda: r.binomial((2,), 1.5)),
            (ShapeError, "negative", lambda: r.binomial((2,), -1)),
            (TypeError, "probabilities are missing", lambda: r.multinomial((2,))),
            (TypeError, "probabilities are missing", lambda: r.choice(2)),
            (ShapeError, "size=(2,) was given", lambda: r.multinomial((2,), pvals=x)),
            (ShapeError, "size=2 was given", lambda: r.multinomial_wo_replacement(2, pvals=x)),
            (ShapeError, "3 dimensions", lambda: r.multinomial(pvals=T.tensor3("p"))),
            (ShapeError, "1 dimensions", lambda: r.choice(2, p=T.vector("p"))),
            (ShapeError, "`a` is a scalar or a vector", lambda: r.choice(2, x)),
            (DTypeError, "integer", lambda: r.choice(2, 1.5)),
            (ShapeError, "`p` is a vector", lambda: r.choice(2, 3, p=x)),
            (ShapeError, "dimensions", lambda: MultinomialFromUniform("int64")(x, x)),
            (DTypeError, "no integer", lambda: MultinomialFromUniform("int64")(x, x[0], 1.5)),
        )
        for error, words, call in wrong:
            with self.subTest(words), self.assertRaises(error) as caught:
                call()
            self.assertIn(words, str(caught.exception))
            if "no integer" not in words:
                self.assertIn("Hint: ", str(caught.exception))


class TestInPlace(unittest.TestCase):
    def test_states_between_two_draws_are_moved_themselves(self) -> None:
        states, op, size = T.imatrix("states"), MRGUniform(T.dvector), np.array([7], "int64")
        middle, first = op(states, size)
        after, second = op(middle, size)
        seeds = substreams([1, 2, 3, 4, 5, 6], 3)
        results = {}
        for name in ("mrg_random_make_inplace", "inplace_random", "nothing"):
            f = function([states], [first, second, after], mode=get_default_mode().excluding(name))
            ops = [node.op for node in f.maker.fgraph.toposort() if isinstance(node.op, MRGUniform)]
            self.assertEqual([result.inplace for result in ops], [False, name == "nothing"])
            operand = seeds.copy()
            results[name] = f(operand)
            np.testing.assert_array_equal(operand, seeds)
        for values in results.values():
            for value, expected in zip(values, results["nothing"], strict=True):
                np.testing.assert_array_equal(value, expected)
        self.assertFalse(np.array_equal(*results["nothing"][:2]))
