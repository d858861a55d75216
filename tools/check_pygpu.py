"""Hand arrays to pygpu, the library of devices of Theano 1.0, and back; runs where pygpu is installed.

/usr/bin/python3 -m venv --system-site-packages FOLDER    Debian 12 with python3-pygpu, which works with NumPy 1 alone
FOLDER/bin/python tools/check_pygpu.py [DEVICE]           by default opencl0:0
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pygpu

import theano
import theano.tensor as T
from theano.gpuarray.type import GpuArrayType
from theano_gpuarray.bridges import from_pygpu, to_pygpu
from theano_gpuarray.contexts import open_context, reg_context


def main(devname: str = "opencl0:0") -> int:
    """Compare arrays of several dtypes and strides, and the results of a function on one of pygpu's."""
    ours, theirs = open_context(devname), pygpu.init(devname)
    reg_context("ours", ours)
    for dtype in ("float16", "float32", "float64", "int8", "int64", "bool"):
        host = np.arange(12).reshape(3, 4).astype(dtype)
        for part in (np.s_[:], np.s_[1:, ::2], np.s_[::-1], np.s_[:0]):
            operand = pygpu.gpuarray.array(host, context=theirs)[part]
            array = from_pygpu(operand, ours)
            back: Any = to_pygpu(array.transpose(), theirs)
            np.testing.assert_array_equal(np.asarray(array), host[part])
            np.testing.assert_array_equal(np.asarray(back), host[part].T)
            assert isinstance(back, pygpu.gpuarray.GpuArray) and back.dtype == host.dtype
    x: Any = GpuArrayType("float32", (False,), "ours")("x")
    f: Any = theano.function([x], T.exp(x).transfer("ours"))
    operand = pygpu.gpuarray.array(np.arange(3, dtype="float32"), context=theirs)
    np.testing.assert_allclose(
        np.asarray(to_pygpu(f(from_pygpu(operand, ours)), theirs)), np.exp(np.arange(3)), rtol=1e-6
    )
    print(f"arrays go to pygpu {pygpu.__version__} and back, with NumPy {np.__version__} on {devname}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
