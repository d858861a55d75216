"""Recorded loops: the effect of a form may depend on the place of its operands."""

from __future__ import annotations

import unittest
from collections.abc import Sequence

import numpy as np

from theano_gpuarray.arrays import GpuArray
from theano_gpuarray.codegen import DeviceOperand, Operand, Recorder, device_form, register_device_form
from theano_gpuarray.codegen._kernel_writer import contiguous
from theano_gpuarray.region import (
    LoopInput,
    LoopOutput,
    LoopPlan,
    Region,
    Replays,
    Step,
    flags_token,
    record_loop,
    upload,
)
from theano_graph import record
from theano_linker_c.kernels import ElementwiseKernel, Kernel
from theano_linker_c.scalar import add, neg
from theano_testing.device import opencl_context
from theano_testing.gpuarray import needs_opencl

NEGATED = ElementwiseKernel(neg, ("float32",), ("float32",), ((False,),), 1)
DOUBLED = ElementwiseKernel(add, ("float32",) * 2, ("float32",), ((False,),) * 2, 1)


@record
class AlignedNegative(Kernel):
    """The negative of a vector, which is copied first where it does not begin at a multiple of 16 bytes."""


@register_device_form(AlignedNegative)
def run(kernel: AlignedNegative, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    (x,) = operands
    assert isinstance(x, DeviceOperand), "there are no host inputs"
    operand = contiguous(recorder, x, copied=True) if x.offset % 16 else x
    result: Sequence[Operand] = device_form.lookup(NEGATED).run(NEGATED, recorder, [operand])
    return result


@needs_opencl
class TestPlaces(unittest.TestCase):
    def loop(self, n: int, length: int) -> list[np.ndarray] | None:
        """Double a vector in each step, and return all states with their negatives; None where it is not recorded."""
        context = opencl_context()
        region = Region(context, [Step(DOUBLED, (0, 0), (1,)), Step(AlignedNegative(), (1,), (2,))], [0], [1, 2])
        outputs = LoopOutput(0, True, True, 0), LoopOutput(1, True)
        values = [upload(context, np.arange(1, length + 1, dtype="float32"))]
        plan = LoopPlan((LoopInput("state", 0),), outputs, False)
        entry = record_loop(region, plan, n, values, {0: ("float32", (length,))})
        if entry is None:
            return None
        replays = Replays(context.native, GpuArray, context, np.empty, region.flags)
        replays.keep(values, flags_token(), entry)
        return [np.asarray(item) for item in replays.make(values, entry)]

    def test_rows_that_begin_at_other_multiples(self) -> None:
        for n, length in ((1, 4), (1, 3), (3, 4), (5, 8), (4, 3)):
            result = self.loop(n, length)
            if length % 4 == 0:
                self.assertIsNotNone(result, "all rows lie alike")
            if result is not None:
                expected = 2.0 ** np.arange(1, n + 1)[:, None] * np.arange(1, length + 1)
                np.testing.assert_array_equal(result[0], expected)
                np.testing.assert_array_equal(result[1], -expected)


if __name__ == "__main__":
    unittest.main()
