"""Lengths that a program compares are compared after any rewriting; others are not compared again."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Variable
from theano_linker_c import function, shared
from theano_linker_c.modes import Mode
from theano_tensor.control import ifelse
from theano_tensor.shape import SameLengths
from theano_testing.tiers import each_value, slow

Expression = Callable[[Any, Any], Any]
PLAIN = Mode(linker="py", optimizer=None)

#: Expressions of tensors of one shape, of which rewriting leaves out an operand.
DROPPED: dict[str, Expression] = {
    "ones_like(y) * x": lambda x, y: tt.ones_like(y) * x,
    "zeros_like(y) + x": lambda x, y: tt.zeros_like(y) + x,
    "fill(y, 2) * x": lambda x, y: tt.fill(y, 2.0) * x,
    "fill(y, x)": lambda x, y: tt.fill(y, x),
    "fill(fill(y, 1), x)": lambda x, y: tt.fill(tt.fill(y, 1.0), x),
    "(x + y) - y": lambda x, y: (x + y) - y,
    "y - (x + y)": lambda x, y: y - (x + y),
    "x * y / y": lambda x, y: x * y / y,
    "x / (x * y)": lambda x, y: x / (x * y),
    "y / y * x": lambda x, y: y / y * x,
    "y**0 * x": lambda x, y: y**0 * x,
    "x**ones_like(y)": lambda x, y: x ** tt.ones_like(y),
    "switch(0, y, x)": lambda x, y: tt.switch(0, y, x),
    "switch(y > 0, x, x)": lambda x, y: tt.switch(y > 0, x, x),
    "0 * y + x": lambda x, y: 0 * y + x,
    "(x * y) * 0": lambda x, y: (x * y) * 0,
    "0 / y + x": lambda x, y: 0 / y + x,
    "exp(y - y) * x": lambda x, y: tt.exp(y - y) * x,
    "x * y - x * y": lambda x, y: x * y - x * y,
    "and": lambda x, y: tt.and_(tt.eq(x, x), tt.lt(y, y)),
    "or": lambda x, y: tt.or_(tt.ge(x, 1), tt.eq(y > 0, y > 0)),
    "x * (y < y)": lambda x, y: tt.lt(y, y) * x,
    "maximum(x, ones_like(y))": lambda x, y: tt.maximum(x, tt.ones_like(y)),
    "maximum(x * ones, x)": lambda x, y: tt.maximum(tt.ones_like(y) * x, x),
    "dot(x, zeros)": lambda x, y: tt.dot(x, tt.zeros_like(y).T),
    "dot(zeros, y)": lambda x, y: tt.dot(tt.zeros_like(x), y.T),
    "grad(sum(dot), x)": lambda x, y: tt.grad(tt.dot(x, y.T).sum(), x),
    "and(eq, 0)": lambda x, y: tt.and_(tt.eq(x, 1), tt.zeros_like(y, dtype="bool")),
    "minimum": lambda x, y: tt.minimum(tt.ones_like(y) * x, x),
    "x * y / abs(y)": lambda x, y: (x * y) / abs(y),
    "log(exp(x) * ones)": lambda x, y: tt.log(tt.exp(x) * tt.ones_like(y)),
    "clip": lambda x, y: tt.clip(x, tt.zeros_like(y), tt.ones_like(y)),
    "cast": lambda x, y: tt.cast(tt.zeros_like(y), "float32") + x,
    "alloc": lambda x, y: tt.alloc(1.0, *(y.shape[i] for i in range(y.ndim))) * x,
    "(x * zeros).sum()": lambda x, y: (x * tt.zeros_like(y)).sum(),
    "softplus": lambda x, y: tt.log(1 + tt.exp(x * tt.ones_like(y))),
    "shape(x + y)": lambda x, y: (x + y).shape,
    "grad(sum(x * y), x)": lambda x, y: tt.grad((x * y).sum(), x),
    "grad(sum(x + y), y)": lambda x, y: tt.grad((x + y).sum(), y),
    "grad(sum(sqr(x - y)), x)": lambda x, y: tt.grad(((x - y) ** 2).sum(), x),
    "grad(sum(switch), x)": lambda x, y: tt.grad(tt.switch(x > 0, y, x).sum(), x),
    "grad(sum(maximum), y)": lambda x, y: tt.grad(tt.maximum(x, y).sum(), y),
    "grad(mean(x * y), x)": lambda x, y: tt.grad((x * y).mean(), x),
    "grad(max(x + y), x)": lambda x, y: tt.grad((x + y).max(), x),
    "grad(sum(grad), x)": lambda x, y: tt.grad(tt.grad((x * x * y).sum(), x).sum(), x),
}
#: Views and parts between the operands and the expression, or after it.
FRAMES: dict[str, Callable[[Expression], Expression]] = {
    "as it is": lambda f: f,
    "summed": lambda f: lambda x, y: f(x, y).sum(),
    "summed over one axis": lambda f: lambda x, y: f(x, y).sum(axis=0),
    "transposed": lambda f: lambda x, y: f(x.T, y.T),
    "transposed after": lambda f: lambda x, y: f(x, y).T,
    "first rows": lambda f: lambda x, y: f(x[:2], y[:2]),
    "other rows": lambda f: lambda x, y: f(x[1:], y),
    "reversed": lambda f: lambda x, y: f(x[::-1], y),
    "a row": lambda f: lambda x, y: f(x, y)[0],
    "a new dimension": lambda f: lambda x, y: f(tt.shape_padright(x), tt.shape_padright(y)),
    "functions": lambda f: lambda x, y: tt.exp(f(tt.tanh(x), tt.exp(y))),
    "of reductions": lambda f: lambda x, y: f(x.sum(axis=-1), y.max(axis=-1)),
    "zeros": lambda f: lambda x, y: tt.zeros_like(f(x, y)),
    "a product": lambda f: lambda x, y: tt.dot(f(x, y), tt.ones((2, 4))),
    "reshaped": lambda f: lambda x, y: f(x.reshape(x.shape), y),
}
SHAPES: dict[int, list[tuple[tuple[int, ...], tuple[int, ...]]]] = {
    1: [((1,), (3,)), ((2,), (3,)), ((3,), (3,)), ((3,), (1,))],
    2: [((1, 2), (3, 2)), ((3, 2), (3, 2)), ((3, 1), (3, 2)), ((3, 2), (1, 2)), ((2, 2), (3, 2)), ((3, 2), (3, 4))],
    3: [((2, 1, 2), (2, 3, 2)), ((2, 3, 2), (2, 3, 2)), ((1, 3, 2), (2, 3, 2)), ((2, 3, 2), (2, 3, 1))],
}


def outcome(f: Callable[..., Any], *arguments: Any) -> np.ndarray | None:
    """Return the result of a function, or None for an error."""
    with np.errstate(all="ignore"):
        try:
            return np.asarray(f(*arguments))
        except (ValueError, AssertionError):
            return None


def operands(ndim: int) -> tuple[Any, Any]:
    kind = tt.TensorType("float64", (None,) * ndim)
    return kind.make_variable("x"), kind.make_variable("y")


def checks(f: Any) -> list[Any]:
    return [node for node in f.maker.fgraph.toposort() if isinstance(node.op, (SameLengths, tt.CheckAndRaise))]


def differences(ndim: int, frame: Callable[[Expression], Expression], build: Expression, mode: Any) -> Iterator[str]:
    """Yield the shapes for which a mode differs from the unrewritten program."""
    x, y = operands(ndim)
    try:
        out = frame(build)(x, y)
    except (TypeError, ValueError, AttributeError, IndexError):
        return  # there is no such expression
    written, f = (function([x, y], out, mode=m, on_unused_input="ignore") for m in (PLAIN, mode))
    rng = np.random.default_rng(1)
    for one, other in SHAPES[ndim]:
        arguments = rng.random(one) + 0.5, rng.random(other) + 0.5
        expected, result = outcome(written, *arguments), outcome(f, *arguments)
        if expected is None or result is None:
            if expected is not result:
                yield f"{one}, {other}: {'error' if result is None else result.shape}"
        elif expected.shape != result.shape or not np.allclose(expected, result, equal_nan=True):
            yield f"{one}, {other}: {expected} became {result}"


class TestDroppedOperands(unittest.TestCase):
    def check(self, mode: str, ndim: int, between: str, name: str) -> None:
        with self.subTest(mode=mode, ndim=ndim, between=between, expression=name):
            self.assertEqual(list(differences(ndim, FRAMES[between], DROPPED[name], mode)), [])

    @slow
    def test_alone(self) -> None:
        for mode, ndim, name in product(("FAST_RUN", "FAST_COMPILE"), (1, 2, 3), DROPPED):
            self.check(mode, ndim, "as it is", name)

    @slow
    def test_with_something_between(self) -> None:
        """Each expression in some frames; in the long form in all."""
        for (name, _), between in each_value(product(DROPPED, range(5)), FRAMES):
            self.check("FAST_RUN", 2, between, name)


class TestWhatIsChecked(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y = tt.dmatrices("x", "y")
        self.row, self.rows = np.full((1, 2), 4.0), np.ones((3, 2))

    def refuses(self, out: Any, mode: str | None = None) -> None:
        f = function([self.x, self.y], out, mode=mode, on_unused_input="ignore")
        f(self.rows, self.rows)
        with self.assertRaisesRegex(ValueError, "mis-match"):
            f(self.row, self.rows)

    def test_operand_that_is_gone(self) -> None:
        for name in ("ones_like(y) * x", "(x + y) - y", "x * y / y", "switch(0, y, x)", "y**0 * x"):
            with self.subTest(expression=name):
                self.refuses(DROPPED[name](self.x, self.y))

    def test_gradients(self) -> None:
        for out in ((self.x * self.y).sum(), (self.x + self.y).sum()):
            self.refuses(tt.grad(out, self.x))

    def test_value_of_a_fill_with_little_rewriting(self) -> None:
        self.refuses(tt.fill(self.y, self.x), "FAST_COMPILE")

    def test_result_without_operands(self) -> None:
        self.refuses((self.x * self.y) * 0)
        self.refuses((self.x * tt.zeros_like(self.y)).sum())

    def test_shape_alone(self) -> None:
        self.refuses((self.x + self.y).shape[0])

    def test_inner_product(self) -> None:
        v, u = tt.dvectors("v", "u")
        f = function([v, u], tt.grad(tt.dot(v, u), v))
        np.testing.assert_array_equal(f([1.0, 2.0], [3.0, 4.0]), [3.0, 4.0])
        with self.assertRaises(ValueError):
            f([1.0], [3.0, 4.0])

    def test_bias(self) -> None:
        x, b = tt.dmatrix("x"), tt.dvector("b")
        f = function([x, b], tt.grad((x + b).sum(), b))
        np.testing.assert_array_equal(f(np.ones((3, 2)), np.ones(2)), [3.0, 3.0])
        with self.assertRaises(ValueError):
            f(np.ones((3, 2)), np.ones(1))

    def test_error_names_the_line(self) -> None:
        f = function([self.x, self.y], tt.ones_like(self.y) * self.x)
        with self.assertRaises(ValueError) as caught:
            f(self.row, self.rows)
        self.assertIn("test_lengths_kept.py", str(caught.exception))
        self.assertIn("length 1", str(caught.exception))

    def test_result_is_no_view_of_the_argument(self) -> None:
        f = function([self.x, self.y], tt.ones_like(self.y) * self.x)
        self.assertFalse(np.shares_memory(f(self.rows, self.rows), self.rows))

    def test_update_in_place(self) -> None:
        weights = shared(np.ones((3, 2)))
        f = function([self.y], [], updates=[(weights, weights - tt.ones_like(self.y))])
        f(self.rows)
        np.testing.assert_array_equal(weights.get_value(), np.zeros((3, 2)))
        with self.assertRaises(ValueError):
            f(self.row)
        np.testing.assert_array_equal(weights.get_value(), np.zeros((3, 2)))


class TestBranches(unittest.TestCase):
    def setUp(self) -> None:
        self.c, (self.x, self.y) = tt.bscalar("c"), tt.dvectors("x", "y")
        self.out = ifelse(self.c, tt.exp(tt.ones_like(self.y) * self.x), self.x)

    def test_nothing_is_compared_where_the_branch_is_not_taken(self) -> None:
        f = function([self.c, self.x, self.y], self.out)
        np.testing.assert_array_equal(f(0, [1.0], [2.0, 3.0]), [1.0])

    def test_lengths_are_compared_in_the_branch(self) -> None:
        f = function([self.c, self.x, self.y], self.out)
        with self.assertRaises(ValueError):
            f(1, [1.0], [2.0, 3.0])

    def test_gradients_compare_in_the_branch(self) -> None:
        cost = ifelse(self.c, ((self.x + self.y) - self.y).sum(), (self.x * self.x).sum())
        f = function([self.c, self.x, self.y], tt.grad(cost, self.x))
        np.testing.assert_array_equal(f(0, [1.0], [2.0, 3.0]), [2.0])

    def test_nothing_is_chosen_for_a_check(self) -> None:
        chosen = ifelse(self.c, self.x, tt.zeros_like(self.x))
        f = function([self.c, self.x, self.y], tt.dot(self.y, chosen))
        names = [type(node.op).__name__ for node in f.maker.fgraph.apply_nodes]
        self.assertEqual((names.count("IfElse"), names.count("SameLengths"), names.count("CheckAndRaise")), (1, 0, 0))


class TestNoWorkComesBack(unittest.TestCase):
    """Nothing is computed for its length alone."""

    def test_values_that_only_a_check_would_need(self) -> None:
        x, y = tt.dvectors("x", "y")
        values = tt.unique(x)
        f = function([x, y], tt.zeros_like(values + y).shape[0] * 0, on_unused_input="ignore")
        self.assertNotIn("Unique", str([node.op for node in f.maker.fgraph.apply_nodes]))

    @slow
    def test_long_chains(self) -> None:
        x, y = tt.dvectors("x", "y")
        steps: tuple[Callable[[Any], Any], ...] = (lambda v: v[1:], lambda v: (v + y) - y)
        for step in steps:
            v: Any = x
            for _ in range(600):
                v = step(v)
            for out in (v, tt.grad(v.sum(), x)):
                function([x, y], out, on_unused_input="ignore")

    def test_beginnings_of_beginnings(self) -> None:
        x, y, n = tt.dvector("x"), tt.dvector("y"), tt.lscalar("n")
        v: Any = x
        for _ in range(30):
            v = (v[:n] + y[:n]) * 0
        f = function([x, y, n], v)
        np.testing.assert_array_equal(f(np.ones(3), np.ones(3), 2), [0.0, 0.0])
        with self.assertRaises(ValueError):
            f(np.ones(3), np.ones(1), 2)


class TestNothingMore(unittest.TestCase):
    """A node that compares the same lengths anyway makes a check needless."""

    def assert_no_checks(self, inputs: list[Variable], outputs: Any, **options: Any) -> None:
        self.assertEqual(checks(function(inputs, outputs, **options)), [])

    def test_value_is_computed_as_well(self) -> None:
        x, y = tt.dmatrices("x", "y")
        out = (x * y).sum()
        self.assert_no_checks([x, y], [out, *tt.grad(out, [x, y])])

    def test_operands_of_one_shape(self) -> None:
        x = tt.dmatrix("x")
        self.assert_no_checks([x], (x + tt.exp(x)) - x)
        self.assert_no_checks([x], tt.ones_like(x.T) * x.T + x[:, ::1].T)

    def test_classes_that_pick_numbers(self) -> None:
        x, t, w = tt.dmatrix("x"), tt.ivector("t"), shared(np.ones((4, 3)))
        log_p = tt.log(tt.nnet.softmax(x.dot(w)))
        cost = -log_p[tt.arange(x.shape[0]), t].mean()
        self.assert_no_checks([x, t], [], updates=[(w, w - tt.grad(cost, w))])

    def test_what_rules_compare(self) -> None:
        x, t, w, b = tt.dmatrix("x"), tt.ivector("t"), shared(np.ones((4, 3))), shared(np.ones(3))
        p = tt.nnet.softmax(x.dot(w) + b)
        cost = -tt.log(p)[tt.arange(t.shape[0]), t].mean()
        self.assert_no_checks([x, t], [], updates=[(v, v - tt.grad(cost, v)) for v in (w, b)])

    def test_known_lengths(self) -> None:
        x, y = (tt.TensorType("float64", (3,)).make_variable() for _ in range(2))
        self.assert_no_checks([x, y], (x + y) - y)

    def test_training_of_a_perceptron(self) -> None:
        x, t = tt.dmatrix("x"), tt.dmatrix("t")
        sizes = [4, 5, 3]
        weights = [shared(np.ones((n, m))) for n, m in pairwise(sizes)]
        biases = [shared(np.ones(n)) for n in sizes[1:]]
        hidden = tt.tanh(x.dot(weights[0]) + biases[0])
        cost = ((hidden.dot(weights[1]) + biases[1] - t) ** 2).mean()
        parameters = [*weights, *biases]
        updates = [(p, p - 0.1 * g) for p, g in zip(parameters, tt.grad(cost, parameters), strict=True)]
        self.assert_no_checks([x, t], [cost], updates=updates)
        self.assert_no_checks([x, t], [], updates=updates)

    def test_loops_are_joined_as_without_a_check(self) -> None:
        x, y = tt.dvectors("x", "y")
        f = function([x, y], tt.exp(tt.tanh(tt.ones_like(y) * x) + 1))
        self.assertEqual(sum(isinstance(node.op, tt.Elemwise) for node in f.maker.fgraph.apply_nodes), 1)
