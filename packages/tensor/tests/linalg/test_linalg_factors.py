"""Factors of elimination, forms of Schur, equations with three diagonals and of Sylvester, against SciPy."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import scipy.linalg

import theano_tensor.linalg as L
from theano_tensor import dmatrix
from theano_tensor.gradient import NullTypeGradError, grad
from theano_testing.tensor import OpRecord, op_tests

RNG = np.random.default_rng(8)
SQUARE, STACK = RNG.normal(size=(4, 4)), RNG.normal(size=(2, 3, 3))
COMPLEX = SQUARE + 1j * RNG.normal(size=(4, 4))
EMPTY = np.zeros((0, 0))
BELOW, MIDDLE, ABOVE = RNG.normal(size=3), RNG.normal(size=4) + 3, RNG.normal(size=3)
VECTOR, COLUMNS = RNG.normal(size=4), RNG.normal(size=(4, 2))
DIAGONALS = tuple(np.stack([part, part + 0.5]) for part in (BELOW, MIDDLE, ABOVE))
FORM, _ = scipy.linalg.schur(SQUARE)
TRIANGLE = np.triu(STACK) + 2 * np.eye(3)


def each(function: Any, *stacks: Any) -> list[Any]:
    """Apply a function to each matrix of stacks."""
    front = stacks[0].shape[:-2]
    if not front:
        return list(function(*stacks))
    parts = [list(function(*(stack[position] for stack in stacks))) for position in np.ndindex(front)]
    return [np.stack(part).reshape((*front, *np.shape(part[0]))) for part in zip(*parts, strict=True)]


def _factors(x: Any) -> list[Any]:
    return list(scipy.linalg.lu_factor(x)) if x.size else [x, np.zeros(0, "int32")]


def _solutions(a: Any, b: Any) -> list[Any]:
    factors, pivots = L.lu_factor(a)
    return [L.lu_solve(factors, pivots, b, trans) for trans in (0, 1, 2)]


def _with_indices(x: Any) -> list[Any]:
    indices, lower, upper = scipy.linalg.lu(x, p_indices=True)
    return [indices.astype("int64"), lower, upper]


def _tridiagonal(below: Any, middle: Any, above: Any, b: Any) -> Any:
    if middle.ndim > 1:
        parts = zip(below, middle, above, b, strict=True)
        return np.stack([_tridiagonal(*part) for part in parts])
    return np.linalg.solve(np.diag(middle) + np.diag(below, -1) + np.diag(above, 1), b)


def _sylvester(a: Any, b: Any, c: Any) -> Any:
    return each(lambda *parts: [scipy.linalg.solve_sylvester(*parts)], a, b, c)[0]


def _turned(*parts: Any) -> Any:
    a, b, c = parts
    return scipy.linalg.solve_sylvester(a.conj().T, b.conj().T, c)


def _factored_solution(transposed: bool) -> Any:
    def function(below: Any, middle: Any, above: Any, b: Any) -> Any:
        factors = L.TridiagonalFactor()(below, middle, above, return_list=True)
        return L.SolveTridiagonalFactor(1, transposed)(*factors, b)

    return function


RECORDS = (
    OpRecord(
        "LUFactor",
        lambda x: list(L.lu_factor(x)),
        lambda x: each(_factors, x),
        [(SQUARE,), (STACK,), (SQUARE.astype("float32"),), (COMPLEX,), (EMPTY,)],
    ),
    OpRecord(
        "LUFactorGradient",
        lambda x: L.lu_factor(x)[0],
        lambda x: each(_factors, x)[0],
        [(SQUARE,)],
        [(SQUARE,), (STACK,)],
    ),
    OpRecord(
        "LU",
        lambda x: [*L.lu(x), *L.lu(x, permute_l=True), *L.lu(x, p_indices=True)],
        lambda x: [
            *each(scipy.linalg.lu, x),
            *each(lambda y: scipy.linalg.lu(y, permute_l=True), x),
            *each(
                lambda y: [
                    np.int64(part) if k == 0 else part for k, part in enumerate(scipy.linalg.lu(y, p_indices=True))
                ],
                x,
            ),
        ],
        [(SQUARE,), (STACK,)],
        strided=False,
    ),
    OpRecord(
        "LUSolve",
        _solutions,
        lambda a, b: [np.linalg.solve(m, b) for m in (a, a.T, a.conj().T)],
        [(SQUARE, VECTOR), (SQUARE, COLUMNS), (COMPLEX, VECTOR)],
        strided=False,
    ),
    OpRecord(
        "Schur",
        lambda x: list(L.schur(x)),
        lambda x: each(scipy.linalg.schur, x),
        [(SQUARE,), (STACK,), (COMPLEX,)],
    ),
    OpRecord(
        "SchurInOrder",
        lambda x: list(L.schur(x, "complex", "lhp")),
        lambda x: scipy.linalg.schur(x, "complex", sort="lhp")[:2],
        [(SQUARE,)],
    ),
    OpRecord(
        "QZ",
        lambda a, b: [*L.qz(a, b), *L.qz(a, b, sort="iuc")],
        lambda a, b: [*scipy.linalg.qz(a, b), *(scipy.linalg.ordqz(a, b, sort="iuc")[k] for k in (0, 1, 4, 5))],
        [(SQUARE, SQUARE.T)],
    ),
    OpRecord(
        "QZValues",
        lambda a, b: list(L.QZ("complex", None, True)(a, b, return_list=True))[:4],
        lambda a, b: (lambda s, t: [s, t, np.diag(s), np.diag(t)])(*scipy.linalg.qz(a, b, "complex")[:2]),
        [(COMPLEX, COMPLEX.T)],
    ),
    OpRecord(
        "SolveTridiagonal",
        L.solve_tridiagonal,
        _tridiagonal,
        [(BELOW, MIDDLE, ABOVE, VECTOR), (BELOW, MIDDLE, ABOVE, COLUMNS), (*DIAGONALS, np.stack([COLUMNS, -COLUMNS]))],
        [(BELOW, MIDDLE, ABOVE, VECTOR), (*DIAGONALS, np.stack([COLUMNS, -COLUMNS]))],
    ),
    OpRecord("TridiagonalFactors", _factored_solution(False), _tridiagonal, [(BELOW, MIDDLE, ABOVE, VECTOR)]),
    OpRecord(
        "TridiagonalFactorsTurned",
        _factored_solution(True),
        lambda below, middle, above, b: _tridiagonal(above, middle, below, b),
        [(BELOW, MIDDLE, ABOVE, VECTOR)],
    ),
    OpRecord(
        "TridiagonalFactorsGradient",
        lambda b: _factored_solution(False)(BELOW, MIDDLE, ABOVE, b),
        lambda b: _tridiagonal(BELOW, MIDDLE, ABOVE, b),
        [(VECTOR,)],
        [(VECTOR,)],
    ),
    OpRecord(
        "TriangularSylvester",
        L.solve_triangular_sylvester,
        _sylvester,
        [(FORM + 3 * np.eye(4), TRIANGLE[0], RNG.normal(size=(4, 3))), (TRIANGLE, TRIANGLE[::-1], STACK)],
        [(TRIANGLE, TRIANGLE[::-1], STACK)],
    ),
    OpRecord(
        "TriangularSylvesterTurned",
        L.TriangularSylvester(adjoint=True),
        _turned,
        [(TRIANGLE[0], TRIANGLE[1], STACK[0]), (np.triu(COMPLEX), np.triu(COMPLEX.T) + 4 * np.eye(4), COMPLEX)],
        [(TRIANGLE[0], TRIANGLE[1], STACK[0])],
    ),
)

globals().update({test.__name__: test for test in (op_tests(record) for record in RECORDS)})


class TestFactors(unittest.TestCase):
    def test_a_singular_matrix(self) -> None:
        ones = np.ones((2, 2))
        self.assertEqual([[1, 1], [1, 0]], L.lu_factor(ones)[0].eval().tolist())
        self.assertTrue(np.isnan(L.LUFactor(on_error="nan")(ones)[0].eval()).all())
        self.assertTrue(np.isnan(L.solve_tridiagonal([1.0], [1.0, 1.0], [1.0], [1.0, 2.0]).eval()).all())

    def test_forms_of_schur_have_no_gradient(self) -> None:
        x = dmatrix("x")
        for outputs in (L.schur(x), L.qz(x, x.T)):
            with self.assertRaisesRegex(NullTypeGradError, "not unique"):
                grad(outputs[0].sum(), x)

    def test_options_that_are_not_known(self) -> None:
        for make in (lambda: L.LUFactor("raise"), lambda: L.Schur("real", "up"), lambda: L.QZ("imaginary")):
            with self.assertRaisesRegex(ValueError, "Hint"):
                make()
