"""Machine code stays as long as something can call it."""

from __future__ import annotations

import gc
import unittest
import weakref

import numpy as np
from small_arrays import add, mul, vector

from theano_linker_c import Mode, function
from theano_linker_c.kernels import _build
from theano_linker_c.program import KernelForm


class TestLives(unittest.TestCase):
    def test_a_thunk_that_outlives_its_function_keeps_the_code(self) -> None:
        x = vector("x")
        _build.library.clear()  # no other function holds the code that is loaded now
        f = function([x], mul(add(x, x), x), mode=Mode("cvm", None))
        instruction = f.fn.program.instructions[0]
        assert isinstance(instruction.form, KernelForm)
        code = instruction.form.code.code
        thunk = f.fn.thunks[0]
        alive = weakref.ref(code)
        del f, code, instruction
        _build.library.clear()
        gc.collect()
        self.assertIsNotNone(alive())
        for cell in thunk.inputs:
            cell[0] = np.arange(3.0)
        thunk()
        np.testing.assert_array_equal(thunk.outputs[0][0], 2 * np.arange(3.0))
        del thunk, cell
        gc.collect()
        self.assertIsNone(alive())
