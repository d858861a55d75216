"""Matrix products: all combinations of layouts, empty operands, memory with NaN in it."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from support import Product, array, machines

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
