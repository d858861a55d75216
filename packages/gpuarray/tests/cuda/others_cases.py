"""Arguments of cuBLASLt, cuFFT and cuSOLVER: run by `test_others` in a process of its own, which opens stand-ins for
the libraries of CUDA. Kernels run on OpenCL, and arrays of libraries are brought to the stand-ins and back."""

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
from theano_gpuarray.codegen import DeviceOperand, LibraryCall, Operand
from theano_gpuarray.codegen.fourier import InverseRealFourierKernel, RealFourierKernel
from theano_gpuarray.region import AtOnce, form_of, upload
from theano_gpuarray.region._execution import extent
from theano_linker_c.kernels import Kernel
from theano_testing.device import card_context, opencl_context
from theano_testing.gpuarray import needs_opencl

#: The bits of 1 as a float64.
ONE = 0x3FF0000000000000
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
        stays = set(form_of(kernel).host_inputs(kernel, len(values)))
        operands = [np.asarray(v) if i in stays else self.turned(np.asarray(v)) for i, v in enumerate(values)]
        return self.results(kernel, operands)

    def results(self, kernel: Kernel, operands: Sequence[Operand]) -> list[Any]:
        """Run a kernel on operands as they are."""
        results = form_of(kernel).run(kernel, self, operands)
        self.check()
        return [np.asarray(self.value(result)) for result in results]

    def placed(self, value: NDArray[Any]) -> DeviceOperand:
        """Return a copy on the device with the strides of an array."""
        order = sorted(range(value.ndim), key=lambda d: -value.strides[d])
        return self.operand(upload(self._context, value.transpose(order), offset=64).transpose(*np.argsort(order)))

    def turned(self, value: NDArray[Any]) -> DeviceOperand:
        """Return a copy on the device that has gaps, and negative strides."""
        full = np.zeros([2 * n for n in value.shape], value.dtype)
        back = tuple(slice(None, None, -2) for _ in value.shape)
        full[back] = value
        return self.operand(upload(self._context, full, offset=64)[back])

    def workspace(self, call: LibraryCall) -> int | None:
        """Ask the stand-in."""
        result: int | None = self.other.workspace(call.name, call.dtype, call.numbers)
        return result

    def call(self, call: LibraryCall, operands: Sequence[DeviceOperand]) -> None:
        """Let the stand-in compute, with copies of the memory of the operands, which keep their offsets."""
        copies: dict[int, tuple[Buffer, NDArray[Any]]] = {}
        for slot in dict.fromkeys(x.slot for x in operands):
            memory = np.zeros(self._buffers[slot].nbytes, np.uint8)
            self._buffers[slot].read(0, memory)
            copies[slot] = self.other.allocate(memory.nbytes), memory
        tables = [x for x in operands if x.dtype == "uint64"]
        for table, matrices in zip(tables, operands[-len(tables) :] if tables else (), strict=True):
            self.translate(table, copies[table.slot][1], matrices, copies[matrices.slot][0])
        for result, memory in copies.values():
            result.write(0, memory)
        places = [(copies[x.slot][0], x.offset, extent(x)) for x in operands]
        self.other.call(call.name, call.dtype, call.numbers, *places)
        for slot, (result, memory) in copies.items():
            result.read(0, memory)
            self._buffers[slot].write(0, memory)

    def translate(self, table: DeviceOperand, memory: NDArray[Any], matrices: DeviceOperand, result: Buffer) -> None:
        """Put addresses of the stand-in in place of those of OpenCL, which have to have the same distances."""
        addresses = memory[table.offset : table.offset + table.nbytes].view(np.uint64)
        np.testing.assert_array_equal(np.diff(addresses), matrices.strides[0])
        first = result.address + matrices.offset
        addresses[:] = [first + k * matrices.strides[0] for k in range(addresses.size)]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.context = driver.open(0)
        self.rng = np.random.default_rng(7)
        fake.fake_lt_workspace(256)
        fake.fake_reset()

    def tearDown(self) -> None:
        self.assertEqual(fake.fake_depth(), 0, "each context that is made current is taken away again")

    def run_form(self, kernel: Kernel, values: Sequence[Any]) -> Any:
        results = [Bridge(self.context, card=card).run(kernel, values)[0] for card in (False, True)]
        np.testing.assert_array_equal(*results)
        return results[0]


@needs_opencl
class TestFourier(Case):
    def check(self, shape: tuple[int, ...], dtype: str, forward: str, inverse: str) -> None:
        axes = tuple(range(1, len(shape)))
        x = self.rng.normal(size=shape).astype(dtype)
        expected = scipy.fft.rfftn(x.astype("float64"), axes=axes)
        result = self.run_form(RealFourierKernel(dtype), [x])
        tolerance = 1e-5 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(result[..., 0] + 1j * result[..., 1], expected, atol=tolerance)
        y = self.rng.normal(size=(*expected.shape, 2)).astype(dtype)
        pairs = y.astype("float64").view("complex128")[..., 0]
        back = scipy.fft.irfftn(pairs, s=shape[1:], axes=axes, norm="forward")
        result = self.run_form(InverseRealFourierKernel(dtype), [y, np.int64(shape[-1])])
        np.testing.assert_allclose(result, back, atol=10 * tolerance)
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
        results = [self.context.workspace("rfft", "float32", (1, n)) for n in range(1, 300)]
        self.assertEqual(results, [64] * 256 + [None] * 43)
        np.testing.assert_allclose(
            self.run_form(RealFourierKernel("float32"), [np.ones((1, 600), "float32")])[0, 0, 0], 600
        )

    def test_four_dimensions_are_left_to_kernels(self) -> None:
        self.assertIsNone(self.context.workspace("rfft", "float32", (2, 2, 2, 2, 2)))
        x = self.rng.normal(size=(1, 2, 3, 2, 4)).astype("float32")
        result = self.run_form(RealFourierKernel("float32"), [x])
        np.testing.assert_allclose(result[..., 0], scipy.fft.rfftn(x, axes=(1, 2, 3, 4)).real, atol=1e-5)
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
        outcome, work = self.context.allocate(80), self.context.allocate(size)
        for _ in range(5):
            x = self.rng.normal(size=(2, 8)).astype("float32")
            operand = self.context.allocate(64)
            operand.write(0, x)
            chain.run([operand, outcome, work])
            result = np.zeros((2, 5), "complex64")
            outcome.read(0, result)
            np.testing.assert_allclose(result, scipy.fft.rfft(x), atol=1e-5)
        self.assertGreater(calls("cuGraphLaunch"), 0)

    def test_calls_are_repeated(self) -> None:
        size = self.context.workspace("rfft", "float32", (2, 8))
        assert size is not None, "the stand-in has transforms"
        call = ("call", "rfft", "float32", (2, 8), (0, 0, 64), (1, 0, 80), (2, 0, size))
        for count in (3, 5000):
            repeat = ("repeat", count, (call,), (((0, 64, 0), (1, 80, 0)),))
            chain = LaunchList(self.context, [repeat], 3)
            x = self.rng.normal(size=(count, 2, 8)).astype("float32")
            operands, outcome, work = (self.context.allocate(n) for n in (64 * count, 80 * count, size))
            operands.write(0, x)
            for _ in range(4):
                outcome.fill(0, 80 * count, 0)
                chain.run([operands, outcome, work])
                result = np.zeros((count, 2, 5), "complex64")
                outcome.read(0, result)
                np.testing.assert_allclose(result, scipy.fft.rfft(x), atol=1e-5)
            with self.assertRaisesRegex(ValueError, "too small"):
                chain.run([operands, self.context.allocate(80 * count - 1), work])
            for moves in (((3, 4, 0),), ((0, -64, 0),)):
                with self.assertRaisesRegex(ValueError, "a number that moves"):
                    LaunchList(self.context, [("repeat", count, (call,), (moves,))], 3)


class TestOperations(Case):
    def test_what_there_is_not(self) -> None:
        self.assertIsNone(self.context.workspace("gesdd", "float32", (3, 3, 1)))
        self.assertIsNone(self.context.workspace("potrf", "float16", (3,)))
        self.assertIsNone(self.context.workspace("potrf", "float32", ()))
        self.assertIsNone(self.context.workspace("getrs", "float32", (3, 0)))
        memory = self.context.allocate(64)
        with self.assertRaisesRegex(DeviceError, "there is no operation gesdd with 1 numbers and 1 arrays"):
            self.context.call("gesdd", "float32", (3,), (memory, 0, 64))
        with self.assertRaisesRegex(DeviceError, "there is no operation potrf with 1 numbers and 1 arrays"):
            self.context.call("potrf", "float32", (3,), (memory, 0, 64))
        with self.assertRaisesRegex(DeviceError, "cuSOLVER has no potrf"):
            self.context.call("potrf", "float16", (3,), *((memory, 0, 64),) * 3)
        with self.assertRaisesRegex(DeviceError, "cuFFT has no transform"):
            self.context.call("rfft", "float16", (1, 3), *((memory, 0, 64),) * 3)
        with self.assertRaisesRegex(DeviceError, "cuBLASLt has no product"):
            self.context.call("epilogue", "int8", (0,) * 13, *((memory, 0, 64),) * 5)

    def test_wrong_arguments(self) -> None:
        memory = self.context.allocate(64)
        with self.assertRaisesRegex(ValueError, "an operation has 24 numbers at most"):
            self.context.workspace("rfft", "float32", (1,) * 25)
        with self.assertRaisesRegex(ValueError, "an operation has 16 arrays at most"):
            self.context.call("rfft", "float32", (1, 2), *((memory, 0, 4),) * 17)
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
