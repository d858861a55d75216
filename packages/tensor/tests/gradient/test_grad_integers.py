"""Gradients through functions that are also given integers."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import config
from theano_linker_c import function
from theano_tensor.gradient import grad
from theano_testing.tensor import assert_allclose

FUNCTIONS = ("arctan", "arcsinh", "log1p", "erf", "erfc", "exp", "sqrt", "tanh", "softplus")


class TestIntegerOperands(unittest.TestCase):
    def test_products_of_narrow_integers_do_not_wrap_around(self) -> None:
        n, x = tt.bvector("n"), tt.dvector("x")
        values = np.array([100, 50], dtype="int8"), np.array([0.5, 2.0])
        compiled: Any = function([n, x], grad(tt.sum(tt.arctan2(n, x)), x))
        wide = values[0].astype("float64")
        assert_allclose(compiled(*values), -wide / (wide**2 + values[1] ** 2), rtol=1e-12)

    def test_the_gradient_by_an_integer_is_that_by_the_same_real_number(self) -> None:
        for dtype in ("bool", "uint8", "int8", "int64"):
            # exp(100) is beyond the float32 that a narrow integer gives.
            values = np.array([0, 1] if dtype == "bool" else [1, 80], dtype=dtype)
            for name in FUNCTIONS:
                n, x = tt.TensorType(dtype, [False])("n"), tt.dvector("x")
                with self.subTest(name, dtype=dtype), np.errstate(all="ignore"):
                    by_integer: Any = function([n], grad(tt.sum(getattr(tt, name)(n)), n), on_unused_input="ignore")
                    by_real: Any = function([x], grad(tt.sum(getattr(tt, name)(x)), x))
                    # The result for a narrow integer may have fewer digits.
                    assert_allclose(by_integer(values), by_real(values.astype("float64")), rtol=2e-3, atol=1e-3)


class TestZeroGradients(unittest.TestCase):
    def test_integers_all_the_way_are_told_of(self) -> None:
        i, x = tt.ivector("i"), tt.dvector("x")
        for cost in (tt.sum(i * i) * 1.0, tt.sum(i), tt.sum(i * i) + tt.sum(x)):
            with self.subTest(cost), self.assertWarnsRegex(UserWarning, "respect to `i` is zero") as caught:
                grad(cost, [i])
            self.assertEqual(caught.filename, __file__)
            self.assertIn("warn_integer_gradient=False", str(caught.warning))

    def test_costs_of_integers_are_told_of(self) -> None:
        x, y, i = tt.dvector("x"), tt.dvector("y"), tt.ivector("i")
        for cost in (tt.sum(x > 0), tt.sum(tt.cast(x, "int32")), tt.argmax(x)):
            with self.subTest(cost), self.assertWarnsRegex(UserWarning, "respect to `x` is zero: the cost is of integ"):
                (gradient,) = grad(cost, [x], disconnected_inputs="ignore")
                np.testing.assert_array_equal(function([x], gradient, on_unused_input="ignore")([1.0, 2.0]), [0.0, 0.0])
        with warnings.catch_warnings(record=True) as result:
            warnings.simplefilter("always")
            grad(tt.sum((x > 0) * i), [x, i, y], disconnected_inputs="ignore")
        self.assertEqual(["sigmoid" in str(item.message) for item in result], [False, True])
        self.assertTrue(all("`y`" not in str(item.message) for item in result))
        self.assertEqual({item.filename for item in result}, {__file__})

    def test_nothing_is_told_of_what_a_float_function_reads(self) -> None:
        i, x = tt.ivector("i"), tt.dvector("x")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            grad(tt.sum(i * i) * 1.0 + tt.sum(i * x), [i, x])
            grad(tt.sum(x * (x > 1)), x)
            grad(tt.sum(x), [x, i], disconnected_inputs="ignore")
            with config.change_flags(warn_integer_gradient=False):
                self.assertEqual(grad(tt.sum(i), i).type.dtype, "float64")
