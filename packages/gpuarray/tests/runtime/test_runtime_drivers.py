from __future__ import annotations

import unittest

import numpy as np

from theano_gpuarray._runtime import Context, DeviceError, is_built, open_driver, stand_in

from .runtime_support import download, each_context, null, opencl, upload

NAMES = {
    *("name", "vendor", "version", "arch", "place", "platform", "number", "max_local", "local_memory"),
    *("memory", "max_buffer", "units", "warp", "doubles", "halves", "long_atomics", "cpu"),
}


class TestDrivers(unittest.TestCase):
    def test_runtime_was_built(self) -> None:
        self.assertTrue(is_built)

    @each_context()
    def test_properties(self, context: Context) -> None:
        result = context.driver.properties(context.index)
        self.assertEqual(NAMES, set(result))
        for name in ("max_local", "local_memory", "memory", "max_buffer", "units", "warp"):
            self.assertGreater(result[name], 0)
        self.assertTrue(result["name"] and result["vendor"] and result["version"])

    def test_devices_of_all_platforms_are_numbered(self) -> None:
        driver = opencl()
        if driver is not None:
            results = [driver.properties(index) for index in range(driver.count())]
            places = [(item["platform"], item["number"]) for item in results]
            self.assertEqual(sorted(set(places)), places)
            for index in range(driver.count()):
                context = driver.open(index)
                self.assertEqual(index, context.index)
                np.testing.assert_array_equal(download(upload(context, np.arange(3)), "int64"), np.arange(3))

    def test_a_driver_is_opened_once(self) -> None:
        self.assertIs(open_driver("null", {}), open_driver("null", {"opencl": "elsewhere"}))
        self.assertEqual("null", null().driver.name)

    @each_context()
    def test_handles(self, context: Context) -> None:
        self.assertGreater(context.handle, 0)
        self.assertGreater(context.queue, 0)
        context.push()
        context.pop()

    @each_context(single_stream=False, blocking=True)
    def test_options(self, context: Context) -> None:
        np.testing.assert_array_equal(download(upload(context, np.arange(3)), "int64"), np.arange(3))

    def test_products_where_there_is_no_library(self) -> None:
        context = null()
        x = context.allocate(64)
        matrix = (x, 0, 4, 0)
        result = context.product("float32", (False, True), (4, 4, 4, 1), 1.0, matrix, matrix, (x, 3), matrix)
        self.assertFalse(result)
        with self.assertRaisesRegex(TypeError, "a buffer is wanted, not int"):
            context.product("float32", (False, True), (4, 4, 4, 1), 1.0, (1, 0, 4, 0), matrix, 0.0, matrix)  # type: ignore[arg-type]  # wrong on purpose


class TestWrongDrivers(unittest.TestCase):
    def test_unknown_driver(self) -> None:
        with self.assertRaisesRegex(ValueError, 'there is no driver "abacus"; there are null, opencl and cuda'):
            open_driver("abacus", {})

    def test_unknown_device(self) -> None:
        driver = open_driver("null", {})
        for index in (-1, 2):
            with self.assertRaisesRegex(DeviceError, f"there is no device {index}: null has 2"):
                driver.open(index)
            with self.assertRaisesRegex(DeviceError, f"there is no device {index}"):
                driver.properties(index)

    def test_wrong_arguments(self) -> None:
        driver = open_driver("null", {})
        with self.assertRaises(TypeError):
            driver.open("0")  # type: ignore[arg-type]  # wrong on purpose
        with self.assertRaises(TypeError):
            driver.open(0, True)  # type: ignore[call-arg]  # wrong on purpose
        with self.assertRaises(TypeError):
            open_driver("null")  # type: ignore[call-arg]  # wrong on purpose


class TestWithoutTheRuntime(unittest.TestCase):
    def test_a_device_cannot_be_asked_for(self) -> None:
        with self.assertRaisesRegex(DeviceError, "(?s)was not built.*Hint: install a C compiler"):
            stand_in("open_driver")("opencl", {})
        for name in ("Buffer", "Context", "Driver", "Kernel", "LaunchList", "Module"):
            with self.assertRaisesRegex(DeviceError, "was not built"):
                stand_in(name)()
