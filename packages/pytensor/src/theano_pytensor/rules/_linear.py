"""Products and linear algebra; matrices may come in stacks, whose dimensions before the last two are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import theano.tensor as T
from theano.tensor import nlinalg, slinalg

from .._lapack import Lapack
from .._table import NoRule, Rule, Site, rule
from .._types import engine_type

STACKED: set[str] = set()
"""The classes whose rules take stacks."""


def stacked_rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule that takes stacks, too."""
    STACKED.update(names)
    return rule(*names)


def transposed(x: Any) -> Any:
    """Return a stack with each matrix transposed."""
    return x.dimshuffle([*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def by_lapack(site: Site, task: str, *options: Any) -> list[Any]:
    """Compute by SciPy's LAPACK, in the memory of inputs that the node overwrites."""
    dtypes = [np.dtype(x.dtype) for x in site.inputs if x.dtype.startswith("complex")]
    kinds = []
    for variable in site.outputs:
        dtype = variable.type.dtype
        # Factors of complex matrices are complex, whatever PyTensor's type of them says.
        if dtypes and dtype.startswith("float"):
            dtype = np.result_type(*dtypes).name
        kinds.append(engine_type(variable.type.clone(dtype=dtype)))
    return list(Lapack(task, options, kinds, site.overwritten)(*site.inputs, return_list=True))


@rule("tensor.Dot")
def _dot(site: Site) -> Any:
    return T.dot(*site.inputs)


@rule("tensor.BatchedDot")
def _batched_dot(site: Site) -> Any:
    return T.batched_dot(*site.inputs)


@stacked_rule("tensor.Cholesky")
def _cholesky(site: Site) -> Any:
    """The factor, or NaN where there is none."""
    if site.overwritten:
        return by_lapack(site, "cholesky", site.op.lower)
    return slinalg.Cholesky(lower=site.op.lower, on_error="nan")(site.inputs[0])


def _as_columns(a: Any, b: Any, b_ndim: int) -> tuple[Any, bool]:
    """Return the right-hand side with columns, and whether it is a stack of vectors."""
    if b_ndim == 2 or a.ndim == 2:
        return b, False
    return b.dimshuffle([*range(b.ndim), "x"]), True


def _solution(structure: str, a: Any, b: Any, b_ndim: int, lower: bool = False) -> Any:
    columns, are_vectors = _as_columns(a, b, b_ndim)
    result = slinalg.Solve(structure, lower=lower, on_error="nan")(a, columns)
    return result[..., 0] if are_vectors else result


@stacked_rule("tensor.Solve")
def _solve(site: Site) -> Any:
    (a, b), op = site.inputs, site.op
    real = not (a.dtype.startswith("complex") or b.dtype.startswith("complex"))
    if site.overwritten and op.assume_a == "tridiagonal":
        return by_lapack(site, "solve_tridiagonal")
    if site.overwritten and op.assume_a in ("sym", "her", "pos") and real:
        return by_lapack(site, "solve_definite" if op.assume_a == "pos" else "solve_symmetric", op.lower)
    if site.overwritten and op.assume_a == "gen":
        return by_lapack(site, "solve")
    if op.assume_a == "tridiagonal":
        below, middle, above = (T.diagonal(a, offset, a.ndim - 2, a.ndim - 1) for offset in (-1, 0, 1))
        return slinalg.SolveTridiagonal(op.b_ndim)(below, middle, above, b)
    structure = op.assume_a if op.assume_a in ("gen", "sym", "her", "pos") else "gen"
    if structure == "her" and a.dtype.startswith("complex"):
        raise NoRule("equations with a Hermitian matrix")
    if structure in ("sym", "her", "pos") and not a.dtype.startswith("complex"):
        return _solution("symmetric", a, b, op.b_ndim, op.lower)
    return _solution("general", a, b, op.b_ndim)


@stacked_rule("tensor.SolveTriangular")
def _solve_triangular(site: Site) -> Any:
    (a, b), op = site.inputs, site.op
    if site.overwritten:
        return by_lapack(site, "solve_triangular", op.lower, op.unit_diagonal)
    if op.unit_diagonal:
        ones = T.eye(a.shape[-1], dtype=a.dtype)
        a = T.switch(T.neq(ones, 0), ones, a)
    return _solution("lower_triangular" if op.lower else "upper_triangular", a, b, op.b_ndim)


@stacked_rule("tensor.CholeskySolve")
def _solve_by_cholesky(site: Site) -> Any:
    (factor, b), op = site.inputs, site.op
    if site.overwritten:
        return by_lapack(site, "solve_by_cholesky", op.lower)
    lower = factor if op.lower else transposed(factor)
    columns, are_vectors = _as_columns(lower, b, op.b_ndim)
    half = slinalg.Solve("lower_triangular", lower=True, on_error="nan")(lower, columns)
    result = slinalg.Solve("upper_triangular", on_error="nan")(transposed(lower), half)
    return result[..., 0] if are_vectors else result


@stacked_rule("tensor.MatrixInverse")
def _inverse(site: Site) -> Any:
    return nlinalg.matrix_inverse(site.inputs[0])


@stacked_rule("tensor.MatrixPinv")
def _pseudo_inverse(site: Site) -> Any:
    return nlinalg.pinv(site.inputs[0])


@stacked_rule("tensor.Det")
def _determinant(site: Site) -> Any:
    return nlinalg.det(site.inputs[0])


@stacked_rule("tensor.SLogDet")
def _log_determinant(site: Site) -> Any:
    return list(nlinalg.slogdet(site.inputs[0]))


@stacked_rule("tensor.Eig")
def _eigen(site: Site) -> Any:
    return list(nlinalg.eig(site.inputs[0]))


@stacked_rule("tensor.Eigh")
def _symmetric_eigen(site: Site) -> Any:
    """Eigenvalues and vectors of one matrix; the triangle is ``lower`` of the op, or in older versions ``UPLO``."""
    (a, *others), op = site.inputs, site.op
    if others:
        raise NoRule("generalized eigenvalues")
    triangle = ("L" if op.lower else "U") if hasattr(op, "lower") else op.UPLO
    return list(nlinalg.eigh(a, triangle))


@rule("tensor.Eigvalsh")
def _generalized_eigenvalues(site: Site) -> Any:
    a, *others = site.inputs
    return slinalg.eigvalsh(a, others[0] if others else None, lower=site.op.lower)


@stacked_rule("tensor.SVD")
def _singular(site: Site) -> Any:
    op = site.op
    parts = nlinalg.svd(site.inputs[0], op.full_matrices, op.compute_uv)
    return list(parts) if op.compute_uv else parts


@rule("tensor.QR")
def _orthogonal(site: Site) -> Any:
    (a,), op = site.inputs, site.op
    if op.pivoting or op.mode == "raw" or site.overwritten:
        return by_lapack(site, "qr", op.mode, op.pivoting)
    if op.mode == "r":
        return nlinalg.qr(a, "complete")[1]
    return list(nlinalg.qr(a, "reduced" if op.mode == "economic" else "complete"))


@stacked_rule("tensor.Expm")
def _exponential(site: Site) -> Any:
    return slinalg.expm(site.inputs[0])


@rule("tensor.BlockDiagonal")
def _block_diagonal(site: Site) -> Any:
    blocks = site.inputs
    rows, columns = (sum(block.shape[axis] for block in blocks) for axis in (0, 1))
    result = T.zeros((rows, columns), dtype=site.outputs[0].type.dtype)
    row, column = T.constant(0), T.constant(0)
    for block in blocks:
        next_row, next_column = row + block.shape[0], column + block.shape[1]
        result = T.set_subtensor(result[row:next_row, column:next_column], block)
        row, column = next_row, next_column
    return result


@rule("tensor.TensorInv")
def _tensor_inverse(site: Site) -> Any:
    return nlinalg.tensorinv(site.inputs[0], site.op.ind)


@rule("tensor.TensorSolve")
def _tensor_solve(site: Site) -> Any:
    return nlinalg.tensorsolve(site.inputs[0], site.inputs[1], axes=site.op.axes)


@stacked_rule("tensor.LU")
def _lower_upper(site: Site) -> Any:
    if site.overwritten:
        return by_lapack(site, "lu", site.op.permute_l, site.op.p_indices)
    return slinalg.lu(site.inputs[0], site.op.permute_l, site.op.p_indices)


@stacked_rule("tensor.LUFactor")
def _packed_lower_upper(site: Site) -> Any:
    """The factors, or NaN where the matrix is singular."""
    if site.overwritten:
        return by_lapack(site, "lu_factor")
    return slinalg.LUFactor(on_error="nan")(site.inputs[0], return_list=True)


@stacked_rule("tensor.PivotToPermutations")
def _permutation(site: Site) -> Any:
    return slinalg.PivotsToPermutation(not site.op.inverse)(site.inputs[0])


@stacked_rule("tensor.Schur")
def _schur(site: Site) -> Any:
    if site.overwritten:
        return by_lapack(site, "schur", site.op.output, site.op.sort)
    return slinalg.schur(site.inputs[0], site.op.output, site.op.sort)


@stacked_rule("tensor.QZ")
def _generalized_schur(site: Site) -> Any:
    op = site.op
    output = "complex" if op.complex_output else "real"
    return slinalg.QZ(output, op.sort, op.return_eigenvalues)(*site.inputs, return_list=True)


@stacked_rule("tensor.TRSYL")
def _sylvester(site: Site) -> Any:
    return slinalg.solve_triangular_sylvester(*site.inputs)


@stacked_rule("tensor.LUFactorTridiagonal")
def _tridiagonal_factors(site: Site) -> Any:
    if site.overwritten:
        return by_lapack(site, "tridiagonal_factors")
    return slinalg.TridiagonalFactor()(*site.inputs, return_list=True)


@stacked_rule("tensor.SolveLUFactorTridiagonal")
def _tridiagonal(site: Site) -> Any:
    if site.overwritten:
        return by_lapack(site, "solve_by_tridiagonal", "T" if site.op.transposed else "N")
    return slinalg.SolveTridiagonalFactor(site.op.b_ndim, site.op.transposed)(*site.inputs)
