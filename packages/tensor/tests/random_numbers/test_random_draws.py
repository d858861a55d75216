"""Draws from given states: values as NumPy gives them, shapes, states afterwards, gradients, wrong arguments."""

from __future__ import annotations

import pickle
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import FunctionGraph
from theano_linker_c import In, Mode, function, get_default_mode, shared
from theano_tensor import DTypeError, ShapeError, TensorType, random as R
from theano_tensor.builders import OpFromGraph
from theano_tensor.gradient import DisconnectedInputError, GradUndefinedError, Rop, grad
from theano_tensor.random import RandomFunction, copy_state, generator_type, random_state_type
from theano_tensor.shape import ShapeI

MODES: tuple[Any, ...] = (None, Mode("vm", "fast_compile"))
P = np.array([0.2, 0.3, 0.5])
LOW = np.array([[0.0], [10.0]])

#: A draw from a state `r`, and NumPy's draw from the same.
DRAWS: tuple[tuple[str, Callable[[Any], Any], Callable[[Any], Any]], ...] = (
    ("uniform", lambda r: R.uniform(r, (2, 3)), lambda r: r.uniform(0, 1, (2, 3))),
    ("uniform of one", lambda r: R.uniform(r), lambda r: r.uniform()),
    ("uniform of a length", lambda r: R.uniform(r, 4, -1.0, 2.0), lambda r: r.uniform(-1, 2, 4)),
    ("uniform by bounds", lambda r: R.uniform(r, None, LOW, [20.0, 30.0]), lambda r: r.uniform(LOW, [20, 30])),
    ("uniform of empty size", lambda r: R.uniform(r, (), LOW, 20.0), lambda r: r.uniform(LOW, 20)),
    ("uniform, one length of bounds", lambda r: R.uniform(r, (-1, 3), LOW, 20.0), lambda r: r.uniform(LOW, 20, (2, 3))),
    ("uniform of nothing", lambda r: R.uniform(r, (0, 3)), lambda r: r.uniform(size=(0, 3))),
    ("normal", lambda r: R.normal(r, (5,), 1.0, 0.5), lambda r: r.normal(1, 0.5, 5)),
    ("normal float32", lambda r: R.normal(r, (5,), dtype="float32"), lambda r: r.normal(size=5).astype("float32")),
    ("binomial", lambda r: R.binomial(r, (6,), 10, 0.3), lambda r: r.binomial(10, 0.3, 6)),
    ("binomial by rows", lambda r: R.binomial(r, None, [5, 500], P[:2]), lambda r: r.binomial([5, 500], P[:2])),
    ("poisson", lambda r: R.poisson(r, (6,), 3.5), lambda r: r.poisson(3.5, 6)),
    ("poisson of 1", lambda r: R.poisson(r, (6,)), lambda r: r.poisson(1.0, 6)),
    ("choice", lambda r: R.choice(r, (6,), 9), lambda r: r.choice(9, 6)),
    ("choice with p", lambda r: R.choice(r, (2, 3), 3, True, P), lambda r: r.choice(3, (2, 3), p=P)),
    ("choice once", lambda r: R.choice(r, (3,), [4, 5, 6], False), lambda r: r.choice([4, 5, 6], 3, replace=False)),
    ("choice of floats", lambda r: R.choice(r, (3,), P), lambda r: r.choice(P, 3)),
    ("choice of one", lambda r: R.choice(r, a=5), lambda r: r.choice(5)),
    ("permutation", lambda r: R.permutation(r, n=5), lambda r: r.permutation(5)),
    (
        "permutations",
        lambda r: R.permutation(r, (2, 2), 4),
        lambda r: np.array([r.permutation(4) for _ in range(4)]).reshape(2, 2, 4),
    ),
    ("multinomial", lambda r: R.multinomial(r, (4,), 7, P), lambda r: r.multinomial(7, P, 4)),
    ("multinomial of one", lambda r: R.multinomial(r, p_vals=P), lambda r: r.multinomial(1, P)),
    (
        "multinomial by rows",
        lambda r: R.multinomial(r, None, [3, 40], [P, P[::-1]]),
        lambda r: np.array([r.multinomial(3, P), r.multinomial(40, P[::-1])]),
    ),
)


class TestValues(unittest.TestCase):
    def test_draws_and_states_are_those_of_numpy(self) -> None:
        for mode in MODES:
            for kind, make in ((random_state_type, np.random.RandomState), (generator_type, np.random.default_rng)):
                for name, draw, expected in DRAWS:
                    with self.subTest(name, kind=str(kind), mode=str(mode)):
                        variable, state, other = kind("r"), make(8), make(8)
                        after, sample = draw(variable)
                        result, moved = function([variable], [sample, after], mode=mode)(state)
                        reference = np.asarray(expected(other))
                        np.testing.assert_array_equal(result, reference)
                        self.assertEqual(result.dtype, sample.type.dtype)
                        self.assertEqual(result.shape, reference.shape)
                        self.assertTrue(kind.values_eq(moved, other))
                        self.assertTrue(kind.values_eq(state, make(8)))

    def test_random_integers_include_both_bounds(self) -> None:
        r = random_state_type("r")
        for make in (np.random.RandomState, np.random.default_rng):
            variable = r if make is np.random.RandomState else generator_type("g")
            f = function([variable], R.random_integers(variable, (400,), [-1], [2])[1])
            self.assertEqual(sorted(set(f(make(1)).tolist())), [-1, 0, 1, 2])
        result = function([r], R.random_integers(r, (9,), 1, 6)[1])(np.random.RandomState(4))
        np.testing.assert_array_equal(result, np.random.RandomState(4).randint(1, 7, 9))
        most = 2**63 - 1
        g = function([r], R.random_integers(r, (3,), np.int64(most - 1), np.int64(most))[1])
        self.assertTrue((g(np.random.RandomState(1)) >= most - 1).all())

    def test_rounding_does_not_reach_the_upper_bound(self) -> None:
        class Near(np.random.RandomState):
            """Draws the largest double below the upper bound."""

            def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
                return np.full(size, np.nextafter(high, low))

        for dtype in ("float32", "float16"):
            op = RandomFunction("uniform", TensorType(dtype, (3,)), inplace=True)
            cells: list[list[Any]] = [[None], [None]]
            node = op.make_node(random_state_type("r"), [3], 0.0, 1.0)
            op.perform(node, [Near(1), np.array([3]), np.float64(0), np.float64(1)], cells)
            self.assertTrue((cells[1][0] < 1).all())
            self.assertEqual(cells[1][0].dtype, dtype)

    def test_probabilities_rounded_to_float32_are_accepted(self) -> None:
        r, p = random_state_type("r"), T.fvector("p")
        chances = np.full(7, 1 / 7, "float32") + np.float32(1e-7)
        _, counts = R.multinomial(r, (5,), 4, p)
        _, picks = R.choice(r, (5,), 7, True, p)
        result, picked = function([r, p], [counts, picks])(np.random.RandomState(1), chances)
        self.assertEqual(result.sum(), 20)
        self.assertTrue(((picked >= 0) & (picked < 7)).all())


class TestShapes(unittest.TestCase):
    def test_symbolic_sizes(self) -> None:
        r, x, n, v = random_state_type("r"), T.matrix("x"), T.lscalar("n"), T.lvector("v")
        sizes: list[tuple[Any, int | None, tuple[int | None, ...]]] = [
            (x.shape, None, (None, None)),
            ((n, 2), None, (None, 2)),
            ([x.shape[1], n], None, (None, None)),
            (n, None, (None,)),
            (v, 2, (None, None)),
            (np.array([3, 1]), None, (3, 1)),
            (T.constant([4, 5]), 2, (4, 5)),
        ]
        values = [(3, 4), (2, 2), (4, 2), (2,), (5, 1), (3, 1), (4, 5)]
        for (size, ndim, static), shape in zip(sizes, values, strict=True):
            with self.subTest(size=str(size)):
                _, sample = R.uniform(r, size, ndim=ndim)
                self.assertEqual(sample.type.shape, static)
                f = function([r, x, n, v], [sample, sample.shape], on_unused_input="ignore")
                result, lengths = f(np.random.RandomState(1), np.zeros((3, 4)), 2, [5, 1])
                self.assertEqual((result.shape, tuple(lengths)), (shape, shape))

    def test_shapes_are_known_without_drawing(self) -> None:
        r, x, n, p = random_state_type("r"), T.matrix("x"), T.lscalar("n"), T.vector("p")
        samples = {
            "uniform": R.uniform(r, (n, 3))[1],
            "by bounds": R.uniform(r, None, x, x[0])[1],
            "permutation": R.permutation(r, (n,), n)[1],
            "multinomial": R.multinomial(r, (n, 2), pvals=p)[1],
            "choice": R.choice(r, x.shape, 5)[1],
        }
        values = np.random.RandomState(1), np.zeros((4, 5)), 3, np.full(4, 0.25)
        for name, sample in samples.items():
            with self.subTest(name):
                inputs = [r, x, n, p]
                f = function(inputs, sample.shape, on_unused_input="ignore")
                self.assertFalse([node for node in f.maker.fgraph.apply_nodes if isinstance(node.op, RandomFunction)])
                drawn = function(inputs, sample, on_unused_input="ignore")(*values)
                self.assertEqual(tuple(f(*values)), drawn.shape)

    def test_shapes_through_ops_that_hold_graphs_with_states(self) -> None:
        r, x = random_state_type("r"), T.dvector("x")
        after, draw = R.uniform(r, x.shape)
        scaled, new_state = OpFromGraph([r, x], [x * draw, after])(r, x)
        f = function([r, x], scaled.shape)
        self.assertFalse([node for node in f.maker.fgraph.apply_nodes if isinstance(node.op, OpFromGraph)])
        self.assertEqual(f(np.random.RandomState(1), [1.0, 2.0]).tolist(), [2])
        moved = function([r, x], new_state)(np.random.RandomState(1), [1.0, 2.0])
        self.assertFalse(random_state_type.values_eq(moved, np.random.RandomState(1)))

    def test_lengths_that_only_the_draw_knows_are_taken_from_it(self) -> None:
        r = random_state_type("r")
        odd = RandomFunction(lambda state, size: state.uniform(size=(3, 2)), T.dmatrix, ndim_added=2)
        sample = odd.make_node(r, None).outputs[1]
        f = function([r], T.shape(sample)[0])
        self.assertTrue([node for node in f.maker.fgraph.apply_nodes if isinstance(node.op, (ShapeI, RandomFunction))])
        self.assertEqual(f(np.random.RandomState(1)), 3)


class TestOp(unittest.TestCase):
    def test_names_equality_and_pickles(self) -> None:
        op = RandomFunction("uniform", T.dvector)
        self.assertEqual(str(op), "RandomFunction{uniform}")
        self.assertEqual(str(RandomFunction(R.permutation_helper, T.lmatrix)), "RandomFunction{permutation_helper}")
        self.assertEqual(op, RandomFunction("uniform", T.dvector))
        self.assertNotEqual(op, RandomFunction("normal", T.dvector))
        self.assertNotEqual(op, RandomFunction("uniform", T.dvector, inplace=True))
        again = pickle.loads(pickle.dumps(RandomFunction("uniform", T.dvector, inplace=True)))
        self.assertEqual((again, again.destroy_map), (RandomFunction("uniform", T.dvector, True), {0: [0]}))

    def test_the_outputs_are_the_new_state_and_the_draw(self) -> None:
        state, draw = RandomFunction("normal", T.dvector)(random_state_type("r"), [3], 0.0, 1.0)
        self.assertEqual((state.type, draw.type), (random_state_type, T.dvector))

    def test_a_state_that_is_moved_in_place(self) -> None:
        for mode in MODES:
            r = random_state_type("r")
            new, draw = RandomFunction("uniform", T.dvector, inplace=True)(r, [2], 0.0, 1.0)
            state = np.random.RandomState(3)
            result, moved = function([r], [draw, new], accept_inplace=True, mode=mode)(state)
            np.testing.assert_array_equal(result, np.random.RandomState(3).uniform(size=2))
            after = np.random.RandomState(3)
            after.uniform(size=2)
            # Who accepts work in place gives the state away.
            self.assertTrue(random_state_type.values_eq(state, after))
            self.assertTrue(random_state_type.values_eq(moved, after))

    def test_rewriting_moves_states_in_place_that_nobody_else_sees(self) -> None:
        r = random_state_type("r")
        middle, first = R.uniform(r, (2,))
        after, second = R.normal(middle, (2,))
        f = function([r], [first, second, after])
        ops = {node.op.name: node.op.inplace for node in f.maker.fgraph.apply_nodes if hasattr(node.op, "inplace")}
        self.assertEqual(ops, {"uniform": False, "normal": True})
        state, other = np.random.RandomState(3), np.random.RandomState(3)
        for item, expected in zip(f(state)[:2], (other.uniform(size=2), other.normal(size=2)), strict=True):
            np.testing.assert_array_equal(item, expected)

    def test_the_rewrite_can_be_left_out_by_either_name(self) -> None:
        r = random_state_type("r")
        after = R.normal(R.uniform(r, (2,))[0], (2,))[0]
        for name in ("random_make_inplace", "inplace_random"):
            f = function([r], after, mode=get_default_mode().excluding(name))
            self.assertFalse(any(getattr(node.op, "inplace", False) for node in f.maker.fgraph.apply_nodes))

    def test_a_state_that_a_function_keeps_and_may_overwrite_is_moved_itself(self) -> None:
        r, state, other = random_state_type("r"), np.random.RandomState(3), np.random.RandomState(3)
        new, draw = R.uniform(r, (4,))
        f = function([In(r, value=state, update=new, mutable=True)], draw)
        for _ in range(3):
            np.testing.assert_array_equal(f(), other.uniform(size=4))
            self.assertIs(f[r], state)

    def test_a_state_that_is_read_twice_is_not_moved(self) -> None:
        r = random_state_type("r")
        middle, _ = R.uniform(r, (2,))
        second, third = R.normal(middle, (2,))[1], R.uniform(middle, (2,))[1]
        result = function([r], [second, third])(np.random.RandomState(3))
        other = np.random.RandomState(3)
        other.uniform(size=2)
        np.testing.assert_array_equal(result[0], copy_state(other).normal(size=2))
        np.testing.assert_array_equal(result[1], other.uniform(size=2))

    def test_updates_of_a_shared_state(self) -> None:
        rng = shared(np.random.RandomState(6))
        new, draw = R.uniform(rng, ())
        f = function([], draw, updates=[(rng, new)])
        other = np.random.RandomState(6)
        self.assertEqual([float(f()) for _ in range(3)], [other.uniform() for _ in range(3)])

    def test_a_call_that_fails_leaves_the_shared_state(self) -> None:
        rng, n = shared(np.random.RandomState(6)), T.lscalar("n")
        new, draw = R.uniform(rng, (2,))
        f = function([n], R.permutation(new, n=n)[1].sum() + draw.sum(), updates=[(rng, new)])
        with self.assertRaises(ValueError):
            f(-1)
        self.assertTrue(random_state_type.values_eq(rng.get_value(), np.random.RandomState(6)))

    def test_functions_of_ones_own_draw(self) -> None:
        r = random_state_type("r")
        op = RandomFunction(_triangular, T.dvector)
        draw = op.make_node(r, [4], 0.0, 0.5, 1.0).outputs[1]
        expected = np.random.RandomState(2).triangular(0, 0.5, 1, 4)
        np.testing.assert_array_equal(function([r], draw)(np.random.RandomState(2)), expected)


def _triangular(state: Any, left: Any, mode: Any, right: Any, size: Any) -> Any:
    return state.triangular(left, mode, right, size)


class TestGradients(unittest.TestCase):
    def test_parameters_have_no_gradient(self) -> None:
        low = T.dscalar("low")
        _, draw = R.uniform(shared(np.random.RandomState(1)), (3,), low, 1.0)
        with self.assertRaises(GradUndefinedError) as caught:
            grad(draw.sum(), low)
        self.assertIn("not defined", str(caught.exception))

    def test_size_is_disconnected(self) -> None:
        n = T.dscalar("n")
        _, draw = R.normal(shared(np.random.RandomState(1)), (T.cast(n, "int64"),))
        with self.assertRaises(DisconnectedInputError):
            grad(draw.sum(), n)

    def test_forward_derivatives(self) -> None:
        low, x, v = T.dscalar("low"), T.dvector("x"), T.dvector("v")
        _, draw = R.uniform(shared(np.random.RandomState(1)), (3,), low, 2.0)
        with self.assertRaises(GradUndefinedError):
            Rop(draw, low, T.dscalar("w"))
        _, draw = R.uniform(shared(np.random.RandomState(1)), x.shape)
        result = function([x, v], Rop(draw * x, x, v))([1.0, 2.0], [1.0, 3.0])
        np.testing.assert_array_equal(result, np.random.RandomState(1).uniform(size=2) * [1, 3])

    def test_draws_are_constants_for_what_they_are_multiplied_by(self) -> None:
        x = T.dvector("x")
        _, draw = R.binomial(shared(np.random.RandomState(1)), x.shape, 1, 0.5)
        f = function([x], [grad((x * draw).sum(), x), draw])
        slope, mask = f(np.arange(5.0))
        np.testing.assert_array_equal(slope, mask)


class TestBadInput(unittest.TestCase):
    def check(self, error: type[Exception], words: str, call: Callable[[], Any]) -> None:
        with self.assertRaises(error) as caught:
            call()
        text = str(caught.exception)
        self.assertIn(words, text)

    def test_sizes(self) -> None:
        r, v = random_state_type("r"), T.lvector("v")
        self.check(ShapeError, "ndim=2", lambda: R.uniform(r, v))
        self.check(ShapeError, "negative", lambda: R.uniform(r, (2, -2)))
        self.check(ShapeError, "negative", lambda: R.uniform(r, T.constant([-1])))
        self.check(ShapeError, "-1 stands for in dimension 1", lambda: R.uniform(r, (2, -1)))
        self.check(TypeError, "ndim=2", lambda: R.poisson(r, None, ndim=2))
        self.check(ShapeError, "ndim=3, but size has 2 dimensions", lambda: R.uniform(r, (2, 3), ndim=3))
        self.check(ShapeError, "no number of dimensions", lambda: R.uniform(r, v, ndim=-1))
        self.check(ShapeError, "a parameter has 2 dimensions", lambda: R.uniform(r, (2,), LOW))
        self.check(ShapeError, "length 2 where `size` says 1", lambda: R.uniform(r, (1,), [1.0, 2.0]))
        self.check(ShapeError, "do not fit together", lambda: R.uniform(r, None, [1.0, 2.0], [1.0, 2.0, 3.0]))
        self.check(DTypeError, "is no size", lambda: R.uniform(r, "ab"))
        self.check(DTypeError, "integer", lambda: R.uniform(r, (1.5,)))
        self.check(DTypeError, "no integers", lambda: R.uniform(r, T.dvector("w"), ndim=1))

    def test_states(self) -> None:
        self.check(TypeError, "random state", lambda: R.uniform(np.random.RandomState(1), (2,)))  # type: ignore[arg-type]
        self.check(TypeError, "random state", lambda: R.uniform(T.vector("x"), (2,)))

    def test_ops(self) -> None:
        r = random_state_type("r")
        self.check(TypeError, "neither a function", lambda: RandomFunction("no_such", T.dvector))
        self.check(TypeError, "no TensorType", lambda: RandomFunction("uniform", random_state_type))  # type: ignore[arg-type]  # on purpose
        self.check(ShapeError, "2 lengths", lambda: RandomFunction("uniform", T.dvector)(r, [1, 2], 0.0, 1.0))
        self.check(ShapeError, "vector", lambda: RandomFunction("uniform", T.dvector)(r, 3, 0.0, 1.0))
        self.check(DTypeError, "integers", lambda: RandomFunction("uniform", T.dvector)(r, [1.5], 0.0, 1.0))

    def test_parameters(self) -> None:
        r = random_state_type("r")
        self.check(DTypeError, "integer", lambda: R.binomial(r, (2,), 1.5))
        self.check(DTypeError, "integer", lambda: R.random_integers(r, (2,), 0.5))
        self.check(DTypeError, "integer", lambda: R.choice(r, (2,), 1.5))
        self.check(DTypeError, "integer", lambda: R.permutation(r, (2,), 1.5))
        self.check(ShapeError, "scalar or a vector", lambda: R.choice(r, (2,), LOW))
        self.check(ShapeError, "vector", lambda: R.choice(r, (2,), 2, True, LOW))
        self.check(ShapeError, "scalar", lambda: R.permutation(r, (2,), [1, 2]))
        self.check(TypeError, "one permutation has one", lambda: R.permutation(r, None, 4, ndim=2))
        self.check(ShapeError, "size has 0", lambda: R.normal(r, (), ndim=2))
        self.check(ShapeError, "scalar", lambda: R.multinomial(r, (2,), 1, 0.5))

    def test_what_only_the_values_tell(self) -> None:
        r, x = random_state_type("r"), T.vector("x")
        f = function([r, x], RandomFunction("uniform", T.dmatrix).make_node(r, None, x, 1.0).outputs[1])
        self.check(ShapeError, "1 dimensions, 2 were announced", lambda: f(np.random.RandomState(1), [0.5]))
        n = T.lscalar("n")
        g = function([r, n], R.random_integers(r, (2,), n, 3)[1])
        self.check(ValueError, "lower bound is above", lambda: g(np.random.RandomState(1), 4))
        h = function([r, n], R.uniform(r, (n,))[1])
        with self.assertRaises(ValueError):
            h(np.random.RandomState(1), -3)

    def test_a_graph_of_draws_can_be_copied(self) -> None:
        r = random_state_type("r")
        fgraph = FunctionGraph([r], [R.uniform(r, (2,))[1]])
        self.assertEqual(str(fgraph.outputs[0].owner.op), "RandomFunction{uniform}")
