"""Instructions on shapes and stacks of matrices: values, layouts, memory, errors, on both machines."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from support import ArrayType, Elementwise, array, machines

from theano_graph import Apply, Op
from theano_linker_c.kernels import (
    ConcatenateKernel,
    FullKernel,
    Kernel,
    LengthKernel,
    MatrixProductKernel,
    ReshapeKernel,
    SpecifyShapeKernel,
    SplitKernel,
    StackKernel,
    native_kernel,
)
from theano_linker_c.scalar import add, mul

DTYPES = ("float64", "float32", "float16", "int8", "int64", "uint16", "complex128", "bool")


class Shaping(Op):
    """Any instruction on shapes; a function of arrays gives its meaning."""

    def __init__(self, kernel: Kernel, meaning: Callable[..., Any], out: ArrayType, view: bool = False) -> None:
        self.kernel, self.meaning, self.out = kernel, meaning, out
        if view:
            self.view_map = {0: [0]}

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [self.out.make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = np.asarray(self.meaning(*inputs), self.out.dtype)


@native_kernel.register(Shaping)
def _kernel(node: Apply) -> Kernel:
    op: Any = node.op
    kernel: Kernel = op.kernel
    return kernel


def reshape(x: Any, shape: Any, ndim: int) -> Any:
    out = ArrayType(x.type.dtype, [None] * ndim)
    kernel = ReshapeKernel(x.type.dtype, len(x.type.shape), ndim)
    return Shaping(kernel, lambda a, s: a.reshape(tuple(s)), out, view=True)(x, shape)


def fill(value: Any, *lengths: Any) -> Any:
    broadcastable = tuple(n == 1 for n in value.type.shape)

    def filled(v: Any, *shape: Any) -> Any:
        expected = tuple(int(n) for n in shape)
        ends = expected[len(expected) - v.ndim :]
        if any(n != m and not s for n, m, s in zip(v.shape, ends, broadcastable, strict=True)) or min(expected) < 0:
            raise ValueError(f"a value of shape {v.shape} does not fit into {expected}")
        return np.broadcast_to(v, expected).copy()

    out = ArrayType(value.type.dtype, [None] * len(lengths))
    return Shaping(FullKernel(value.type.dtype, broadcastable), filled, out)(value, *lengths)


def join(axis: int, where: Any, *parts: Any) -> Any:
    first = parts[0].type
    out = ArrayType(first.dtype, [None] * len(first.shape))
    kernel = ConcatenateKernel(first.dtype, len(first.shape), axis)
    return Shaping(kernel, lambda a, *p: np.concatenate(p, axis=int(a)), out)(where, *parts)


def same(x: Any, *lengths: Any) -> Any:
    expected = [int(n) for n in lengths] or [1]
    if any(n not in x.shape for n in expected):
        raise ValueError(f"shape {x.shape} is not the wanted one")
    return x


class Split(Op):
    """Three views of an array along an axis."""

    view_map = {0: [0], 1: [0], 2: [0]}

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def make_node(self, *inputs: Any) -> Apply:
        x = inputs[0].type
        outputs = [ArrayType(x.dtype, [None] * len(x.shape)).make_variable() for _ in range(3)]
        return Apply(self, list(inputs), outputs)

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        x, axis, lengths = inputs
        if len(lengths) != 3 or lengths.sum() != x.shape[int(axis)] or (lengths < 0).any():
            raise ValueError(f"lengths {lengths} do not fit {x.shape}")
        for storage, part in zip(output_storage, np.split(x, np.cumsum(lengths)[:-1], int(axis)), strict=True):
            storage[0] = part


@native_kernel.register(Split)
def _parts(node: Apply) -> Kernel:
    op: Any = node.op
    x = node.inputs[0].type
    return SplitKernel(x.dtype, len(x.shape), op.axis)


def split(axis: int, *inputs: Any) -> list[Any]:
    return list(Split(axis).make_node(*inputs).outputs)


def layouts(value: Any) -> Sequence[Any]:
    """Return equal arrays: in C order, in Fortran order, and with steps backwards."""
    wide = np.zeros([2 * n for n in value.shape], value.dtype)
    stepped = wide[tuple(slice(None, None, -2) for _ in value.shape)]
    stepped[...] = value
    return value, np.asfortranarray(value), stepped


class TestValues(unittest.TestCase):
    def both(self, variables: Sequence[Any], output: Any, expected: Any, *values: Any) -> None:
        """Check the result of each machine, twice: the second call meets buffers of the first."""
        for machine in machines(variables, [output]):
            for _ in range(2):
                result = machine(*values)
                result = result[0] if isinstance(result, (list, tuple)) else result
                self.assertEqual((result.dtype, result.shape), (expected.dtype, expected.shape))
                np.testing.assert_array_equal(result, expected)

    def test_lengths_and_vectors_of_them(self) -> None:
        x = array("float32", None, None)
        scalar = ArrayType("int64", [])
        n, m = (Shaping(LengthKernel(d), lambda a, d=d: a.shape[d], scalar)(x) for d in range(2))
        both = Shaping(StackKernel("int64"), lambda *s: np.array(s), ArrayType("int64", [None]))(n, m, n)
        for shape in ((2, 3), (0, 5), (1, 1)):
            self.both([x], both, np.array([*shape, shape[0]]), np.zeros(shape, "float32"))
        for dtype in DTYPES:
            a, b = array(dtype), array(dtype)
            result = Shaping(StackKernel(dtype), lambda *s: np.array(s), ArrayType(dtype, [None]))(a, b)
            values = np.array([1, 0]).astype(dtype)
            self.both([a, b], result, values, *(np.array(v) for v in values))

    def test_other_shapes(self) -> None:
        for dtype in DTYPES:
            x, shape = array(dtype, None, None), array("int64", None)
            value = (np.arange(12) % 5).astype(dtype).reshape(3, 4)
            for expected in ((2, 6, 1), (-1, 3, 2), (1, 12, -1)):
                for layout in layouts(value):
                    self.both([x, shape], reshape(x, shape, 3), value.reshape(expected), layout, np.array(expected))
        x, shape = array("float64", None, None), array("int64", None)
        self.both([x, shape], reshape(x, shape, 1), np.zeros(0), np.zeros((0, 3)), np.array([0]))
        self.both([x, shape], reshape(x, shape, 0), np.array(2.0), np.full((1, 1), 2.0), np.zeros(0, "int64"))

    def test_full(self) -> None:
        for dtype in DTYPES:
            for number in (0, 1):
                v, n, m = array(dtype, None, 1), array("int64"), array("int64")
                value = np.full((3, 1), number, dtype)
                value[-1] = 1
                lengths = [np.array(k) for k in (2, 3, 4)]
                filled = fill(v, n, m, array_of(4))
                self.both([v, n, m], filled, np.broadcast_to(value, (2, 3, 4)), value, *lengths[:2])
        s, n = array("float64"), array("int64")
        for start in (0.0, -0.0, 2.5):
            self.both([s, n], fill(s, n), np.full(3, start), np.array(start), np.array(3))
        self.both([s, n], fill(s, n), np.zeros(0), np.array(1.0), np.array(0))

    def test_joined(self) -> None:
        for dtype in DTYPES:
            x, y, axis = array(dtype, None, None, None), array(dtype, None, None, None), array("int64")
            for d in range(3):
                shape = [2, 3, 2]
                a = (np.arange(12) % 3).astype(dtype).reshape(shape)
                shape[d] = 1
                b = np.ones(shape, dtype)
                for left in layouts(a):
                    joined = join(d, axis, x, y, x)
                    self.both([axis, x, y], joined, np.concatenate([a, b, a], d), np.array(d), left, b)
        x, axis = array("float64", None), array("int64")
        self.both([axis, x], join(0, axis, x, x), np.zeros(0), np.array(0), np.zeros(0))

    def test_checked(self) -> None:
        x, n = array("int8", None, None), array("int64")
        out = ArrayType("int8", [None, None])
        for variables, kernel, values in (
            ([x], SpecifyShapeKernel((False, False)), (np.ones((2, 1), "int8"),)),
            ([x], SpecifyShapeKernel((False, True)), (np.ones((2, 1), "int8"),)),
            ([x, n], SpecifyShapeKernel((True, False)), (np.ones((2, 1), "int8"), np.array(2))),
        ):
            inputs: Any = variables
            self.both(inputs, Shaping(kernel, same, out, view=True)(*inputs), values[0], *values)

    def test_parts(self) -> None:
        for dtype in DTYPES:
            x, axis, lengths = array(dtype, None, None), array("int64"), array("int64", None)
            value = (np.arange(12) % 3).astype(dtype).reshape(3, 4)
            for d, sizes in ((0, [1, 0, 2]), (1, [2, 1, 1])):
                parts = split(d, x, axis, lengths)
                for layout in layouts(value):
                    for machine in machines([x, axis, lengths], parts):
                        result = machine(layout, np.array(d), np.array(sizes))
                        for part, expected in zip(result, np.split(value, np.cumsum(sizes)[:-1], d), strict=True):
                            np.testing.assert_array_equal(part, expected)

    def test_stacks_of_matrices(self) -> None:
        for dtype in ("float64", "float32"):
            x, y = array(dtype, None, None, None), array(dtype, None, None, None)
            product = Shaping(MatrixProductKernel("batched", dtype), np.matmul, ArrayType(dtype, [None] * 3))(x, y)
            for n, k, m in ((3, 4, 2), (1, 4, 1), (3, 0, 2), (0, 2, 2), (1, 1, 1)):
                a = np.arange(5 * n * k).reshape(5, n, k).astype(dtype) - 7
                b = np.arange(5 * k * m).reshape(5, k, m).astype(dtype) - 5
                for left, right in zip(layouts(a), reversed(layouts(b)), strict=True):
                    self.both([x, y], product, np.matmul(a, b), left, right)
                transposed = a.swapaxes(1, 2).copy().swapaxes(1, 2)
                self.both([x, y], product, np.matmul(a, b), transposed, b)
                self.both([x, y], product, np.matmul(a[:0], b[:0]), a[:0], b[:0])

    def test_stacks_that_threads_share(self) -> None:
        dtype = "float64"
        x, y = array(dtype, None, None, None), array(dtype, None, None, None)
        product = Shaping(MatrixProductKernel("batched", dtype), np.matmul, ArrayType(dtype, [None] * 3))(x, y)
        # Many pairs, few large ones that are cut into rows, and pairs of which each is too small for threads.
        for count, n, k, m in (
            (40, 40, 30, 50),
            (1, 150, 90, 80),
            (2, 133, 90, 90),
            (700, 9, 11, 17),
            (3, 2, 300, 900),
        ):
            a = np.arange(count * n * k).reshape(count, n, k) % 13 - 6.0
            b = np.arange(count * k * m).reshape(count, k, m) % 11 - 5.0
            for left, right in (
                (a, b),
                (a.swapaxes(1, 2).copy().swapaxes(1, 2), b.swapaxes(1, 2).copy().swapaxes(1, 2)),
            ):
                self.both([x, y], product, np.matmul(a, b), left, right)


def array_of(number: int) -> Any:
    """Return a constant."""
    return ArrayType("int64", []).make_constant(np.array(number))


class TestMemory(unittest.TestCase):
    def test_a_view_is_not_overwritten_by_what_follows(self) -> None:
        x, shape = array("float64", None), array("int64", None)
        doubled = Elementwise(add)(x, x)
        view = reshape(doubled, shape, 2)
        squared = Elementwise(mul)(doubled, doubled)
        for machine in machines([x, shape], [view, squared]):
            first, second = machine(np.arange(4.0), np.array([2, 2]))
            np.testing.assert_array_equal(first, [[0, 2], [4, 6]])
            np.testing.assert_array_equal(second, [0, 4, 16, 36])


class TestErrors(unittest.TestCase):
    def test_come_from_the_op(self) -> None:
        x, y = array("float64", None, None), array("float64", None, None)
        shape, n, axis = array("int64", None), array("int64"), array("int64")
        t, u = array("float64", None, None, None), array("float64", None, None, None)
        product = Shaping(MatrixProductKernel("batched", "float64"), np.matmul, ArrayType("float64", [None] * 3))(t, u)
        ones = np.ones((2, 3))
        for variables, output, values in (
            ([x, shape], reshape(x, shape, 2), (ones, np.array([4, 2]))),
            ([x, shape], reshape(x, shape, 2), (ones, np.array([-1, 4]))),
            ([x, shape], reshape(x, shape, 2), (ones, np.array([-2, -3]))),
            ([x, n], fill(x, n, n), (ones, np.array(2))),
            ([x, n], fill(x, n, n), (ones, np.array(-1))),
            ([axis, x, y], join(0, axis, x, y), (np.array(0), ones, ones.T)),
            ([t, u], product, (np.ones((2, 3, 4)), np.ones((2, 3, 4)))),
            (
                [x],
                Shaping(SpecifyShapeKernel((True, False)), same, ArrayType("float64", [None, None]), view=True)(x),
                (ones,),
            ),
            ([x, axis, shape], split(0, x, axis, shape)[0], (ones, np.array(0), np.array([1, 1, 1]))),
            ([x, axis, shape], split(0, x, axis, shape)[0], (ones, np.array(0), np.array([3, -1, 0]))),
            ([x, axis, shape], split(0, x, axis, shape)[0], (ones, np.array(0), np.array([1, 1]))),
            ([t, u], product, (np.ones((2, 3, 4)), np.ones((3, 4, 2)))),
        ):
            texts = []
            for machine in machines(variables, [output]):
                with self.assertRaises(ValueError) as caught:
                    machine(*values)
                texts.append(str(caught.exception))
            self.assertEqual(texts[0], texts[1])
