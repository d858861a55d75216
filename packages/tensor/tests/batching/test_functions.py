"""Functions of one entry become functions of batches: `vectorize` and `vmap`."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_linker_c import function
from theano_tensor.batching import BatchError
from theano_testing.tensor import fetch_seed

RNG = np.random.RandomState(fetch_seed())


class TestVectorize(unittest.TestCase):
    def test_as_numpy(self) -> None:
        x, w = tt.dtensor3(), tt.dmatrix()
        values = RNG.randn(2, 3, 4), RNG.randn(4, 5)
        expected = np.vectorize(np.dot, signature="(n),(n,m)->(m)")(*values)
        result = tt.vectorize(tt.dot, "(n),(n,m)->(m)")(x, w)
        np.testing.assert_allclose(function([x, w], result)(*values), expected)

    def test_scalars_without_a_signature(self) -> None:
        x, y = tt.dmatrix(), tt.drow()
        result = tt.vectorize(lambda a, b: tt.switch(a > b, a, b))(x, y)
        values = RNG.randn(3, 4), RNG.randn(1, 4)
        np.testing.assert_allclose(function([x, y], result)(*values), np.maximum(*values))

    def test_results_cover_the_whole_batch(self) -> None:
        x, y = tt.dmatrix(), tt.dvector()
        first, second, third = tt.vectorize(lambda a, b: (a.sum(), b, tt.constant(1.0)), "(n),()->(),(),()")(x, y)
        values = RNG.randn(3, 4), RNG.randn(3)
        self.assertEqual([v.ndim for v in (first, second, third)], [1, 1, 1])
        np.testing.assert_allclose(function([x, y], third, on_unused_input="ignore")(*values), np.ones(3))

    def test_options(self) -> None:
        x = tt.dtensor3()
        result = tt.vectorize(tt.sum, "(n,m)->(n)")(x, axis=1)
        value = RNG.randn(2, 3, 4)
        np.testing.assert_allclose(result.eval({x: value}), value.sum(2))

    def test_lengths(self) -> None:
        f = tt.vectorize(tt.dot, "(n),(n)->()")
        with self.assertRaisesRegex(BatchError, "dimension n"):
            f(tt.tensor("float64", shape=(None, 3)), tt.tensor("float64", shape=(4,)))
        with self.assertRaisesRegex(BatchError, "dimension 3"):
            tt.vectorize(tt.sum, "(3)->()")(tt.tensor("float64", shape=(4,)))
        with self.assertRaisesRegex(BatchError, "at least are needed"):
            f(tt.dscalar(), tt.dvector())
        with self.assertRaisesRegex(BatchError, "arguments"):
            f(tt.dvector())
        with self.assertRaisesRegex(BatchError, "dimensions, the signature"):
            tt.vectorize(tt.sum, "(n)->(n)")(tt.dmatrix())
        x = tt.dtensor3()
        trace = function([x], tt.vectorize(lambda a: a.sum(), "(n,n)->()")(x))
        self.assertEqual(trace(np.ones((2, 3, 3))).shape, (2,))
        with self.assertRaises(AssertionError):
            trace(np.ones((2, 3, 4)))

    def test_no_signature(self) -> None:
        for text in ("n->n", "(n)", "(n)->", "(n)(m)->()", "(n,)->()"):
            with self.subTest(text), self.assertRaisesRegex(ValueError, "is no signature"):
                tt.vectorize(tt.sum, text)


class TestVmap(unittest.TestCase):
    def check(self, fn: Any, values: list[Any], axes: Any, out_axes: Any, expected: Any) -> None:
        variables = [tt.tensor("float64", shape=(None,) * v.ndim) for v in values]
        result = tt.vmap(fn, axes, out_axes)(*variables)
        np.testing.assert_allclose(function(variables, result)(*values), expected)

    def test_axes(self) -> None:
        matrix, columns = RNG.randn(2, 3), RNG.randn(3, 5)
        self.check(tt.dot, [matrix, columns], (None, 1), 1, matrix @ columns)
        self.check(tt.dot, [matrix, columns], (None, -1), 0, (matrix @ columns).T)
        self.check(lambda x: x.sum(), [matrix], 1, 0, matrix.sum(0))

    def test_nested(self) -> None:
        x, y = RNG.randn(2, 4), RNG.randn(3, 4)
        pairs = tt.vmap(tt.vmap(tt.dot, (None, 0)), (0, None))
        self.check(lambda a, b: pairs(a, b), [x[None], y[None]], 0, 0, (x @ y.T)[None])

    def test_results_that_do_not_depend_on_the_entry(self) -> None:
        x, y = tt.dvector(), tt.dscalar()
        same, repeated = tt.vmap(lambda a: (y * 2, y * 2), out_axes=(None, 0))(x)
        self.assertEqual((same.ndim, repeated.ndim), (0, 1))
        np.testing.assert_allclose(function([x, y], repeated)([1.0, 2.0], 3.0), [6.0, 6.0])
        with self.assertRaisesRegex(BatchError, "depends on the entry"):
            tt.vmap(lambda a: a, out_axes=None)(x)

    def test_gradients_of_each_entry(self) -> None:
        w, x = tt.dvector(), tt.dmatrix()
        gradients = tt.vmap(lambda a: tt.grad(tt.tanh(tt.dot(a, w)), w))(x)
        values = RNG.randn(3), RNG.randn(4, 3)
        expected = (1 - np.tanh(values[1] @ values[0]) ** 2)[:, None] * values[1]
        np.testing.assert_allclose(function([w, x], gradients)(*values), expected)

    def test_errors(self) -> None:
        with self.assertRaisesRegex(BatchError, "no dimension 2"):
            tt.vmap(tt.exp, 2)(tt.dmatrix())
        with self.assertRaisesRegex(BatchError, "maps no argument"):
            tt.vmap(tt.exp, None)(tt.dmatrix())
        with self.assertRaisesRegex(BatchError, "2 entries for 1"):
            tt.vmap(tt.exp, (0, 1))(tt.dmatrix())
        with self.assertRaisesRegex(BatchError, "3 and 4 entries"):
            tt.vmap(tt.add)(tt.tensor("float64", shape=(3,)), tt.tensor("float64", shape=(4,)))
        x, y = tt.dvector(), tt.dvector()
        f = function([x, y], tt.vmap(lambda a, b: a * b)(x, y))
        with self.assertRaises((AssertionError, ValueError)):
            f([1.0], [1.0, 2.0])
