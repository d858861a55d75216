"""The stand-in for CUDA: results of kernels on it, and that faults of programs show."""

from __future__ import annotations

import ctypes
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theano_gpuarray.contexts import open_context
from theano_graph import config
from theano_testing.tiers import slow
from theano_testing_workshop.cuda import build, check_on_cuda, libraries, needs_compilers

HEAD = '#define KERNEL extern "C" __global__ void\n'
WARP_SUM = """
KERNEL f(float *y, const float *x) {
  float sum = x[threadIdx.x];
  for (int by = 16; by > 0; by /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, by);
  const float all = __shfl_sync(0xffffffffu, sum, 0);
  y[threadIdx.x] = all + __ballot_sync(0xffffffffu, x[threadIdx.x] > 0.0f) % 2;
}
"""
TREE = """
KERNEL __launch_bounds__(32 *2, 1) f(float *y, const float *x) {
  __shared__ float part[64];
  part[threadIdx.x] = x[threadIdx.x + 64 * blockIdx.x];
  for (int width = 32; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width)
      part[threadIdx.x] += part[threadIdx.x + width];
  }
  if (threadIdx.x == 0)
    atomicAdd(y, part[0]);
}
"""
REVERSE = """
KERNEL f(float *y, const float *x) {
  extern __shared__ float held[];
  held[threadIdx.x] = x[threadIdx.x];
  BARRIER;
  y[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x];
}
"""
#: Three tests, of which one fails.
MODULE = """
import os
import unittest

from theano_gpuarray.contexts import open_context


class TestDevice(unittest.TestCase):
    def test_name(self):
        self.assertEqual(open_context("cuda0").devname, "cuda0")

    def test_seed(self):
        self.assertEqual(os.environ["THEANO_FAKE_SEED"], "7")


class TestMore(unittest.TestCase):
    def test_that_fails(self):
        self.fail("as it should")
"""


def opened(preallocate: float = 0) -> Any:
    """Return a context of the runtime on the stand-in."""
    with config.change_flags(gpuarray__library_path=libraries()):
        return open_context("cuda0", preallocate).native


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.context = opened()
        self.fake = ctypes.CDLL(build())
        self.fake.fake_seed(ctypes.c_ulonglong(1))

    def buffer(self, values: NDArray[Any]) -> Any:
        result = self.context.allocate(values.nbytes)
        result.write(0, values)
        return result

    def values(self, buffer: Any, count: int) -> NDArray[np.float32]:
        result = np.empty(count, "float32")
        buffer.read(0, result)
        return result

    def launch(self, text: str, *arguments: Any, blocks: int = 1, threads: int = 64, shared: int = 0) -> None:
        # While there is a module, a thread that waits for its work learns of the failure.
        self.module = self.context.load(self.context.compile(HEAD + text))
        kernel = self.module.kernel("f", "P" * len(arguments))
        self.context.launch(kernel, [blocks], [threads], list(arguments), shared)

    def failed(self) -> str:
        """Wait, and return the failure of the work."""
        with self.assertRaises(RuntimeError) as caught:
            self.context.synchronize()
        with self.assertRaises(RuntimeError):
            self.context.synchronize()  # a device that has failed stays so
        self.fake.fake_recover()
        self.context.synchronize()
        return str(caught.exception)


@needs_compilers
class TestCalls(Case):
    @slow
    def test_no_call_of_several_threads_is_lost(self) -> None:
        self.fake.fake_log.restype = ctypes.c_char_p
        self.fake.fake_reset()
        with ThreadPoolExecutor(3) as threads:
            for name in (b"first", b"second", b"third"):
                threads.submit(lambda name: [self.fake.fake_call(name) for _ in range(20_000)], name)
        self.assertEqual(Counter(self.fake.fake_log().split()), dict.fromkeys((b"first", b"second", b"third"), 20_000))


@needs_compilers
class TestKernels(Case):
    def test_a_sum_by_a_tree(self) -> None:
        x = np.arange(256, dtype="float32")
        for seed in range(5):
            self.fake.fake_seed(ctypes.c_ulonglong(seed))
            y = self.buffer(np.zeros(1, "float32"))
            self.launch(TREE, y, self.buffer(x), blocks=4)
            self.assertEqual(self.values(y, 1)[0], x.sum())

    def test_warps(self) -> None:
        x = np.arange(64, dtype="float32")
        y = self.context.allocate(256)
        self.launch(WARP_SUM, y, self.buffer(x))
        np.testing.assert_array_equal(self.values(y, 64), np.repeat([x[:32].sum(), x[32:].sum() + 1], 32))

    def test_local_memory_of_a_launch(self) -> None:
        x = np.arange(64, dtype="float32")
        y = self.context.allocate(256)
        self.launch(REVERSE.replace("BARRIER", "__syncthreads()"), y, self.buffer(x), shared=256)
        np.testing.assert_array_equal(self.values(y, 64), x[::-1])

    def test_a_barrier_that_is_missing(self) -> None:
        y = self.context.allocate(256)
        self.launch(REVERSE.replace("BARRIER", ""), y, self.buffer(np.ones(64, "float32")), shared=256)
        self.assertTrue(np.isnan(self.values(y, 64)).any())

    def test_half_precision(self) -> None:
        text = """
        KERNEL f(unsigned short *y, const unsigned short *x) {
          float z;
          unsigned short w;
          asm("cvt.f32.f16 %0, %1;" : "=f"(z) : "h"(x[threadIdx.x]));
          asm("cvt.rn.f16.f32 %0, %1;" : "=h"(w) : "f"(z * 3.0f));
          y[threadIdx.x] = w;
        }"""
        x = np.array([1, 0.1, -7, 20000, np.inf, 1e-7, 3e-5, 0], "float16")
        y = self.context.allocate(16)
        self.launch(text, y, self.buffer(x), threads=8)
        result = np.empty(8, "float16")
        y.read(0, result)
        np.testing.assert_array_equal(result, (x.astype("float32") * np.float32(3)).astype("float16"))

    def test_what_does_not_compile(self) -> None:
        for text, messages in (("KERNEL f() {\n  none();\n}", r"kernel.cu\(3\): error: .none. was not declared"),
                           ('KERNEL f(int *x) { asm("bar.sync 0;"); }', "kernel.cu")):  # fmt: skip
            with self.subTest(text), self.assertRaisesRegex(RuntimeError, messages):
                self.context.compile(HEAD + text)


@needs_compilers
class TestFaults(Case):
    def test_a_barrier_that_not_all_come_to(self) -> None:
        self.launch("KERNEL f(float *x) { if (threadIdx.x < 40) __syncthreads(); }", self.context.allocate(4))
        self.assertIn("CUDA_ERROR_LAUNCH_FAILED", self.failed())
        text = "KERNEL f(float *x) { if (threadIdx.x < 40) __syncthreads(); else { x[0] = 1; __syncthreads(); } }"
        self.launch(text, self.context.allocate(4))
        self.assertIn("CUDA_ERROR_LAUNCH_FAILED", self.failed())

    def test_a_warp_that_is_not_complete(self) -> None:
        self.launch("KERNEL f(float *x) { if (threadIdx.x % 2) __syncwarp(); }", self.context.allocate(4))
        self.assertIn("CUDA_ERROR_LAUNCH_FAILED", self.failed())

    def test_addresses(self) -> None:
        x = self.context.allocate(1024)
        for text, name in (
            ("*(float4 *)(x + 1 + threadIdx.x) = make_float4(1, 2, 3, 4);", "MISALIGNED_ADDRESS"),
            ("__shared__ float y[64]; y[threadIdx.x + 1] = 1; x[0] = y[3];", "MISALIGNED_ADDRESS"),
            ("x = 0; x[threadIdx.x] = 1;", "ILLEGAL_ADDRESS"),
        ):
            with self.subTest(text):
                self.launch(f"KERNEL f(float *x) {{ {text} }}", x)
                self.assertIn(f"CUDA_ERROR_{name}", self.failed())

    def test_memory_that_was_not_written(self) -> None:
        self.assertTrue(np.isnan(self.values(opened(-1).allocate(64), 16)).all())


@needs_compilers
class TestOrder(Case):
    """Calls of the driver itself, with two streams that do not wait for the default one."""

    def setUp(self) -> None:
        super().setUp()
        self.handle = ctypes.c_void_p(self.context.handle)
        self.call("cuCtxPushCurrent_v2", self.handle)
        self.addCleanup(lambda: self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p())))
        self.address = self.made("cuMemAlloc_v2", ctypes.c_size_t(16), kind=ctypes.c_ulonglong)
        self.first, self.second = (self.made("cuStreamCreate", 1) for _ in range(2))
        self.event = self.made("cuEventCreate", 0)

    def call(self, name: str, *arguments: Any, status: int = 0) -> None:
        self.assertEqual(self.fake[name](*arguments), status, name)

    def made(self, name: str, *arguments: Any, kind: Any = ctypes.c_void_p) -> Any:
        result = kind()
        self.call(name, ctypes.byref(result), *arguments)
        return result

    def fill(self, value: int, stream: Any) -> None:
        self.call("cuMemsetD8Async", self.address, value, ctypes.c_size_t(16), stream)

    def byte(self) -> int:
        result = ctypes.create_string_buffer(16)
        for stream in (self.first, self.second):
            self.call("cuStreamSynchronize", stream)
        self.call("cuMemcpyDtoHAsync_v2", result, self.address, ctypes.c_size_t(16), self.first)
        return result.raw[0]

    def wait(self, first: Any, second: Any) -> None:
        """Let a stream wait for the values of another one."""
        self.call("cuEventRecord", self.event, first)
        self.call("cuStreamWaitEvent", second, self.event, 0)

    def test_streams_that_do_not_wait(self) -> None:
        seen: dict[bool, set[int]] = {False: set(), True: set()}
        for waits in (False, True):
            for seed in range(20):
                self.fake.fake_seed(ctypes.c_ulonglong(seed))
                self.fill(1, self.first)
                if waits:
                    self.wait(self.first, self.second)
                self.fill(2, self.second)
                seen[waits].add(self.byte())
        self.assertEqual(seen, {False: {1, 2}, True: {2}})

    def test_sources_of_writes(self) -> None:
        pinned = self.made("cuMemHostAlloc", ctypes.c_size_t(16), 0)
        for source, expected in ((pinned, 9), (ctypes.create_string_buffer(16), 4)):
            ctypes.memset(source, 4, 16)
            self.call("cuMemcpyHtoDAsync_v2", self.address, source, ctypes.c_size_t(16), self.first)
            ctypes.memset(source, 9, 16)
            self.assertEqual(self.byte(), expected)

    def test_memory_that_was_freed(self) -> None:
        self.fill(1, self.first)
        self.call("cuMemFree_v2", self.address)
        self.call("cuStreamSynchronize", self.first, status=700)
        self.fake.fake_recover()
        self.call("cuMemsetD8Async", self.address, 1, ctypes.c_size_t(16), self.first, status=1)

    def captured(self, *, joined: bool, status: int = 0) -> Any:
        """Capture work of both streams; the one waits for the other only where they are joined."""
        self.call("cuStreamBeginCapture_v2", self.first, 1)
        self.fill(1, self.first)
        self.wait(self.first, self.second)
        self.fill(2, self.second)
        if joined:
            self.wait(self.second, self.first)
            self.fill(3, self.first)
        graph = ctypes.c_void_p()
        self.call("cuStreamEndCapture", self.first, ctypes.byref(graph), status=status)
        return graph

    def test_graphs_of_two_streams(self) -> None:
        exec_ = self.made("cuGraphInstantiateWithFlags", self.captured(joined=True), ctypes.c_ulonglong(0))
        self.fill(7, self.first)
        self.call("cuGraphLaunch", exec_, self.first)
        self.assertEqual(self.byte(), 3)
        self.captured(joined=False, status=904)

    def test_calls_that_end_a_capture(self) -> None:
        more = ctypes.c_ulonglong()
        for name, arguments in (
            ("cuStreamSynchronize", (self.first,)), ("cuMemAlloc_v2", (ctypes.byref(more), ctypes.c_size_t(4))),
        ):  # fmt: skip
            with self.subTest(name):
                self.call("cuStreamBeginCapture_v2", self.first, 1)
                self.call(name, *arguments, status=900)
                self.call("cuStreamEndCapture", self.first, ctypes.byref(ctypes.c_void_p()), status=901)


@needs_compilers
class TestRuns(unittest.TestCase):
    """Modules of tests in a process of their own."""

    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "test_cases.py").write_text(MODULE)

    def test_tests_that_pass(self) -> None:
        self.assertEqual(check_on_cuda(self.folder, "test_cases.TestDevice", seed=7, at_least=2), 2)

    @slow
    def test_tests_that_fail(self) -> None:
        with self.assertRaisesRegex(AssertionError, r"(?s)the tests of .* ended with 1:.*as it should"):
            check_on_cuda(self.folder, seed=7)
        with self.assertRaisesRegex(AssertionError, "test_none ended with 1"):
            check_on_cuda(self.folder, "test_none")

    def test_tests_that_are_missing(self) -> None:
        with self.assertRaisesRegex(AssertionError, "TestDevice.test_name ran 1 tests, where at least 2 are wanted"):
            check_on_cuda(self.folder, "test_cases.TestDevice.test_name", at_least=2)


if __name__ == "__main__":
    unittest.main()
