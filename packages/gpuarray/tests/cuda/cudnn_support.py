"""Shared parts of cases of cuDNN: the stand-in for its libraries, and the questions to it."""

from __future__ import annotations

import ctypes
import os
import unittest

import numpy as np

from theano_gpuarray import _runtime
from theano_gpuarray.contexts import GpuContext

FAKE = os.environ["THEANO_TEST_FAKE"]
fake = ctypes.CDLL(FAKE)
fake.fake_log.restype = ctypes.c_char_p
fake.fake_convolution.restype = ctypes.POINTER(ctypes.c_int)
fake.fake_normalization.restype = ctypes.POINTER(ctypes.c_int)
fake.fake_network.restype = ctypes.POINTER(ctypes.c_int)
fake.fake_layer.restype = ctypes.POINTER(ctypes.c_int)
driver = _runtime.open_driver("cuda", {"cuda": FAKE, "nvrtc": FAKE, "cudnn": FAKE})


def calls(name: str) -> int:
    """Count the calls of a function since the last reset."""
    log: bytes = fake.fake_log()
    return log.decode().split().count(name)


class Case(unittest.TestCase):
    """A context on the stand-in; nothing may be left there."""

    def setUp(self) -> None:
        self.context = GpuContext(driver.open(0), "cuda0")
        self.rng = np.random.default_rng(3)
        fake.fake_reset()

    def tearDown(self) -> None:
        self.assertEqual(fake.fake_depth(), 0, "each context that is made current is taken away again")
        self.assertEqual(fake.fake_descriptors(), 0, "each descriptor is destroyed")
