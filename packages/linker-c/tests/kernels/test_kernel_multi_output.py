"""Compiled kernels that keep results and reduce others in one pass, at every length and for every way of joining."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_linker_c import scalar as sc
from theano_linker_c.kernels import Reduction, ReductionKernel
from theano_linker_c.scalar import Composite, ScalarOp, ScalarType
from theano_testing.tiers import slow

from .kernel_calls import LIBRARY, OPTIONS, Array, call, layouts

LENGTHS = (0, 1, 2, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100, 511, 512, 513, 520, 1030)


def describe(
    op: ScalarOp, dtypes: Sequence[str], saved: Sequence[str], reductions: Sequence[Reduction]
) -> ReductionKernel:
    """Describe a kernel on vectors; inputs after the first are numbers."""
    broadcast = ((False,), *((True,),) * (len(dtypes) - 1))
    return ReductionKernel(op, tuple(dtypes), tuple(saved), tuple(reductions), broadcast, 1, (0,))


def run(kernel: ReductionKernel, inputs: Sequence[Array], saved: Sequence[Array]) -> list[Any]:
    (loaded,) = LIBRARY.build([kernel], OPTIONS)
    assert loaded is not None, "the kernel has a C form and there is a compiler"
    totals = [np.array(start_of(reduction), reduction.acc_dtype) for reduction in kernel.reductions]
    call(loaded.address, len(inputs[0]), [*inputs, *saved, *totals])
    return [total[()] for total in totals]


def start_of(reduction: Reduction) -> float | int:
    """Give where the tests start from: a value that differs from the neutral one where that shows."""
    return {"add": 3, "mul": 2, "and_": 7, "or_": 1, "xor": 5}.get(reduction.combine.name, 0)


def expensive(x: Any) -> Any:
    return sc.exp(-x * x)


def cheap(x: Any) -> Any:
    return 0.5 - x * x


class TestMultiOutput(unittest.TestCase):
    @slow
    def test_lengths_and_strides(self) -> None:
        for dtype in ("float32", "float64"):
            for element in (expensive, cheap):
                x, y = ScalarType(dtype)(), ScalarType(dtype)()
                t = element(x) * y
                op = Composite([x, y], [t, t, t, t])
                reductions = [Reduction(combine, dtype, dtype, None) for combine in (sc.add, sc.maximum, sc.minimum)]
                kernel = describe(op, (dtype, dtype), (dtype,), reductions)
                values = np.linspace(-1.5, 2, max(LENGTHS)).astype(dtype)
                for n in LENGTHS:
                    self.check(kernel, op, values[:n], np.array(0.75, dtype))

    def check(self, kernel: ReductionKernel, op: ScalarOp, values: Array, factor: Array) -> None:
        expected = op.impl(values, factor)[0]
        tolerance = 1e-5 if values.dtype == "float32" else 1e-12
        for name, x in layouts(values):
            for other, saved in layouts(np.full(len(values) + 1, 9.0, values.dtype)):
                with self.subTest(dtype=str(values.dtype), n=len(values), x=name, kept=other):
                    total, largest, smallest = run(kernel, [x, factor], [saved])
                    np.testing.assert_allclose(saved[:-1], expected, rtol=tolerance, atol=tolerance)
                    self.assertEqual(saved[-1], 9.0)
                    np.testing.assert_allclose(total, 3 + expected.sum(), rtol=10 * tolerance)
                    self.assertAlmostEqual(largest, max([0, *expected]), places=5)
                    self.assertAlmostEqual(smallest, min([0, *expected]), places=5)

    def test_over_the_memory_of_the_input(self) -> None:
        x = ScalarType("float64")()
        for element in (expensive, cheap):
            kernel = describe(
                Composite([x], [element(x), element(x)]),
                ("float64",),
                ("float64",),
                [Reduction(sc.add, "float64", "float64", 0)],
            )
            for n in LENGTHS:
                values = np.linspace(-1, 2, n)
                expected = kernel.scalar_op.impl(values)[0]
                (total,) = run(kernel, [values], [values])
                with self.subTest(n=n):
                    np.testing.assert_allclose(values, expected, rtol=1e-13)
                    np.testing.assert_allclose(total, 3 + expected.sum(), rtol=1e-12)

    def test_joins_of_integers(self) -> None:
        rng = np.random.default_rng(4)
        combines: dict[ScalarOp, Any] = {
            sc.add: np.add,
            sc.mul: np.multiply,
            sc.and_: np.bitwise_and,
            sc.or_: np.bitwise_or,
        }
        combines |= {sc.xor: np.bitwise_xor, sc.maximum: np.maximum, sc.minimum: np.minimum}
        for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
            x = ScalarType(dtype)()
            reductions = [Reduction(combine, dtype, dtype, None) for combine in combines]
            kernel = describe(Composite([x], [x] * (1 + len(reductions))), (dtype,), (dtype,), reductions)
            for n in (1, 9, 1030):
                values = rng.integers(1, 100, n).astype(dtype)
                saved = np.empty_like(values)
                for reduction, result in zip(kernel.reductions, run(kernel, [values], [saved]), strict=True):
                    start = np.array(start_of(reduction), dtype)
                    with self.subTest(dtype=dtype, n=n, combine=str(reduction.combine)):
                        self.assertEqual(result, combines[reduction.combine].reduce(values, initial=start, dtype=dtype))

    def test_nan_and_infinities(self) -> None:
        x = ScalarType("float64")()
        reductions = [Reduction(combine, "float64", "float64", None) for combine in (sc.add, sc.maximum, sc.minimum)]
        for element in (sc.sqrt(sc.exp(x)), x + 1.0):
            kernel = describe(Composite([x], [element] * 4), ("float64",), ("float64",), reductions)
            for n in (3, 8, 19, 1029):
                for at in (0, n // 2, n - 1):
                    for special in (np.nan, np.inf):
                        values = np.zeros(n)
                        values[at] = special
                        with self.subTest(n=n, at=at, special=special):
                            total, largest, smallest = run(kernel, [values], [np.empty(n)])
                            np.testing.assert_equal((total, largest), (special, special))
                            np.testing.assert_equal(smallest, np.nan if np.isnan(special) else 0.0)


if __name__ == "__main__":
    unittest.main()
