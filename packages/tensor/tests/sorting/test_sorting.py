"""Sorting and the largest elements: records, order of NaN, gradients, wrong arguments."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_linker_c import function
from theano_tensor import DTypeError, ShapeError
from theano_testing.tensor import OpRecord, op_tests, verify_grad
from theano_testing.tiers import examples

RNG = np.random.default_rng(11)
CUBE = RNG.permutation(24).reshape(2, 3, 4) / 7.0
NUMBERS = np.array([3, 0, 1, 1, 3])
WITH_NAN = np.array([2.0, np.nan, -np.inf, 0.0, np.inf])


def _top(x: Any, k: int, axis: int) -> Any:
    """The k largest (or -k smallest) elements in order, by a full sort."""
    ordered = np.sort(x, axis)
    if k > 0:
        return np.flip(np.take(ordered, range(x.shape[axis] - k, x.shape[axis]), axis), axis)
    return np.take(ordered, range(-k), axis)


RECORDS = (
    OpRecord(
        "Sort",
        lambda x: [T.sort(x), T.sort(x, 0), T.sort(x, None), x.sort(-1, "mergesort")],
        lambda x: [np.sort(x), np.sort(x, 0), np.sort(x, None), np.sort(x)],
        [(CUBE,), (NUMBERS,), (CUBE[:0],), (WITH_NAN,), (CUBE.astype("float16"),), (CUBE > 1,)],
    ),
    OpRecord(
        "Argsort",
        lambda x: [T.argsort(x), T.argsort(x, 0, "stable"), T.argsort(x, None), x.argsort()],
        lambda x: [np.argsort(x), np.argsort(x, 0), np.argsort(x, None), np.argsort(x)],
        [(CUBE,), (CUBE[:0],), (WITH_NAN,)],
    ),
    OpRecord("SortGradient", lambda x: T.sort(x, 1), lambda x: np.sort(x, 1), [(CUBE,)], [(CUBE,), (CUBE[:, :1],)]),
    OpRecord(
        "Topk",
        lambda x: [T.topk(x, 2), T.topk(x, -1), T.topk(x, 2, 0), T.topk(x, 4, None), T.topk(x, x.shape[-1])],
        lambda x: [_top(x, 2, -1), _top(x, -1, -1), _top(x, 2, 0), _top(x.ravel(), 4, 0), _top(x, x.shape[-1], -1)],
        [(CUBE,), (CUBE.astype("float32"),), (NUMBERS,), (WITH_NAN,)],
    ),
    OpRecord(
        "TopkAndArgtopk",
        lambda x: [*T.topk_and_argtopk(x, -2, 1, idx_dtype="int32"), T.argtopk(x, 3)],
        lambda x: [_top(x, -2, 1), np.argsort(x, 1)[:, :2].astype("int32"), np.flip(np.argsort(x), -1)[..., :3]],
        [(CUBE,)],
    ),
    OpRecord("TopkGradient", lambda x: T.topk(x, 2, 1), lambda x: _top(x, 2, 1), [(CUBE,)], [(CUBE,)]),
    OpRecord(
        "TopkUnsortedGradient",
        lambda x: T.sort(T.topk(x, -2, sorted=False)),
        lambda x: _top(x, -2, -1),
        [(CUBE,)],
        [(CUBE,)],
    ),
)

globals().update({test.__name__: test for test in (op_tests(record) for record in RECORDS)})


class TestSorting(unittest.TestCase):
    def test_wrong_arguments_are_refused(self) -> None:
        x = T.dmatrix("x")
        bad: Any = T  # arguments that annotations forbid
        for name, call, error in (
            ("axis", lambda: T.sort(x, 2), ShapeError),
            ("axis", lambda: T.argsort(x, -3), ShapeError),
            ("axis", lambda: T.topk(x, 1, 5), ShapeError),
            ("kind", lambda: T.sort(x, kind="bogo"), ValueError),
            ("order", lambda: bad.argsort(x, order="field"), ValueError),
            ("axis", lambda: bad.sort(x, axis="rows"), TypeError),
            ("scalar", lambda: T.sort(T.dscalar("s")), ShapeError),
            ("k is 0", lambda: T.topk(x, 0), ValueError),
            ("hold numbers", lambda: T.topk(x, 1, idx_dtype="float32"), DTypeError),
            ("complex", lambda: T.topk(T.zvector("z"), 1), DTypeError),
            ("integer", lambda: T.topk(x, 1.5), DTypeError),
        ):
            with self.subTest(name), self.assertRaisesRegex(error, name):
                call()

    def test_too_few_elements_are_an_error_of_the_call(self) -> None:
        x, k = T.dvector("x"), T.lscalar("k")
        compiled: Any
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            compiled = function([x, k], T.topk(x, k), mode=mode)
            with self.assertRaisesRegex(ValueError, "k is 4, the length of axis 0 is 3"):
                compiled(np.zeros(3), 4)
            with self.assertRaisesRegex(ValueError, "k is 0"):
                compiled(np.zeros(3), 0)

    def test_flattened_scalars_are_sorted(self) -> None:
        self.assertEqual(T.sort(T.constant(3.0), None).eval().tolist(), [3.0])

    def test_numbers_alone_give_no_gradient(self) -> None:
        x = T.dvector("x")
        with self.assertRaises(T.DisconnectedInputError):
            T.grad(T.argtopk(x, 2).sum().astype("float64"), x)

    def test_values_and_numbers_share_one_selection(self) -> None:
        verify_grad(lambda x: T.topk_and_argtopk(x, 2, 0)[0], [CUBE])

    def test_pushforward_is_the_transpose_of_the_pullback(self) -> None:
        x, t = T.dmatrix("x"), T.dmatrix("t")
        compiled: Any
        value, tangent = CUBE[0], RNG.normal(size=(3, 4))
        builds: list[Any] = [lambda v: T.sort(v, 0), lambda v: T.topk(v, 2, 1)]
        for build in builds:
            compiled = function([x, t], T.Rop(build(x), x, t))
            pushed = compiled(value, tangent)
            eps = 1e-6
            compiled = function([x], build(x))
            expected = (compiled(value + eps * tangent) - compiled(value - eps * tangent)) / (2 * eps)
            np.testing.assert_allclose(pushed, expected, atol=1e-6)

    @settings(deadline=None, max_examples=examples(30))
    @given(st.integers(1, 6), st.integers(-6, 6), st.booleans())
    def test_any_k_of_any_length(self, n: int, k: int, in_order: bool) -> None:
        value = RNG.integers(0, 4, size=n)
        x, count = T.lvector("x"), T.lscalar("k")
        compiled: Any = function([x, count], T.topk(x, count, sorted=in_order), mode="FAST_COMPILE")
        if not 0 < abs(k) <= n:
            with self.assertRaises(ValueError):
                compiled(value, k)
            return
        result = compiled(value, k)
        np.testing.assert_array_equal(result if in_order else np.sort(result)[:: -1 if k > 0 else 1], _top(value, k, 0))
