"""Exported linear algebra on matrices."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.tensor import nlinalg, slinalg
from theano_tensor.linalg import Cofactors
from theano_testing.tiers import slow

from .harness import Exported, check

RNG = np.random.default_rng(13)


def _definite(n: int, dtype: str = "float64") -> Any:
    a = RNG.normal(size=(n, n))
    return (a @ a.T + np.eye(n)).astype(dtype)


class TestEquations(unittest.TestCase):
    """Factors, solutions, inverses, determinants, and their gradients."""

    @slow
    def test_solutions(self) -> None:
        """All structures, of vectors and matrices, in both precisions."""
        for dtype in ("float64", "float32"):
            a, b, v = T.matrix("a", dtype), T.matrix("b", dtype), T.vector("v", dtype)
            out = [
                slinalg.cholesky(a),
                slinalg.Cholesky(lower=False)(a),
                slinalg.solve(a, b),
                slinalg.solve(a, v),
                slinalg.solve_lower_triangular(a, b),
                slinalg.solve_upper_triangular(a.T, v),
                slinalg.Solve("symmetric", lower=True)(a, b),
                nlinalg.matrix_inverse(a),
                nlinalg.det(a),
                *nlinalg.slogdet(-a),
            ]
            values = _definite(5, dtype), RNG.normal(size=(5, 3)).astype(dtype), RNG.normal(size=5).astype(dtype)
            others = _definite(1, dtype), RNG.normal(size=(1, 2)).astype(dtype), RNG.normal(size=1).astype(dtype)
            check(theano.function([a, b, v], out), values, others, tolerance=1e-8 if dtype == "float64" else 2e-3)

    def test_logarithm_alone(self) -> None:
        """The logarithm of a determinant whose sign nothing reads."""
        a = T.dmatrix("a")
        check(theano.function([a], nlinalg.slogdet(a)[1]), (_definite(4),))

    def test_gradients(self) -> None:
        """The logarithm of a Gaussian density, and its gradient."""
        a, v = T.dmatrix("a"), T.dvector("v")
        factor = slinalg.cholesky(a)
        loss = T.log(T.diag(factor)).sum() + (slinalg.solve_lower_triangular(factor, v) ** 2).sum()
        f = theano.function([a, v], [loss, *T.grad(loss, [a, v])])
        check(f, (_definite(6), RNG.normal(size=6)))

    @slow
    def test_derivatives_of_determinants(self) -> None:
        """Cofactors, of singular matrices and stacks too."""
        for dtype, bound in (("float64", 1e-9), ("float32", 1e-3)):
            a, stack, factor = T.matrix("a", dtype), T.tensor3("stack", dtype), T.vector("factor", dtype)
            out = [T.grad(nlinalg.det(a), a), T.grad((nlinalg.det(stack) * factor).sum(), stack)]
            out.append(Cofactors()(stack, np.ones(1, dtype)))
            squares = RNG.normal(size=(4, 5, 5)).astype(dtype)
            squares[0, 1] = squares[0, 2]
            squares[1, :, 3] = 0
            squares[2] = 0
            f = theano.function([a, stack, factor], out)
            for a_value in (*squares, squares[0, :1, :1], squares[0, :2, :2]):
                check(f, (a_value, squares, RNG.normal(size=4).astype(dtype)), tolerance=bound)

    def test_derivatives_of_eigenvalues(self) -> None:
        """Of matrices, also with equal eigenvalues, and of stacks."""
        for upper, dtype, bound in ("L", "float64", 1e-8), ("U", "float32", 1e-2):
            a, stack = T.matrix("a", dtype), T.tensor3("stack", dtype)
            out = []
            for x in (a, stack):
                w, v = nlinalg.Eigh(upper)(x)
                out.append(T.grad((w**2).sum() + (v**4).sum(), x))
            f = theano.function([a, stack], out)
            stacks = np.stack([_definite(4, dtype), np.eye(4, dtype=dtype)])
            check(f, (_definite(5, dtype), stacks), (np.eye(1, dtype=dtype), stacks[:1]), tolerance=bound)

    @slow
    def test_failures(self) -> None:
        """Singular and indefinite matrices are errors of the call, or give NaN where the user says so."""
        a = T.dmatrix("a")
        for expression, text in (
            (slinalg.cholesky(a), "not positive definite"),
            (nlinalg.matrix_inverse(a), "singular"),
            (slinalg.solve(a, a), "singular"),
            (slinalg.solve_lower_triangular(a, a), "singular"),
        ):
            exported = Exported(theano.function([a], expression))
            with self.assertRaisesRegex(ValueError, text):
                exported(np.zeros((3, 3)))
            with self.assertRaisesRegex(ValueError, "not square"):
                exported(np.zeros((3, 2)))
        out = [slinalg.Cholesky(on_error="nan")(a), nlinalg.det(a), *nlinalg.slogdet(a)]
        check(theano.function([a], out), (np.zeros((2, 2)),))


class TestFactors(unittest.TestCase):
    """Eigenvalues, singular values, and QR."""

    @slow
    def test_eigenvalues(self) -> None:
        """Vectors up to their signs."""
        for dtype, bound in (("float64", 1e-9), ("float32", 1e-3)):
            a = T.matrix("a", dtype)
            w, v = nlinalg.eigh(a)
            w_upper, _ = nlinalg.Eigh("U")(a)
            f = theano.function([a], [w, (v * w).dot(v.T), v.T.dot(v), w_upper])
            check(f, (_definite(7, dtype),), (np.diag([3.0, -1, 2]).astype(dtype),), tolerance=bound)

    @slow
    def test_singular_values(self) -> None:
        """Tall, wide and deficient matrices; all vectors, some, or none."""
        tall, wide, poor = RNG.normal(size=(6, 3)), RNG.normal(size=(2, 5)), np.ones((4, 3))
        for value in (tall, wide, poor, tall.astype("float32")):
            a = T.matrix("a", value.dtype.name)
            u, s, vt = nlinalg.svd(a, full_matrices=False)
            u2, s2, vt2 = nlinalg.svd(a, full_matrices=True)
            (only,) = [nlinalg.SVD(compute_uv=False)(a)]
            out = [s, (u * s).dot(vt), u.T.dot(u), vt.dot(vt.T), s2, u2.T.dot(u2), vt2.dot(vt2.T), only]
            f = theano.function([a], out)
            bound = 1e-9 if value.dtype == np.float64 else 1e-3
            # First with the shape known, then with lengths that a call tells: wide, tall and square by turns.
            exported = Exported(f, {a: value.shape}, static=True)
            for got, want in zip(exported(value), f(value), strict=True):
                np.testing.assert_allclose(got, want, rtol=bound, atol=bound)
            exported = Exported(f)
            for operands in (value, value.T.copy(), value[:, :2], value[:1]):
                for got, want in zip(exported(operands), f(operands), strict=True):
                    np.testing.assert_allclose(got, want, rtol=bound, atol=bound)
            exported.free()

    @slow
    def test_qr(self) -> None:
        """All modes, of all shapes, with the signs of LAPACK."""
        for shape in ((5, 3), (3, 5), (4, 4), (1, 1)):
            a = T.dmatrix("a")
            out = [*nlinalg.qr(a, "reduced"), *nlinalg.qr(a, "complete"), nlinalg.qr(a, "r")]
            f = theano.function([a], out)
            value = RNG.normal(size=shape)
            for got, want in zip(Exported(f, {a: shape}, static=True)(value), f(value), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
            exported = Exported(f)
            for operands in (value, value.T.copy()):
                for got, want in zip(exported(operands), f(operands), strict=True):
                    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
            exported.free()


class TestStacks(unittest.TestCase):
    """Stacks of matrices: each one as if it were alone."""

    @slow
    def test_square(self) -> None:
        """Inverses, determinants, factors and equations, of stacks with one and two axes."""
        for lead, dtype, bound in (((3,), "float64", 1e-9), ((2, 3), "float32", 2e-3)):
            with self.subTest(lead=lead, dtype=dtype):
                a, b = (T.tensor(dtype, (False,) * (len(lead) + 2)) for _ in "ab")
                sign, logarithm = nlinalg.slogdet(a)
                root = slinalg.cholesky(a)
                w, v = nlinalg.eigh(a)
                out = [
                    nlinalg.matrix_inverse(a),
                    nlinalg.det(a),
                    sign,
                    logarithm,
                    root,
                    slinalg.solve(a, b),
                    slinalg.solve_lower_triangular(root, b),
                    slinalg.Solve("symmetric", lower=True)(a, b),
                    T.grad(root.sum(), a),
                    w,
                    abs(v),
                ]
                f = theano.function([a, b], out)
                square = np.stack([_definite(4, dtype) + i for i in range(6)])[: int(np.prod(lead))]
                right = RNG.normal(size=(*lead, 4, 2)).astype(dtype)
                values = square.reshape(*lead, 4, 4), right
                check(f, values, (values[0][:1], values[1][:1]), (values[0][:0], values[1][:0]), tolerance=bound)

    @slow
    def test_any_shape(self) -> None:
        """Singular values and factors of tall and wide matrices, also of a transposed stack."""
        a = T.dtensor3("a")
        for x, shape in ((a, (2, 5, 3)), (a, (3, 1, 4)), (a.dimshuffle(0, 2, 1), (2, 5, 3))):
            u, s, vt = nlinalg.svd(x, full_matrices=False)
            u2, s2, vt2 = nlinalg.svd(x, full_matrices=True)
            out = [s, s2, abs(u), abs(vt), *nlinalg.qr(x, "reduced"), *nlinalg.qr(x, "complete"), nlinalg.qr(x, "r")]
            out += [T.batched_dot(u2.dimshuffle(0, 2, 1), u2), T.batched_dot(vt2, vt2.dimshuffle(0, 2, 1))]
            f = theano.function([a], out)
            with self.subTest(shape=shape):
                check(f, (RNG.normal(size=shape),))

    def test_errors(self) -> None:
        """A fault of one of the matrices is reported; and an op without a form is refused with its line."""
        a, b = T.dtensor3("a"), T.dtensor3("b")
        exported = Exported(theano.function([a], slinalg.cholesky(a)))
        with self.assertRaisesRegex(ValueError, "not positive definite"):
            exported(np.stack([np.eye(2), -np.eye(2)]))
        with self.assertRaisesRegex(ValueError, "not square"):
            exported(np.ones((2, 2, 3)))
        exported = Exported(theano.function([a, b], slinalg.Solve()(a, b)))
        with self.assertRaisesRegex(ValueError, "differ in length"):
            exported(np.ones((2, 2, 2)), np.ones((3, 2, 2)))
        with self.assertRaisesRegex(TypeError, r"(?s)no form in C.*float32 or float64"):
            Exported(theano.function([a], T.grad(slinalg.Cholesky(lower=False)(a).sum(), a)))
