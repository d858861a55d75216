from __future__ import annotations

import unittest
from unittest.mock import patch

from theano_gpuarray.contexts import LibraryNotFound, device_report, init_dev, list_contexts
from theano_testing.gpuarray import needs_opencl


@needs_opencl
class TestReport(unittest.TestCase):
    def test_devices_and_contexts_are_listed(self) -> None:
        if "reported" not in list_contexts():
            init_dev("null1", "reported")
        results = {finding.name: finding for finding in device_report()}
        self.assertEqual(results["context reported"].value, "null1: null device 1")
        self.assertIn("OpenCL", results["OpenCL driver"].value)
        self.assertRegex(results["opencl0:0"].value, r".+, \d+\.\d GiB")
        self.assertTrue(all(finding.value for finding in results.values()))

    def test_what_is_missing_is_told_with_a_remedy(self) -> None:
        def missing(key: str, **_: object) -> object:
            raise LibraryNotFound(f"{key} is not found\n  details")

        with patch("theano_gpuarray.contexts._report.find_library", missing):
            results = {finding.name: finding for finding in device_report()}
        for name, key in (("CUDA driver", "cuda"), ("OpenCL driver", "opencl")):
            self.assertEqual((results[name].value, results[name].how), ("none", f"{key} is not found"))
            self.assertTrue(results[name].advice)

    def test_a_package_without_its_runtime(self) -> None:
        with patch("theano_gpuarray.contexts._report.is_built", False):
            (finding,) = device_report()
        self.assertIn("no device can be used", finding.value)
        self.assertIn("C compiler", finding.advice)


if __name__ == "__main__":
    unittest.main()
