"""Kernels that keep results and reduce others in one pass: axes, layouts, dtypes, chunks, memory."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np
from support import ArrayType, Python, array, machines

from theano_graph import Apply, Op
from theano_linker_c import _runtime
from theano_linker_c.kernels import Kernel, Reduction, ReductionKernel, native_kernel
from theano_linker_c.scalar import (
    Composite,
    ScalarType,
    add,
    and_,
    exp,
    maximum,
    minimum,
    mul,
    or_,
    sqr,
    xor,
)

UFUNCS: dict[Any, Any] = {
    add: np.add,
    mul: np.multiply,
    maximum: np.maximum,
    minimum: np.minimum,
    and_: np.bitwise_and,
    or_: np.bitwise_or,
    xor: np.bitwise_xor,
}


class LoopNest(Op):
    """Results of a composite: the first are kept, the others are reduced along axes."""

    __props__ = ("composite", "reductions", "axes")

    def __init__(self, composite: Composite, reductions: Sequence[Reduction], axes: Sequence[int]) -> None:
        self.composite, self.reductions, self.axes = composite, tuple(reductions), tuple(axes)

    @property
    def n_kept(self) -> int:
        return self.composite.nout - len(self.reductions)

    def make_node(self, *inputs: Any) -> Apply:
        ndim = len(inputs[0].type.shape)
        dtypes = self.composite.result_dtypes(*(x.type.dtype for x in inputs))[: self.n_kept]
        references = [ArrayType(dtype, (None,) * ndim).make_variable() for dtype in dtypes]
        left = (None,) * (ndim - len(self.axes))
        return Apply(
            self,
            list(inputs),
            [*references, *(ArrayType(f.output_dtype, left).make_variable() for f in self.reductions)],
        )

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        shape = np.broadcast_shapes(*(x.shape for x in inputs))
        result = self.composite.impl(*inputs)
        results = result if self.composite.nout > 1 else [result]
        for k, value in enumerate(results):
            full = np.broadcast_to(value, shape)
            if k < self.n_kept:
                output_storage[k][0] = np.array(full)
                continue
            f = self.reductions[k - self.n_kept]
            is_reduced = UFUNCS[f.combine].reduce(full, axis=self.axes, dtype=f.acc_dtype)
            output_storage[k][0] = np.asarray(is_reduced, dtype=f.output_dtype)


@native_kernel.register(LoopNest)
def _loop_nest(node: Apply) -> Kernel:
    op: Any = node.op
    broadcast = tuple(tuple(n == 1 for n in x.type.shape) for x in node.inputs)
    saved = tuple(v.type.dtype for v in node.outputs[: op.n_kept])
    dtypes = tuple(x.type.dtype for x in node.inputs)
    return ReductionKernel(op.composite, dtypes, saved, op.reductions, broadcast, len(broadcast[0]), op.axes)


def statistics(dtype: str, axes: Sequence[int], acc: str | None = None) -> LoopNest:
    """Twice the values, and their sum, sum of squares, maximum and minimum."""
    x = ScalarType(dtype)("x")
    private = acc or dtype
    reductions = [
        Reduction(add, private, dtype, 0),
        Reduction(add, private, dtype, 0),
        Reduction(maximum, dtype, dtype, None),
    ]
    reductions.append(Reduction(minimum, dtype, dtype, None))
    return LoopNest(Composite([x], [x + x, x, sqr(x), x, x]), reductions, axes)


AXES = tuple(chain.from_iterable(combinations(range(3), n) for n in (1, 2, 3)))


class TestMultiOutput(unittest.TestCase):
    def same(self, native: Any, plain: Any, *values: Any, rtol: float = 1e-12) -> None:
        for a, b in zip(native(*values), plain(*values), strict=True):
            self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape))
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)

    def test_axes_and_layouts(self) -> None:
        rng = np.random.default_rng(1)
        for axes in AXES:
            for dtype, acc in (("float64", None), ("float32", "float64"), ("int64", None)):
                x = array(dtype, None, None, None)
                native, plain = machines([x], list(statistics(dtype, axes, acc).make_node(x).outputs))
                for shape in ((3, 4, 5), (40, 3, 2), (2, 3, 300), (1, 1, 1)):
                    value = (rng.random(shape) * 10).astype(dtype)
                    for laid in (value, value.T, value[::-1], value[:, ::2], value[:1]):
                        with self.subTest(axes=axes, dtype=dtype, shape=laid.shape):
                            self.same(native, plain, laid, rtol=1e-6 if dtype == "float32" else 1e-12)

    def test_broadcast_operands(self) -> None:
        rng = np.random.default_rng(2)
        x, row, column = (ScalarType("float64")(n) for n in "xrc")
        results = [exp(x - column) * row, exp(x - column)]
        for axes in ((0,), (1,), (0, 1)):
            op = LoopNest(Composite([x, row, column], results), [Reduction(add, "float64", "float64", 0)], axes)
            inputs = [array("float64", None, None), array("float64", 1, None), array("float64", None, 1)]
            native, plain = machines(inputs, list(op.make_node(*inputs).outputs))
            for m, n in ((3, 4), (700, 5), (5, 700), (1, 1), (0, 3)):
                value = rng.random((m, n))
                for laid in (value, value[::-1], np.asfortranarray(value)):
                    self.same(native, plain, laid, rng.random((1, n)), rng.random((m, 1)))

    def test_bits_and_truth_values(self) -> None:
        rng = np.random.default_rng(3)
        for dtype in ("bool", "int32", "uint8"):
            x = ScalarType(dtype)("x")
            reductions = [Reduction(op, dtype, dtype, None) for op in (and_, or_, xor, maximum, minimum)]
            reductions += [Reduction(add, "int64", "int64", 0), Reduction(mul, "int64", "int64", 1)]
            for axes in ((0,), (1,), (0, 1)):
                a = array(dtype, None, None)
                op = LoopNest(Composite([x], [x] * len(reductions)), reductions, axes)
                native, plain = machines([a], list(op.make_node(a).outputs))
                for shape in ((3, 4), (2, 700), (700, 2)):
                    self.same(native, plain, rng.integers(0, 3, shape).astype(dtype))

    def test_nothing_to_reduce(self) -> None:
        x = ScalarType("float64")("x")
        a = array("float64", None, None)
        sums = LoopNest(Composite([x], [x + x, x]), [Reduction(add, "float64", "float64", 0)], (0,))
        for machine in machines([a], list(sums.make_node(a).outputs)):
            saved, total = machine(np.zeros((0, 3)))
            self.assertEqual((saved.shape, total.tolist()), ((0, 3), [0, 0, 0]))
            saved, total = machine(np.zeros((3, 0)))
            self.assertEqual((saved.shape, total.shape), ((3, 0), (0,)))
        texts = []
        for machine in machines([a], list(statistics("float64", (0,)).make_node(a).outputs)):
            with self.assertRaisesRegex(ValueError, "no identity") as caught:
                machine(np.zeros((0, 3)))
            texts.append(str(caught.exception))
        self.assertEqual(texts[0], texts[1])

    def test_nan_and_infinities(self) -> None:
        a = array("float64", None)
        native, plain = machines([a], list(statistics("float64", (0,)).make_node(a).outputs))
        for position in (0, 50, 99, 599):
            for special in (np.nan, np.inf, -np.inf):
                value = np.ones(600)
                value[position] = special
                self.same(native, plain, value)

    def test_lengths_that_differ_are_an_error(self) -> None:
        x, y = ScalarType("float64")("x"), ScalarType("float64")("y")
        op = LoopNest(Composite([x, y], [x * y, x + y]), [Reduction(add, "float64", "float64", 0)], (0,))
        inputs = [array("float64", None), array("float64", None)]
        for machine in machines(inputs, list(op.make_node(*inputs).outputs)):
            with self.assertRaises(ValueError):
                machine(np.ones(3), np.ones(4))

    def test_long_reductions_are_cut_in_chunks(self) -> None:
        rng = np.random.default_rng(5)
        for shape in ((300_001,), (2, 200_003), (200_003, 2), (70, 50, 90)):
            value = rng.normal(size=shape)
            x = array("float64", *[None] * len(shape))
            for axes in [*((d,) for d in range(len(shape))), tuple(range(len(shape)))]:
                native, plain = machines([x], list(statistics("float64", axes).make_node(x).outputs))
                self.same(native, plain, value, rtol=1e-9)
                self.same(native, plain, value[::-1], rtol=1e-9)

    def test_same_bits_for_any_number_of_threads(self) -> None:
        before, threshold = _runtime.get_num_threads(), _runtime.set_thread_threshold(1.0)
        try:
            value = np.random.default_rng(6).normal(size=(301, 700))
            x = array("float64", None, None)
            for axes in ((0,), (1,), (0, 1)):
                native, _ = machines([x], list(statistics("float64", axes).make_node(x).outputs))
                results = []
                for count in (1, 2, 5):
                    _runtime.set_num_threads(count)
                    results.append([np.array(r).tobytes() for r in native(value)])
                self.assertEqual(results[0], results[1])
                self.assertEqual(results[0], results[2])
        finally:
            _runtime.set_num_threads(before)
            _runtime.set_thread_threshold(threshold)

    def test_kept_results_reuse_what_dies(self) -> None:
        x = ScalarType("float64")("x")
        operand = array("float64", None)
        addresses: list[int] = []

        def fresh(value: Any) -> Any:
            result = value + 1
            addresses.append(result.ctypes.data)
            return result

        (middle,) = Python(fresh, ArrayType("float64", (None,))).make_node(operand).outputs
        op = LoopNest(Composite([x], [x * x, x]), [Reduction(add, "float64", "float64", 0)], (0,))
        native, _ = machines([operand], list(op.make_node(middle).outputs))
        saved, total = native(np.arange(5.0))
        np.testing.assert_array_equal(saved, np.arange(1.0, 6) ** 2)
        self.assertEqual(total, 15)
        self.assertEqual(saved.ctypes.data, addresses[0])
