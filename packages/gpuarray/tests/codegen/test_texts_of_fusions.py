"""Texts for graphics cards that join several steps: they compile as CUDA, and loads are under way together."""

from __future__ import annotations

import unittest
from collections.abc import Sequence

import numpy as np

from theano_gpuarray.codegen import KernelText
from theano_gpuarray.contexts import open_context
from theano_gpuarray.lowering.fusion import fuse
from theano_gpuarray.region import Download, Region, Step, Upload
from theano_linker_c.kernels import (
    ElementwiseKernel,
    Kernel,
    MatrixProductKernel,
    Reduction,
    ReductionKernel,
    TransposeKernel,
)
from theano_linker_c.scalar import ScalarOp, add, exp, identity, neg, tanh, true_div

from .form_support import CARD
from .nvrtc_support import ARCHITECTURES, failures, most_loads

FULL, ROW = (False, False), (False, True)


def elementwise(op: ScalarOp, *patterns: tuple[bool, ...]) -> Kernel:
    return ElementwiseKernel(op, ("float32",) * len(patterns), ("float32",), patterns, 2)


def texts(steps: Sequence[Step], count: int) -> list[KernelText]:
    """Return the texts of a region over square matrices, whose last steps are transfers to the host."""
    context = open_context("null0")
    context.properties = CARD
    inputs, outputs = list(range(count)), [v for step in steps[-1:] for v in step.outputs]
    region = Region(context, steps, inputs, outputs, None, fuse)
    region([np.zeros((300, 300), "float32")] * count)
    return list(context._kernels)


def softmax(x: int, first: int) -> list[Step]:
    """Return the steps of exp(x) over its sums along rows, without the shift of exponents; values from `first` on."""
    total = Reduction(add, "float32", "float32", 0)
    return [
        Step(elementwise(exp, FULL), (x,), (first,)),
        Step(ReductionKernel(identity, ("float32",), (), (total,), (FULL,), 2, (1,)), (first,), (first + 1,)),
        Step(TransposeKernel((0, None), ()), (first + 1,), (first + 2,)),
        Step(elementwise(true_div, FULL, ROW), (first, first + 2), (first + 3,)),
    ]


class TestFusions(unittest.TestCase):
    def check(self, result: Sequence[KernelText], *stems: str) -> None:
        self.assertEqual([text.name.rpartition("_")[0] for text in result], list(stems))
        for architecture in ARCHITECTURES:
            self.assertEqual(failures(result, architecture), [])

    def test_rows(self) -> None:
        result = texts([Step(Upload(), (0,), (1,)), *softmax(1, 2), Step(Download(), (5,), (6,))], 1)
        self.check(result, "rows")
        loads = most_loads(result[0])
        if loads is not None:
            self.assertGreaterEqual(loads, 4)

    def test_products_and_updates(self) -> None:
        uploads = [Step(Upload(), (0,), (2,)), Step(Upload(), (1,), (3,))]
        product = [
            Step(MatrixProductKernel("gemm", "float32"), (2, 3), (4,)),
            Step(elementwise(tanh, FULL), (4,), (5,)),
        ]
        updates = [Step(elementwise(op, FULL), (v,), (v + 10,)) for v, op in ((2, neg), (3, exp))]
        ends = [Step(Download(), (v,), (v + 20,)) for v in (12, 13, 9)]
        self.check(texts([*uploads, *product, *softmax(5, 6), *updates, *ends], 2), "product", "rows", "joined")

    def test_reductions_with_updates_side_by_side(self) -> None:
        uploads = [Step(Upload(), (v,), (v + 2,)) for v in (0, 1)]
        total = Reduction(add, "float64", "float32", 0)
        sums = [
            Step(ReductionKernel(identity, ("float32",), (), (total,), (FULL,), 2, (0,)), (v,), (v + 2,))
            for v in (2, 3)
        ]
        halves = [
            Step(ElementwiseKernel(tanh, ("float32",), ("float32",), ((False,),), 1), (v,), (v + 2,)) for v in (4, 5)
        ]
        ends = [Step(Download(), (v,), (v + 2,)) for v in (6, 7)]
        self.check(texts([*uploads, *sums, *halves, *ends], 2), "joined", "joined")


if __name__ == "__main__":
    unittest.main()
