"""Products with epilogues by cuBLASLt: run by `test_others` as `others_cases` is."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_gpuarray._runtime import DeviceError
from theano_gpuarray.arrays import asarray
from theano_gpuarray.codegen.products import ProductEpilogueKernel
from theano_gpuarray.contexts import GpuContext
from theano_gpuarray.lowering._library_epilogues import epilogue_of, gelu_argument
from theano_gpuarray.lowering.fusion import BiasGradientFusion, EpilogueFusion, fuse
from theano_gpuarray.region import AtOnce, Region, Step
from theano_graph import config
from theano_linker_c.kernels import ElementwiseKernel, MatrixProductKernel, Reduction, ReductionKernel, TransposeKernel
from theano_linker_c.scalar import (
    Composite,
    ScalarConstant,
    ScalarOp,
    ScalarType,
    add,
    exp,
    gt,
    identity,
    le,
    lt,
    maximum,
    mul,
    relu,
    sqr,
    sub,
    switch,
    tanh,
)

from .others_cases import ONE, Case, calls, driver, fake

FLOAT = ScalarType("float32")
X, B = FLOAT("x"), FLOAT("b")
ZERO = ScalarConstant(FLOAT, np.float32(0))


def number(value: float) -> Any:
    return ScalarConstant(FLOAT, np.float32(value))


def gelu(x: Any, cubic: float = 0.044715) -> Any:
    inner = add(x, mul(number(cubic), mul(sqr(x), x)))
    return mul(number(0.5), x, add(number(1), tanh(mul(number(0.7978845608), inner))))


def other_gelu(x: Any) -> Any:
    inner = mul(x, number(0.7978845608), add(number(1), mul(number(0.044715), x, x)))
    return add(mul(x, number(0.5)), mul(tanh(inner), number(0.5), x))


S = add(X, B)
#: Expressions of the product and a row, with the number of the epilogue.
FORMS: dict[str, tuple[Any, int | None]] = {
    "row": (S, 4),
    "row first": (add(B, X), 4),
    "relu": (relu(S), 6),
    "maximum": (maximum(S, ZERO), 6),
    "maximum turned": (maximum(ZERO, S), 6),
    "times": (mul(S, gt(S, ZERO)), 6),
    "times turned": (mul(gt(S, ZERO), S), 6),
    "switch": (switch(gt(S, ZERO), S, ZERO), 6),
    "switch below": (switch(lt(S, ZERO), ZERO, S), 6),
    "switch from zero": (switch(le(ZERO, S), S, ZERO), 6),
    "gelu": (gelu(S), 36),
    "gelu otherwise": (other_gelu(S), 36),
    "other row": (sub(X, B), None),
    "other constant": (maximum(S, number(1)), None),
    "the smaller one": (switch(lt(S, ZERO), S, ZERO), None),
    "not of the sum": (add(relu(X), B), None),
    "other cubic": (gelu(S, 0.0447), None),
    "something else": (exp(S), None),
}


def epilogue(op: ScalarOp, count: int = 2, dtype: str = "float32", **more: Any) -> ProductEpilogueKernel:
    options: dict[str, Any] = {"product_inputs": 2, "broadcast": ((True, False),) * (count - 1), **more}
    return ProductEpilogueKernel(
        MatrixProductKernel(options.pop("kind", "gemm"), dtype),
        options.pop("product_inputs"),
        op,
        (dtype,) * count,
        options.pop("broadcast"),
        dtype,
    )


class TestForms(unittest.TestCase):
    def test_with_a_row(self) -> None:
        for name, (result, expected) in FORMS.items():
            with self.subTest(name):
                outcome = epilogue_of(epilogue(Composite([X, B], [result])))
                self.assertEqual(None if outcome is None else outcome.number, expected)

    def test_without_a_row(self) -> None:
        for result, expected in ((relu(X), 2), (gelu(X), 32), (maximum(X, ZERO), 2), (tanh(X), None), (X, None)):
            outcome = epilogue_of(epilogue(Composite([X], [result]), 1))
            self.assertEqual(None if outcome is None else outcome.number, expected)

    def test_other_operands(self) -> None:
        op = Composite([X, B], [S])
        for options in (
            {"broadcast": ((False, True),)},
            {"broadcast": ((False, False),)},
            {"product_inputs": 5},
            {"kind": "batched"},
        ):
            self.assertIsNone(epilogue_of(epilogue(op, **options)))


class TestEpilogues(Case):
    """Products beyond the size that kernels fuse by themselves."""

    sizes = (136, 128, 132)

    def setUp(self) -> None:
        super().setUp()
        self.device = GpuContext(self.context, "cuda0")

    def region(self, result: Any, *inputs: Any, dtype: str = "float32", turned: bool = False) -> Region:
        op = Composite(list(inputs), [result])
        patterns = ((False, False), (True, False))[: len(inputs)]
        after = ElementwiseKernel(op, (dtype,) * len(inputs), (dtype,), patterns, 2)
        steps = [Step(MatrixProductKernel("gemm", dtype), (0, 1), (3,)), Step(after, (3, 2)[: len(inputs)], (4,))]
        return Region(self.device, steps, [0, 1, 2][: len(inputs) + 1], [4], fuse=fuse)

    def values(self, *shapes: tuple[int, ...]) -> list[Any]:
        return [self.rng.normal(size=shape).astype("float32") for shape in shapes]

    def run_region(self, region: Region, values: Sequence[Any]) -> Any:
        operands = [asarray(v, context=self.device) for v in values]
        return np.asarray(region(operands)[0])

    def test_values_and_captured_lists(self) -> None:
        m, k, n = self.sizes
        for result, number in ((S, 4), (relu(S), 6), (gelu(S), 36)):
            region = self.region(result, X, B)
            b, row = self.values((k, n), (1, n))
            for _ in range(2):
                (a,) = self.values((m, k))
                outcome = self.run_region(region, [a, b, row])
                total = a.astype("float64") @ b + row
                expected = {
                    4: total,
                    6: np.maximum(total, 0),
                    36: 0.5 * total * (1 + np.tanh(np.sqrt(2 / np.pi) * (total + 0.044715 * total**3))),
                }[number]
                np.testing.assert_allclose(outcome, expected, atol=1e-4)
                self.assertEqual(fake.fake_epilogue(), number)
        # The next one shows the treatment of NaN.
        self.assertEqual((calls("cublasLtMatmul"), calls("cublasLtMatmulAlgoGetHeuristic")), (7, 4))
        self.assertEqual((calls("cuLaunchKernel"), calls("cublasGemmEx")), (0, 0))

    def test_no_row_and_transposed_factors(self) -> None:
        m, k, n = self.sizes
        region = self.region(relu(X), X)
        context = self.device
        for turned_a, turned_b in ((True, False), (False, True), (True, True)):
            a, b = self.values((m, k), (k, n))
            operands = [
                asarray(np.ascontiguousarray(v.T), context=context).T if turned else asarray(v, context=context)
                for v, turned in ((a, turned_a), (b, turned_b))
            ]
            np.testing.assert_allclose(np.asarray(region(operands)[0]), np.maximum(a @ b, 0), atol=1e-4)
        self.assertEqual((fake.fake_epilogue(), calls("cublasLtMatmul")), (2, 4))

    def test_tf32_is_used_where_it_is_asked_for(self) -> None:
        m, k, n = self.sizes
        values = self.values((m, k), (k, n), (1, n))
        for flag, expected in ((False, 68), (True, 77)):
            with config.change_flags(gpuarray__tf32=flag):
                self.run_region(self.region(relu(S), X, B), values)
            self.assertEqual(fake.fake_lt_compute(), expected)

    def test_what_the_library_does_not_do_is_two_steps(self) -> None:
        m, k, n = self.sizes
        for name, status in (
            ("cublasLtCreate", 1),
            ("cublasLtMatmulDescCreate", 1),
            ("cublasLtMatmulDescSetAttribute", 1),
            ("cublasLtMatrixLayoutCreate", 1),
            ("cublasLtMatmulPreferenceCreate", 1),
            ("cublasLtMatmulPreferenceSetAttribute", 1),
            ("cublasLtMatmulAlgoGetHeuristic", 15),
        ):
            with self.subTest(name):
                self.context = driver.open(0)
                fake.fake_reset()
                fake.fake_fail(name.encode(), status, 0)
                numbers = (0, 0, m, n, k, k, n, n, 6, 0, ONE, 0, 0)
                self.assertIsNone(self.context.workspace("epilogue", "float32", numbers))
        fake.fake_lt_workspace(1 << 30)
        self.assertIsNone(driver.open(0).workspace("epilogue", "float32", numbers))
        self.assertIsNone(driver.open(0).workspace("epilogue", "int32", numbers))

    def test_nan_is_as_kernels_have_it(self) -> None:
        saved, dropped = relu(S), switch(gt(S, ZERO), S, ZERO)
        for keeps in (True, False):
            fake.fake_keeps_nan(int(keeps))
            self.addCleanup(fake.fake_keeps_nan, 1)
            context = driver.open(0)
            for result in (saved, dropped, maximum(S, ZERO), switch(lt(S, ZERO), ZERO, S)):
                outcome = epilogue_of(epilogue(Composite([X, B], [result])))
                assert outcome is not None, "it is an epilogue"
                self.assertEqual(outcome.nan, 2 if result is dropped else 1)
                for dtype in ("float32", "float64"):
                    numbers = (0, 0, 8, 8, 8, 8, 8, 8, outcome.number, 0, ONE, 0, outcome.nan)
                    size = context.workspace("epilogue", dtype, numbers)
                    self.assertEqual(size, 256 if keeps == (result is not dropped) else None)

    def test_where_nothing_can_be_seen_of_nan(self) -> None:
        numbers = (0, 0, 8, 8, 8, 8, 8, 8, 6, 0, ONE, 0)
        for name in ("cuMemAlloc_v2", "cuMemsetD32Async", "cublasLtMatmul", "cuMemcpyDtoHAsync_v2"):
            with self.subTest(name):
                context = driver.open(0)
                fake.fake_fail(name.encode(), 2, 0)
                self.assertIsNone(context.workspace("epilogue", "float32", (*numbers, 1)))
                self.assertIsNone(context.workspace("epilogue", "float32", (*numbers, 2)))
                self.assertEqual(context.workspace("epilogue", "float32", (*numbers, 0)), 256)

    def test_a_product_may_fail(self) -> None:
        m, k, n = self.sizes
        values = self.values((m, k), (k, n), (1, n))
        region = self.region(relu(S), X, B)
        for name in ("cublasLtMatmul", "cublasLtMatmulDescSetAttribute"):
            self.run_region(region, values)
            fake.fake_fail(name.encode(), 13, 0)
            with self.assertRaisesRegex(DeviceError, "a product by cuBLASLt failed with status 13"):
                self.run_region(region, values)

    def test_more_plans_than_are_kept(self) -> None:
        context = driver.open(1)
        for k in range(1, 140):
            self.assertEqual(context.workspace("epilogue", "float32", (0, 0, 8, 8, k, k, 8, 8, 4, 0, ONE, 0, 0)), 256)
        self.assertEqual(calls("cublasLtMatmulDescDestroy"), 11)
        del context
        self.assertEqual(calls("cublasLtMatmulDescDestroy"), 139)
        self.assertEqual(calls("cublasLtMatrixLayoutDestroy"), 3 * 139)

    def test_memory_of_others_may_be_aligned_otherwise(self) -> None:
        numbers = (0, 0, 2, 3, 2, 2, 3, 3, 4, 0, ONE, 0, 0)
        size = self.context.workspace("epilogue", "float32", numbers)
        assert size is not None, "the stand-in has products"
        memory = np.zeros(100, "float32")
        start = memory.ctypes.data
        a, b, row = self.values((2, 2), (2, 3), (3,))
        begin = 1 + (-start // 4) % 4  # 4 bytes behind a multiple of 16
        parts = {begin: a, begin + 20: b, begin + 40: row}
        for at, values in parts.items():
            memory[at : at + values.size] = values.reshape(-1)
        wrapped = self.context.wrap(start, memory.nbytes, memory)
        work = self.context.allocate(size)
        places = [(wrapped, 4 * at, values.nbytes) for at, values in parts.items()]
        result = (wrapped, 4 * (begin + 60), 24)
        self.context.call("epilogue", "float32", numbers, places[0], places[1], result, places[2], (work, 0, size))
        self.context.synchronize()
        outcome = memory[begin + 60 : begin + 66].reshape(2, 3)
        np.testing.assert_allclose(outcome, a @ b + row, atol=1e-5)
        self.assertEqual(calls("cublasLtMatmulAlgoGetHeuristic"), 2)


C, K = number(0.7978845608), number(0.044715)


def gelu_parts(x: Any) -> list[Any]:
    """Return the argument, half of it, tanh, 1 and that, and GELU: the values that a graph keeps for the gradient."""
    half, t = mul(number(0.5), x), tanh(mul(C, add(x, mul(K, mul(sqr(x), x)))))
    others = add(number(1), t)
    return [x, half, t, others, mul(half, others)]


def gelu_slope(g: Any, x: Any, half: Any, t: Any, others: Any, cubic: float = 0.134145) -> Any:
    inner = mul(g, half, sub(number(1), sqr(t)), C)
    return add(inner, mul(number(cubic), inner, sqr(x)), mul(g, others, number(0.5)))


class TestGeluGradients(Case):
    """A gradient times weights, times the derivative of GELU at values computed before."""

    sizes = (136, 128, 136)

    def setUp(self) -> None:
        super().setUp()
        self.device = GpuContext(self.context, "cuda0")

    def steps(self, cubic: float = 0.134145) -> list[Step]:
        """Return steps over x (0), a row (1), g (2) and weights (3); the slope is 20, and 10 is an argument."""
        forward = Composite([X, B], gelu_parts(S))
        names = [FLOAT(name) for name in ("g", "half", "t", "x", "rest")]
        g, half, t, x, others = names
        backward = Composite(names, [gelu_slope(g, x, half, t, others, cubic)])
        both = ((False, False), (True, False))
        return [
            Step(ElementwiseKernel(forward, ("float32",) * 2, ("float32",) * 5, both, 2), (0, 1), (10, 11, 12, 13, 14)),
            Step(MatrixProductKernel("gemm", "float32"), (2, 3), (15,)),
            Step(
                ElementwiseKernel(backward, ("float32",) * 5, ("float32",), ((False, False),) * 5, 2),
                (15, 11, 12, 10, 13),
                (20,),
            ),
        ]

    def test_formulas(self) -> None:
        forward, _, after = self.steps()
        self.assertEqual(gelu_argument(after, 15, forward), 10)
        self.assertIsNone(gelu_argument(self.steps(cubic=0.1341)[2], 15, forward))
        self.assertIsNone(gelu_argument(after, 15, Step(forward.task, (0, 1), (10, 12, 11, 13, 14))))
        self.assertIsNone(gelu_argument(after, 15, after))

    def test_fusion(self) -> None:
        result = fuse(list(enumerate(self.steps())), {14, 20})
        self.assertEqual([step.task.argument for _, step in result if isinstance(step.task, EpilogueFusion)], [10])

    def test_values(self) -> None:
        m, k, n = self.sizes
        (fused,) = (
            step.task
            for _, step in fuse(list(enumerate(self.steps())), {14, 20})
            if isinstance(step.task, EpilogueFusion)
        )
        for columns, done in ((n, True), (n - 4, False)):
            fake.fake_reset()
            g, w = (self.rng.normal(size=s).astype("float32") for s in ((m, k), (k, columns)))
            x = self.rng.normal(size=(m, columns)).astype("float32")
            recorder: Any = AtOnce(self.device)
            operands = [recorder.operand(asarray(v, context=self.device)) for v in (g, w, x)]
            reference = {2: operands[0], 3: operands[1], **dict.fromkeys((10, 11, 12, 13), operands[2])}
            results = fused.record(recorder, reference)
            self.assertEqual((results is not None, calls("cublasLtMatmul")), (done, int(done)))
            if results is not None:
                t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
                slope = (1 + t) / 2 + x * (1 - t**2) * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2) / 2
                np.testing.assert_allclose(np.asarray(recorder.value(results[20])), (g @ w) * slope, atol=1e-3)
                self.assertEqual(fake.fake_epilogue(), 192)

    def test_without_the_argument(self) -> None:
        memory = self.context.allocate(4096)
        numbers = (0, 0, 8, 8, 8, 8, 8, 8, 192, 0, ONE, 0, 0)
        with self.assertRaisesRegex(DeviceError, "needs its argument"):
            self.context.call("epilogue", "float32", numbers, *((memory, 0, 256),) * 5)
        self.assertIsNone(self.context.workspace("epilogue", "float32", (0, 0, 8, 4, 8, 8, 4, 4, 192, 0, ONE, 0, 0)))


class TestBiasGradients(Case):
    """Gradients by weights, ``x.T @ d``, with those by a bias, ``d.sum(0)``."""

    sizes = (136, 128, 132)

    def setUp(self) -> None:
        super().setUp()
        self.device = GpuContext(self.context, "cuda0")

    def steps(self, dtype: str, *, added: bool, first: bool) -> list[Step]:
        """Return steps over x (0), d (1) and maybe z (2) and its factors (3, 4); results are 10 and 11."""
        sums = ReductionKernel(identity, (dtype,), (), (Reduction(add, dtype, dtype, 0),), ((False, False),), 2, (0,))
        factors = (6, 0) if first else (5, 1)
        operands = (2, 3, *factors, 4) if added else factors
        return [
            Step(TransposeKernel((1, 0), ()), (0,), (5,)),
            Step(TransposeKernel((1, 0), ()), (1,), (6,)),
            Step(sums, (1,), (11,)),
            Step(MatrixProductKernel("gemm", dtype), operands, (10,)),
        ]

    def region(self, dtype: str = "float32", *, added: bool = False, first: bool = False) -> Region:
        fixed = {3: np.asarray(-0.5, dtype), 4: np.asarray(2.0, dtype)} if added else {}
        inputs = [0, 1, 2] if added else [0, 1]
        return Region(
            self.device, self.steps(dtype, added=added, first=first), inputs, [10, 11], constants=fixed, fuse=fuse
        )

    def test_values_and_captured_lists(self) -> None:
        m, k, n = self.sizes
        for dtype, tolerance in (("float32", 1e-3), ("float64", 1e-10)):
            for first, number in ((False, 256), (True, 512)):
                for added in (False, True):
                    fake.fake_reset()
                    region = self.region(dtype, added=added, first=first)
                    for _ in range(4):
                        x, d = (self.rng.normal(size=(k, c)).astype(dtype) for c in (m, n))
                        expected = d.T @ x if first else x.T @ d
                        z = self.rng.normal(size=expected.shape).astype(dtype)
                        operands = [asarray(v, context=self.device) for v in ([x, d, z] if added else [x, d])]
                        results = [np.asarray(v) for v in region(operands)]
                        expected = 2 * z - expected / 2 if added else expected
                        np.testing.assert_allclose(results[0], expected, atol=tolerance)
                        np.testing.assert_allclose(results[1], d.sum(0), atol=tolerance)
                        if added:
                            np.testing.assert_array_equal(np.asarray(operands[2]), z, "it belongs to somebody else")
                    self.assertEqual(fake.fake_epilogue(), number)
                    self.assertEqual(calls("cuLaunchKernel"), 0)

    def test_one_plan_for_all_factors(self) -> None:
        numbers = (1, 0, 8, 8, 8, 8, 8, 8, 256, 0)
        for factor in (0, ONE):
            self.assertEqual(self.context.workspace("epilogue", "float32", (*numbers, ONE, factor, 0)), 256)
        self.assertEqual(calls("cublasLtMatmulAlgoGetHeuristic"), 1)


class TestGroups(unittest.TestCase):
    """Which products and sums are put together."""

    def fused(self, steps: Sequence[Step], outputs: Sequence[int]) -> int:
        result = fuse(list(enumerate(steps)), set(outputs))
        return sum(isinstance(step.task, BiasGradientFusion) for _, step in result)

    def product(self, a: int, b: int, to: int) -> Step:
        return Step(MatrixProductKernel("gemm", "float32"), (a, b), (to,))

    def total(self, of: int, to: int, axis: int = 0, dtype: str = "float32") -> Step:
        reduction = Reduction(add, dtype, dtype, 0)
        return Step(
            ReductionKernel(identity, ("float32",), (), (reduction,), ((False, False),), 2, (axis,)), (of,), (to,)
        )

    def test_pairs(self) -> None:
        self.assertEqual(self.fused([self.product(0, 1, 2), self.total(1, 3)], [2, 3]), 1)
        for other in (self.total(1, 3, axis=1), self.total(1, 3, dtype="float64"), self.total(0, 3)):
            self.assertEqual(self.fused([self.product(0, 1, 2), other], [2, 3]), 0)

    def test_none_waits_for_itself(self) -> None:
        copy = ElementwiseKernel(identity, ("float32",), ("float32",), ((False,),), 1)
        insert = Step(TransposeKernel((None, 0), ()), (4,), (5,))
        # The product needs the sum, by way of other steps.
        steps = [self.total(1, 3), Step(copy, (3,), (4,)), insert, self.product(5, 1, 2)]
        self.assertEqual(self.fused(steps, [2]), 0)
        # Each product needs the sum of the other pair.
        steps = [self.total(1, 3), self.product(0, 1, 2), self.total(2, 4), self.product(0, 2, 6)]
        self.assertEqual(self.fused(steps, [3, 4, 6]), 1)
