"""Texts for graphics cards compile as CUDA, and positions beyond 32 bits are counted in 64."""

from __future__ import annotations

import re
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_gpuarray._runtime import DeviceError
from theano_gpuarray.arrays._layout import _text
from theano_gpuarray.codegen import DeviceOperand, KernelText, contiguous_strides
from theano_gpuarray.codegen.ctc import AlignmentsKernel
from theano_gpuarray.codegen.fourier import InverseRealFourierKernel, RealFourierKernel
from theano_gpuarray.codegen.linear_algebra import CholeskyKernel, InverseKernel, SolveKernel
from theano_gpuarray.codegen.products import ProductEpilogueKernel
from theano_gpuarray.codegen.sorting import SortKernel, TopKKernel
from theano_linker_c.kernels import (
    ArrayRoutineKernel,
    ConcatenateKernel,
    ConvolutionKernel,
    FullKernel,
    IndexArray,
    IndexReadKernel,
    IndexSlice,
    IndexWriteKernel,
    Kernel,
    MatrixProductKernel,
    PoolingKernel,
    PoolingMode,
    Reduction,
    ReductionKernel,
)
from theano_linker_c.scalar import (
    Composite,
    ScalarType,
    add,
    erf,
    exp,
    expm1,
    identity,
    log,
    log1p,
    maximum,
    mul,
    sigmoid,
    softplus,
    sqrt,
    tanh,
)
from theano_testing.gpuarray import needs_opencl

from .device_cases import elementwise
from .form_support import Card, Recorder
from .nvrtc_support import ARCHITECTURES, accesses, compiled, failures, most_loads

FLOATS = ("float16", "float32", "float64")
DTYPES = (*FLOATS, "bool", "int8", "uint16", "int32", "uint64")
FAR = 3 * 2**30


def operand(dtype: str, *shape: int) -> DeviceOperand:
    """Return an array that has no memory, with gaps between its rows."""
    strides = contiguous_strides(shape, 2 * np.dtype(dtype).itemsize)
    return DeviceOperand(0, dtype, shape, strides, 8)


def vectors(*numbers: list[int]) -> list[Any]:
    return [np.array(n) for n in numbers]


def indexing(dtype: str) -> list[tuple[Kernel, Sequence[Any]]]:
    x, i, m = operand(dtype, 5, 6, 4), operand("int64", 2, 3), operand("bool", 5)
    array, mask = (IndexArray(2, False, (False, False)), IndexSlice(1)), (IndexArray(2, True, (False,)),)
    result: list[tuple[Kernel, Sequence[Any]]] = []
    for entries, index, part in ((array, i, (2, 3, 5, 4)), (mask, m, (3, 6, 4)), (mask, m, (6, 4))):
        ndims, dtypes = (3, len(part), index.ndim), (dtype, dtype, index.dtype)
        for replace in (True, False):
            kernel = IndexWriteKernel(entries, dtypes, ndims, replace, (False,) * len(part))
            result.append((kernel, [x, operand(dtype, *part), index]))
        reads = tuple(IndexArray(1, e.mask, e.broadcastable) if isinstance(e, IndexArray) else e for e in entries)
        result.append((IndexReadKernel(reads, (dtype, index.dtype), (3, index.ndim)), [x, index]))
    plain = IndexWriteKernel((1,), (dtype, dtype), (3, 2), False, (False, False))
    return [*result, (plain, [x, operand(dtype, 6, 4)])]


def other_kernels(dtype: str) -> list[tuple[Kernel, Sequence[Any]]]:
    x, lengths = operand(dtype, 3, 700), vectors([2, 3], [2, 3])
    return [
        (ConcatenateKernel(dtype, 2, 0), [np.int64(0), x, x]),
        (FullKernel(dtype, ()), [operand(dtype), *map(np.int64, (3, 4))]),
        (SortKernel(dtype, 0, False), [operand(dtype, 700, 2)]),
        (TopKKernel(dtype, 1, "int8", True, True), [x, np.int64(5)]),
        (ArrayRoutineKernel("eye", dtype), [*map(np.int64, (3, 4, 0))]),
        (ArrayRoutineKernel("arange", "int64"), [np.int64(0), *(v[1] for v in lengths)]),
    ]


def alignments(dtype: str) -> list[tuple[Kernel, Sequence[Any]]]:
    operands = [operand(dtype, 7, 3, 9), operand("int32", 3, 4), operand("uint8", 3)]
    return [(AlignmentsKernel(dtype, gradient), operands) for gradient in (True, False)]


def transforms_and_factors(dtype: str) -> list[tuple[Kernel, Sequence[Any]]]:
    a, b = operand(dtype, 2, 70, 70), operand(dtype, 2, 70, 3)
    result: list[tuple[Kernel, Sequence[Any]]] = [
        (RealFourierKernel(dtype), [operand(dtype, 3, 9000)]),
        (RealFourierKernel(dtype), [operand(dtype, 3, 143, 34, 840)]),
        (InverseRealFourierKernel(dtype), [operand(dtype, 3, 17, 421, 2), np.int64(840)]),
        (CholeskyKernel(dtype, True, True), [a]),
        (CholeskyKernel(dtype, False, False), [a]),
        (InverseKernel(dtype), [a]),
        (SolveKernel(dtype, "symmetric", True), [a, b]),
    ]
    return [*result, (SolveKernel(dtype, "upper_triangular", False), [a, b])]


def products(dtype: str) -> list[tuple[Kernel, Sequence[Any]]]:
    a, b, z = operand(dtype, 70, 9000), operand(dtype, 9000, 80), operand(dtype, 70, 80)
    one, v = operand(dtype), operand(dtype, 9000)
    product = MatrixProductKernel("gemm", dtype)
    small = operand(dtype, 8, 8)
    return [
        (product, [z, one, a, b, one]),
        (product, [small, np.asarray(2, dtype), small, small]),
        (MatrixProductKernel("gemv", dtype), [a, v]),
        (MatrixProductKernel("vecmat", dtype), [v, b]),
        (MatrixProductKernel("dot", dtype), [v, v]),
        (
            ProductEpilogueKernel(product, 2, add, (dtype, dtype), ((True, False),), dtype),
            [a, b, operand(dtype, 1, 80)],
        ),
    ]


def windows(dtype: str) -> list[tuple[Kernel, Sequence[Any]]]:
    x, w, top = operand(dtype, 2, 4, 9, 8), operand(dtype, 6, 4, 3, 2), operand(dtype, 2, 6, 7, 7)
    result: list[tuple[Kernel, Sequence[Any]]] = []
    for task, values in (
        ("forward", [x, w]),
        ("input_grad", [w, top, np.array([9, 8])]),
        ("weight_grad", [x, top, np.array([3, 2])]),
    ):
        kernel: Any = ConvolutionKernel(task, dtype, (1, 1), (1, 1), "valid", True, 1)  # type: ignore[arg-type]  # a literal
        result.append((kernel, values))
    layout, y = vectors([2, 2], [2, 2], [0, 0]), operand(dtype, 2, 4, 4, 4)
    modes: tuple[PoolingMode, ...] = ("max", "sum", "average_exc_pad")
    result += [(PoolingKernel("pool", dtype, 2, mode, True), [x, *layout]) for mode in modes]
    result.append(
        (PoolingKernel("average_pool_grad", dtype, 2, "average_inc_pad", True), [y, np.array([9, 8]), *layout])
    )
    result.append((PoolingKernel("max_pool_grad", dtype, 2, "max", True), [x, y, y, *layout]))
    result.append((PoolingKernel("max_pool_grad_grad", dtype, 2, "max", True), [x, y, x, *layout]))
    return result


class TestCuda(unittest.TestCase):
    def check(self, cases: list[tuple[Kernel, Sequence[Any]]]) -> None:
        """Compile all launches as one unit for each architecture."""
        texts: dict[str, KernelText] = {}
        for deterministic in (False, True):
            for kernel, values in cases:
                card = Card(deterministic=deterministic)
                card.run(kernel, values)
                self.assertNotEqual(card.launches, [], kernel)
                texts |= {text.name: text for text, *_ in card.launches}
        for architecture in ARCHITECTURES:
            self.assertEqual(failures(list(texts.values()), architecture), [])

    def test_indexing(self) -> None:
        self.check([case for dtype in DTYPES for case in indexing(dtype)])

    def test_joins_and_sorting(self) -> None:
        self.check([case for dtype in DTYPES for case in other_kernels(dtype)])

    def test_products(self) -> None:
        self.check([case for dtype in FLOATS for case in products(dtype)])

    def test_transforms_and_factors(self) -> None:
        self.check([case for dtype in ("float32", "float64") for case in transforms_and_factors(dtype)])

    def test_what_is_left_beside_libraries(self) -> None:
        texts: dict[str, KernelText] = {}
        for dtype in ("float32", "float64"):
            for kernel, values in transforms_and_factors(dtype):
                card = Card(library=True)
                card.run(kernel, values)
                self.assertNotEqual(card.products, [], kernel)
                texts |= {text.name: text for text, *_ in card.launches}
        for name in ("fourier_hermitian", "check_info"):
            self.assertTrue(any(text.startswith(name) for text in texts), texts.keys())
        for architecture in ARCHITECTURES:
            self.assertEqual(failures(list(texts.values()), architecture), [])

    def test_alignments(self) -> None:
        self.check([case for dtype in FLOATS for case in alignments(dtype)])

    def test_windows(self) -> None:
        self.check([case for dtype in FLOATS for case in windows(dtype)])


class TestLoads(unittest.TestCase):
    """Kernels that memory limits have several loads under way at once: one at a time leaves half of its rate."""

    def check(self, kernel: Kernel, values: Sequence[Any], expected: int) -> None:
        card = Card()
        card.run(kernel, values)
        result = most_loads(card.launches[0][0])
        if result is not None:
            self.assertGreaterEqual(result, expected)

    def test_reductions(self) -> None:
        for dtype in FLOATS:
            acc = "float64" if dtype == "float64" else "float32"
            total = Reduction(add, acc, dtype, 0)
            for axes in ((1,), (0,), (0, 1)):
                # Along rows they are vectors of 16 bytes where rows are aligned, which the kernel sees.
                expected = 8 if dtype == "float16" and axes == (0,) else 4
                with self.subTest(dtype=dtype, axes=axes):
                    kernel = ReductionKernel(identity, (dtype,), (), (total,), ((False, False),), 2, axes)
                    self.check(kernel, [operand(dtype, 4096, 4096)], expected)

    def test_reductions_of_what_is_stored_beside(self) -> None:
        total = Reduction(add, "float32", "float32", 0)
        square = Composite([(x := ScalarType("float32")("x"))], [mul(x, x)] * 2)
        kernel = ReductionKernel(square, ("float32",), ("float32",), (total,), ((False, False),), 2, (0,))
        self.check(kernel, [operand("float32", 4096, 4096)], 4)

    def test_products_of_a_matrix_and_a_vector(self) -> None:
        matrix, vector = operand("float32", 4096, 4096), operand("float32", 4096)
        self.check(MatrixProductKernel("gemv", "float32"), [matrix, vector], 8)
        self.check(MatrixProductKernel("vecmat", "float32"), [vector, matrix], 8)


class TestVectors(unittest.TestCase):
    """Kernels limited by memory load and store 16 bytes at once."""

    def test_elementwise(self) -> None:
        for dtype in DTYPES:
            size = np.dtype(dtype).itemsize
            card = Card()
            operands = [DeviceOperand(-k, dtype, (1 << 22,), (size,)) for k in range(1, 3)]
            card.run(elementwise(add, dtype, dtype), operands)
            result = accesses(card.launches[0][0])
            if result is None:
                return
            with self.subTest(dtype=dtype):
                loads = [name for name in result if re.match(r"ld\.global\.nc\.v(4\.[buf]32|2\.[buf]64)", name)]
                stores = [name for name in result if re.match(r"st\.global\.v(4\.[buf]32|2\.[buf]64)", name)]
                self.assertEqual(len(loads), 2 * len(stores), result)
                self.assertGreaterEqual(len(stores), 1, result)

    def test_rows(self) -> None:
        for dtype in FLOATS:
            acc = "float64" if dtype == "float64" else "float32"
            parts = (Reduction(add, acc, dtype, 0), Reduction(maximum, acc, dtype, None))
            x = ScalarType(dtype)("x")
            kernel = ReductionKernel(Composite([x], [x, x]), (dtype,), (), parts, ((False, False),), 2, (1,))
            for shape, barriers in (((20_000, 1024), False), ((20, 4096), True)):
                card = Card()
                strides = contiguous_strides(shape, np.dtype(dtype).itemsize)
                card.run(kernel, [DeviceOperand(-1, dtype, shape, strides)])
                text = card.launches[0][0]
                result, code = accesses(text), compiled(text)
                if result is None or code is None:
                    return
                with self.subTest(dtype=dtype, shape=shape):
                    wide = [name for name in result if re.match(r"ld\.global\.nc\.v(4\.[buf]32|2\.[buf]64)", name)]
                    self.assertGreaterEqual(len(wide), 4, result)
                    self.assertIn("shfl.sync.bfly", code)
                    # Rows that have a warp to themselves wait for no barrier.
                    self.assertEqual("bar.sync" in code or "barrier.sync" in code, barriers, shape)

    def test_products(self) -> None:
        """Strips are read from local memory 16 bytes at once, and the next ones are under way before that."""
        for dtype in FLOATS:
            x = DeviceOperand(-1, dtype, (2048, 2048), contiguous_strides((2048, 2048), np.dtype(dtype).itemsize))
            card = Card()
            card.run(MatrixProductKernel("gemm", dtype), [x, x])
            code = compiled(card.launches[0][0])
            if code is None:
                return
            shared = "ld.shared.v2.f64" if dtype == "float64" else "ld.shared.v4.f32"
            with self.subTest(dtype=dtype):
                self.assertIn(shared, code)
                self.assertLess(code.rindex("ld.global"), code.index(shared))

    def test_positions_in_products(self) -> None:
        for step, index in ((4, "int32_t"), (FAR, "int64_t")):
            x = DeviceOperand(-1, "float32", (64, 64), (step, 4))
            card = Card()
            card.run(MatrixProductKernel("gemm", "float32"), [x, x])
            self.assertIn(f"const {index} row = first_row", card.launches[0][0].text)

    def test_functions_of_float32_are_computed_as_such(self) -> None:
        for op in (tanh, exp, log, sigmoid, softplus, sqrt, erf, log1p, expm1, identity):
            card = Card()
            card.run(elementwise(op, "float32"), [DeviceOperand(-1, "float32", (1 << 22,), (4,))])
            code = compiled(card.launches[0][0])
            self.assertNotIn(".f64", code or "", op)


class TestLocalMemory(unittest.TestCase):
    def test_many_reductions_fit(self) -> None:
        count, x = 60, ScalarType("float64")("x")
        op = Composite([x], [x] * count)
        totals = (Reduction(add, "float64", "float64", 0),) * count
        kernel = ReductionKernel(op, ("float64",), (), totals, ((False,),), 1, (0,))
        card = Card()
        card.run(kernel, [operand("float64", 5000)])
        text = card.launches[0][0]
        sizes = re.findall(r"LOCAL_MEM double \w+\[(\d+)\]", text.text)
        self.assertTrue(sizes)
        self.assertLessEqual(8 * sum(map(int, sizes)), card.properties.local_memory)
        self.assertEqual(failures([text], "sm_90"), [])


@needs_opencl
class TestManyElements(unittest.TestCase):
    """More elements than 32 bits count."""

    def launched(self, kernel: Kernel, values: Sequence[Any]) -> tuple[KernelText, Sequence[Any]]:
        card = Card()
        card.run(kernel, values)
        text, arguments, groups, _ = card.launches[-1]
        self.assertLess(max(groups), 2**31)
        return text, arguments

    def test_counters_are_as_wide_as_counts(self) -> None:
        for length, counter in ((1000, "uint32_t"), (FAR, "uint64_t")):
            x, i = operand("int8", length, 2), operand("int64", 4)
            kernel = IndexReadKernel((IndexSlice(), IndexArray(1, False, (False,))), ("int8", "int64"), (2, 1))
            text, arguments = self.launched(kernel, [x, i])
            self.assertIn(f"for ({counter} i = ({counter})GID_0", text.text)
            self.assertIn(4 * length, arguments)

    def test_copies_between_layouts(self) -> None:
        for narrow, counter in ((True, "uint32_t"), (False, "uint64_t")):
            text = _text(2, "float32", "int8", narrow)
            self.assertIn(f"{counter} rest = i;", text.text)
            self.assertEqual(failures([text], "sm_90"), [])

    def test_offsets_and_strides_are_passed_in_64_bits(self) -> None:
        x = DeviceOperand(0, "float32", (3, 4), (-FAR, 4), 2 * FAR)
        text, arguments = self.launched(FullKernel("float32", (False, False)), [x, *map(np.int64, (3, 4))])
        for number in (-FAR, 2 * FAR):
            self.assertEqual(text.parameters[list(arguments).index(number)], "q")

    def test_sorting_of_long_rows(self) -> None:
        text, arguments = self.launched(SortKernel("int8", 0, False), [operand("int8", FAR)])
        self.assertIn("for (uint64_t i", text.text)
        self.assertIn(FAR, arguments)

    def test_elements_far_from_each_other(self) -> None:
        recorder, step = Recorder(overwrites=True), 2**31
        try:
            memory = recorder.empty("int8", (step + 4096,))
        except DeviceError as error:  # no position in buffers of this device is beyond 31 bits
            self.assertIn("one buffer at most", str(error))
            step = 2**28
            memory = recorder.empty("int8", (step + 4096,))
        rows = memory.view((2, 64), (step, 1), memory.offset)
        i = np.array([[1, 0], [0, 1]])
        part = np.arange(128, dtype="int8").reshape(2, 64)
        write = IndexWriteKernel((), ("int8", "int8"), (2, 2), True, (False, False))
        read = IndexReadKernel((IndexArray(1, False, (False, False)),), ("int8", "int64"), (2, 2))
        add_at = IndexWriteKernel(
            (IndexArray(2, False, (False,)),), ("int8", "int8", "int64"), (2, 1, 1), False, (False,)
        )
        rows = recorder.launched(write, [rows, part])
        result = recorder.launched(read, [rows, i])
        np.testing.assert_array_equal(np.asarray(recorder.value(result)), part[i])
        rows = recorder.launched(add_at, [rows, np.ones(64, "int8"), np.array([1, 1])])
        result = recorder.launched(read, [rows, i])
        np.testing.assert_array_equal(np.asarray(recorder.value(result)), (part + np.array([[0], [2]], "int8"))[i])
