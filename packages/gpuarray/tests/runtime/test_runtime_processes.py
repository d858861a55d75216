from __future__ import annotations

import gc
import os
import threading
import traceback
import unittest
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from theano_gpuarray._runtime import Context, DeviceError, LaunchList, open_driver
from theano_testing.tiers import slow

from .runtime_support import download, each_context, kernel, null, opencl, upload


def in_child(action: Callable[[], None]) -> int:
    """Return the exit status of a child process that does something."""
    with warnings.catch_warnings():
        # Python 3.12 warns where there are threads; the test is that forking with threads is refused kindly.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            if status:
                traceback.print_exc()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class TestForks(unittest.TestCase):
    @each_context()
    def test_a_context_is_refused_in_a_child(self, context: Context) -> None:
        scale, x = kernel(context, "scale"), upload(context, np.ones(4, "float32"))
        replayed = LaunchList(context, [("fill", 0, 0, 4, 0)], 1)

        def use() -> None:
            uses: list[Callable[[], object]] = [
                lambda: context.allocate(4),
                lambda: context.wrap(0, 0, None),
                lambda: context.compile(""),
                lambda: context.load(b""),
                lambda: context.launch(scale, (1,), (1,), (1, 1, 1.0, x)),
                context.synchronize,
                context.statistics,
                context.trim,
                context.recorded,
                context.push,
                context.pop,
                lambda: context.handle,
                lambda: x.address,
                lambda: x.write(0, b""),
                lambda: x.read(0, bytearray()),
                lambda: x.copy(0, x, 0, 0),
                lambda: x.fill(0, 0, 0),
                lambda: replayed.run([x]),
                lambda: LaunchList(context, [], 0),
                lambda: context.driver.open(0),
                context.driver.count,
            ]
            for number, refused in enumerate(uses):
                with self.assertRaisesRegex(DeviceError, "before this process was forked", msg=str(number)):
                    refused()

        self.assertEqual(0, in_child(use))
        np.testing.assert_array_equal(download(x, "float32"), np.ones(4))

    @each_context()
    def test_deallocation_in_a_child_does_nothing(self, context: Context) -> None:
        x, scale = context.allocate(16), kernel(context, "scale")
        replayed = LaunchList(context, [("launch", scale, (1,), (4,), (4, 1, 2.0, (0,)), 0), ("fill", 0, 0, 16, 7)], 1)
        replayed.run([x])
        held: list[object] = [context.driver.open(0), scale, replayed, x, context]
        kinds = [type(item) for item in held]

        def use() -> None:
            nonlocal context, x, scale, replayed
            del context, x, scale, replayed
            held.clear()
            gc.collect()
            self.assertFalse([item for item in gc.get_objects() if type(item) in kinds])

        self.assertEqual(0, in_child(use))
        replayed.run([x])
        np.testing.assert_array_equal(download(x, "uint8"), np.full(16, 7))

    def test_the_null_driver_can_be_opened_in_a_child(self) -> None:
        null()

        def use() -> None:
            x = np.arange(5)
            np.testing.assert_array_equal(download(upload(null(), x), "int64"), x)

        self.assertEqual(0, in_child(use))

    def test_other_drivers_cannot(self) -> None:
        if opencl() is not None:

            def use() -> None:
                with self.assertRaisesRegex(DeviceError, "(?s)before this process was forked.*Hint: .*spawn"):
                    open_driver("opencl", {})

            self.assertEqual(0, in_child(use))


class TestThreads(unittest.TestCase):
    def run_threads(self, work: Callable[[int], None]) -> None:
        """Run a function in eight threads; the first failure of one is raised."""
        with ThreadPoolExecutor(8) as pool:
            self.assertEqual([None] * 8, list(pool.map(work, range(8), timeout=600)))

    @each_context()
    def test_one_kernel_in_many_threads(self, context: Context) -> None:
        computes = context.driver.name != "null"
        scale = kernel(context, "scale")

        def work(number: int) -> None:
            for k in range(100):
                x = upload(context, np.full(4, k, "float32"), blocking=k % 2 == 0)
                context.launch(scale, (1,), (4,), (4, number, 3.0, x))
                expected = 3 * k + number if computes else k
                np.testing.assert_array_equal(download(x, "float32"), np.full(4, expected))

        self.run_threads(work)
        context.synchronize()
        counted = context.statistics()
        self.assertEqual((800, 0), (counted["launches"], counted["in_use"]))

    @each_context()
    def test_one_list_in_many_threads(self, context: Context) -> None:
        steps = [("launch", kernel(context, "scale"), (1,), (4,), (4, 1, 3.0, (0,)), 0), ("copy", 1, 0, 0, 0, 16)]
        replayed = LaunchList(context, steps, 2)
        computes = context.driver.name != "null"

        def work(number: int) -> None:
            for k in range(100):
                x, y = upload(context, np.full(4, k + number, "float32")), context.allocate(16)
                replayed.run([x, y])
                expected = 3 * (k + number) + 1 if computes else k + number
                np.testing.assert_array_equal(download(y, "float32"), np.full(4, expected))

        self.run_threads(work)
        self.assertEqual(0, context.statistics()["buffers"])

    @slow
    @each_context(preallocate=1 << 20)
    def test_pool_in_many_threads(self, context: Context) -> None:

        def work(number: int) -> None:
            rng = np.random.default_rng(number)
            held = []
            for size in rng.integers(1, 30_000, 300):
                buffer = context.allocate(int(size))
                buffer.fill(0, int(size), number)
                held.append(buffer)
                if len(held) > 5:
                    self.assertEqual({number}, set(download(held.pop(0), "uint8").tolist()))
                if size % 50 == 0:
                    context.trim()

        self.run_threads(work)
        self.assertEqual((0, 0), tuple(context.statistics()[name] for name in ("in_use", "buffers")))

    @slow
    def test_other_threads_run_while_one_waits(self) -> None:
        driver = opencl()
        if driver is not None:
            context = driver.open(0)
            x, done = context.allocate(4), threading.Event()
            context.launch(kernel(context, "slow"), (1,), (1,), (30_000_000, x))

            def wait() -> None:
                context.synchronize()
                done.set()

            waiting = threading.Thread(target=wait)
            waiting.start()
            steps = 0
            while not done.is_set():
                steps += 1
            waiting.join()
            self.assertGreater(steps, 100)
