"""Lengths that are known as elements of a vector are known of the arrays made with it."""

from __future__ import annotations

import unittest

import numpy as np

import theano_tensor as tt
from theano_linker_c import function
from theano_tensor import NotScalarConstantError, ShapeError


class TestKnownLengths(unittest.TestCase):
    def test_reshape_by_joined_lengths(self) -> None:
        x, column = tt.dmatrix("x"), tt.col("column")
        one = np.array([1])
        for shape, static in (
            (tt.concatenate([x.shape, one]), (None, None, 1)),
            (tt.concatenate([one, x.shape]), (1, None, None)),
            (tt.concatenate([x.shape[:1], one, x.shape[1:]]), (None, 1, None)),
            (tt.concatenate([x.shape[-1:], one, x.shape[:1]]), (None, 1, None)),
            (tt.concatenate([column.shape, [2]]), (None, 1, 2)),
            (tt.concatenate([tt.stack([x.shape[0]]), one, [x.shape[1]]]), (None, 1, None)),
            (tt.concatenate([x[0].shape, [1, 2]]), (None, 1, 2)),
            (tt.cast(tt.concatenate([x.shape[::-1], one]), "int32"), (None, None, 1)),
            (tt.concatenate([x.shape, tt.lvector("n")]), (None, None, None)),
        ):
            with self.subTest(static=static):
                self.assertEqual(tt.reshape(x, shape, ndim=3).type.shape, static)

    def test_what_is_reshaped_broadcasts(self) -> None:
        x, rates = tt.dvector("x"), tt.dvector("rates")
        lags = abs(x[:, None] - x[None, :])
        lags = tt.reshape(lags, tt.concatenate([lags.shape, [1]]), ndim=3)
        value, rate = np.arange(3.0), np.array([0.5, 2.0])
        expected = np.exp(-rate * abs(value[:, None] - value)[:, :, None]).sum(-1)
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            result = function([x, rates], tt.sum(tt.exp(-rates * lags), axis=-1), mode=mode)(value, rate)
            np.testing.assert_allclose(result, expected)

    def test_elements(self) -> None:
        x = tt.dmatrix("x")
        joined = tt.concatenate([x.shape, [1, -1]])
        self.assertEqual(tt.alloc(1.0, joined[0], joined[2]).type.shape, (None, 1))
        self.assertEqual(int(tt.get_scalar_constant_value(joined[2])), 1)
        self.assertEqual(tt.reshape(x, joined[:3:2], ndim=2).type.shape, (None, 1))
        self.assertEqual(tt.reshape(x, joined[3:], ndim=1).type.shape, (None,))
        with self.assertRaises(NotScalarConstantError):
            tt.get_scalar_constant_value(joined[1])
        with self.assertRaisesRegex(ShapeError, "ndim says 3"):
            tt.reshape(x, joined, ndim=3)


if __name__ == "__main__":
    unittest.main()
