"""Fusion for launches: the same values with fewer of them, and the errors of single steps."""

from __future__ import annotations

import random
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_gpuarray.contexts import GpuContext
from theano_gpuarray.lowering.fusion import (
    BesideFusion,
    ElementwiseFusion,
    EpilogueFusion,
    RowFusion,
    UpdateFusion,
    fuse,
)
from theano_gpuarray.region import Download, Fusion, Region, Step, StepError, Upload
from theano_linker_c.kernels import (
    ElementwiseKernel,
    IndexArray,
    IndexReadKernel,
    IndexWriteKernel,
    Kernel,
    MatrixProductKernel,
    Reduction,
    ReductionKernel,
    TransposeKernel,
)
from theano_linker_c.scalar import (
    ScalarOp,
    add,
    exp,
    gammainc_der,
    identity,
    log,
    maximum,
    mul,
    neg,
    sub,
    tanh,
    true_div,
)
from theano_testing.device import card_context, null_context, opencl_context
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import is_long, slow

FULL, ROW, COLUMN = (False, False), (False, True), (True, False)
SUM, LARGEST = Reduction(add, "float64", "float32", 0), Reduction(maximum, "float32", "float32", None)


class Steps:
    """Collects steps: inputs first, then results."""

    def __init__(self, count: int) -> None:
        self.count = 2 * count
        self.inputs = list(range(count))
        self.steps = [Step(Upload(), (i,), (count + i,)) for i in range(count)]
        self.outputs: list[int] = []
        self.given = [count + i for i in range(count)]

    def add(self, task: Kernel, *inputs: int) -> int:
        result = self.number()
        self.steps.append(Step(task, inputs, (result,)))
        return result

    def number(self) -> int:
        """Return a new number."""
        self.count += 1
        return self.count - 1

    def elementwise(self, op: ScalarOp, *operands: tuple[int, tuple[bool, ...]], dtype: str = "float32") -> int:
        patterns = tuple(pattern for _, pattern in operands)
        kernel = ElementwiseKernel(op, (dtype,) * len(operands), (dtype,), patterns, len(patterns[0]))
        return self.add(kernel, *(v for v, _ in operands))

    def reduced(self, reduction: Reduction, x: int, axis: int = 1) -> int:
        return self.add(ReductionKernel(identity, ("float32",), (), (reduction,), (FULL,), 2, (axis,)), x)

    def kept(self, x: int) -> int:
        return self.add(TransposeKernel((0, None), ()), x)

    def download(self, *values: int) -> None:
        for v in values:
            result = self.number()
            self.steps.append(Step(Download(), (v,), (result,)))
            self.outputs.append(result)

    def region(self, context: GpuContext, constants: Any = None, *, fused: bool = True) -> Region:
        return Region(context, self.steps, self.inputs, self.outputs, constants, fuse if fused else None)


def kinds(region: Region) -> list[type]:
    return [type(step.task) for _, step in region.steps if isinstance(step.task, Fusion)]


def launches(context: GpuContext) -> int:
    return sum(entry[0] in ("launch", "copy", "fill") for entry in context.native.recorded())


class FusionTestCase(unittest.TestCase):
    def check(self, steps: Steps, values: Sequence[Any], most: int, constants: Any = None) -> list[Any]:
        """Check that the values are those of single steps, and how many launches there are."""
        expected = steps.region(opencl_context(), constants, fused=False)(values)
        for context in (card_context(), opencl_context()):
            result = steps.region(context, constants)(values)
            for a, b in zip(result, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)
        null = null_context()
        region = steps.region(null, constants)
        region(values)
        null.native.recorded()
        region(values)
        self.assertLessEqual(launches(null), most)
        return result


def softmax_loss(constants: dict[int, Any], rows: int) -> Steps:
    """Return the loss of each row and the gradient by the scores, of scores, a bias and classes."""
    s = Steps(3)
    x, bias, y = s.given
    scores = s.elementwise(add, (x, FULL), (s.add(TransposeKernel((None, 0), ()), bias), COLUMN))
    largest = s.kept(s.reduced(LARGEST, scores))
    shifted = s.elementwise(sub, (scores, FULL), (largest, ROW))
    powers = s.elementwise(exp, (shifted, FULL))
    total = s.kept(s.reduced(SUM, powers))
    log_p = s.elementwise(sub, (shifted, FULL), (s.elementwise(log, (total, ROW)), ROW))
    counting = s.number()
    constants[counting] = np.arange(rows)
    entries = IndexArray(1, False, (False,)), IndexArray(2, False, (False,))
    loss = s.add(IndexReadKernel(entries, ("float32", "int64", "int32"), (2, 1, 1)), log_p, counting, y)
    p = s.elementwise(true_div, (powers, FULL), (total, ROW))
    minus = s.number()
    constants[minus] = np.full(1, -1, "float32")
    write = IndexWriteKernel(
        (IndexArray(2, False, (False,)), IndexArray(3, False, (False,))),
        ("float32", "float32", "int64", "int32"),
        (2, 1, 1, 1),
        False,
        (True,),
    )
    gradient = s.add(write, p, minus, counting, y)
    s.download(loss, gradient)
    return s


@needs_opencl
class TestRows(FusionTestCase):
    @slow
    def test_softmax_with_its_loss_and_gradient(self) -> None:
        constants: dict[int, Any] = {}
        steps = softmax_loss(constants, 9)
        rng = np.random.default_rng(0)
        x, bias = rng.normal(size=(9, 7)).astype("float32"), rng.normal(size=7).astype("float32")
        y = rng.integers(-7, 7, 9).astype("int32")
        loss, gradient = self.check(steps, [x, bias, y], 1, constants)
        p = np.exp(x + bias) / np.exp(x + bias).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(loss, np.log(p)[np.arange(9), y], rtol=1e-5)
        p[np.arange(9), y] -= 1
        np.testing.assert_allclose(gradient, p, rtol=1e-5, atol=1e-6)

    @slow
    def test_one_number_for_all_rows(self) -> None:
        """As the number of rows that a gradient of a mean is divided by."""
        one = (True, True)
        for read in (False, True):
            s = Steps(2)
            x, scale = s.given
            factor = s.elementwise(neg, (scale, one))
            total = s.kept(s.reduced(SUM, x))
            s.download(s.elementwise(mul, (s.elementwise(true_div, (x, FULL), (total, ROW)), FULL), (factor, one)))
            if read:
                s.download(factor)
            operand = np.random.default_rng(0).uniform(1, 2, size=(9, 7)).astype("float32")
            result = self.check(s, [operand, np.full((1, 1), 3, "float32")], 1 + read)
            np.testing.assert_allclose(result[0], -3 * operand / operand.sum(axis=1, keepdims=True), rtol=1e-5)

    def test_a_class_that_is_out_of_bounds(self) -> None:
        constants: dict[int, Any] = {}
        steps = softmax_loss(constants, 4)
        region = steps.region(opencl_context(), constants)
        x, bias = np.zeros((4, 3), "float32"), np.zeros(3, "float32")
        for wrong in (3, -4):
            with self.assertRaises(StepError) as caught:
                region([x, bias, np.array([0, 1, wrong, 2], "int32")])
            self.assertIsInstance(steps.steps[caught.exception.step].task, (IndexReadKernel, IndexWriteKernel))
            self.assertRegex(str(caught.exception.error), f"index {wrong} is out of bounds for axis 1 with size 3")
        self.assertEqual((4, 3), region([x, bias, np.zeros(4, "int32")])[1].shape)

    def test_rows_that_do_not_fit_are_refused_by_the_step_itself(self) -> None:
        constants: dict[int, Any] = {}
        steps = softmax_loss(constants, 4)
        region = steps.region(opencl_context(), constants)
        with self.assertRaises(StepError) as caught:
            region([np.zeros((4, 3), "float32"), np.zeros(2, "float32"), np.zeros(4, "int32")])
        self.assertIsInstance(steps.steps[caught.exception.step].task, ElementwiseKernel)
        self.assertRegex(str(caught.exception.error), "mis-match")

    def test_other_numbers_of_rows_than_are_counted(self) -> None:
        constants: dict[int, Any] = {}
        steps = softmax_loss(constants, 4)
        region = steps.region(opencl_context(), constants)
        with self.assertRaises(StepError):
            region([np.zeros((5, 3), "float32"), np.zeros(3, "float32"), np.zeros(5, "int32")])

    @slow
    def test_no_elements(self) -> None:
        s = Steps(1)
        total = s.kept(s.reduced(SUM, s.elementwise(exp, (s.given[0], FULL))))
        s.download(s.elementwise(mul, (total, ROW), (total, ROW)))
        for shape in ((0, 3), (3, 0), (1, 1), (300, 5), (3, 700)):
            self.check(s, [np.full(shape, 0.1, "float32")], 3)

    def test_views_of_arrays(self) -> None:
        s = Steps(1)
        turned = s.add(TransposeKernel((1, 0), ()), s.given[0])
        total = s.kept(s.reduced(SUM, s.elementwise(exp, (turned, FULL))))
        s.download(s.elementwise(true_div, (turned, FULL), (total, ROW)))
        self.check(s, [np.random.default_rng(0).normal(size=(6, 11)).astype("float32")], 1)

    @slow
    def test_what_needs_others_in_between_is_cut(self) -> None:
        s = Steps(1)
        first = s.elementwise(exp, (s.given[0], FULL))
        below = s.reduced(SUM, first, axis=0)  # along the rows: not row by row
        row = s.add(TransposeKernel((None, 0), ()), below)
        shifted = s.elementwise(true_div, (first, FULL), (row, COLUMN))
        total = s.kept(s.reduced(SUM, shifted))
        s.download(s.elementwise(true_div, (shifted, FULL), (total, ROW)), below)
        result = self.check(s, [np.random.default_rng(0).normal(size=(6, 11)).astype("float32")], 3)
        np.testing.assert_allclose(result[0].sum(axis=1), np.ones(6), rtol=1e-5)


@needs_opencl
class TestEpilogues(FusionTestCase):
    def test_what_follows_a_product(self) -> None:
        for first in (True, False):
            s = Steps(3)
            a, b, c = s.given
            product = s.add(MatrixProductKernel("gemm", "float32"), a, b)
            operands = [(product, FULL), (s.add(TransposeKernel((None, 0), ()), c), COLUMN)]
            s.download(s.elementwise(sub, *(operands if first else reversed(operands))))
            region = s.region(null_context())
            self.assertEqual([EpilogueFusion], kinds(region))
            rng = np.random.default_rng(0)
            values = [rng.normal(size=shape).astype("float32") for shape in ((5, 6), (6, 7), (7,))]
            (result,) = self.check(s, values, 1)
            expected = values[0] @ values[1] - values[2]
            np.testing.assert_allclose(result, expected if first else -expected, rtol=1e-5, atol=1e-5)

    def test_products_that_others_read_stay(self) -> None:
        s = Steps(2)
        product = s.add(MatrixProductKernel("gemm", "float32"), *s.given)
        s.download(product, s.elementwise(tanh, (product, FULL)))
        self.assertEqual([EpilogueFusion], kinds(_alone(s)))
        s = Steps(2)
        product = s.add(MatrixProductKernel("gemm", "float32"), *s.given)
        s.download(s.elementwise(mul, (product, FULL), (product, FULL)))
        self.assertEqual([], kinds(s.region(null_context())))

    def test_shapes_that_do_not_fit(self) -> None:
        s = Steps(3)
        a, b, c = s.given
        s.download(s.elementwise(add, (s.add(MatrixProductKernel("gemm", "float32"), a, b), FULL), (c, FULL)))
        region = s.region(opencl_context())
        x = np.ones((3, 4), "float32")
        with self.assertRaises(StepError) as caught:
            region([x, x, x])
        self.assertIsInstance(s.steps[caught.exception.step].task, MatrixProductKernel)
        with self.assertRaises(StepError) as caught:
            region([x, x.T.copy(), x])
        self.assertIsInstance(s.steps[caught.exception.step].task, ElementwiseKernel)


@needs_opencl
class TestBeside(FusionTestCase):
    @slow
    def test_a_reduction_of_what_others_read(self) -> None:
        for axis in (0, 1):
            s = Steps(2)
            result = s.elementwise(mul, *((v, FULL) for v in s.given))
            total = s.reduced(SUM, result, axis) if axis == 0 else s.reduced(LARGEST, result, axis)
            s.download(total, s.elementwise(tanh, (result, FULL)))
            rng = np.random.default_rng(0)
            values = [rng.normal(size=(40, 30)).astype("float32") for _ in range(2)]
            self.check(s, values, 2)

    def test_shapes_that_do_not_fit(self) -> None:
        s = Steps(2)
        result = s.elementwise(mul, *((v, FULL) for v in s.given))
        s.download(s.reduced(SUM, result, 0), result)
        region = s.region(opencl_context())
        self.assertEqual([BesideFusion], kinds(region))
        with self.assertRaises(StepError) as caught:
            region([np.ones((2, 3), "float32"), np.ones((2, 4), "float32")])
        self.assertIsInstance(s.steps[caught.exception.step].task, ElementwiseKernel)


@needs_opencl
class TestUpdates(FusionTestCase):
    def exact(self, s: Steps, values: Sequence[Any], most: int) -> list[Any]:
        """Check that values are those of single steps bit for bit."""
        result = self.check(s, values, most)
        for context in (card_context(), opencl_context()):
            alone = s.region(context, fused=False)(values)
            for a, b in zip(s.region(context)(values), alone, strict=True):
                np.testing.assert_array_equal(a, b)
        return result

    @slow
    def test_biases(self) -> None:
        rng = np.random.default_rng(0)
        for shape in ((40, 30), (90000, 3)):
            s = Steps(3)
            x, bias, rate = s.given
            total = s.reduced(SUM, x, 0)
            step = s.elementwise(mul, (total, (False,)), (rate, (True,)))
            s.download(s.elementwise(sub, (bias, (False,)), (step, (False,))), s.elementwise(neg, (step, (False,))))
            operand = rng.normal(size=shape).astype("float32")
            b = rng.normal(size=shape[1]).astype("float32")
            result = self.exact(s, [operand, b, np.full(1, 0.1, "float32")], 4)
            expected = operand.astype("float64").sum(axis=0).astype("float32") * np.float32(0.1)
            np.testing.assert_allclose(result[0], b - expected, rtol=1e-5, atol=1e-5)
            self.assertEqual([UpdateFusion], kinds(s.region(null_context())))

    def test_elements_are_kept_too(self) -> None:
        s = Steps(3)
        result = s.elementwise(mul, *((v, FULL) for v in s.given[:2]))
        update = s.elementwise(sub, (s.given[2], (False,)), (s.reduced(SUM, result, 0), (False,)))
        s.download(update, s.elementwise(tanh, (result, FULL)))
        rng = np.random.default_rng(0)
        values = [rng.normal(size=shape).astype("float32") for shape in ((40, 30), (40, 30), (30,))]
        self.exact(s, values, 2)

    @slow
    def test_operands_that_lie_otherwise(self) -> None:
        s = Steps(3)
        x, y, z = s.given
        row = s.reduced(SUM, y, 0)
        s.download(
            s.elementwise(sub, (s.reduced(SUM, x, 0), (False,)), (row, (False,))), s.elementwise(neg, (row, (False,)))
        )
        s.download(s.elementwise(add, (s.reduced(LARGEST, z, 1), (False,)), (row, (False,))))
        rng = np.random.default_rng(1)
        self.exact(s, [rng.normal(size=(17, 17)).astype("float32") for _ in range(3)], 4)

    def test_shapes_that_do_not_fit(self) -> None:
        s = Steps(2)
        s.download(s.elementwise(sub, (s.reduced(SUM, s.given[0], 0), (False,)), (s.given[1], (False,))))
        region = s.region(opencl_context())
        self.assertEqual([UpdateFusion], kinds(region))
        for wrong in (np.ones(1, "float32"), np.ones(4, "float32")):
            with self.assertRaises(StepError) as caught:
                region([np.ones((2, 3), "float32"), wrong])
            self.assertIsInstance(s.steps[caught.exception.step].task, ElementwiseKernel)

    def test_what_others_need_in_between(self) -> None:
        s = Steps(2)
        result = s.elementwise(mul, *((v, FULL) for v in s.given))
        other = s.reduced(LARGEST, s.elementwise(tanh, (result, FULL)), 0)
        s.download(s.elementwise(sub, (s.reduced(SUM, result, 0), (False,)), (other, (False,))))
        rng = np.random.default_rng(2)
        self.exact(s, [rng.normal(size=(12, 13)).astype("float32") for _ in range(2)], 4)

    @slow
    def test_two_that_need_what_the_other_one_keeps(self) -> None:
        s = Steps(4)
        result = [s.elementwise(mul, *((v, FULL) for v in s.given[k : k + 2])) for k in (0, 2)]
        totals = [s.reduced(SUM, v, 0) for v in result]
        others = [s.reduced(LARGEST, s.elementwise(tanh, (v, FULL)), 0) for v in reversed(result)]
        s.download(*(s.elementwise(sub, (a, (False,)), (b, (False,))) for a, b in zip(totals, others, strict=True)))
        rng = np.random.default_rng(4)
        self.exact(s, [rng.normal(size=(12, 13)).astype("float32") for _ in range(4)], 6)
        self.assertEqual(1, kinds(s.region(null_context())).count(UpdateFusion))

    @slow
    def test_updates_that_would_need_each_other(self) -> None:
        s = Steps(2)
        x, y = s.elementwise(tanh, (s.given[0], FULL)), s.elementwise(tanh, (s.given[1], (False,)))
        by_rows = ReductionKernel(identity, ("float32",), (), (SUM,), ((False,),), 1, (0,))
        full = ReductionKernel(identity, ("float32",), (), (LARGEST,), (FULL,), 2, (0, 1))
        first = s.elementwise(add, (s.reduced(SUM, x, 0), (False,)), (y, (False,)))
        second = s.elementwise(mul, (s.add(by_rows, y), ()), (s.add(full, x), ()))
        s.download(first, second, s.elementwise(neg, (x, FULL)))
        self.assertEqual(kinds(s.region(null_context())).count(UpdateFusion), 1)
        rng = np.random.default_rng(3)
        self.exact(s, [rng.normal(size=shape).astype("float32") for shape in ((12, 13), (13,))], 4)


@needs_opencl
class TestElementwise(FusionTestCase):
    @slow
    def test_an_optimizer(self) -> None:
        s = Steps(3)
        gradient, moment, weights = ((v, FULL) for v in s.given)
        new_moment = s.elementwise(sub, moment, gradient)
        new_weights = s.elementwise(sub, weights, (s.elementwise(tanh, (new_moment, FULL)), FULL))
        s.download(new_moment, new_weights)
        rng = np.random.default_rng(0)
        values = [rng.normal(size=(1, 40, 30)).astype("float32")[0] for _ in range(3)]
        result = self.check(s, values, 1)
        np.testing.assert_array_equal(result[0], values[1] - values[0])
        self.assertEqual([ElementwiseFusion], kinds(s.region(null_context())))
        for context in (card_context(), opencl_context()):
            for a, b in zip(s.region(context)(values), s.region(context, fused=False)(values), strict=True):
                np.testing.assert_array_equal(a, b)

    def test_shapes_that_do_not_fit(self) -> None:
        """A result with a row is not broadcast, though its operands may be."""
        s = Steps(2)
        result = s.elementwise(exp, (s.given[0], COLUMN))
        s.download(result, s.elementwise(sub, (result, FULL), (s.given[1], FULL)))
        region = s.region(opencl_context())
        self.assertEqual([ElementwiseFusion], kinds(region))
        row = np.ones((1, 3), "float32")
        self.assertEqual((1, 3), region([row, row])[1].shape)
        with self.assertRaises(StepError) as caught:
            region([row, np.ones((2, 3), "float32")])
        self.assertEqual(2, len(s.steps[caught.exception.step].inputs))

    @slow
    def test_what_is_in_between(self) -> None:
        s = Steps(2)
        a, b = s.given
        h = s.elementwise(tanh, (a, FULL))
        product = s.add(MatrixProductKernel("gemm", "float32"), h, b)
        s.download(h, s.elementwise(sub, (h, FULL), (product, FULL)), s.elementwise(neg, (h, FULL)))
        rng = np.random.default_rng(0)
        self.check(s, [rng.normal(size=(9, 9)).astype("float32") for _ in range(2)], 3)

    @slow
    def test_random_programs(self) -> None:
        rng = random.Random(11)
        for turn in range(24 if is_long() else 3):
            s = Steps(4)
            result = [(v, FULL) for v in s.given[:3]]
            for _ in range(8):
                op = rng.choice((tanh, neg, add, sub, maximum, mul))
                args = [rng.choice(result[-6:]) for _ in range(1 if op in (tanh, neg) else 2)]
                if len(args) > 1 and rng.random() < 0.2:
                    args[1] = (s.given[3], COLUMN)
                result.append((s.elementwise(op, *args), FULL))
            s.download(*(v for v, _ in rng.sample(result[3:], 3)))
            values = [np.random.default_rng(k).normal(size=(5, 6)).astype("float32") for k in range(3)]
            values.append(np.full((1, 6), 0.5, "float32"))
            context = card_context() if turn % 2 else opencl_context()
            for a, b in zip(s.region(context)(values), s.region(context, fused=False)(values), strict=True):
                np.testing.assert_array_equal(a, b)


@needs_opencl
class TestFunctionsOfOperations(FusionTestCase):
    """Helper functions of an operation stand before the kernel, wherever the operation is computed."""

    @slow
    def test_in_updates(self) -> None:
        s = Steps(2)
        s.download(s.elementwise(gammainc_der, (s.reduced(SUM, s.given[0], 0), (False,)), (s.given[1], (False,))))
        result = self.check(s, [np.ones((3, 5), "float32"), np.full(5, 2, "float32")], 1)
        np.testing.assert_allclose(result[0], gammainc_der.compute(np.full(5, 3.0), np.full(5, 2.0)), rtol=1e-6)

    @slow
    def test_in_epilogues(self) -> None:
        s = Steps(3)
        product = s.add(MatrixProductKernel("gemm", "float32"), *s.given[:2])
        s.download(s.elementwise(gammainc_der, (product, FULL), (s.given[2], FULL)))
        values = [np.ones((3, 4), "float32"), np.ones((4, 5), "float32"), np.full((3, 5), 2, "float32")]
        np.testing.assert_allclose(self.check(s, values, 1)[0][0, 0], gammainc_der.compute(4.0, 2.0), rtol=1e-6)

    @slow
    def test_in_rows(self) -> None:
        s = Steps(2)
        a, b = s.given
        total = s.kept(s.reduced(SUM, s.elementwise(gammainc_der, (a, FULL), (b, FULL))))
        s.download(s.elementwise(sub, (a, FULL), (total, ROW)))
        result = self.check(s, [np.full((3, 4), 3, "float32"), np.full((3, 4), 2, "float32")], 1)
        np.testing.assert_allclose(result[0][0, 0], 3 - 4 * gammainc_der.compute(3.0, 2.0), rtol=1e-6)


class TestSeveral(unittest.TestCase):
    def test_each_kind(self) -> None:
        s = Steps(2)
        product = s.add(MatrixProductKernel("gemm", "float32"), *s.given)
        h = s.elementwise(tanh, (product, FULL))
        total = s.kept(s.reduced(SUM, s.elementwise(exp, (h, FULL))))
        s.download(s.elementwise(true_div, (h, FULL), (total, ROW)), s.elementwise(neg, (s.given[0], FULL)))
        self.assertIn(RowFusion, kinds(s.region(null_context())))


def _alone(s: Steps) -> Region:
    """Return the region that gives the last output alone."""
    return Region(null_context(), [*s.steps[:-2], s.steps[-1]], s.inputs, s.outputs[-1:], None, fuse)


if __name__ == "__main__":
    unittest.main()
