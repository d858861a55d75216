"""Products of tensors: records against NumPy, einsum with any subscripts, lengths that do not fit."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st
from tensor_cases import compiled

import theano_tensor as T
from theano_linker_c import function
from theano_tensor import ShapeError
from theano_testing.tensor import OpRecord, op_tests
from theano_testing.tiers import examples

RNG = np.random.default_rng(21)


def _random(*shape: int) -> Any:
    return RNG.normal(size=shape)


A, B, V = _random(2, 3, 4), _random(2, 4, 5), _random(4)
MATRIX = _random(4, 5)
LARGE = _random(2, 1, 3, 4)


RECORDS: tuple[OpRecord, ...] = (
    OpRecord(
        "Matmul",
        T.matmul,
        np.matmul,
        [
            (A, B),
            (A, MATRIX),
            (MATRIX.T, B),
            (A, V),
            (V, B),
            (LARGE, _random(5, 4, 2)),
            (_random(1, 3, 4), B),
            (A.astype("float32"), B.astype("float32")),
            (A[:0], B[:0]),
            (A[:, :, :0], B[:, :0]),
            ((A * 5).astype("int32"), (B * 5).astype("int32")),
            (A * 1j, B),
        ],
        [(A, B), (A, MATRIX), (V, B), (_random(1, 3, 4), B), (A, V)],
    ),
    OpRecord(
        "BatchedDot",
        lambda a, b: [T.batched_dot(a, b), T.batched_dot(a[:, 0], b), T.batched_dot(a, b[:, :, 0])],
        lambda a, b: [a @ b, np.einsum("bk,bkn->bn", a[:, 0], b), np.einsum("bmk,bk->bm", a, b[:, :, 0])],
        [(A, B), (A.astype("float32"), B.astype("float32"))],
    ),
    OpRecord("BatchedVectors", T.batched_dot, lambda a, b: np.sum(a * b, 1), [(A[0], A[1])], [(A[0], A[1])]),
    OpRecord("BatchedScale", T.batched_dot, lambda a, b: a[:, None, None] * b, [(V, _random(4, 2, 3))]),
    OpRecord(
        "BatchedTensordot",
        lambda a, b: [
            T.batched_tensordot(a, b, [[1, 2], [3, 1]]),
            T.batched_tensordot(a, b, 0),
            T.batched_tensordot(a, b, [[2], [1]]),
        ],
        lambda a, b: [
            np.einsum("bijk,bkli->bjl", a[:, :, None], b)[:, 0],
            np.einsum("bij,bklm->bijklm", a, b),
            np.einsum("bij,bjkl->bikl", a, b),
        ],
        [(A, _random(2, 4, 5, 3))],
    ),
    OpRecord(
        "BatchedTensordotGradient",
        lambda a, b: T.batched_tensordot(a, b, 2),
        lambda a, b: np.einsum("bij,bijk->bk", a, b),
        [(A, _random(2, 3, 4, 2))],
        [(A, _random(2, 3, 4, 2))],
    ),
    OpRecord(
        "Tensordot",
        lambda a, b: T.tensordot(a, b, [[2, 1], [1, 0]]),
        lambda a, b: np.tensordot(a, b, ([2, 1], [1, 0])),
        [(A, _random(3, 4, 2))],
        [(A, _random(3, 4, 2))],
    ),
    OpRecord(
        "Inner",
        lambda x, y, z: [T.inner(x, y), T.inner(x, z), T.inner(z, x), T.inner(z, z), T.inner(x, 2)],
        lambda x, y, z: [np.inner(x, y), np.inner(x, z), np.inner(z, x), np.inner(z, z), np.inner(x, 2)],
        [(A, _random(5, 4), V), (A[:0], _random(5, 4), V)],
    ),
    OpRecord("InnerGradient", T.inner, np.inner, [(A, _random(5, 2, 4))], [(A, _random(5, 2, 4))]),
    OpRecord("Vdot", T.vdot, np.vdot, [(A, A), (A * 1j, A + 1j), (V, V)], [(A, A)]),
    OpRecord(
        "Dot", T.dot, np.dot, [(A, _random(2, 4, 3)), (A, V), (V, MATRIX), (MATRIX, np.array(2.0))], [(A, MATRIX)]
    ),
    OpRecord("Outer", T.outer, np.outer, [(V, MATRIX[0]), (MATRIX, V), (V[:0], V)], [(V, MATRIX[0])]),
)

SUBSCRIPTS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("ij,jk->ik", (_random(2, 3), _random(3, 4))),
    ("ij,jk", (_random(2, 3), _random(3, 4))),
    ("ba,ab", (_random(2, 3), _random(3, 2))),
    ("ij->", (_random(2, 3),)),
    ("ij->j", (_random(2, 3),)),
    ("ij->ji", (_random(2, 3),)),
    ("ii", (_random(3, 3),)),
    ("ii->i", (_random(3, 3),)),
    ("iij->ji", (_random(3, 3, 2),)),
    ("iii->i", (_random(3, 3, 3),)),
    ("i,j->ij", (_random(2), _random(3))),
    ("i,i->i", (_random(2), _random(2))),
    (",ij->ij", (_random(), _random(2, 3))),
    ("bij,bjk->bik", (_random(2, 3, 4), _random(2, 4, 5))),
    ("bij,bkj->kbi", (_random(2, 3, 4), _random(2, 5, 4))),
    ("ij,ij,ij->j", (_random(2, 3), _random(2, 3), _random(2, 3))),
    ("ij,jk,kl,lm->im", (_random(2, 3), _random(3, 4), _random(4, 2), _random(2, 3))),
    ("abc,bd,ce->ade", (_random(2, 3, 4), _random(3, 2), _random(4, 2))),
    ("...ij,...jk->...ik", (_random(5, 2, 3), _random(3, 4))),
    ("i...->...", (_random(2, 3, 4),)),
    ("...i,i...", (_random(3, 2), _random(2, 3))),
    ("a,abc->bc", (_random(2), _random(2, 3, 4))),
    ("abc,a->bc", (_random(2, 3, 4), _random(2))),
    ("ij,kj->k", (_random(2, 3), _random(4, 3))),
    ("bi,bj->ij", (_random(1, 3), _random(2, 3))),
    ("i j , j -> i", (_random(2, 3), _random(3))),
)

RECORDS += tuple(
    OpRecord(
        f"Einsum{number}",
        lambda *x, s=text: T.einsum(s, *x),
        lambda *x, s=text: np.einsum(s, *x),
        [arrays, [(a * 4).astype("int32") for a in arrays]],
        [arrays],
    )
    for number, (text, arrays) in enumerate(SUBSCRIPTS)
)

globals().update({test.__name__: test for test in (op_tests(record) for record in RECORDS)})


class TestLengths(unittest.TestCase):
    """Axes are joined for matrix products; lengths whose products agree must not hide lengths that differ."""

    def test_lengths_that_do_not_fit_are_errors_of_the_call(self) -> None:
        x, y = T.dmatrix("x"), T.dmatrix("y")
        u, v = T.dtensor4("u"), T.dtensor4("v")
        cases: list[tuple[list[Any], Any, tuple[int, ...], tuple[int, ...]]] = [
            ([x, y], T.tensordot(x, y, 2), (2, 3), (3, 2)),
            ([x, y], T.einsum("ij,ij", x, y), (2, 3), (3, 2)),
            ([x, y], T.einsum("ij,ij->i", x, y), (2, 3), (2, 2)),
            ([u, v], T.matmul(u, v), (2, 3, 2, 2), (3, 2, 2, 2)),
            ([u, v], T.batched_tensordot(u, v, 2), (2, 2, 2, 3), (2, 3, 2, 2)),
            ([x, y], T.inner(x, y), (2, 3), (2, 2)),
            ([x], T.einsum("ii", x), (2, 3), (2, 3)),
        ]
        for inputs, output, *shapes in cases:
            for mode in ("FAST_RUN", "FAST_COMPILE"):
                with self.subTest(output=str(output), mode=mode):
                    compiled: Any = function(inputs, output, mode=mode)
                    with self.assertRaises((ValueError, AssertionError)):
                        compiled(*(np.ones(s) for s in shapes[: len(inputs)]))

    def test_known_lengths_that_do_not_fit(self) -> None:
        x, y = T.tensor("float64", shape=(2, 3)), T.tensor("float64", shape=(4, 5))
        s = T.dscalar("s")
        t = T.dtensor3("t")
        calls: tuple[Any, ...] = (
            lambda: T.matmul(x, y),
            lambda: T.matmul(x, s),
            lambda: T.matmul(T.tensor("float64", shape=(2, 3, 4)), T.tensor("float64", shape=(5, 4, 2))),
            lambda: T.inner(x, y),
            lambda: T.einsum("ij,jk", x, y),
            lambda: T.einsum("ij,jk", x),
            lambda: T.einsum("ijk", x),
            lambda: T.batched_dot(x, y),
            lambda: T.batched_tensordot(s, x, 0),
            lambda: T.batched_tensordot(x, x, 2),
            lambda: T.batched_tensordot(t, t, [[0], [0]]),
            lambda: T.tensordot(t, t, [[0, 0], [0, 1]]),
            lambda: T.outer(x, y).reshape((3, 3)),
        )
        for call in calls:
            with self.assertRaises(ShapeError):
                compiled(call())

    def test_malformed_subscripts_are_refused(self) -> None:
        x = T.dmatrix("x")
        for text in ("i1->i", "ij->ik", "ij->ii", "i....", "...->", "ij->i->j"):
            with self.subTest(text), self.assertRaises(ValueError):
                T.einsum(text, x)
        wrong: Any = x
        with self.assertRaisesRegex(TypeError, "subscripts come first"):
            T.einsum(wrong, "ij->i")


@st.composite
def products(draw: Any) -> tuple[str, list[Any]]:
    """Return subscripts and arrays that fit them."""
    lengths = dict(zip("abcde", draw(st.lists(st.integers(0, 3), min_size=5, max_size=5)), strict=True))
    groups = draw(st.lists(st.lists(st.sampled_from("abcde"), max_size=3), min_size=1, max_size=3))
    named = sorted({letter for group in groups for letter in group})
    result = draw(st.permutations(named))[: draw(st.integers(0, len(named)))] if named else []
    arrays = [np.asarray(RNG.integers(-3, 4, [lengths[x] for x in group]), dtype="float64") for group in groups]
    return ",".join("".join(group) for group in groups) + "->" + "".join(result), arrays


class TestAnySubscripts(unittest.TestCase):
    @settings(deadline=None, max_examples=examples(60))
    @given(products())
    def test_values_are_those_of_numpy(self, case: tuple[str, list[Any]]) -> None:
        text, arrays = case
        inputs = [T.tensor("float64", shape=(None,) * a.ndim) for a in arrays]
        compiled: Any = function(inputs, T.einsum(text, *inputs), mode="FAST_COMPILE")
        np.testing.assert_allclose(compiled(*arrays), np.einsum(text, *arrays), atol=1e-9)
