"""Calls of the OpenCL driver to its library: run by `test_runtime_opencl` in a process of its own, for a process
opens a driver once, and this one opens a stand-in."""

from __future__ import annotations

import ctypes
import gc
import os
import unittest
from collections.abc import Callable

from theano_gpuarray._runtime import Buffer, Context, DeviceError, LaunchList, open_driver

PATH = os.environ["THEANO_TEST_FAKE"]
fake = ctypes.CDLL(PATH)
fake.fake_built.restype = ctypes.c_char_p
driver = open_driver("opencl", {"opencl": PATH})
MIB = 1 << 20


def fail(name: str, status: int = -30, times: int = 1) -> None:
    """Let the next calls of a function fail."""
    fake.fake_fail(name.encode(), status, times)


class OpenClCase(unittest.TestCase):
    def setUp(self) -> None:
        fail("", 0, 0)
        self.context = driver.open(0)
        module = self.context.load(self.context.compile("text"))
        self.kernel = module.kernel("f", "Pq")

    def tearDown(self) -> None:
        fail("", 0, 0)
        self.__dict__.pop("context")
        self.__dict__.pop("kernel")
        gc.collect()
        self.assertEqual(0, fake.fake_live(), "objects that were not released")

    def launch(self, buffer: Buffer) -> None:
        self.context.launch(self.kernel, (1,), (1,), (buffer, 3))


class TestDevices(OpenClCase):
    def test_numbers_and_places(self) -> None:
        results = [driver.properties(index) for index in range(driver.count())]
        self.assertEqual([(0, 0), (0, 1), (2, 0)], [(item["platform"], item["number"]) for item in results])
        self.assertEqual(["device 0", "device 1", "device 2"], [item["name"] for item in results])

    def test_properties(self) -> None:
        result = driver.properties(2)
        self.assertEqual("OpenCL 1.2 of tests; OpenCL 1.2 Tests; 7", result["version"])
        expected = {
            "vendor": "tests",
            "max_local": 256,
            "warp": 32,
            "cpu": False,
            "halves": True,
            "long_atomics": False,
        }
        self.assertEqual(expected, {name: result[name] for name in expected})
        fail("clGetDeviceInfo")
        with self.assertRaisesRegex(DeviceError, "clGetDeviceInfo failed: CL_OUT_OF_RESOURCES"):
            driver.properties(0)

    def test_old_version(self) -> None:
        fake.fake_version(b"OpenCL 1.1 of tests")
        try:
            with self.assertRaisesRegex(DeviceError, "(?s)has OpenCL 1.1 of tests, and 1.2 is needed.*Hint"):
                driver.open(1)
        finally:
            fake.fake_version(b"OpenCL 1.2 of tests")

    def test_a_context_that_cannot_be_opened(self) -> None:
        for name in ("clCreateContext", "clCreateCommandQueue"):
            fail(name, -5)
            with self.assertRaisesRegex(DeviceError, rf"^{name} failed: CL_OUT_OF_RESOURCES \(-5\)$"):
                driver.open(0)


class TestFailures(OpenClCase):
    def test_each_call(self) -> None:
        x, data = self.context.allocate(16), bytearray(16)
        calls: list[tuple[str, Callable[[], object]]] = [
            ("clCreateBuffer", lambda: self.context.allocate(1000)),
            ("clEnqueueFillBuffer", lambda: self.context.allocate(2000)),
            ("clEnqueueWriteBuffer", lambda: x.write(0, data)),
            ("clEnqueueWriteBuffer", lambda: x.write(0, data, blocking=False)),
            ("clEnqueueReadBuffer", lambda: x.read(0, data)),
            ("clEnqueueCopyBuffer", lambda: x.copy(0, x, 8, 8)),
            ("clEnqueueFillBuffer", lambda: x.fill(0, 8, 1)),
            ("clFinish", self.context.synchronize),
            ("clCreateProgramWithSource", lambda: self.context.compile("other")),
            ("clCreateKernel", lambda: self.context.load(self.context.compile("third")).kernel("g", "")),
            ("clSetKernelArg", lambda: self.launch(x)),
            ("clEnqueueNDRangeKernel", lambda: self.launch(x)),
            ("clFlush", lambda: self.launch(x)),
        ]
        for name, call in calls:
            fail(name)
            with self.subTest(name), self.assertRaisesRegex(DeviceError, rf"^{name} failed: CL_INVALID_VALUE \(-30\)$"):
                call()
            call()

    def test_marks(self) -> None:
        x, data = self.context.allocate(MIB), bytearray(MIB)
        for name in ("clEnqueueMarkerWithWaitList", "clWaitForEvents"):
            fail(name)
            with self.assertRaisesRegex(DeviceError, f"^{name} failed"):
                for _ in range(40):
                    x.write(0, data, blocking=False)
            for _ in range(40):
                x.write(0, data, blocking=False)

    def test_writes_without_pinned_memory(self) -> None:
        x, result = self.context.allocate(MIB), bytearray(MIB)
        for name in ("clCreateBuffer", "clEnqueueMapBuffer"):
            fail(name)
            x.write(0, bytes([len(name)]) * MIB, blocking=False)
            x.read(0, result)
            self.assertEqual({len(name)}, set(result))

    def test_writes_with_little_pinned_memory(self) -> None:
        held = [self.context.allocate(MIB) for _ in range(12)]  # so that there is room for four pieces
        for number, buffer in enumerate(held):
            buffer.write(0, bytes([number]) * MIB, blocking=False)
        result = bytearray(MIB)
        for number, buffer in enumerate(held):
            buffer.read(0, result)
            self.assertEqual({number}, set(result))

    def test_unknown_status(self) -> None:
        fail("clFinish", -9999)
        with self.assertRaisesRegex(DeviceError, r"^clFinish failed: an unknown error \(-9999\)$"):
            self.context.synchronize()

    def test_build_log(self) -> None:
        fail("clBuildProgram", -11)
        with self.assertRaisesRegex(DeviceError, r"^clBuildProgram failed \(-11\)\nline 7: the log"):
            self.context.compile("wrong")

    def test_lists(self) -> None:
        steps = [("launch", self.kernel, (1,), (1,), ((0,), 3), 0), ("fill", 0, 0, 8, 1), ("copy", 1, 0, 0, 0, 8)]
        x, y = self.context.allocate(8), self.context.allocate(8)
        for name in ("clCreateKernel", "clSetKernelArg", "clEnqueueFillBuffer", "clEnqueueCopyBuffer"):
            replayed = LaunchList(self.context, steps, 2)
            fail(name)
            with self.subTest(name), self.assertRaisesRegex(DeviceError, f"^{name} failed"):
                replayed.run([x, y])
            replayed.run([x, y])


class TestMemory(OpenClCase):
    def test_out_of_memory(self) -> None:
        held = [self.context.allocate(2 * MIB) for _ in range(7)]
        held.pop()
        self.context.allocate(4 * MIB)
        self.assertEqual(4 * MIB, self.context.statistics()["pooled"])
        with self.assertRaisesRegex(DeviceError, "(?s)for 4.0 MiB.*in use: 16.0 MiB; in the pool: 0 bytes"):
            # For the first there is the one in the pool.
            held += [self.context.allocate(4 * MIB), self.context.allocate(4 * MIB)]

    def test_pool_is_trimmed_where_the_driver_refuses(self) -> None:
        self.context.allocate(MIB)
        fail("clCreateBuffer", -4)
        self.assertEqual(2 * MIB, self.context.allocate(2 * MIB).nbytes)
        self.assertEqual(2 * MIB, self.context.statistics()["pooled"])
        fail("clEnqueueFillBuffer", -4, 4)
        with self.assertRaisesRegex(
            DeviceError, "(?s)for 3.0 MiB: clEnqueueFillBuffer failed: CL_MEM_OBJECT_ALLOC.*4.0"
        ):
            self.context.allocate(3 * MIB)

    def test_a_launch_is_tried_again(self) -> None:
        x = self.context.allocate(16)
        self.context.allocate(MIB)
        fail("clEnqueueNDRangeKernel", -4)
        self.launch(x)
        self.assertEqual((0, 1), tuple(self.context.statistics()[name] for name in ("pooled", "launches")))
        fail("clEnqueueNDRangeKernel", -4, 2)
        with self.assertRaisesRegex(DeviceError, "^clEnqueueNDRangeKernel failed: CL_MEM_OBJECT_ALLOCATION_FAILURE"):
            self.launch(x)

    def test_one_buffer_has_a_limit(self) -> None:
        # Rounded up to its class it would be refused.
        self.assertEqual(4 * MIB - 1, self.context.allocate(4 * MIB - 1).nbytes)
        context: Context = driver.open(1, preallocate=10 * MIB)
        self.assertEqual(10 * MIB, context.statistics()["pooled"])
        self.assertEqual(3, context.statistics()["allocations"])

    def test_slices_that_are_refused(self) -> None:
        context = driver.open(0, preallocate=MIB)
        fail("clCreateSubBuffer")
        self.assertEqual(1000, context.allocate(1000).nbytes)
        self.assertEqual(2, context.statistics()["allocations"])


class TestCode(OpenClCase):
    def test_binary_and_options(self) -> None:
        code = self.context.compile("some text", "-D A")
        self.assertEqual(b"B-D A\0some text", code)
        self.context.compile("other text")
        self.context.load(code)
        self.assertEqual(b"-D A some text", fake.fake_built())

    def test_what_was_compiled_last_is_not_built_again(self) -> None:
        code = self.context.compile("some text")
        fail("clCreateProgramWithBinary")
        self.context.load(code)
        with self.assertRaisesRegex(DeviceError, "^clCreateProgramWithBinary failed"):
            self.context.load(code)

    def test_text_where_there_is_no_binary(self) -> None:
        for name in ("sizes", "binaries"):
            fail(name)
            code = self.context.compile("some text", "-D A")
            self.assertEqual(b"S-D A\0some text", code)
            self.context.compile("other text")
            self.context.load(code)
            self.assertEqual(b"-D A some text", fake.fake_built())

    def test_binary_that_is_refused(self) -> None:
        with self.assertRaisesRegex(DeviceError, r"^clCreateProgramWithBinary failed: CL_INVALID_BINARY \(-42\)$"):
            self.context.load(b"B\0bad")
        fail("clBuildProgram")
        with self.assertRaisesRegex(DeviceError, "^clBuildProgram failed"):
            self.context.load(b"B\0good")


class TestArguments(OpenClCase):
    def calls(self, replayed: LaunchList, *buffers: Buffer) -> int:
        before = fake.fake_set_arguments()
        replayed.run(buffers)
        return int(fake.fake_set_arguments() - before)

    def test_only_what_has_moved_is_told(self) -> None:
        steps = [("launch", self.kernel, (1,), (1,), ((number,), 3), 0) for number in (0, 1, 0)]
        replayed = LaunchList(self.context, steps, 2)
        x, y, z = (self.context.allocate(16) for _ in range(3))
        self.assertGreaterEqual(self.calls(replayed, x, y), 6)
        self.assertEqual(0, self.calls(replayed, x, y))
        self.assertEqual(1, self.calls(replayed, x, z))
        self.assertEqual(2, self.calls(replayed, y, z))
        self.assertEqual(0, self.calls(replayed, y, z))

    def test_all_are_told_where_an_address_may_be_other_memory(self) -> None:
        replayed = LaunchList(self.context, [("launch", self.kernel, (1,), (1,), ((0,), 3), 0)], 1)
        x = self.context.allocate(16)
        self.calls(replayed, x)
        self.context.allocate(MIB)
        self.context.trim()
        self.assertEqual(1, self.calls(replayed, x))
        self.assertEqual(0, self.calls(replayed, x))
        wrapped = self.context.wrap(x.address, 16, x)
        for _ in range(2):
            self.assertEqual(1, self.calls(replayed, wrapped))

    def test_after_a_failure_all_are_told(self) -> None:
        steps = [("launch", self.kernel, (1,), (1,), ((0,), 3), 0)] * 2
        replayed = LaunchList(self.context, steps, 1)
        x, y = self.context.allocate(16), self.context.allocate(16)
        self.calls(replayed, x)
        fail("clEnqueueNDRangeKernel")
        with self.assertRaises(DeviceError):
            replayed.run([y])
        self.assertEqual(2, self.calls(replayed, y))
