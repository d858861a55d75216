"""Matrix products: all combinations of layouts, empty operands, memory with NaN in it."""

from __future__ import annotations

import signal
import unittest
from typing import Any

import numpy as np
from support import Product, array, hooks_of, machines, program_of

from theano_linker_c.program import native_machine

SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "dot": ((5,), (5,)),
    "gemv": ((4, 5), (5,)),
    "vecmat": ((4,), (4, 5)),
    "gemm": ((4, 5), (5, 3)),
    "ger": ((4,), (3,)),
}

EMPTY: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = (
    ("gemm", (0, 3), (3, 2)),
    ("gemm", (2, 0), (0, 3)),
    ("gemm", (2, 3), (3, 0)),
    ("gemm", (1, 1), (1, 1)),
    ("gemv", (3, 0), (0,)),
    ("gemv", (0, 3), (3,)),
    ("vecmat", (0,), (0, 3)),
    ("dot", (0,), (0,)),
    ("ger", (0,), (3,)),
)


def layouts(value: Any) -> list[Any]:
    return [
        value,
        np.asfortranarray(value),
        value[::-1],
        value[..., ::-1],
        np.repeat(value, 2, 0)[::2],
        np.repeat(value, 3, -1)[..., ::3],
        np.repeat(np.asfortranarray(value), 2, 0)[::2],
        np.broadcast_to(value[:1], value.shape),
        value[:1].repeat(value.shape[0], 0),
    ]


class TestProducts(unittest.TestCase):
    def test_layouts(self) -> None:
        for kind in SHAPES:
            with self.subTest(kind=kind):
                self.check_layouts(kind)

    def check_layouts(self, kind: str) -> None:
        rng = np.random.default_rng(0)
        left, right = SHAPES[kind]
        for dtype in ("float64", "float32"):
            a, b = array(dtype, *[None] * len(left)), array(dtype, *[None] * len(right))
            native, plain = machines([a, b], [Product(kind)(a, b)])
            for x in layouts(rng.normal(size=left).astype(dtype)):
                for y in layouts(rng.normal(size=right).astype(dtype)):
                    np.testing.assert_allclose(native(x, y), plain(x, y), rtol=1e-4, atol=1e-5)

    def test_empty(self) -> None:
        for kind, left, right in EMPTY:
            with self.subTest(kind=kind, left=left, right=right):
                a, b = array("float64", *[None] * len(left)), array("float64", *[None] * len(right))
                native, plain = machines([a, b], [Product(kind)(a, b)])
                x, y = np.ones(left), np.ones(right)
                np.testing.assert_array_equal(native(x, y), plain(x, y))

    def test_what_was_in_the_memory_does_not_matter(self) -> None:
        for kind in ("gemm", "gemv", "vecmat"):
            with self.subTest(kind=kind):
                self.check_memory(kind)

    def check_memory(self, kind: str) -> None:
        left, right = SHAPES[kind]
        a, b = array("float64", *[None] * len(left)), array("float64", *[None] * len(right))
        native, _ = machines([a, b], [Product(kind)(a, b)])
        for _ in range(3):
            native(np.full(left, np.nan), np.ones(right))
            self.assertTrue(np.isfinite(native(np.ones(left), np.ones(right))).all())

    def test_lengths_that_differ(self) -> None:
        a, b = array("float64", None, None, name="a"), array("float64", None, name="b")
        texts = []
        for machine in machines([a, b], [Product("gemv")(a, b)]):
            with self.assertRaisesRegex(ValueError, r"\(4,5\) and \(4,\)") as caught:
                machine(np.ones((4, 5)), np.ones(4))
            texts.append(str(caught.exception))
        self.assertEqual(texts[0], texts[1])
        self.assertIn("`b`", texts[0])


class TestLongProducts(unittest.TestCase):
    """A product that takes long is computed in slices, with a look at signals in between."""

    def setUp(self) -> None:
        a, b = array("float32", None, None), array("float32", None, None)
        self.native, _ = machines([a, b], [Product("gemm")(a, b)])

    def test_signals_are_heeded_meanwhile(self) -> None:
        calls = []
        before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
        x = np.ones((2700, 2700), "float32")
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        try:
            result = self.native(x, x)
            heeded = len(calls)  # one call may be due to the end of the product
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertGreaterEqual(heeded, 2)
        np.testing.assert_array_equal(result, np.full((2700, 2700), 2700, "float32"))

    def test_a_handler_that_raises_ends_the_product(self) -> None:
        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, stop)
        x = np.ones((2700, 2700), "float32")
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        try:
            with self.assertRaises(KeyboardInterrupt):
                self.native(x, x)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        np.testing.assert_array_equal(self.native(x[:5, :7], x[:7, :3]), np.full((5, 3), 7, "float32"))

    def test_slices_of_columns(self) -> None:
        rng = np.random.default_rng(2)
        x, y = rng.random((1500, 2000), "float32"), rng.random((2000, 5500), "float32")
        np.testing.assert_allclose(self.native(x, y)[:, ::999], x @ y[:, ::999], rtol=1e-4)


class TestFactors(unittest.TestCase):
    """Products with factors, added to an array."""

    def check(self, kind: str, dtype: str, alpha: float, beta: float | None) -> None:
        rng = np.random.default_rng(1)
        left, right = (np.asarray(rng.normal(size=shape), dtype=dtype) for shape in SHAPES[kind])
        product: Any = np.outer(left, right) if kind == "ger" else np.dot(left, right)
        z = np.asarray(rng.normal(size=product.shape), dtype=dtype)
        values = [z, np.asarray(alpha, dtype), left, right] + ([] if beta is None else [np.asarray(beta, dtype)])
        inputs = [array(dtype, *[None] * v.ndim) for v in values]
        native, plain = machines(inputs, [Product(kind)(*inputs)])
        before = z.copy()
        np.testing.assert_allclose(native(*values), plain(*values), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(z, before)

    def test_values(self) -> None:
        for dtype in ("float64", "float32"):
            for alpha in (1.0, -2.5, 0.0):
                for kind in ("gemv", "vecmat", "gemm", "ger"):
                    for beta in (None,) if kind == "ger" else (0.0, 1.0, 0.5):
                        with self.subTest(kind=kind, dtype=dtype, alpha=alpha, beta=beta):
                            self.check(kind, dtype, alpha, beta)

    def test_multiples(self) -> None:
        a, b, alpha = array("float64", None, None), array("float64", None, None), array("float64")
        native, plain = machines([a, b, alpha], [Product("gemm")(a, b, alpha)])
        x, y = np.arange(6.0).reshape(2, 3), np.ones((3, 2))
        for factor in (2.0, 0.0):
            np.testing.assert_array_equal(native(x, y, np.array(factor)), plain(x, y, np.array(factor)))
        x[0, 0] = np.nan
        np.testing.assert_array_equal(np.isnan(native(x, y, np.array(0.0))), [[True, True], [False, False]])

    def test_the_array_is_not_read_where_its_factor_is_zero(self) -> None:
        for kind in ("gemm", "gemv", "vecmat"):
            left, right = (np.ones(shape) for shape in SHAPES[kind])
            product = np.dot(left, right)
            values = [np.full(product.shape, np.nan), np.array(2.0), left, right, np.array(0.0)]
            inputs = [array("float64", *[None] * v.ndim) for v in values]
            native, _ = machines(inputs, [Product(kind)(*inputs)])
            np.testing.assert_array_equal(native(*values), 2 * product)

    def test_an_array_of_another_shape(self) -> None:
        values = [np.ones((4, 2)), np.array(2.0), np.ones((4, 5)), np.ones((5, 3)), np.array(1.0)]
        inputs = [array("float64", *[None] * v.ndim) for v in values]
        for machine in machines(inputs, [Product("gemm")(*inputs)]):
            with self.assertRaisesRegex(ValueError, "cannot be added"):
                machine(*values)

    def test_the_memory_of_what_dies_is_used(self) -> None:
        a, b, one = (array("float64", *[None] * n) for n in (2, 2, 0))
        program = program_of([a, b, one], [Product("gemm")(Product("gemm")(a, b), one, a, b, one)])
        call = native_machine(program, hooks_of(program), buffer_limit=0)
        x, y = np.ones((30, 40)), np.ones((40, 20))
        np.testing.assert_array_equal(call(x, y, np.array(1.0)), 2 * (x @ y))


class TestCells(unittest.TestCase):
    """The present value of a cell takes the product when the call has succeeded."""

    def machine(self, cell: list[Any], wrong: bool = False) -> Any:
        z, x, y, one = (array("float64", *[None] * n) for n in (2, 2, 2, 0))
        new = Product("gemm")(Product("gemm")(z, one, x, y, one), one, x, y, one)
        outputs = [Product("gemm")(y, y), new] if wrong else [new]
        program = program_of(
            [z, x, y, one],
            outputs,
            arguments=range(1, 4),
            cells={0: cell},
            updates=[(len(outputs) - 1, cell)],
            n_outputs=len(outputs) - 1,
        )
        return native_machine(program, hooks_of(program, wrong))

    def test_in_place(self) -> None:
        cell = [np.ones((4, 3))]
        where = cell[0].__array_interface__["data"]
        x, y = np.ones((4, 5)), np.ones((5, 3))
        self.machine(cell)(x, y, np.array(2.0))
        # 2 (2 + 10) + 10, each product times 2
        np.testing.assert_array_equal(cell[0], np.full((4, 3), 2 * (2 + 10) + 10))
        self.assertEqual(cell[0].__array_interface__["data"], where)

    def test_holders_see_no_change(self) -> None:
        cell = [np.ones((4, 3))]
        held = cell[0]
        self.machine(cell)(np.ones((4, 5)), np.ones((5, 3)), np.array(1.0))
        np.testing.assert_array_equal(held, np.ones((4, 3)))
        np.testing.assert_array_equal(cell[0], np.full((4, 3), 11))

    def test_failures_leave_the_cell(self) -> None:
        cell = [np.ones((4, 3))]
        with self.assertRaises(ValueError):
            self.machine(cell, wrong=True)(np.ones((4, 5)), np.ones((5, 3)), np.array(1.0))
        np.testing.assert_array_equal(cell[0], np.ones((4, 3)))
