"""Draws from streams of MRG31k3p on devices: the numbers and states of the host, and refusals."""

from __future__ import annotations

import unittest

import numpy as np

import theano_tensor as T
from theano_linker_c import function, shared
from theano_tensor import device
from theano_tensor._core._type import tensor_type
from theano_tensor.random.mrg import MRGUniform, substreams

from .contexts import NAME
from .test_device_variables import DeviceTestCase

STATES = substreams([12345] * 6, 100)


class TestDraws(DeviceTestCase):
    def test_same_numbers_as_on_the_host(self) -> None:
        size = T.lvector("size")
        for dtype in ("float16", "float32", "float64"):
            with self.subTest(dtype=dtype):
                host = MRGUniform(tensor_type(dtype, (None, None)))
                expected = function([size], host(STATES, size))([30, 7])
                states = shared(STATES, target=NAME)
                moved, draw = device.GPUA_mrg_uniform.of(host)(states, size)
                f = function([size], [draw], updates=[(states, moved)])
                (result,) = f(np.array([30, 7]))
                self.assertValues(result, np.asarray(expected[1]), rtol=0)
                self.assertValues(states.get_value(), np.asarray(expected[0]))
                (again,) = f(np.array([30, 7]))
                self.assertValues(again, np.asarray(function([size], host(expected[0], size))([30, 7])[1]), rtol=0)

    def test_a_refused_draw_moves_no_stream(self) -> None:
        size = T.lvector("size")
        states = shared(STATES, target=NAME)
        moved, draw = device.GPUA_mrg_uniform.of(MRGUniform(tensor_type("float32", (None,))))(states, size)
        f = function([size], [draw], updates=[(states, moved)])
        with self.assertRaisesRegex(ValueError, "length -3 in the size of a draw is negative"):
            f(np.array([-3]))
        self.assertValues(states.get_value(), STATES)


if __name__ == "__main__":
    unittest.main()
