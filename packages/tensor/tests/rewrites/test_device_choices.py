"""Names and tags of choices on devices are there without devices, and change nothing then."""

from __future__ import annotations

import subprocess
import sys
import unittest

import numpy as np

import theano_tensor as T
from theano_linker_c import function
from theano_linker_c.modes import get_default_mode
from theano_optimize import GraphRewriter
from theano_tensor.nnet.convolution import conv2d
from theano_tensor.rewrites.opt_in import give_choice
from theano_testing.tiers import slow

WITHOUT = """
import sys
import theano_tensor.rewrites
from theano_linker_c.modes import optdb
tags = {"conv_dnn", "conv_gemm", "conv_meta", "cudnn", "low_memory"}
print(tags <= optdb.names(), "theano_tensor.device" in sys.modules)
"""


class TestDeviceChoices(unittest.TestCase):
    @slow
    def test_names_without_devices(self) -> None:
        done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), ["True", "False"])

    def test_convolutions_of_the_host(self) -> None:
        x, w = T.tensor4("x"), T.tensor4("w")
        mode = get_default_mode().including("conv_meta", "low_memory").excluding("conv_dnn", "conv_gemm")
        f = function([x, w], conv2d(x, w), mode=mode)
        result = f(np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2)))
        np.testing.assert_array_equal(result, np.full((1, 1, 2, 2), 4.0))

    def test_a_step_that_is_none(self) -> None:
        with self.assertRaises(KeyError):
            give_choice(GraphRewriter("no such step"))


if __name__ == "__main__":
    unittest.main()
