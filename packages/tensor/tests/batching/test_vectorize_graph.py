"""Graphs are applied to batches."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Apply, Op, batch_rule, config
from theano_linker_c import function
from theano_tensor import linalg
from theano_tensor.batching import BatchError, vectorize_graph
from theano_tensor.builders import OpFromGraph
from theano_tensor.control import ifelse
from theano_tensor.nnet.convolution import conv2d
from theano_tensor.signal.pool import pool_2d
from theano_testing.tensor import fetch_seed

RNG = np.random.RandomState(fetch_seed())


def check_batch(
    expression: Callable[..., Any],
    *shapes: Sequence[int],
    stacked: Sequence[bool] | None = None,
    entries: int = 3,
    static: bool = False,
) -> None:
    """Compare an expression on a batch with a loop of Python over its entries."""
    flags = [True] * len(shapes) if stacked is None else stacked
    dtype, front = "float64", entries if static else None
    variables = [tt.tensor(dtype, shape=(None,) * len(shape)) for shape in shapes]
    batches = [
        tt.tensor(dtype, shape=(*[front] * flag, *[None] * len(shape)))
        for shape, flag in zip(shapes, flags, strict=True)
    ]
    result = expression(*variables)
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    values = [
        np.asarray(RNG.uniform(0.1, 1, (*[entries] * flag, *shape))) for shape, flag in zip(shapes, flags, strict=True)
    ]
    results = vectorize_graph(outputs, dict(zip(variables, batches, strict=True)))
    batch = function(batches, results)(*values)
    single = function(variables, outputs)
    rows = [single(*(v[i] if flag else v for v, flag in zip(values, flags, strict=True))) for i in range(entries)]
    for k, value in enumerate(batch):
        if results[k].ndim == outputs[k].ndim:  # it depends on nothing that is stacked
            np.testing.assert_allclose(value, rows[0][k])
            continue
        expected = np.array([row[k] for row in rows]).reshape(len(rows), *value.shape[1:])
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)


class Cubed(Op):
    """An op without a rule for batches: the cube, of a vector."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [tt.as_tensor_variable(x)], [tt.as_tensor_variable(x).type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any, params: Any = None) -> None:
        assert inputs[0].ndim == 1
        output_storage[0][0] = inputs[0] ** 3

    def grad(self, inputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [3 * inputs[0] ** 2 * output_gradients[0]]


class Tripled(Cubed):
    """Another one, with a rule whose result does not fit."""


@batch_rule.register(Tripled)
def _batch(node: Any, inputs: Any, stacked: Any) -> list[Any]:
    return [inputs[0].sum()]


class TestValues(unittest.TestCase):
    def test_elementwise_and_reductions(self) -> None:
        check_batch(lambda x: tt.tanh(x).sum(), (4,))
        check_batch(lambda x, y: (x * y + 1).sum(axis=0) + x.shape[0], (4, 2), (4, 2), stacked=[True, False])
        check_batch(lambda x, y: [x.max(axis=-1) - y, x.argmax(), x.prod(axis=(0, 1))], (2, 3), ())

    def test_shapes(self) -> None:
        check_batch(lambda x: x.reshape((2, -1)).T.argmax(axis=1), (4,))
        check_batch(lambda x: x.reshape((x.shape[0] // 2, 2)), (4,))
        check_batch(lambda x: x.flatten(), (4, 2))
        check_batch(lambda x: tt.alloc(x, 2, 3), ())
        check_batch(lambda x: x.shape, (4, 2))

    def test_joining(self) -> None:
        check_batch(lambda x: tt.concatenate([x, x * 2]), (4,))
        check_batch(lambda x, y: tt.stack([x, y], axis=-1), (4,), (4,), stacked=[False, True])
        check_batch(lambda x, y: tt.stack([x, y, 1.0]), (), (), stacked=[True, False])

    def test_sorting_and_accumulation(self) -> None:
        check_batch(lambda x: [tt.sort(x), tt.argsort(x), tt.cumsum(x), tt.cumprod(x, axis=0)], (4,))
        check_batch(lambda x: tt.topk_and_argtopk(x, 2), (4,))

    def test_no_entries(self) -> None:
        check_batch(lambda x: [x.sum(), tt.concatenate([x, x]), x.reshape((2, -1)), x.shape], (4,), entries=0)

    def test_gradients(self) -> None:
        check_batch(lambda x: tt.grad(tt.tanh(x).sum() ** 2, x), (4,))
        check_batch(lambda x: tt.grad(tt.cumprod(x)[-1], x), (4,))


class TestDimensions(unittest.TestCase):
    def test_several_dimensions_broadcast(self) -> None:
        x, y, xs, ys = tt.dvector("x"), tt.dscalar("y"), tt.dmatrix("xs"), tt.dmatrix("ys")
        products = vectorize_graph((x * y).sum(), {x: xs, y: ys})
        self.assertEqual(products.ndim, 2)
        values = RNG.randn(3, 4), RNG.randn(2, 3)
        np.testing.assert_allclose(
            products.eval(dict(zip([xs, ys], values, strict=True))), values[1] * values[0].sum(1)
        )

    def test_declared_length_1_broadcasts(self) -> None:
        x, y = tt.dvector("x"), tt.dvector("y")
        xs, ys = tt.tensor("float64", shape=(1, None)), tt.tensor("float64", shape=(None, None))
        outputs = vectorize_graph([x + y, x * 2, x.shape[0]], {x: xs, y: ys})
        values = RNG.randn(1, 4), RNG.randn(3, 4)
        both, double, length = function([xs, ys], outputs)(*values)
        np.testing.assert_allclose(both, values[0] + values[1])
        np.testing.assert_allclose(double, values[0] * 2)
        np.testing.assert_array_equal(length, [4])

    def test_unknown_length_1_does_not_broadcast(self) -> None:
        x, y, xs, ys = tt.dscalar(), tt.dscalar(), tt.dvector(), tt.dvector()
        f = function([xs, ys], vectorize_graph(x + y, {x: xs, y: ys}))
        with self.assertRaises(ValueError):
            f([1.0], [1.0, 2.0])

    def test_lengths_that_only_the_batch_declares_do_not_broadcast(self) -> None:
        x, y, xs = tt.dvector(), tt.dvector(), tt.tensor("float64", shape=(None, 1))
        f = function([xs, y], vectorize_graph(x + y, {x: xs}))
        with self.assertRaises(ValueError):
            f([[1.0]], [1.0, 2.0])

    def test_independent_outputs_stay(self) -> None:
        x, y, xs = tt.dvector(), tt.dvector(), tt.dmatrix()
        z = tt.exp(y)
        outputs = vectorize_graph([x + 1, z], {x: xs})
        self.assertIs(outputs[1], z)

    def test_batch_computed_from_the_variable(self) -> None:
        x = tt.dvector("x")
        outer = vectorize_graph((x**2).sum(), {x: tt.stack([x, 2 * x])})
        np.testing.assert_allclose(outer.eval({x: [1.0, 2.0]}), [5.0, 20.0])

    def test_replacement_without_batch(self) -> None:
        x, y, ys = tt.dscalar(), tt.dscalar(), tt.dvector()
        result = vectorize_graph(x * y, {x: y, y: ys})
        np.testing.assert_allclose(result.eval({y: 2.0, ys: [3.0, 4.0]}), [6.0, 8.0])


class TestLoop(unittest.TestCase):
    def test_op_without_a_rule(self) -> None:
        x, xs = tt.dvector("x"), tt.dmatrix("xs")

        class Fresh(Cubed):
            pass

        with self.assertWarnsRegex(UserWarning, "Fresh.*batch_rule"):
            cubes = vectorize_graph(Fresh()(x), {x: xs})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            vectorize_graph(Fresh()(x), {x: xs})
        values = RNG.randn(3, 4)
        np.testing.assert_allclose(cubes.eval({xs: values}), values**3)
        self.assertEqual(cubes.eval({xs: values[:0]}).shape, (0, 4))
        slope = tt.grad(cubes.sum(), xs)
        np.testing.assert_allclose(slope.eval({xs: values}), 3 * values**2)
        tangent = tt.Rop(cubes, xs, tt.ones_like(xs))
        np.testing.assert_allclose(tangent.eval({xs: values}), 3 * values**2)


class TestConvolutions(unittest.TestCase):
    def test_values_and_gradients(self) -> None:
        def expression(x: Any, w: Any) -> list[Any]:
            y = conv2d(x, w, border_mode="half", subsample=(1, 2))
            return [y, *tt.grad((y**2).sum(), [x, w])]

        for stacked in ([True, True], [True, False], [False, True]):
            with self.subTest(stacked):
                check_batch(expression, (2, 3, 5, 5), (4, 3, 3, 3), stacked=stacked)
                check_batch(expression, (2, 3, 5, 5), (4, 3, 3, 3), stacked=stacked, static=True)

    def test_groups(self) -> None:
        def expression(x: Any, w: Any) -> list[Any]:
            y = conv2d(x, w, num_groups=2)
            return [y, *tt.grad((y**2).sum(), [x, w])]

        for stacked in ([True, True], [True, False], [False, True]):
            with self.subTest(stacked):
                check_batch(expression, (2, 4, 5, 5), (6, 2, 3, 3), stacked=stacked, static=True)

    def test_known_lengths_leave_no_loop(self) -> None:
        x, w = (tt.tensor("float64", shape=(None,) * 4) for _ in range(2))
        xs, ws = (tt.tensor("float64", shape=(3, None, None, None, None)) for _ in range(2))
        result = vectorize_graph(conv2d(x, w), {x: xs, w: ws})
        ops = {
            type(node.op).__name__ for node in function([xs, ws], result, mode="FAST_COMPILE").maker.fgraph.toposort()
        }
        self.assertNotIn("MapRows", ops)


class TestClosed(unittest.TestCase):
    """Results can be differentiated, and vectorized again."""

    def test_loops_in_loops(self) -> None:
        x, xs, stack = tt.dvector(), tt.dmatrix(), tt.dtensor3()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            twice = vectorize_graph(vectorize_graph(Cubed()(x), {x: xs}), {xs: stack})
            slope = vectorize_graph(tt.grad(vectorize_graph(Cubed()(x), {x: xs}).sum(), xs), {xs: stack})
        value = RNG.randn(2, 3, 4)
        tangent = tt.Rop(twice, stack, tt.ones_like(stack))
        results = function([stack], [twice, slope, tt.grad(twice.sum(), stack), tangent])(value)
        np.testing.assert_allclose(results[0], value**3)
        for result in results[1:]:
            np.testing.assert_allclose(result, 3 * value**2)


class TestTestValues(unittest.TestCase):
    def test_they_are_those_of_the_batch(self) -> None:
        with config.change_flags(compute_test_value="raise"):
            x, xs = tt.dvector("x"), tt.dtensor3("xs")
            x.tag.test_value, xs.tag.test_value = np.ones(3), np.arange(12.0).reshape(2, 2, 3)
            result = vectorize_graph(Cubed()(x).sum() + tt.jacobian(x**2, x).sum(), {x: xs})
            expected = (xs.tag.test_value**3 + 2 * xs.tag.test_value).sum(2)
            np.testing.assert_allclose(result.tag.test_value, expected)
            mapped = tt.vmap(lambda v: tt.tanh(v).sum(), 1)(xs)
            self.assertEqual(mapped.tag.test_value.shape, (2,))


class TestErrors(unittest.TestCase):
    def test_batches_that_do_not_fit(self) -> None:
        x = tt.dmatrix("x")
        with self.assertRaisesRegex(BatchError, "at least 2 dimensions"):
            vectorize_graph(x, {x: tt.dvector()})
        with self.assertRaisesRegex(BatchError, "T.cast"):
            vectorize_graph(x, {x: tt.ztensor3()})
        with self.assertRaisesRegex(BatchError, "no tensor variable"):
            vectorize_graph(x, {3: x})

    def test_wrong_rule(self) -> None:
        x = tt.dvector("x")
        with self.assertRaisesRegex(BatchError, "Tripled.*batch_rule"):
            vectorize_graph(Tripled()(x), {x: tt.dmatrix()})


def _part_of_row(x: Any, i: Any) -> list[Any]:
    k = tt.cast(i * 3, "int64")
    return [x[k], x[:, k], x[k, 1:], x[0, k], tt.set_subtensor(x[k], 2), tt.inc_subtensor(x[:, k], x[:, 0])]


class TestIndexing(unittest.TestCase):
    flags = ([True, True], [True, False], [False, True])

    def test_numbers(self) -> None:
        for stacked in self.flags:
            with self.subTest(stacked=stacked):
                check_batch(_part_of_row, (3, 3), (), stacked=stacked)

    def test_arrays(self) -> None:
        def parts(x: Any, i: Any) -> list[Any]:
            k = tt.cast(i * 3, "int64")
            reads = [x[k], x[:, k], x[k, k], x[k, :, k[0]], x[:, [0, 1]], x[[0, 1], :, [0, 1]], x[0, :, k]]
            changes = [tt.inc_subtensor(read, read * 2) for read in reads]
            return [*reads, *changes, tt.set_subtensor(x[:, k], 3), tt.set_subtensor(x[k], x[0])]

        for stacked in self.flags:
            with self.subTest(stacked=stacked):
                check_batch(parts, (3, 3, 3), (2,), stacked=stacked)

    def test_bounds_beside_arrays(self) -> None:
        def parts(x: Any, s: Any) -> list[Any]:
            i = tt.cast(s * 2, "int64")
            reads = [x[i : i + 2], x[[0, 2], i : i + 2], x[np.array([True, False, True]), i : i + 2]]
            return [*reads, *(tt.inc_subtensor(read, read * 2) for read in reads)]

        for stacked in self.flags:
            with self.subTest(stacked=stacked):
                check_batch(parts, (3, 4), (), stacked=stacked)

    def test_masks(self) -> None:
        check_batch(lambda x: [x[np.array([True, False, True])], tt.set_subtensor(x[x > 0.5], 0)], (3,))
        check_batch(lambda x, y: tt.inc_subtensor(x[y > 0.5], 1), (3,), (3,), stacked=[True, False])

    def test_gradients(self) -> None:
        check_batch(lambda x, i: tt.grad((x[tt.cast(i * 3, "int64")] ** 2).sum(), x), (3, 2), (2,))


class TestProducts(unittest.TestCase):
    def test_dot(self) -> None:
        for left in ((3,), (2, 3)):
            for right in ((3,), (3, 4)):
                for stacked in ([True, True], [True, False], [False, True]):
                    with self.subTest(left=left, right=right, stacked=stacked):
                        check_batch(tt.dot, left, right, stacked=stacked)

    def test_batched_dot(self) -> None:
        for stacked in ([True, True], [True, False], [False, True]):
            check_batch(tt.batched_dot, (2, 3, 4), (2, 4, 5), stacked=stacked)

    def test_one_large_product(self) -> None:
        x, y, ys = tt.dmatrix(), tt.dmatrix(), tt.dtensor3()
        result = vectorize_graph(tt.dot(x, y), {y: ys})
        ops = [type(node.op).__name__ for node in function([x, ys], result).maker.fgraph.toposort()]
        self.assertNotIn("BatchedDot", ops)

    def test_linear_algebra(self) -> None:
        def spd(x: Any) -> Any:
            return tt.dot(x, x.T) + tt.eye(3)

        for stacked in ([True, True], [True, False], [False, True]):
            check_batch(lambda x, y: linalg.solve(spd(x), y), (3, 3), (3,), stacked=stacked)
            check_batch(lambda x, y: linalg.solve(spd(x), y), (3, 3), (3, 2), stacked=stacked)
        check_batch(lambda x: [linalg.cholesky(spd(x)), linalg.det(x), linalg.matrix_inverse(spd(x))], (3, 3))
        check_batch(lambda x: tt.grad(linalg.det(spd(x)), x), (3, 3))


class TestGraphOps(unittest.TestCase):
    def test_jacobian(self) -> None:
        check_batch(lambda x, y: tt.jacobian(tt.tanh(x) * y.sum(), x), (3,), (2,))
        check_batch(lambda x, y: tt.jacobian(tt.tanh(x) * y.sum(), x), (3,), (2,), stacked=[False, True])
        check_batch(lambda x: tt.grad(tt.jacobian(tt.tanh(x), x).sum(), x), (3,))

    def test_op_from_graph(self) -> None:
        def graph(x: Any, y: Any) -> list[Any]:
            a, b = x.type(), y.type()
            results = OpFromGraph([a, b], [a * b + 1, tt.exp(b)])(x, y)
            return [*results, tt.grad(results[0].sum(), x)]

        check_batch(graph, (3,), (3,))
        check_batch(graph, (3,), (3,), stacked=[True, False])

    def test_overridden_gradient(self) -> None:
        def graph(x: Any) -> Any:
            a = x.type()
            op = OpFromGraph([a], [a**2], grad_overrides=lambda inputs, grads: [grads[0] * 7])
            return tt.grad(op(x).sum(), x)

        check_batch(graph, (3,))

    def test_ifelse(self) -> None:
        def graph(x: Any, y: Any) -> Any:
            return ifelse(tt.gt(y, 0.5), x * 2, x.zeros_like())

        for stacked in ([True, True], [True, False], [False, True]):
            check_batch(graph, (3,), (), stacked=stacked)


class TestRandom(unittest.TestCase):
    def test_one_draw_for_each_entry(self) -> None:
        streams = tt.random.RandomStreams(3)
        mean, means = tt.dscalar(), tt.dvector()
        for size in ((), (1000,)):
            draw = vectorize_graph(streams.normal(size=size, avg=mean, std=0.01), {mean: means})
            value = function([means], draw)(np.arange(5.0))
            self.assertEqual(value.shape, (5, *size))
            np.testing.assert_allclose(value.reshape(5, -1).mean(1), np.arange(5.0), atol=0.1)
            self.assertEqual(len(set(np.asarray(value - value.round()).ravel())), value.size)


class TestLayers(unittest.TestCase):
    def test_softmax_and_pooling(self) -> None:
        check_batch(lambda x: [tt.nnet.softmax(x), tt.nnet.logsoftmax(x), tt.nnet.Softmax(0)(x)], (2, 3))
        check_batch(lambda x: pool_2d(x, (2, 2), ignore_border=True), (2, 4, 4))
        check_batch(lambda x: tt.grad(pool_2d(x, (2, 2), ignore_border=True).sum(), x), (2, 4, 4))
        check_batch(
            lambda x: tt.grad((pool_2d(x, (2, 2), ignore_border=True, mode="average_exc_pad") ** 2).sum(), x), (4, 4)
        )
