"""Elementwise functions, scalar ops and reductions under their documented addresses, in the manual's forms."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import scipy.special

import theano
import theano.tensor as T
from theano.scalar import BinaryScalarOp, UnaryScalarOp, upcast_out, upgrade_to_float
from theano.tensor import elemwise
from theano.tensor.inplace import add_inplace


class Quadratic(BinaryScalarOp):
    """``x**2 + y``, in the form that the manual's C ops have."""

    def impl(self, x: Any, y: Any) -> Any:
        return x * x + y

    def grad(self, inputs: Any, output_gradients: Any) -> Any:
        (x, _), (gz,) = inputs, output_gradients
        return [gz * 2 * x, gz]

    def c_code(self, node: Any, name: str, inp: Any, out: Any, sub: Any) -> str:
        x, y = inp
        (z,) = out
        return "%(z)s = %(x)s * %(x)s + %(y)s;" % locals()  # noqa: UP031  # the historical way

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)


class TestSpecialFunctions(unittest.TestCase):
    def test_documented_functions(self) -> None:
        x = T.dvector("x")
        value = np.array([0.3, 0.6, 0.9])
        pairs: list[tuple[Any, Any]] = [
            (T.erf, scipy.special.erf),
            (T.erfc, scipy.special.erfc),
            (T.erfinv, scipy.special.erfinv),
            (T.erfcinv, scipy.special.erfcinv),
            (T.gamma, scipy.special.gamma),
            (T.gammaln, scipy.special.gammaln),
            (T.psi, scipy.special.psi),
            (lambda v: T.chi2sf(v, 3.0), lambda v: scipy.special.chdtrc(3.0, v)),
        ]
        compiled: Any = theano.function([x], [symbolic(x) for symbolic, _ in pairs])
        for item, (_, reference) in zip(compiled(value), pairs, strict=True):
            np.testing.assert_allclose(item, reference(value), rtol=1e-12)

    def test_older_address(self) -> None:
        for name in ("exp", "sum", "gammaln", "maximum", "as_tensor_variable", "round", "max_and_argmax"):
            with self.subTest(name=name):
                self.assertIs(getattr(theano.tensor.basic, name), getattr(T, name))


class TestScalarOps(unittest.TestCase):
    def test_op_of_a_user(self) -> None:
        x, y = T.dmatrix("x"), T.dvector("y")
        quadratic = elemwise.Elemwise(Quadratic(upcast_out, name="quadratic"))
        z = quadratic(x, y)
        compiled: Any = theano.function([x, y], [z, *T.grad(z.sum(), [x, y])])
        a, b = np.arange(6.0).reshape(2, 3), np.ones(3)
        value, by_x, by_y = compiled(a, b)
        np.testing.assert_array_equal(value, a * a + b)
        np.testing.assert_array_equal(by_x, 2 * a)
        np.testing.assert_array_equal(by_y, [2.0, 2.0, 2.0])

    def test_preference_for_the_type(self) -> None:
        class Half(UnaryScalarOp):
            def impl(self, x: Any) -> Any:
                return x / 2

        i = T.bvector("i")
        halves = elemwise.Elemwise(Half(upgrade_to_float))(i)
        self.assertEqual(halves.dtype, "float32")
        compiled: Any = theano.function([i], halves)
        self.assertEqual(compiled(np.array([1, 3], "int8")).tolist(), [0.5, 1.5])

    def test_lists_of_types(self) -> None:
        self.assertIn(theano.scalar.float64, theano.scalar.float_types)
        self.assertIn(theano.scalar.complex64, theano.scalar.continuous_types)
        self.assertIn(theano.scalar.bool, theano.scalar.discrete_types)
        self.assertEqual(len(theano.scalar.all_types), len(theano.scalar.ALL_DTYPES))

    def test_composite(self) -> None:
        a, b = theano.scalar.float64("a"), theano.scalar.float64("b")
        op = elemwise.Elemwise(theano.scalar.Composite([a, b], [a * b + 1, theano.scalar.sqr(a)]))
        x, y = T.dvectors("x", "y")
        compiled: Any = theano.function([x, y], list(op(x, y, return_list=True)))
        first, second = compiled([1.0, 2.0], [3.0, 4.0])
        self.assertEqual((first.tolist(), second.tolist()), ([4.0, 9.0], [1.0, 4.0]))


class TestInplace(unittest.TestCase):
    def test_example_of_the_manual(self) -> None:
        x, y = T.dscalars("x", "y")
        r1 = T.log(x)
        r2 = add_inplace(x, y)
        r3 = T.log(x)
        r4 = T.log(r2)
        compiled: Any = theano.function([x, y], [r1, r2, r3, r4], accept_inplace=True)
        np.testing.assert_allclose(compiled(1.0, 2.0), [0.0, 3.0, 0.0, np.log(3.0)])

    def test_pattern(self) -> None:
        self.assertEqual(elemwise.Elemwise(theano.scalar.add, {0: 1}).destroy_map, {0: [1]})


class TestReductions(unittest.TestCase):
    def test_documented_folds(self) -> None:
        x = T.imatrix("x")
        value = np.array([[1, 2, 3], [4, 5, 6]], "int32")
        folds = [
            (theano.scalar.add, value.sum(0)),
            (theano.scalar.mul, value.prod(0)),
            (theano.scalar.maximum, value.max(0)),
            (theano.scalar.xor, value[0] ^ value[1]),
        ]
        compiled: Any = theano.function([x], [elemwise.CAReduce(op, axis=0)(x) for op, _ in folds])
        for item, (_, expected) in zip(compiled(value), folds, strict=True):
            np.testing.assert_array_equal(item, expected)
        self.assertEqual(elemwise.CAReduceDtype(theano.scalar.add, axis=0)(x).dtype, "int64")

    def test_product_without_zeros(self) -> None:
        x = T.dvector("x")
        compiled: Any = theano.function([x], elemwise.ProdWithoutZeros()(x))
        self.assertEqual(compiled([2.0, 0.0, 4.0]), 8.0)

    def test_dimshuffle_in_the_form_of_the_manual(self) -> None:
        x = T.dtensor3("x")
        op = elemwise.DimShuffle((False, False, False), ["x", 2, "x", 0, 1])
        compiled: Any = theano.function([x], op(x))
        self.assertEqual(compiled(np.zeros((20, 30, 40))).shape, (1, 40, 1, 20, 30))
        row = T.drow("r")
        dropped: Any = theano.function([row], elemwise.DimShuffle((True, False), [1])(row))
        self.assertEqual(dropped(np.zeros((1, 20))).shape, (20,))
