from __future__ import annotations

import sys
import unittest
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from theano_gpuarray.arrays import asarray
from theano_gpuarray.bridges import from_pygpu, to_pygpu
from theano_testing.gpuarray import needs_opencl

from ._contexts import opencl


class FakePygpuArray:
    """An array of pygpu, as far as NumPy sees it."""

    def __init__(self, values: Any, context: Any) -> None:
        self.values, self.context = values, context

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype)


@needs_opencl
class TestPygpu(unittest.TestCase):
    def test_values_go_through_the_host(self) -> None:
        x = asarray(np.arange(6).reshape(2, 3), context=opencl())[:, ::2]
        fake: Any = SimpleNamespace(array=FakePygpuArray)
        with patch.dict(sys.modules, {"pygpu": fake, "pygpu.gpuarray": fake}):
            result = to_pygpu(x, "its context")
        self.assertEqual(result.context, "its context")
        np.testing.assert_array_equal(np.asarray(result), [[0, 2], [3, 5]])
        back = from_pygpu(result, opencl())
        self.assertIs(back.context, opencl())
        np.testing.assert_array_equal(np.asarray(back), [[0, 2], [3, 5]])

    def test_pygpu_may_not_be_installed(self) -> None:
        x = asarray(np.arange(3), context=opencl())
        missing = patch.dict(sys.modules, {"pygpu": None, "pygpu.gpuarray": None})
        with missing, self.assertRaisesRegex(ImportError, r"pip install 'theano-gpuarray\[pygpu\]'"):
            to_pygpu(x)


if __name__ == "__main__":
    unittest.main()
