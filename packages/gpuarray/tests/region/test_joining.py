"""Joined launches: the same values bit for bit, in an order that heeds the needs of each one."""

from __future__ import annotations

import random
import unittest
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from theano_gpuarray.codegen import KernelText
from theano_gpuarray.codegen.text import Signature, joined_text
from theano_gpuarray.contexts import GpuContext
from theano_gpuarray.region import Download, Region, Step, StepError, Upload
from theano_gpuarray.region._events import Event, Kept
from theano_gpuarray.region.scheduling import JoinPlan, needed_events
from theano_linker_c.kernels import ElementwiseKernel, Kernel, MatrixProductKernel, Reduction, ReductionKernel
from theano_linker_c.scalar import ScalarOp, add, exp, identity, maximum, mul, neg, sub, tanh
from theano_testing.device import card_context, null_context, opencl_context
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import is_long, slow

SUM, LARGEST = Reduction(add, "float64", "float32", 0), Reduction(maximum, "float32", "float32", None)


class Program:
    """Steps over some arrays that are transferred, of which some results are read."""

    def __init__(self, count: int) -> None:
        self.inputs = list(range(count))
        self.given = [count + i for i in range(count)]
        self.count = 2 * count
        self.steps = [Step(Upload(), (i,), (count + i,)) for i in range(count)]
        self.outputs: list[int] = []

    def add(self, task: Kernel, *inputs: int) -> int:
        self.steps.append(Step(task, inputs, (self.count,)))
        self.count += 1
        return self.count - 1

    def elementwise(self, op: ScalarOp, ndim: int, *inputs: int) -> int:
        count = len(inputs)
        return self.add(
            ElementwiseKernel(op, ("float32",) * count, ("float32",), ((False,) * ndim,) * count, ndim), *inputs
        )

    def reduced(self, x: int, axis: int, reduction: Reduction = SUM) -> int:
        return self.add(ReductionKernel(identity, ("float32",), (), (reduction,), ((False,) * 2,), 2, (axis,)), x)

    def read(self, *values: int) -> None:
        for v in values:
            self.steps.append(Step(Download(), (v,), (self.count,)))
            self.outputs.append(self.count)
            self.count += 1

    def region(self, context: GpuContext) -> Region:
        return Region(context, self.steps, self.inputs, self.outputs)


def alone(saved: Kept) -> JoinPlan:
    """Join nothing."""
    return JoinPlan(())


def launches(context: GpuContext) -> int:
    return sum(entry[0] in ("launch", "copy", "fill") for entry in context.native.recorded())


def parameter_bytes(text: KernelText) -> int:
    """Return how long a structure of the parameters is, each at a multiple of its size."""
    letters = ["i8" if c in "Pqd" else "i4" for c in text.parameters]
    return np.dtype([(f"f{k}", letter) for k, letter in enumerate(letters)], align=True).itemsize


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


class JoiningTestCase(unittest.TestCase):
    def check(self, program: Program, values: Sequence[Any], expected: int, card: int = 0) -> list[Any]:
        """Check that values are those of single launches, in several calls, and how many launches there are.

        On a card there are `card` launches, where these are not as many as on a processor.
        """
        for context in (card_context(), opencl_context()):
            region = program.region(context)
            result = region(values)
            with mock.patch("theano_gpuarray.region._recording.plan_joins", alone):
                single = program.region(context)(values)
            for other in (single, region(values)):
                for a, b in zip(result, other, strict=True):
                    np.testing.assert_array_equal(a, b)
        for cpu, count in ((True, expected), (False, card or expected)):
            null = null_context()
            null.properties = replace(null.properties, cpu=cpu, max_local=256)
            region = program.region(null)
            region(values)
            null.native.recorded()
            region(values)
            self.assertEqual(count, launches(null))
        return result


@needs_opencl
class TestJoined(JoiningTestCase):
    def test_elementwise_kernels_of_different_shapes(self) -> None:
        p = Program(6)
        shapes = (70, 80), (5,), ()
        p.read(*(p.elementwise(sub, len(shape), *p.given[2 * k : 2 * k + 2]) for k, shape in enumerate(shapes)))
        values = [normal(*shape, seed=k) for k, shape in enumerate(shape for shape in shapes for _ in range(2))]
        for item, a, b in zip(self.check(p, values, 1), values[::2], values[1::2], strict=True):
            np.testing.assert_array_equal(item, a - b)

    @slow
    def test_reductions_of_different_shapes_and_kinds(self) -> None:
        p = Program(3)
        x, y, z = p.given
        p.read(*(p.reduced(v, axis) for v in (x, y) for axis in (0, 1)), p.reduced(z, 0, LARGEST))
        values = [normal(300, 17), normal(9, 700, seed=1), normal(40, 33, seed=2)]
        result = self.check(p, values, 1, 3)
        np.testing.assert_allclose(result[0], values[0].sum(axis=0), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(result[3], values[1].sum(axis=1), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(result[4], values[2].max(axis=0))

    def test_products_of_one_text(self) -> None:
        p = Program(4)
        a, b, c, d = p.given
        product = MatrixProductKernel("gemm", "float32")
        p.read(p.add(product, a, b), p.add(product, c, d), p.elementwise(neg, 2, a))
        values = [normal(33, 20), normal(20, 50), normal(70, 20), normal(20, 5)]
        np.testing.assert_allclose(self.check(p, values, 2)[1], values[2] @ values[3], rtol=1e-4, atol=1e-5)

    def test_empty_arrays_and_ones_that_do_not_fit(self) -> None:
        p = Program(2)
        p.read(*(p.elementwise(neg, 1, v) for v in p.given), p.elementwise(add, 1, *p.given))
        empty = np.zeros(0, "float32")
        self.assertEqual([(0,)] * 3, [item.shape for item in self.check(p, [empty, empty], 0)])
        with self.assertRaises(StepError) as caught:
            p.region(opencl_context())([empty, np.zeros(2, "float32")])
        self.assertEqual(2, len(p.steps[caught.exception.step].inputs))

    def test_more_parameters_than_a_launch_has_take_several(self) -> None:
        p = Program(40)
        p.read(*(p.elementwise(neg, 1, v) for v in p.given))
        self.check(p, [np.full(3, k, "float32") for k in range(40)], 3, 2)
        for context in (opencl_context(), card_context()):
            region = p.region(context)
            region([np.full(3, k, "float32") for k in range(40)])
            for event in region.recordings[0].events:
                assert event.text is not None
                self.assertLessEqual(parameter_bytes(event.text), 1024)

    def test_large_arrays_stay_alone(self) -> None:
        p = Program(2)
        p.read(*(p.elementwise(neg, 1, v) for v in p.given))
        self.check(p, [np.ones(1 << 20, "float32"), np.ones((1 << 20) + 1, "float32")], 2)

    def test_what_needs_each_other(self) -> None:
        p = Program(2)
        x, y = p.given
        first, other = p.elementwise(tanh, 2, x), p.elementwise(exp, 2, y)
        second = p.elementwise(exp, 2, first)
        p.read(p.reduced(second, 0), p.reduced(other, 1), p.elementwise(mul, 2, second, second))
        self.check(p, [normal(8, 9), normal(10, 11)], 3, 4)

    @slow
    def test_random_programs(self) -> None:
        rng = random.Random(7)
        for turn in range(16 if is_long() else 2):
            p = Program(3)
            matrices = list(p.given)
            for _ in range(10):
                op = rng.choice((tanh, neg, exp, add, sub, maximum))
                count = 2 if op in (add, sub, maximum) else 1
                result = p.elementwise(op, 2, *(rng.choice(matrices[-5:]) for _ in range(count)))
                matrices.append(result if op is not exp else p.elementwise(tanh, 2, result))
                if rng.random() < 0.4:
                    p.read(p.reduced(matrices[-1], rng.randrange(2)))
            p.read(*matrices[-2:])
            values = [normal(13, 13, seed=k) for k in range(3)]
            with mock.patch("theano_gpuarray.region._recording.plan_joins", alone):
                expected = p.region(opencl_context())(values)
            context = card_context() if turn % 2 else opencl_context()
            for a, b in zip(p.region(context)(values), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


class TestTexts(unittest.TestCase):
    def test_which_arrays_are_written(self) -> None:
        signature = Signature()
        signature.array("x", "float")
        signature.array("y", "float", written=True)
        self.assertEqual((False, True), signature.text("k", ["y[0] = x[0];"]).written)

    def test_text_of_a_program_may_write_to_all(self) -> None:
        self.assertEqual((True, True), KernelText("k", "void k(int a)", "PiP").written)

    def test_parameters_of_joined_kernels(self) -> None:
        signature = Signature()
        signature.number("q", "n")
        signature.array("y", "float", written=True)
        signature.local("float", "s", 4)
        text = signature.text("k", ["s[0] = n;", "y[GID_0] = s[0];"])
        joined = joined_text(((text, 2),))
        self.assertEqual("IIqPqIIqPq", joined.parameters)
        self.assertEqual(1, joined.text.count("LOCAL_MEM float"))


class TestNeeded(unittest.TestCase):
    def test_reads_and_writes(self) -> None:
        saved = Kept(null_context(), mock.Mock(), 0)
        a, b, c = (saved.empty("float32", (4,)) for _ in range(3))
        events = [
            Event("fill", None, (a, 0)),
            Event("copy", None, (b, a)),
            Event("copy", None, (c, a)),
            Event("fill", None, (a, 1)),
            Event("copy", None, (c, b)),
        ]
        self.assertEqual([set(), {0}, {0}, {0, 1, 2}, {1, 2}], needed_events(events))


if __name__ == "__main__":
    unittest.main()
