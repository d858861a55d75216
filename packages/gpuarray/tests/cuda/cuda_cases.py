"""Calls of the CUDA driver to its libraries: run by `test_cuda_driver` in a process of its own, for a process opens
a driver once, and this one opens stand-ins for the libraries of CUDA."""

from __future__ import annotations

import ctypes
import os
import threading
import unittest
from collections.abc import Callable
from functools import cache, partial
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from theano_gpuarray import _runtime
from theano_gpuarray._runtime import Buffer, Context, DeviceError, Kernel, LaunchList

FAKE = os.environ["THEANO_TEST_FAKE"]
TEXT = """
extern "C" __global__ void scale(float *x, long long count, float factor) {
  for (long long i = threadIdx.x + blockDim.x * blockIdx.x; i < count; i += gridDim.x * blockDim.x)
    x[i] *= factor;
}
extern "C" __global__ void sum_into(double *z, const float *x, const float *y, long long count, double first, int times,
                                    unsigned more) {
  const long long i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * (blockIdx.x + gridDim.x * blockIdx.y));
  if (i < count)
    z[i] = first + times * (double)x[i] + more * (double)y[i];
}
"""
fake = ctypes.CDLL(FAKE)
fake.fake_log.restype = ctypes.c_char_p
fake.fake_options.restype = ctypes.c_char_p
fake.fake_sizes.restype = ctypes.POINTER(ctypes.c_uint)
driver = _runtime.open_driver("cuda", {"cuda": FAKE, "nvrtc": FAKE, "cublas": FAKE})


@cache
def code() -> bytes:
    """Return the code of `TEXT` for the first device."""
    return driver.open(0).compile(TEXT)


def calls() -> list[str]:
    """Return the calls since the last reset, without those of `cuCtxSetCurrent` and kin."""
    result = fake.fake_log().decode().split()
    return [name.partition("_v2")[0] for name in result if not name.startswith("cuCtxP")]


class Case(unittest.TestCase):
    context: Context

    def setUp(self) -> None:
        self.context = driver.open(0)
        fake.fake_reset()

    def tearDown(self) -> None:
        self.assertEqual(fake.fake_depth(), 0, "each context that is made current is taken away again")

    def buffer(self, values: NDArray[Any]) -> Buffer:
        result = self.context.allocate(values.nbytes)
        result.write(0, values)
        return result

    def values(self, buffer: Buffer, dtype: str = "float32") -> list[float]:
        result = np.empty(buffer.nbytes // np.dtype(dtype).itemsize, dtype)
        buffer.read(0, result)
        return list(result.tolist())

    def kernel(self, name: str = "scale", parameters: str = "Pqf") -> Kernel:
        return self.context.load(code()).kernel(name, parameters)

    def refused(self, call: str, action: Callable[[], object], status: int = 77, skip: int = 0) -> str:
        """Let a call fail and return the text of the error."""
        fake.fake_fail(call.encode(), status, skip)
        with self.assertRaises(DeviceError) as caught:
            action()
        return str(caught.exception)


class TestDevices(Case):
    def test_properties(self) -> None:
        result = driver.properties(0)
        expected = {
            "name": "Fake GPU 0",
            "vendor": "NVIDIA",
            "place": "0000:01:00.0",
            "arch": "sm_90",
            "number": 0,
            "version": "CUDA 12.4; NVRTC 12.4",
            "max_local": 1024,
            "local_memory": 49152,
            "memory": 1 << 30,
            "units": 4,
            "warp": 32,
            "doubles": True,
            "halves": True,
            "long_atomics": True,
            "cpu": False,
        }
        self.assertEqual({name: result[name] for name in expected}, expected)
        self.assertEqual((driver.count(), driver.properties(1)["arch"]), (3, "sm_120"))

    def test_each_query_may_fail(self) -> None:
        for call in ("cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem_v2", "cuDeviceGetAttribute"):
            with self.subTest(call):
                text = self.refused(call, lambda: driver.properties(0))
                self.assertIn(call.removesuffix("_v2"), text)
                self.assertIn("CUDA_ERROR_OF_THE_TEST (77), as the test wants it", text)
        fake.fake_fail(b"cuDeviceGetPCIBusId", 77, 0)
        self.assertEqual(driver.properties(0)["place"], "")

    def test_contexts_are_closed_with_all_that_is_theirs(self) -> None:
        before = fake.fake_retained(1)
        context = driver.open(1)
        self.assertEqual(fake.fake_retained(1), before + 1)
        self.assertNotEqual((context.handle, context.queue), (0, 0))
        del context
        self.assertEqual(fake.fake_retained(1), before)
        self.assertEqual(calls()[-2:], ["cuStreamDestroy", "cuDevicePrimaryCtxRelease"])

    def test_contexts_that_cannot_be_opened_leave_nothing(self) -> None:
        before = fake.fake_retained(2)
        for call, skip in (("cuDeviceGet", 0), ("cuDevicePrimaryCtxRetain", 0), ("cuStreamCreate", 0),
                           ("cuStreamCreate", 1), ("cuDeviceGetAttribute", 0)):  # fmt: skip
            with self.subTest(call, skip=skip):
                self.refused(call, lambda: driver.open(2), skip=skip)
                self.assertEqual(fake.fake_retained(2), before)

    def test_threads_that_wait_give_way_where_that_is_wanted(self) -> None:
        driver.open(2)
        self.assertEqual(fake.fake_flags(2), 0)
        context = driver.open(2, blocking=True)
        self.assertEqual(fake.fake_flags(2) & 7, 2)
        fake.fake_reset()
        driver.open(2, blocking=True)
        self.assertNotIn("cuDevicePrimaryCtxSetFlags", calls(), "somebody has the context already")
        del context
        self.refused("cuDevicePrimaryCtxGetState", lambda: driver.open(2, blocking=True))

    def test_a_context_can_be_made_current(self) -> None:
        self.context.push()
        self.assertEqual(fake.fake_depth(), 1)
        self.context.pop()
        self.refused("cuCtxPushCurrent_v2", self.context.push)
        with self.assertRaisesRegex(DeviceError, "cuCtxPopCurrent failed"):
            self.context.pop()

    def test_waiting(self) -> None:
        self.context.synchronize()
        self.assertIn("cuStreamSynchronize failed", self.refused("cuStreamSynchronize", self.context.synchronize))


class TestMemory(Case):
    def test_values_go_there_and_back(self) -> None:
        values = np.arange(1000, dtype="float32")
        for blocking in (True, False):
            buffer = self.context.allocate(values.nbytes)
            buffer.write(0, values, blocking=blocking)
            self.assertEqual(self.values(buffer), values.tolist())
        other = self.context.allocate(values.nbytes)
        other.fill(0, values.nbytes, 0)
        other.copy(8, buffer, 4, 400)
        self.assertEqual(self.values(other), [0, 0, *range(1, 101), *[0] * 898])

    def test_each_call_may_fail(self) -> None:
        values = np.ones(4, "float32")
        buffer, other = self.buffer(values), self.buffer(values)
        actions: dict[str, Callable[[], object]] = {
            "cuMemcpyHtoDAsync": lambda: buffer.write(0, values),
            "cuMemcpyDtoHAsync": lambda: buffer.read(0, values),
            "cuMemcpyDtoDAsync": lambda: buffer.copy(0, other, 0, 4),
            "cuMemsetD8Async": lambda: buffer.fill(0, 4, 1),
            "cuStreamSynchronize": lambda: buffer.write(0, values),
            "cuCtxPushCurrent": lambda: buffer.fill(0, 4, 1),
        }
        for call, action in actions.items():
            for name in (call, call + "_v2"):
                if hasattr(fake, name):
                    with self.subTest(name):
                        self.assertIn(f"{call} failed", self.refused(name, action))
        self.assertIn("cuStreamSynchronize failed", self.refused("cuStreamSynchronize", lambda: buffer.read(0, values)))

    def test_staging_may_fail(self) -> None:
        values = np.ones(4, "float32")
        write = partial(self.context.allocate(16).write, 0, values, blocking=False)
        self.assertIn("cuMemcpyHtoDAsync", self.refused("cuMemcpyHtoDAsync_v2", write))
        context = driver.open(0)
        fake.fake_fail(b"cuMemHostAlloc", 77, 0)
        buffer = context.allocate(16)
        buffer.write(0, values, blocking=False)
        self.assertEqual(self.values(buffer), [1, 1, 1, 1], "it goes without pinned memory")

    def test_small_reads_go_by_way_of_pinned_memory(self) -> None:
        context = driver.open(0)
        small, large = (np.arange(n, dtype="float32") for n in (1024, 1025))
        buffers = [context.allocate(v.nbytes) for v in (small, large)]
        for buffer, values in zip(buffers, (small, large), strict=True):
            buffer.write(0, values)
        for which, pinned in ((1, 0), (0, 1), (0, 0), (1, 0)):
            fake.fake_reset()
            self.assertEqual(self.values(buffers[which]), (small, large)[which].tolist())
            self.assertEqual(calls().count("cuMemHostAlloc"), pinned)
        del context, buffer, buffers
        context = driver.open(0)
        fake.fake_fail(b"cuMemHostAlloc", 77, 0)
        buffer = context.allocate(small.nbytes)
        buffer.write(0, small)
        self.assertEqual(self.values(buffer), small.tolist(), "it goes without pinned memory")

    def test_memory_that_is_not_there(self) -> None:
        self.assertIn("the device has 1.0 GiB", self.refused("none", lambda: self.context.allocate(2 << 30)))
        text = self.refused("cuMemAlloc_v2", lambda: driver.open(0).allocate(4096))
        self.assertIn("cuMemAlloc failed: CUDA_ERROR_OF_THE_TEST", text)

    def test_memory_is_given_back(self) -> None:
        before = fake.fake_allocated()
        context = driver.open(0, preallocate=-1)
        buffer = context.allocate(1000)
        self.assertGreater(fake.fake_allocated(), before)
        del buffer
        context.synchronize()
        context.trim()
        self.assertEqual(fake.fake_allocated(), before)

    def test_copies_between_devices_wait_for_each_other(self) -> None:
        other = driver.open(1)
        source = self.buffer(np.arange(4, dtype="float32"))
        target = other.allocate(16)
        fake.fake_reset()
        target.copy(0, source, 0, 16)
        self.assertEqual([name for name in calls() if name in ("cuStreamWaitEvent", "cuMemcpyPeerAsync")],
                         ["cuStreamWaitEvent", "cuMemcpyPeerAsync", "cuStreamWaitEvent"])  # fmt: skip
        self.assertEqual(fake.fake_events(), 0, "events are destroyed while a context is current")
        self.assertEqual(self.values(target), [0, 1, 2, 3])
        for call in ("cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuMemcpyPeerAsync"):
            with self.subTest(call):
                self.assertIn(call, self.refused(call, lambda: target.copy(0, source, 0, 16)))

    def test_copies_between_contexts_of_a_device(self) -> None:
        source, other = self.buffer(np.arange(4, dtype="float32")), driver.open(0)
        target = other.allocate(16)
        target.copy(0, source, 0, 16)
        self.assertEqual(self.values(target), [0, 1, 2, 3])
        self.assertNotIn("cuMemcpyPeerAsync", calls())

    def test_threads(self) -> None:
        buffers: list[Buffer] = []

        def work(number: int) -> None:
            buffers.extend(self.buffer(np.full(64, number, "float32")) for _ in range(50))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(self.values(buffer)[7] for buffer in buffers), sorted([0, 1, 2, 3] * 50))


class TestKernels(Case):
    def test_code_is_for_the_device(self) -> None:
        self.assertTrue(self.context.compile(TEXT, "--fmad=false -DX=1").startswith(b"code for sm_90: "))
        self.assertEqual(fake.fake_options().decode(), "--gpu-architecture=sm_90 --fmad=false -DX=1")
        self.assertTrue(driver.open(1).compile(TEXT).startswith(b"code for compute_100: "), "newer than NVRTC")
        with self.assertRaisesRegex(DeviceError, "NVRTC 12.4 makes no code for sm_60, .* oldest .* is sm_75"):
            driver.open(2).compile(TEXT)

    def test_what_the_compiler_says_is_told(self) -> None:
        with self.assertRaisesRegex(DeviceError, r"NVRTC_ERROR_COMPILATION\n.*kernel.cu\(1\): error"):
            self.context.compile("#error")
        text = self.refused("nvrtcGetProgramLogSize", lambda: self.context.compile("#error"))
        self.assertIn("does not say why", text)

    def test_compiling_may_fail(self) -> None:
        for call in ("nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize", "nvrtcGetCUBIN"):
            with self.subTest(call):
                self.assertIn("NVRTC_ERROR_OF_THE_TEST", self.refused(call, lambda: self.context.compile(TEXT)))
        self.assertEqual(calls().count("nvrtcDestroyProgram"), 3, "each program that was created is destroyed")
        newer = driver.open(1)
        for call in ("nvrtcGetPTXSize", "nvrtcGetPTX"):
            with self.subTest(call):
                self.refused(call, lambda: newer.compile(TEXT))
        with self.assertRaisesRegex(DeviceError, "more than 63 options"):
            self.context.compile(TEXT, " ".join(["-DX"] * 64))

    def test_arguments_of_each_kind(self) -> None:
        x, y = (self.buffer(np.array(values, "float32")) for values in ([1, 2], [3, 4]))
        z = self.context.allocate(16)
        kernel = self.kernel("sum_into", "PPPqdiI")
        self.assertEqual(kernel.max_local, 512)
        self.context.launch(kernel, [3, 2], [16, 2, 1][:2], [z, x, y, 2, 0.5, -1, 4_000_000_000])
        self.assertEqual(self.values(z, "float64"), [0.5 - 1 + 1.2e10, 0.5 - 2 + 1.6e10])
        self.assertEqual(list(fake.fake_sizes()[:7]), [3, 2, 1, 16, 2, 1, 0])

    def test_shared_memory(self) -> None:
        kernel, buffer = self.kernel(), self.buffer(np.ones(2, "float32"))
        self.context.launch(kernel, [1], [1], [buffer, 2, 3.0], 1000)
        self.assertEqual((fake.fake_sizes()[6], self.values(buffer)), (1000, [3, 3]))
        with self.assertRaisesRegex(ValueError, "the device has 49152"):
            self.context.launch(kernel, [1], [1], [buffer, 2, 3.0], 50_000)

    def test_loading_and_launching_may_fail(self) -> None:
        kernel, buffer = self.kernel(), self.buffer(np.ones(2, "float32"))
        self.assertIn("cuModuleLoadData failed", self.refused("none", lambda: self.context.load(b"damaged")))
        module = self.context.load(code())
        self.assertIn("cuModuleGetFunction failed", self.refused("none", lambda: module.kernel("other", "P")))
        self.assertIn("cuFuncGetAttribute", self.refused("cuFuncGetAttribute", lambda: module.kernel("scale", "Pqf")))
        text = self.refused("cuLaunchKernel", lambda: self.context.launch(kernel, [5], [7], [buffer, 2, 1.0]))
        self.assertIn("the kernel scale, groups 5 x 1 x 1 of 7 x 1 x 1", text)
        self.assertEqual(self.values(buffer), [1, 1])


class TestPool(Case):
    def test_a_program_that_goes_on_gets_its_addresses_again(self) -> None:
        sizes = (64, 2000, 100, 64, 900, 3000, 20)
        references = [self.context.allocate(size) for size in sizes]
        seen = []
        for _ in range(8):
            operands, scratch = self.context.allocate(64), self.context.allocate(2000)
            references = [self.context.allocate(size) for size in sizes]  # only then the former ones go
            seen.append((operands.address, scratch.address, *(buffer.address for buffer in references)))
            del operands, scratch
        self.assertEqual(len(set(seen[2:])), 2)
        self.assertEqual(seen[4], seen[6])


class TestProducts(Case):
    def setUp(self) -> None:
        super().setUp()
        self.rng = np.random.default_rng(5)

    def product(
        self, dtype: str, ta: bool, tb: bool, alpha: float, beta: float, device: str = "", batch: int = 2
    ) -> None:
        """Compare a stack of products with NumPy's; `device` names the factors that are on the device."""
        m, n, k = 3, 4, 5
        a, b = self.rng.normal(size=(batch, m, k)).astype(dtype), self.rng.normal(size=(batch, k, n)).astype(dtype)
        z = self.rng.normal(size=(batch, m, n)).astype(dtype)
        expected = alpha * (a @ b) + beta * z
        stored = [np.ascontiguousarray(x.transpose(0, 2, 1) if t else x) for x, t in ((a, ta), (b, tb))]
        first, second, result = (self.buffer(x) for x in (*stored, z))
        factors = self.buffer(np.array([9, alpha, beta], dtype))
        operands = [(factors, 1 + i) if name in device else value
                 for i, (name, value) in enumerate((("alpha", alpha), ("beta", beta)))]  # fmt: skip
        done = self.context.product(
            dtype, (ta, tb), (m, n, k, batch), operands[0], (first, 0, m if ta else k, m * k),
            (second, 0, k if tb else n, k * n), operands[1], (result, 0, n, m * n),
        )  # fmt: skip
        self.assertTrue(done)
        outcome = np.array(self.values(result, dtype)).reshape(z.shape)
        np.testing.assert_allclose(outcome, expected, rtol=1e-5 if dtype == "float32" else 1e-12)

    def test_products(self) -> None:
        for dtype in ("float32", "float64"):
            for ta in (False, True):
                for tb in (False, True):
                    with self.subTest(dtype, ta=ta, tb=tb):
                        self.product(dtype, ta, tb, 1.5, 0.0)
                        self.product(dtype, ta, tb, 1.5, -2.0)
                        self.product(dtype, ta, tb, 1.5, -2.0, batch=1)

    def test_factors_on_the_device(self) -> None:
        for dtype in ("float32", "float64"):
            for device in ("alpha", "beta", "alpha beta"):
                with self.subTest(dtype, device=device):
                    self.product(dtype, False, True, 0.75, 3.0, device)

    def test_tf32_is_used_where_it_is_asked_for(self) -> None:
        x = (self.buffer(np.ones(4, "float32")), 0, 2, 4)
        for dtype, compute in (("float32", 68), ("tf32", 77), ("float32", 68)):
            self.assertTrue(self.context.product(dtype, (False, False), (2, 2, 2, 1), 1.0, x, x, 0.0, x))
            self.assertEqual(fake.fake_compute(), compute)
        self.assertTrue(self.context.product("tf32", (False, False), (2, 2, 2, 1), (x[0], 0), x, x, 0.0, x))

    def test_what_there_is_nothing_for(self) -> None:
        x = (self.buffer(np.ones(4)), 0, 2, 4)
        for dtype in ("int32", "complex64"):
            self.assertFalse(self.context.product(dtype, (False, False), (2, 2, 2, 1), 1.0, x, x, 0.0, x))
        with self.assertRaisesRegex(DeviceError, "factors of float16"):
            self.context.product("float16", (False, False), (1, 1, 1, 1), (x[0], 0), x, x, 0.0, x)

    def test_a_library_that_does_not_start_leaves_products_to_kernels(self) -> None:
        x = (self.buffer(np.ones(4)), 0, 2, 4)
        for call in ("cuMemAlloc_v2", "cublasCreate_v2", "cublasSetMathMode"):
            with self.subTest(call):
                context, before = driver.open(0), fake.fake_allocated()
                inner = context.allocate(32), 0, 2, 4
                before = fake.fake_allocated()
                fake.fake_fail(call.encode(), 3, 0)
                for _ in range(2):
                    self.assertFalse(
                        context.product("float64", (False, False), (2, 2, 2, 1), 1.0, inner, inner, 0.0, inner)
                    )
                self.assertEqual(fake.fake_allocated(), before)
        self.assertTrue(self.context.product("float64", (False, False), (2, 2, 2, 1), 1.0, x, x, 0.0, x))

    def test_a_product_may_fail(self) -> None:
        x = (self.buffer(np.ones(4)), 0, 2, 4)

        def product(batch: int = 1) -> object:
            return self.context.product("float64", (False, False), (2, 2, 2, batch), (x[0], 0), x, x, 0.0, x)

        product()
        for call in ("cublasSetStream", "cublasSetWorkspace", "cublasSetPointerMode", "cublasGemmEx"):
            name = call if hasattr(fake, call) else call + "_v2"
            with self.subTest(name):
                self.assertIn("cuBLAS failed with status 13", self.refused(name, product, 13))
        self.assertIn("failed with status 13", self.refused("cublasGemmStridedBatchedEx", partial(product, 2), 13))
        self.assertIn("cuMemsetD32Async failed", self.refused("cuMemsetD32Async", product))


class TestLists(Case):
    """Lists that are replayed: as steps, then as graphs."""

    def steps(self) -> list[tuple[Any, ...]]:
        scale = self.kernel()
        return [
            ("copy", 1, 0, 0, 0, 16),
            ("launch", scale, [1], [4], [(1,), 4, 2.0]),
            ("fill", 2, 4, 4, 0),
            ("launch", scale, [1], [4], [(2,), 4, 10.0]),
        ]

    def run_list(self, replay: LaunchList, buffers: list[Buffer]) -> None:
        """Run it on new values, and see that the results are right."""
        buffers[0].write(0, np.array([1, 2, 3, 4], "float32"))
        buffers[2].write(0, np.array([1, 1, 1, 1], "float32"))
        replay.run(buffers)
        self.assertEqual(self.values(buffers[1]), [2, 4, 6, 8])
        self.assertEqual(self.values(buffers[2]), [10, 0, 10, 10])

    def new(self) -> list[Buffer]:
        return [self.context.allocate(16) for _ in range(3)]

    def graphs(self) -> tuple[int, int, int, int]:
        """Count launches, graph launches, instantiations and updates since the last reset."""
        names = ("cuLaunchKernel", "cuGraphLaunch", "cuGraphInstantiateWithFlags", "cuGraphExecUpdate")
        result = calls()
        fake.fake_reset()
        launches, graphs, outcome, updated = (result.count(name) for name in names)
        return launches, graphs, outcome, updated

    def test_a_graph_from_the_third_run_on(self) -> None:
        replay, buffers = LaunchList(self.context, self.steps(), 3), self.new()
        self.graphs()
        for _ in range(2):
            self.run_list(replay, buffers)
            self.assertEqual(self.graphs(), (2, 0, 0, 0))
        self.run_list(replay, buffers)
        self.assertEqual(self.graphs(), (2, 1, 1, 0))
        for _ in range(3):
            self.run_list(replay, buffers)
            self.assertEqual(self.graphs(), (0, 1, 0, 0))
        before = fake.fake_graphs()
        del replay
        self.assertEqual(fake.fake_graphs(), before - 1)

    def test_two_sets_of_buffers_take_turns(self) -> None:
        replay, sets = LaunchList(self.context, self.steps(), 3), [self.new(), self.new()]
        for i in range(4):
            self.run_list(replay, sets[i % 2])
        self.graphs()
        for i in range(6):
            self.run_list(replay, sets[i % 2])
        self.assertEqual(self.graphs(), (0, 6, 0, 0))

    def test_other_buffers_update_the_oldest_graph(self) -> None:
        replay, sets = LaunchList(self.context, self.steps(), 3), [self.new() for _ in range(5)]
        for i in (0, 0, 0, 1, 2, 3):
            self.run_list(replay, sets[i])
        self.graphs()
        self.run_list(replay, sets[4])
        self.assertEqual(self.graphs(), (2, 1, 0, 1))
        for i in (1, 2, 3):
            self.run_list(replay, sets[i])
        self.assertEqual(self.graphs(), (0, 3, 0, 0), "the newer ones have been left alone")

    def test_where_buffers_always_differ_steps_are_cheaper(self) -> None:
        replay, sets = LaunchList(self.context, self.steps(), 3), [self.new() for _ in range(6)]
        for i in range(40):
            self.run_list(replay, sets[i % 6])
        self.graphs()
        for i in range(6):
            self.run_list(replay, sets[i])
        self.assertEqual(self.graphs(), (12, 0, 0, 0))

    def test_all_rounds_of_a_repeat_are_one_graph(self) -> None:
        scale = self.steps()[1]
        body = ("fill", 1, 0, 8, 0), ("copy", 2, 0, 1, 0, 8), scale
        moves = ((0, 8, 0),), ((0, 8, 0), (1, 8, 0)), ()
        buffers = [*self.new()[:1], *(self.context.allocate(8 * 5000 + 64) for _ in range(2))]
        for count, launches, graphs in ((20, 0, 1), (5000, 5000, 0)):
            replay = LaunchList(self.context, [("repeat", count, body, moves)], 3)
            for _ in range(3):
                replay.run(buffers)
            self.graphs()
            replay.run(buffers)
            self.assertEqual(self.graphs(), (launches, graphs, 0, 0))

    def test_products_advance_with_rounds(self) -> None:
        matrix = np.arange(8, dtype="float64").reshape(2, 2, 2)
        product = ("product", "float64", (False, False), (2, 2, 2, 1), ((1,), 0), ((0,), 0, 2, 4), ((0,), 0, 2, 4), 0.0,
                   ((2,), 0, 2, 4))  # fmt: skip
        moves = ((0, 4, 0), (2, 4, 0), (3, 1, 0))
        replay = LaunchList(self.context, [("repeat", 2, (product,), (moves,))], 3)
        x, factors = self.buffer(matrix), self.buffer(np.array([3.0, 5.0]))
        z = self.context.allocate(64)
        replay.run([x, factors, z])
        expected = np.stack([3 * matrix[0] @ matrix[0], 5 * matrix[1] @ matrix[0]])
        np.testing.assert_array_equal(self.values(z, "float64"), expected.ravel())
        back = (*product[:5], ((0,), 4, 2, 4), *product[6:])
        replay = LaunchList(self.context, [("repeat", 2, (back,), (((0, -4, 0), (2, 4, 0), (3, 1, 0)),))], 3)
        replay.run([x, factors, z])
        expected = np.stack([3 * matrix[1] @ matrix[0], 5 * matrix[0] @ matrix[0]])
        np.testing.assert_array_equal(self.values(z, "float64"), expected.ravel())

    def test_nobody_waits_for_a_device_while_a_graph_is_captured(self) -> None:
        """Contexts of one device are one for CUDA, and threads that let memory go wait for all of it."""
        replay, buffers = LaunchList(self.context, self.steps(), 3), self.new()
        for _ in range(2):
            self.run_list(replay, buffers)
        self.addCleanup(fake.fake_watch, b"", None)
        # Each capture has buffers of its own, which none of the graphs knows.
        for other, new in ((self.context, self.new()), (driver.open(0), self.new())):
            with self.subTest(same=other is self.context):
                held = [other.allocate(16)]
                held[0].share(None)
                waiting = threading.Thread(target=held.clear)

                def in_capture(waiting: threading.Thread = waiting) -> None:
                    fake.fake_watch(b"", None)
                    waiting.start()
                    waiting.join(0.2)

                self.graphs()
                with patch("sys.unraisablehook") as complained:
                    watcher = ctypes.CFUNCTYPE(None)(in_capture)
                    fake.fake_watch(b"cuLaunchKernel", watcher)
                    self.run_list(replay, new)
                    waiting.join()
                complained.assert_not_called()
                self.assertEqual(self.graphs()[1], 1, "it has been captured")
                self.assertFalse(held)

    def test_short_lists_are_no_graphs(self) -> None:
        replay, buffers = LaunchList(self.context, self.steps()[:2], 3), self.new()
        for _ in range(5):
            replay.run(buffers)
        self.assertEqual(self.graphs()[1], 0)

    def test_products_are_captured(self) -> None:
        matrix = np.arange(4, dtype="float64").reshape(2, 2)
        product = ("product", "float64", (False, False), (2, 2, 2, 1), 2.0, ((0,), 0, 2, 4), ((0,), 0, 2, 4), ((1,), 0),
                   ((2,), 0, 2, 4))  # fmt: skip
        fill = ("fill", 2, 0, 32, 0)
        replay = LaunchList(self.context, [fill, product, fill, product], 3)
        x, factor, z = self.buffer(matrix), self.buffer(np.array([3.0])), self.context.allocate(32)
        for _ in range(4):
            replay.run([x, factor, z])
        np.testing.assert_array_equal(self.values(z, "float64"), (2 * matrix @ matrix).ravel())
        self.assertEqual(self.graphs()[1], 2)

    def test_what_cannot_be_captured_goes_step_by_step(self) -> None:
        for call in ("cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuLaunchKernel"):
            with self.subTest(call):
                replay, buffers = LaunchList(self.context, self.steps(), 3), self.new()
                before = fake.fake_graphs()
                for _ in range(2):
                    self.run_list(replay, buffers)
                fake.fake_fail(call.encode(), 900, 0)
                for _ in range(3):
                    self.run_list(replay, buffers)
                self.assertEqual(fake.fake_graphs(), before)
                self.assertEqual(calls().count("cuGraphLaunch"), 0)
                fake.fake_reset()

    def test_a_graph_that_cannot_be_updated_is_made_anew(self) -> None:
        replay, sets = LaunchList(self.context, self.steps(), 3), [self.new() for _ in range(5)]
        for i in (0, 0, 0, 1, 2, 3):
            self.run_list(replay, sets[i])
        self.graphs()
        fake.fake_fail(b"cuGraphExecUpdate_v2", 910, 0)
        self.run_list(replay, sets[4])
        self.assertEqual(self.graphs(), (2, 1, 1, 1))

    def test_runs_may_fail(self) -> None:
        replay, buffers = LaunchList(self.context, self.steps(), 3), self.new()
        self.assertIn("cuMemsetD8Async failed", self.refused("cuMemsetD8Async", lambda: replay.run(buffers)))
        for _ in range(3):
            self.run_list(replay, buffers)
        self.assertIn("cuGraphLaunch failed", self.refused("cuGraphLaunch", lambda: replay.run(buffers)))
        self.run_list(replay, buffers)


if __name__ == "__main__":
    unittest.main()
