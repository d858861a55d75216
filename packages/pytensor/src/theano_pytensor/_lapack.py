"""Linear algebra by SciPy's LAPACK: in the memory of inputs that may be overwritten, and factors with pivots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import linalg

from theano_graph import Apply, Op, Type, Variable

Task: TypeAlias = Callable[..., Sequence[Any]]
"""Computes the outputs from the inputs, options of the op and, by name, which of the inputs may be overwritten."""


class Lapack(Op):
    """One task of LAPACK, on matrices; an input that is contiguous as Fortran has it is overwritten if it may be.

    Parameters
    ----------
    task : str
        A key of `TASKS`.
    options : tuple
        Arguments of the task after its inputs.
    kinds : sequence of Type
        The types of its outputs.
    overwritten : tuple of int
        The inputs that may be overwritten.
    """

    __props__ = ("task", "options", "kinds", "overwritten")

    def __init__(
        self, task: str, options: tuple[Any, ...], kinds: Sequence[Type], overwritten: tuple[int, ...] = ()
    ) -> None:
        self.task, self.options, self.kinds, self.overwritten = task, options, tuple(kinds), overwritten
        if task == "tridiagonal_factors":
            self.destroy_map = {place: [place] for place in overwritten}
        else:
            self.destroy_map = {0: list(overwritten)} if overwritten else {}

    def make_node(self, *inputs: Variable) -> Apply[Self]:
        """Apply to matrices and vectors."""
        return Apply(self, list(inputs), [kind.make_variable() for kind in self.kinds])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute by SciPy."""
        free = [place in self.overwritten and x.flags.writeable for place, x in enumerate(inputs)]
        if len(self.kinds) == 1 and not inputs[-1].size:
            # LAPACK takes no empty matrices; the result has the shape of the last operand.
            results: Sequence[Any] = [inputs[-1].copy()]
        else:
            results = TASKS[self.task](*inputs, *self.options, free=free)
        for cell, result, kind in zip(output_storage, results, self.kinds, strict=True):
            cell[0] = np.asarray(result, dtype=getattr(kind, "dtype", None))


@cache
def _routine(name: str, dtype: Any) -> Callable[..., Any]:
    routine: Callable[..., Any] = linalg.get_lapack_funcs(name, dtype=dtype)
    return routine


def _of(name: str, *arrays: Any) -> Callable[..., Any]:
    return _routine(name, np.result_type(*arrays))


def _lying(a: Any) -> tuple[Any, bool]:
    """Return a matrix or its transpose, whichever Fortran reads where it lies, and whether it is the transpose."""
    turned = a.flags.c_contiguous and not a.flags.f_contiguous
    return (a.T, True) if turned else (a, False)


def _solution(x: Any, info: int) -> list[Any]:
    """Return the solution, or NaN where LAPACK found none."""
    return [x if info == 0 else np.full_like(x, np.nan)]


def _solve(a: Any, b: Any, free: Sequence[bool]) -> list[Any]:
    matrix, turned = _lying(a)
    factors, pivots, info = _of("getrf", a, b)(matrix, overwrite_a=free[0])
    x, _ = _of("getrs", a, b)(factors, pivots, b, trans=int(turned), overwrite_b=free[1])
    return _solution(x, info)


def _solve_symmetric(a: Any, b: Any, lower: bool, free: Sequence[bool]) -> list[Any]:
    matrix, turned = _lying(a)
    solver = _of("sysv", a, b)
    _, _, x, info = solver(matrix, b, lower=lower != turned, overwrite_a=free[0], overwrite_b=free[1])
    return _solution(x.reshape(b.shape), info)


def _solve_definite(a: Any, b: Any, lower: bool, free: Sequence[bool]) -> list[Any]:
    matrix, turned = _lying(a)
    solver = _of("posv", a, b)
    _, x, info = solver(matrix, b, lower=lower != turned, overwrite_a=free[0], overwrite_b=free[1])
    return _solution(x.reshape(b.shape), info)


def _solve_tridiagonal(a: Any, b: Any, free: Sequence[bool]) -> list[Any]:
    below, middle, above = (np.diagonal(a, offset) for offset in (-1, 0, 1))
    *_, x, info = _of("gtsv", a, b)(below, middle, above, b, overwrite_b=free[1])
    return _solution(x, info)


def _solve_triangular(a: Any, b: Any, lower: bool, unit: bool, free: Sequence[bool]) -> list[Any]:
    matrix, turned = _lying(a)
    solver = _of("trtrs", a, b)
    x, info = solver(matrix, b, lower=lower != turned, trans=int(turned), unitdiag=unit, overwrite_b=free[1])
    return _solution(x, info)


def _solve_by_cholesky(factor: Any, b: Any, lower: bool, free: Sequence[bool]) -> list[Any]:
    # The transpose of a complex factor is not its adjoint.
    matrix, turned = (factor, False) if np.iscomplexobj(factor) else _lying(factor)
    x, info = _of("potrs", factor, b)(matrix, b, lower=lower != turned, overwrite_b=free[1])
    return _solution(x, info)


def _cholesky(a: Any, lower: bool, free: Sequence[bool]) -> list[Any]:
    matrix, turned = (a, False) if np.iscomplexobj(a) else _lying(a)
    factor, info = _of("potrf", a)(matrix, lower=lower != turned, clean=True, overwrite_a=free[0])
    return _solution(factor.T if turned else factor, info)


def _packed(a: Any, free: Sequence[bool]) -> list[Any]:
    if not a.size:
        return [a.copy(), np.zeros(0, "int32")]
    factors, pivots, _ = _of("getrf", a)(a, overwrite_a=free[0])
    return [factors, pivots]


def _lower_upper(a: Any, permuted: bool, as_indices: bool, free: Sequence[bool]) -> list[Any]:
    factors, pivots = _packed(a, free)
    order = np.arange(len(a))
    for row, other in enumerate(pivots):
        order[[row, other]] = order[[other, row]]
    places = np.argsort(order)
    lower, upper = np.tril(factors, -1), np.triu(factors)
    lower[np.diag_indices(len(a))] = 1
    if permuted:
        return [lower[places], upper]
    return [places if as_indices else np.eye(len(a))[places], lower, upper]


def _schur(a: Any, output: str, sort: str | None, free: Sequence[bool]) -> list[Any]:
    return list(linalg.schur(a, output=output, overwrite_a=free[0], sort=sort, check_finite=False)[:2])


def _orthogonal(a: Any, mode: str, pivoting: bool, free: Sequence[bool]) -> list[Any]:
    parts = linalg.qr(a, overwrite_a=free[0], mode=mode, pivoting=pivoting, check_finite=False)
    listed = list(parts) if isinstance(parts, tuple) else [parts]
    return [*listed[0], *listed[1:]] if mode == "raw" else listed


def _tridiagonal_factors(below: Any, middle: Any, above: Any, free: Sequence[bool]) -> list[Any]:
    names = ("overwrite_dl", "overwrite_d", "overwrite_du")
    *parts, _ = _of("gttrf", below, middle, above)(below, middle, above, **dict(zip(names, free, strict=True)))
    return list(parts)


def _solve_by_tridiagonal(*operands: Any, free: Sequence[bool]) -> list[Any]:
    *diagonals, pivots, b, trans = operands
    x, _ = _of("gttrs", *diagonals, b)(*diagonals, pivots, b, trans=trans, overwrite_b=free[5])
    return [x]


TASKS: Mapping[str, Task] = {
    "solve": _solve,
    "solve_symmetric": _solve_symmetric,
    "solve_definite": _solve_definite,
    "solve_tridiagonal": _solve_tridiagonal,
    "solve_triangular": _solve_triangular,
    "solve_by_cholesky": _solve_by_cholesky,
    "cholesky": _cholesky,
    "lu_factor": _packed,
    "lu": _lower_upper,
    "schur": _schur,
    "qr": _orthogonal,
    "tridiagonal_factors": _tridiagonal_factors,
    "solve_by_tridiagonal": _solve_by_tridiagonal,
}
