"""Graphs are applied to batches."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Apply, Op, batch_rule
from theano_linker_c import function
from theano_tensor.batching import BatchError, vectorize_graph
from theano_testing.tensor import fetch_seed

RNG = np.random.RandomState(fetch_seed())


def check_batch(
    expression: Callable[..., Any],
    *shapes: Sequence[int],
    stacked: Sequence[bool] | None = None,
    entries: int = 3,
    dtype: str = "float64",
) -> None:
    """Compare an expression on a batch with a loop of Python over its entries."""
    flags = [True] * len(shapes) if stacked is None else stacked
    variables = [tt.tensor(dtype, (None,) * len(shape)) for shape in shapes]
    batches = [tt.tensor(dtype, (None,) * (len(shape) + flag)) for shape, flag in zip(shapes, flags, strict=True)]
    result = expression(*variables)
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    values = [
        np.asarray(RNG.uniform(0.1, 1, (*[entries] * flag, *shape))).astype(dtype)
        for shape, flag in zip(shapes, flags, strict=True)
    ]
    batch = function(batches, vectorize_graph(outputs, dict(zip(variables, batches, strict=True))))(*values)
    single = function(variables, outputs)
    rows = [single(*(v[i] if flag else v for v, flag in zip(values, flags, strict=True))) for i in range(entries)]
    for k, value in enumerate(batch):
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
    """Another one, that returns what does not fit."""


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
        xs, ys = tt.tensor("float64", (1, None)), tt.tensor("float64", (None, None))
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
        x, y, xs = tt.dvector(), tt.dvector(), tt.tensor("float64", (None, 1))
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
