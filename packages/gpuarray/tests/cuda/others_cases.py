"""What is told to cuBLASLt, cuFFT and cuSOLVER: run by `test_others` in a process of its own, which opens stand-ins for
the libraries of CUDA. Kernels run on OpenCL, and what libraries compute is brought to the stand-ins and back."""

from __future__ import annotations

import ctypes
import os
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from theano_gpuarray import _runtime
from theano_gpuarray._runtime import Buffer, DeviceError, LaunchList
from theano_gpuarray.arrays import asarray
from theano_gpuarray.codegen import DeviceOperand, LibraryCall
from theano_gpuarray.codegen.fourier import InverseRealFourierKernel, RealFourierKernel
from theano_gpuarray.codegen.linear_algebra import CholeskyKernel, InverseKernel, SolveKernel
from theano_gpuarray.codegen.products import ProductEpilogueKernel
from theano_gpuarray.contexts import GpuContext
from theano_gpuarray.lowering.fusion import fuse
from theano_gpuarray.lowering.fusion._library_epilogues import epilogue_of
from theano_gpuarray.region import AtOnce, Region, Step, form_of, upload
from theano_graph import config
from theano_linker_c.kernels import ElementwiseKernel, Kernel, MatrixProductKernel
from theano_linker_c.scalar import (
    Composite,
    ScalarConstant,
    ScalarOp,
    ScalarType,
    add,
    exp,
    gt,
    le,
    lt,
    maximum,
    mul,
    relu,
    sqr,
    sub,
    switch,
    tanh,
)
from theano_testing.device import card_context, opencl_context
from theano_testing.gpuarray import needs_opencl

FAKE = os.environ["THEANO_TEST_FAKE"]
fake = ctypes.CDLL(FAKE)
fake.fake_log.restype = ctypes.c_char_p
ROLES = ("cuda", "nvrtc", "cublas", "cublaslt", "cufft", "cusolver")
driver = _runtime.open_driver("cuda", dict.fromkeys(ROLES, FAKE))


def calls(name: str) -> int:
    """Count the calls of a function since the last reset."""
    return int(fake.fake_log().decode().split().count(name))


class Bridge(AtOnce):
    """Runs kernels on OpenCL, and operations of libraries on a stand-in."""

    def __init__(self, context: Any, *, card: bool = False) -> None:
        super().__init__(card_context() if card else opencl_context(), offset=64)
        self.other = context

    def run(self, kernel: Kernel, values: Sequence[Any]) -> list[Any]:
        """Run a kernel on arrays of which every other element is taken, backwards."""
        form = form_of(kernel)
        stays = set(form.host_inputs(kernel, len(values)))
        given = [np.asarray(v) if i in stays else self.turned(np.asarray(v)) for i, v in enumerate(values)]
        results = form.run(kernel, self, given)
        self.check()
        return [np.asarray(self.value(result)) for result in results]

    def turned(self, value: NDArray[Any]) -> DeviceOperand:
        """Return a copy on the device that has gaps, and negative strides."""
        whole = np.zeros([2 * n for n in value.shape], value.dtype)
        back = tuple(slice(None, None, -2) for _ in value.shape)
        whole[back] = value
        return self.operand(upload(self._context, whole, offset=64)[back])

    def workspace(self, call: LibraryCall) -> int | None:
        """Ask the stand-in."""
        found: int | None = self.other.workspace(call.name, call.dtype, call.numbers)
        return found

    def call(self, call: LibraryCall, operands: Sequence[DeviceOperand]) -> None:
        """Let the stand-in compute, with copies of the operands, whose offsets it gets, too."""
        places: list[tuple[Buffer, int, int]] = []
        for x in operands:
            memory = np.zeros(x.offset + max(x.nbytes, 1), np.uint8)
            self._buffers[x.slot].read(0, memory)
            made = self.other.allocate(memory.nbytes)
            made.write(0, memory)
            places.append((made, x.offset, x.nbytes))
        self.other.call(call.name, call.dtype, call.numbers, *places)
        for x, (made, offset, nbytes) in zip(operands, places, strict=True):
            found = np.zeros(nbytes, np.uint8)
            if nbytes:
                made.read(offset, found)
                self._buffers[x.slot].write(offset, found)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.context = driver.open(0)
        self.rng = np.random.default_rng(7)
        fake.fake_lt_workspace(256)
        fake.fake_reset()

    def tearDown(self) -> None:
        self.assertEqual(fake.fake_depth(), 0, "each context that is made current is taken away again")

    def run_form(self, kernel: Kernel, values: Sequence[Any]) -> Any:
        found = [Bridge(self.context, card=card).run(kernel, values)[0] for card in (False, True)]
        np.testing.assert_array_equal(*found)
        return found[0]


@needs_opencl
class TestFourier(Case):
    def check(self, shape: tuple[int, ...], dtype: str, forward: str, inverse: str) -> None:
        axes = tuple(range(1, len(shape)))
        x = self.rng.normal(size=shape).astype(dtype)
        wanted = scipy.fft.rfftn(x.astype("float64"), axes=axes)
        found = self.run_form(RealFourierKernel(dtype), [x])
        tolerance = 1e-5 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], wanted, atol=tolerance)
        y = self.rng.normal(size=(*wanted.shape, 2)).astype(dtype)
        pairs = y.astype("float64").view("complex128")[..., 0]
        back = scipy.fft.irfftn(pairs, s=shape[1:], axes=axes, norm="forward")
        found = self.run_form(InverseRealFourierKernel(dtype), [y, np.int64(shape[-1])])
        np.testing.assert_allclose(found, back, atol=10 * tolerance)
        self.assertEqual((calls(forward), calls(inverse)), (2, 2))

    def test_dimensions(self) -> None:
        for shape in ((3, 8), (2, 7), (2, 4, 5), (2, 3, 6), (1, 3, 4, 6), (2, 3, 2, 5)):
            with self.subTest(shape):
                fake.fake_reset()
                self.check(shape, "float32", "cufftExecR2C", "cufftExecC2R")

    def test_float64(self) -> None:
        self.check((2, 4, 6), "float64", "cufftExecD2Z", "cufftExecZ2D")

    def test_plans_are_kept_and_destroyed_with_the_context(self) -> None:
        before = fake.fake_plans()
        for _ in range(3):
            self.assertEqual(self.context.workspace("rfft", "float32", (2, 8)), 64)
        self.assertEqual((calls("cufftCreate"), fake.fake_plans()), (1, before + 1))
        self.context = driver.open(1)
        self.assertEqual(fake.fake_plans(), before)

    def test_too_many_plans(self) -> None:
        found = [self.context.workspace("rfft", "float32", (1, n)) for n in range(1, 300)]
        self.assertEqual(found, [64] * 256 + [None] * 43)
        np.testing.assert_allclose(
            self.run_form(RealFourierKernel("float32"), [np.ones((1, 600), "float32")])[0, 0, 0], 600
        )

    def test_four_dimensions_are_left_to_kernels(self) -> None:
        self.assertIsNone(self.context.workspace("rfft", "float32", (2, 2, 2, 2, 2)))
        x = self.rng.normal(size=(1, 2, 3, 2, 4)).astype("float32")
        found = self.run_form(RealFourierKernel("float32"), [x])
        np.testing.assert_allclose(found[..., 0], scipy.fft.rfftn(x, axes=(1, 2, 3, 4)).real, atol=1e-5)
        self.assertEqual(calls("cufftCreate"), 0)

    def test_each_call_may_fail(self) -> None:
        for name in ("cufftCreate", "cufftSetAutoAllocation", "cufftMakePlanMany64"):
            with self.subTest(name):
                fake.fake_fail(name.encode(), 5, 0)
                self.assertIsNone(driver.open(0).workspace("rfft", "float32", (2, 8)))
        for name in ("cufftSetStream", "cufftSetWorkArea", "cufftExecR2C"):
            fake.fake_fail(name.encode(), 5, 0)
            with self.subTest(name), self.assertRaisesRegex(DeviceError, "a transform by cuFFT failed with status 5"):
                Bridge(self.context).run(RealFourierKernel("float32"), [np.ones((2, 8), "float32")])

    def test_lists_are_captured(self) -> None:
        numbers = (2, 8)
        size = self.context.workspace("rfft", "float32", numbers)
        assert size is not None, "the stand-in has transforms"
        places = ((0, 0, 64), (1, 0, 80), (2, 0, size))
        steps = [("fill", 1, 0, 80, 255), ("fill", 2, 0, size, 0), ("call", "rfft", "float32", numbers, *places)]
        chain = LaunchList(self.context, steps, 3)
        made, work = self.context.allocate(80), self.context.allocate(size)
        for _ in range(5):
            x = self.rng.normal(size=(2, 8)).astype("float32")
            given = self.context.allocate(64)
            given.write(0, x)
            chain.run([given, made, work])
            found = np.zeros((2, 5), "complex64")
            made.read(0, found)
            np.testing.assert_allclose(found, scipy.fft.rfft(x), atol=1e-5)
        self.assertGreater(calls("cuGraphLaunch"), 0)

    def test_calls_are_repeated(self) -> None:
        size = self.context.workspace("rfft", "float32", (2, 8))
        assert size is not None, "the stand-in has transforms"
        call = ("call", "rfft", "float32", (2, 8), (0, 0, 64), (1, 0, 80), (2, 0, size))
        for count in (3, 5000):
            repeat = ("repeat", count, (call,), (((0, 64, 0), (1, 80, 0)),))
            chain = LaunchList(self.context, [repeat], 3)
            x = self.rng.normal(size=(count, 2, 8)).astype("float32")
            given, made, work = (self.context.allocate(n) for n in (64 * count, 80 * count, size))
            given.write(0, x)
            for _ in range(4):
                made.fill(0, 80 * count, 0)
                chain.run([given, made, work])
                found = np.zeros((count, 2, 5), "complex64")
                made.read(0, found)
                np.testing.assert_allclose(found, scipy.fft.rfft(x), atol=1e-5)
            with self.assertRaisesRegex(ValueError, "too small"):
                chain.run([given, self.context.allocate(80 * count - 1), work])
            for moves in (((3, 4, 0),), ((0, -64, 0),)):
                with self.assertRaisesRegex(ValueError, "a number that moves"):
                    LaunchList(self.context, [("repeat", count, (call,), (moves,))], 3)


@needs_opencl
class TestEquations(Case):
    def definite(self, *shape: int, dtype: str = "float64") -> Any:
        x = self.rng.normal(size=shape)
        return (x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)

    def test_cholesky(self) -> None:
        for dtype, name in (("float32", "cusolverDnSpotrf"), ("float64", "cusolverDnDpotrf")):
            for lower in (True, False):
                x = self.definite(2, 70, 70, dtype=dtype)
                fake.fake_reset()
                found = self.run_form(CholeskyKernel(dtype, lower, False), [x])
                wanted = np.linalg.cholesky(x)
                np.testing.assert_allclose(found, wanted if lower else np.swapaxes(wanted, 1, 2), atol=1e-3)
                self.assertEqual(calls(name), 4)

    def test_what_is_not_definite(self) -> None:
        x = self.definite(2, 70, 70)
        x[1, 60, 60] = -1
        with self.assertRaisesRegex(np.linalg.LinAlgError, "cholesky: Matrix is not positive definite"):
            self.run_form(CholeskyKernel("float64", True, False), [x])
        found = self.run_form(CholeskyKernel("float64", True, True), [x])
        np.testing.assert_allclose(found[0], np.linalg.cholesky(x[0]))
        self.assertTrue(np.isnan(found[1]).all())

    def test_equations(self) -> None:
        for dtype, letter, tolerance in (("float32", "S", 1e-2), ("float64", "D", 1e-9)):
            x = (self.rng.normal(size=(70, 70)) + 5 * np.eye(70)).astype(dtype)
            for b in (self.rng.normal(size=70), self.rng.normal(size=(70, 3))):
                fake.fake_reset()
                found = self.run_form(SolveKernel(dtype, "general", False), [x, b.astype(dtype)])
                np.testing.assert_allclose(found, np.linalg.solve(x, b), atol=tolerance)
                self.assertEqual([calls(f"cusolverDn{letter}{name}") for name in ("getrf", "getrs")], [2, 2])

    def test_symmetric_matrices_stacks_and_inverses(self) -> None:
        x = self.definite(3, 64, 64) - 100 * np.eye(64)
        b = self.rng.normal(size=(3, 64, 2))
        found = self.run_form(SolveKernel("float64", "symmetric", False), [np.triu(x), b])
        np.testing.assert_allclose(found, np.linalg.solve(x, b), atol=1e-9)
        found = self.run_form(InverseKernel("float64"), [x])
        np.testing.assert_allclose(found, np.linalg.inv(x), atol=1e-9)
        self.assertEqual(calls("cusolverDnDgetrf"), 12)

    def test_singular(self) -> None:
        x = self.definite(70, 70)
        x[:, 65] = 0
        for kernel, values, name in (
            (SolveKernel("float64", "general", False), [x, np.ones(70)], "solve"),
            (InverseKernel("float64"), [x], "matrix_inverse"),
        ):
            with self.assertRaisesRegex(np.linalg.LinAlgError, f"{name}: Singular matrix"):
                self.run_form(kernel, values)

    def test_small_ones_and_many_are_left_to_kernels(self) -> None:
        for shape in ((40, 40), (20, 64, 64)):
            x = self.definite(*shape)
            np.testing.assert_allclose(self.run_form(InverseKernel("float64"), [x]), np.linalg.inv(x), atol=1e-9)
        self.assertEqual(calls("cusolverDnDgetrf"), 0)

    def test_each_call_may_fail(self) -> None:
        x = self.definite(70, 70)
        for name, kernel in (
            ("cusolverDnCreate", InverseKernel("float64")),
            ("cusolverDnDgetrf_bufferSize", InverseKernel("float64")),
            ("cusolverDnDpotrf_bufferSize", CholeskyKernel("float64", True, False)),
        ):
            with self.subTest(name):
                self.context = driver.open(0)
                fake.fake_fail(name.encode(), 5, 0)
                found = Bridge(self.context).run(kernel, [x])[0]
                wanted = np.linalg.inv(x) if isinstance(kernel, InverseKernel) else np.linalg.cholesky(x)
                np.testing.assert_allclose(found, wanted, atol=1e-9)
        for name, kernel, text in (
            ("cusolverDnSetStream", InverseKernel("float64"), "getrf of cuSOLVER failed with status 5"),
            ("cusolverDnDgetrf", InverseKernel("float64"), "getrf of cuSOLVER failed with status 5"),
            ("cusolverDnDgetrs", InverseKernel("float64"), "getrs of cuSOLVER failed with status 5"),
            ("cusolverDnDpotrf", CholeskyKernel("float64", True, False), "potrf of cuSOLVER failed with status 5"),
        ):
            fake.fake_fail(name.encode(), 5, 0)
            with self.subTest(name), self.assertRaisesRegex(DeviceError, text):
                Bridge(self.context).run(kernel, [x])


FLOAT = ScalarType("float32")
X, B = FLOAT("x"), FLOAT("b")
ZERO = ScalarConstant(FLOAT, np.float32(0))


def number(value: float) -> Any:
    return ScalarConstant(FLOAT, np.float32(value))


def gelu(x: Any, cubic: float = 0.044715) -> Any:
    inner = add(x, mul(number(cubic), mul(sqr(x), x)))
    return mul(number(0.5), x, add(number(1), tanh(mul(number(0.7978845608), inner))))


def other_gelu(x: Any) -> Any:
    inner = mul(x, number(0.7978845608), add(number(1), mul(number(0.044715), x, x)))
    return add(mul(x, number(0.5)), mul(tanh(inner), number(0.5), x))


S = add(X, B)
#: Expressions of the product and a row, with the number of the epilogue.
FORMS: dict[str, tuple[Any, int | None]] = {
    "row": (S, 4),
    "row first": (add(B, X), 4),
    "relu": (relu(S), 6),
    "maximum": (maximum(S, ZERO), 6),
    "maximum turned": (maximum(ZERO, S), 6),
    "times": (mul(S, gt(S, ZERO)), 6),
    "times turned": (mul(gt(S, ZERO), S), 6),
    "switch": (switch(gt(S, ZERO), S, ZERO), 6),
    "switch below": (switch(lt(S, ZERO), ZERO, S), 6),
    "switch from zero": (switch(le(ZERO, S), S, ZERO), 6),
    "gelu": (gelu(S), 36),
    "gelu otherwise": (other_gelu(S), 36),
    "other row": (sub(X, B), None),
    "other constant": (maximum(S, number(1)), None),
    "the smaller one": (switch(lt(S, ZERO), S, ZERO), None),
    "not of the sum": (add(relu(X), B), None),
    "other cubic": (gelu(S, 0.0447), None),
    "something else": (exp(S), None),
}


def epilogue(op: ScalarOp, count: int = 2, dtype: str = "float32", **more: Any) -> ProductEpilogueKernel:
    options: dict[str, Any] = {"product_inputs": 2, "broadcast": ((True, False),) * (count - 1), **more}
    return ProductEpilogueKernel(
        MatrixProductKernel(options.pop("kind", "gemm"), dtype),
        options.pop("product_inputs"),
        op,
        (dtype,) * count,
        options.pop("broadcast"),
        dtype,
    )


class TestForms(unittest.TestCase):
    def test_with_a_row(self) -> None:
        for name, (result, wanted) in FORMS.items():
            with self.subTest(name):
                found = epilogue_of(epilogue(Composite([X, B], [result])))
                self.assertEqual(None if found is None else found.number, wanted)

    def test_without_a_row(self) -> None:
        for result, wanted in ((relu(X), 2), (gelu(X), 32), (maximum(X, ZERO), 2), (tanh(X), None), (X, None)):
            found = epilogue_of(epilogue(Composite([X], [result]), 1))
            self.assertEqual(None if found is None else found.number, wanted)

    def test_other_operands(self) -> None:
        op = Composite([X, B], [S])
        for options in (
            {"broadcast": ((False, True),)},
            {"broadcast": ((False, False),)},
            {"product_inputs": 5},
            {"kind": "batched"},
        ):
            self.assertIsNone(epilogue_of(epilogue(op, **options)))


class TestEpilogues(Case):
    """Products beyond the size that kernels fuse by themselves."""

    sizes = (136, 128, 132)

    def setUp(self) -> None:
        super().setUp()
        self.device = GpuContext(self.context, "cuda0")

    def region(self, result: Any, *inputs: Any, dtype: str = "float32", turned: bool = False) -> Region:
        op = Composite(list(inputs), [result])
        patterns = ((False, False), (True, False))[: len(inputs)]
        after = ElementwiseKernel(op, (dtype,) * len(inputs), (dtype,), patterns, 2)
        steps = [Step(MatrixProductKernel("gemm", dtype), (0, 1), (3,)), Step(after, (3, 2)[: len(inputs)], (4,))]
        return Region(self.device, steps, [0, 1, 2][: len(inputs) + 1], [4], fuse=fuse)

    def values(self, *shapes: tuple[int, ...]) -> list[Any]:
        return [self.rng.normal(size=shape).astype("float32") for shape in shapes]

    def run_region(self, region: Region, values: Sequence[Any]) -> Any:
        given = [asarray(v, context=self.device) for v in values]
        return np.asarray(region(given)[0])

    def test_values_and_captured_lists(self) -> None:
        m, k, n = self.sizes
        for result, number in ((S, 4), (relu(S), 6), (gelu(S), 36)):
            region = self.region(result, X, B)
            b, row = self.values((k, n), (1, n))
            for _ in range(2):
                (a,) = self.values((m, k))
                found = self.run_region(region, [a, b, row])
                total = a.astype("float64") @ b + row
                wanted = {
                    4: total,
                    6: np.maximum(total, 0),
                    36: 0.5 * total * (1 + np.tanh(np.sqrt(2 / np.pi) * (total + 0.044715 * total**3))),
                }[number]
                np.testing.assert_allclose(found, wanted, atol=1e-4)
                self.assertEqual(fake.fake_epilogue(), number)
        self.assertEqual((calls("cublasLtMatmul"), calls("cublasLtMatmulAlgoGetHeuristic")), (6, 3))
        self.assertEqual((calls("cuLaunchKernel"), calls("cublasGemmEx")), (0, 0))

    def test_no_row_and_transposed_factors(self) -> None:
        m, k, n = self.sizes
        region = self.region(relu(X), X)
        context = self.device
        for turned_a, turned_b in ((True, False), (False, True), (True, True)):
            a, b = self.values((m, k), (k, n))
            given = [
                asarray(np.ascontiguousarray(v.T), context=context).T if turned else asarray(v, context=context)
                for v, turned in ((a, turned_a), (b, turned_b))
            ]
            np.testing.assert_allclose(np.asarray(region(given)[0]), np.maximum(a @ b, 0), atol=1e-4)
        self.assertEqual((fake.fake_epilogue(), calls("cublasLtMatmul")), (2, 3))

    def test_tf32_is_used_where_it_is_asked_for(self) -> None:
        m, k, n = self.sizes
        values = self.values((m, k), (k, n), (1, n))
        for flag, wanted in ((False, 68), (True, 77)):
            with config.change_flags(gpuarray__tf32=flag):
                self.run_region(self.region(relu(S), X, B), values)
            self.assertEqual(fake.fake_lt_compute(), wanted)

    def test_what_the_library_does_not_do_is_two_steps(self) -> None:
        m, k, n = self.sizes
        for name, status in (
            ("cublasLtCreate", 1),
            ("cublasLtMatmulDescCreate", 1),
            ("cublasLtMatmulDescSetAttribute", 1),
            ("cublasLtMatrixLayoutCreate", 1),
            ("cublasLtMatmulPreferenceCreate", 1),
            ("cublasLtMatmulPreferenceSetAttribute", 1),
            ("cublasLtMatmulAlgoGetHeuristic", 15),
        ):
            with self.subTest(name):
                self.context = driver.open(0)
                fake.fake_reset()
                fake.fake_fail(name.encode(), status, 0)
                numbers = (0, 0, m, n, k, k, n, n, 6, 0)
                self.assertIsNone(self.context.workspace("epilogue", "float32", numbers))
        fake.fake_lt_workspace(1 << 30)
        self.assertIsNone(driver.open(0).workspace("epilogue", "float32", numbers))
        self.assertIsNone(driver.open(0).workspace("epilogue", "int32", numbers))

    def test_a_product_may_fail(self) -> None:
        m, k, n = self.sizes
        values = self.values((m, k), (k, n), (1, n))
        region = self.region(relu(S), X, B)
        for name in ("cublasLtMatmul", "cublasLtMatmulDescSetAttribute"):
            self.run_region(region, values)
            fake.fake_fail(name.encode(), 13, 0)
            with self.assertRaisesRegex(DeviceError, "a product by cuBLASLt failed with status 13"):
                self.run_region(region, values)

    def test_more_plans_than_are_kept(self) -> None:
        context = driver.open(1)
        for k in range(1, 140):
            self.assertEqual(context.workspace("epilogue", "float32", (0, 0, 8, 8, k, k, 8, 8, 4, 0)), 256)
        self.assertEqual(calls("cublasLtMatmulDescDestroy"), 11)
        del context
        self.assertEqual(calls("cublasLtMatmulDescDestroy"), 139)
        self.assertEqual(calls("cublasLtMatrixLayoutDestroy"), 3 * 139)

    def test_memory_of_others_may_be_aligned_otherwise(self) -> None:
        numbers = (0, 0, 2, 3, 2, 2, 3, 3, 4, 0)
        size = self.context.workspace("epilogue", "float32", numbers)
        assert size is not None, "the stand-in has products"
        memory = np.zeros(100, "float32")
        start = memory.ctypes.data
        a, b, row = self.values((2, 2), (2, 3), (3,))
        begin = 1 + (-start // 4) % 4  # 4 bytes behind a multiple of 16
        parts = {begin: a, begin + 20: b, begin + 40: row}
        for at, values in parts.items():
            memory[at : at + values.size] = values.reshape(-1)
        wrapped = self.context.wrap(start, memory.nbytes, memory)
        work = self.context.allocate(size)
        places = [(wrapped, 4 * at, values.nbytes) for at, values in parts.items()]
        result = (wrapped, 4 * (begin + 60), 24)
        self.context.call("epilogue", "float32", numbers, places[0], places[1], result, places[2], (work, 0, size))
        found = memory[begin + 60 : begin + 66].reshape(2, 3)
        np.testing.assert_allclose(found, a @ b + row, atol=1e-5)
        self.assertEqual(calls("cublasLtMatmulAlgoGetHeuristic"), 2)


class TestOperations(Case):
    def test_what_there_is_not(self) -> None:
        self.assertIsNone(self.context.workspace("gesvd", "float32", (3, 3)))
        self.assertIsNone(self.context.workspace("potrf", "float16", (3,)))
        self.assertIsNone(self.context.workspace("potrf", "float32", ()))
        self.assertIsNone(self.context.workspace("getrs", "float32", (3, 0)))
        memory = self.context.allocate(64)
        with self.assertRaisesRegex(DeviceError, "there is no operation gesvd with 1 numbers and 1 arrays"):
            self.context.call("gesvd", "float32", (3,), (memory, 0, 64))
        with self.assertRaisesRegex(DeviceError, "there is no operation potrf with 1 numbers and 1 arrays"):
            self.context.call("potrf", "float32", (3,), (memory, 0, 64))
        with self.assertRaisesRegex(DeviceError, "cuSOLVER has no potrf"):
            self.context.call("potrf", "float16", (3,), *((memory, 0, 64),) * 3)
        with self.assertRaisesRegex(DeviceError, "cuFFT has no transform"):
            self.context.call("rfft", "float16", (1, 3), *((memory, 0, 64),) * 3)
        with self.assertRaisesRegex(DeviceError, "cuBLASLt has no product"):
            self.context.call("epilogue", "int8", (0,) * 10, *((memory, 0, 64),) * 5)

    def test_wrong_arguments(self) -> None:
        memory = self.context.allocate(64)
        with self.assertRaisesRegex(ValueError, "an operation has 12 numbers at most"):
            self.context.workspace("rfft", "float32", (1,) * 13)
        with self.assertRaisesRegex(ValueError, "an operation has 6 arrays at most"):
            self.context.call("rfft", "float32", (1, 2), *((memory, 0, 4),) * 7)
        with self.assertRaisesRegex(ValueError, "offsets and lengths are not negative"):
            self.context.call("rfft", "float32", (1, 2), (memory, -1, 4))
        with self.assertRaisesRegex(ValueError, "the buffer is too small"):
            self.context.call("rfft", "float32", (1, 2), (memory, 32, 64))
        numbers: Any = ("x",)
        with self.assertRaises(TypeError):
            self.context.call("rfft", "float32", numbers)
        with self.assertRaises(TypeError):
            LaunchList(self.context, [("call", "rfft", "float32", numbers)], 0)

    def test_other_drivers_have_none(self) -> None:
        null = _runtime.open_driver("null", {}).open(0)
        self.assertIsNone(null.workspace("rfft", "float32", (1, 2)))
        with self.assertRaisesRegex(ValueError, "the driver null has no operations of libraries"):
            null.call("rfft", "float32", (1, 2))
        with self.assertRaisesRegex(ValueError, "the driver null has no operations of libraries"):
            LaunchList(null, [("call", "rfft", "float32", (1, 2))], 0)
