"""Products of some blocks against the manual's loops."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as tt
import theano_tensor.rewrites  # the full pipeline is under test
from theano_linker_c import In, function
from theano_tensor.nnet.blocksparse import SparseBlockGemv, SparseBlockOuter, sparse_block_dot
from theano_testing.tensor import OpRecord, OpTestCase, assert_allclose, fetch_seed, op_tests

del OpTestCase  # a base class without a record is no test

RNG = np.random.RandomState(fetch_seed())
# Two examples, three of four input blocks of two, two of three output blocks of three.
W, H, BIAS = RNG.randn(4, 3, 2, 3), RNG.randn(2, 3, 2), RNG.randn(3, 3)
FIRST, SECOND = np.array([[0, 3, 2], [1, 1, 0]]), np.array([[2, 0], [1, 1]])
TARGET, Y = RNG.randn(2, 2, 3), RNG.randn(2, 2, 3)


def gemv(o: Any, w: Any, h: Any) -> Any:
    result = o.copy()
    for b in range(len(h)):
        for j in range(o.shape[1]):
            for i in range(h.shape[1]):
                result[b, j] += h[b, i] @ w[FIRST[b, i], SECOND[b, j]]
    return result


def outer(o: Any, x: Any, y: Any, alpha: Any = 1.0) -> Any:
    result = o.copy()
    for b in range(len(x)):
        for i in range(x.shape[1]):
            for j in range(y.shape[1]):
                result[FIRST[b, i], SECOND[b, j]] += alpha * np.outer(x[b, i], y[b, j])
    return result


def _single(*values: Any) -> list[Any]:
    return [v.astype("float32") for v in values]


RECORDS = (
    OpRecord(
        "products_of_blocks",
        lambda o, w, h: SparseBlockGemv()(o, w, h, FIRST, SECOND),
        gemv,
        [[TARGET, W, H], _single(TARGET, W, H)],
        [[TARGET, W, H]],
    ),
    OpRecord(
        "outer_products_of_blocks",
        lambda o, x, y, a: [SparseBlockOuter()(o, x, y, FIRST, SECOND, a), SparseBlockOuter()(o, x, y, FIRST, SECOND)],
        lambda o, x, y, a: [outer(o, x, y, a), outer(o, x, y)],
        [[W, H, Y, np.array(2.5)], _single(W, H, Y, np.array(2.5))],
        [[W, H, Y, np.array(2.5)]],
    ),
    OpRecord(
        "sparse_block_dot",
        lambda w, h, b: sparse_block_dot(w, h, FIRST, b, SECOND),
        lambda w, h, b: gemv(b[SECOND], w, h),
        [[W, H, BIAS]],
        [[W, H, BIAS]],
    ),
    OpRecord(
        "sparse_block_dot_of_one",
        lambda w, h, b: sparse_block_dot(w, h, FIRST[0], b, SECOND[0]),
        lambda w, h, b: gemv(b[SECOND[:1]], w, h[None]),
        [[W, H[0], BIAS]],
        [[W, H[0], BIAS]],
    ),
)

for _record in RECORDS:
    _class = op_tests(_record)
    assert _class.__name__ not in globals(), f"two records are called {_record.name}"
    globals()[_class.__name__] = _class
del _class


class TestBlocks(unittest.TestCase):
    def test_in_place(self) -> None:
        o, m = tt.dtensor3("o"), tt.dtensor4("m")
        operands, matrices = TARGET.copy(), W.copy()
        f = function([In(o, mutable=True)], SparseBlockGemv(inplace=True)(o, W, H, FIRST, SECOND), accept_inplace=True)
        assert_allclose(f(operands), gemv(TARGET, W, H))
        assert_allclose(operands, gemv(TARGET, W, H))
        f = function([In(m, mutable=True)], SparseBlockOuter(inplace=True)(m, H, Y, FIRST, SECOND), accept_inplace=True)
        assert_allclose(f(matrices), outer(W, H, Y))
        assert_allclose(matrices, outer(W, H, Y))

    def test_put_in_place_where_nobody_else_sees_it(self) -> None:
        h, o, b = tt.dtensor3("h"), tt.dtensor3("o"), tt.dmatrix("b")
        cost = (sparse_block_dot(W, h, FIRST, b, SECOND) ** 2).sum()
        step = function([h, b], [cost, tt.grad(cost, h)])
        blocks = [n.op for n in step.maker.fgraph.apply_nodes if isinstance(n.op, SparseBlockGemv)]
        self.assertEqual([op.inplace for op in blocks], [True, True])
        for _ in range(2):
            assert_allclose(step(H, BIAS)[0], (gemv(BIAS[SECOND], W, H) ** 2).sum())
        saved = function([o], SparseBlockGemv()(o, W, H, FIRST, SECOND))
        operand = TARGET.copy()
        saved(operand)
        assert_allclose(operand, TARGET)

    def test_run_time(self) -> None:
        h, first = tt.dtensor3("h"), tt.lmatrix("first")
        f = function([h, first], sparse_block_dot(W, h, first, BIAS, SECOND))
        with self.assertRaisesRegex(IndexError, "index 4(.|\n)*`first`(.|\n)*Hint"):
            f(H, FIRST + 1)
        with self.assertRaisesRegex(ValueError, "SparseBlockGemv(.|\n)*`h`(.|\n)*Hint"):
            f(RNG.randn(2, 3, 5), FIRST)

    def test_refused(self) -> None:
        m, v = tt.dmatrix("m"), tt.dvector("v")
        cases: tuple[tuple[type[Exception], str, Callable[[], Any]], ...] = (
            (
                tt.ShapeError,
                "W has 2 dimensions, expected 4(.|\n)*`m`",
                lambda: SparseBlockGemv()(TARGET, m, H, FIRST, SECOND),
            ),
            (tt.ShapeError, "alpha has 1 dimensions", lambda: SparseBlockOuter()(W, H, Y, FIRST, SECOND, v)),
            (tt.DTypeError, "yIdx holds numbers(.|\n)*`m`", lambda: SparseBlockOuter()(W, H, Y, FIRST, m)),
            (
                tt.DTypeError,
                "real numbers(.|\n)*`z`",
                lambda: sparse_block_dot(W, tt.ztensor3("z"), [[0]], BIAS, [[0]]),
            ),
            (tt.ShapeError, "a dimension more(.|\n)*`v`", lambda: sparse_block_dot(W, v, [0], BIAS, [0])),
        )
        for error, pattern, call in cases:
            with self.subTest(pattern=pattern), self.assertRaisesRegex(error, pattern) as caught:
                call()
            self.assertIn("Hint", str(caught.exception))
