"""Sparse variables from names, values and other variables."""

from __future__ import annotations

from typing import Any

import scipy.sparse

from theano_graph import Apply, Variable, config, describe, format_error
from theano_linker_c import SharedVariable, register_shared_constructor
from theano_tensor import as_tensor_variable

from ._type import SparseConstant, SparseType, SparseVariable, _Operators


class SparseSharedVariable(_Operators, SharedVariable):
    """A shared variable that holds a sparse matrix; made by ``shared``."""

    type: SparseType

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


@register_shared_constructor
def sparse_constructor(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    format: str | None = None,
    target: str = "cpu",
) -> SparseSharedVariable:
    """Share a sparse matrix.

    Parameters
    ----------
    value : scipy.sparse matrix
        In csc or csr format, or in any other if `format` is given.
    name, strict, allow_downcast
        As for arrays.
    borrow : bool
        Whether the matrix itself is stored, not a copy.
    format : {"csc", "csr"}, optional
        How it is stored; as `value` is by default.

    Raises
    ------
    TypeError
        If `value` is no sparse matrix, so that other constructors are tried.
    """
    if target != "cpu":
        raise TypeError(format_error(f"target {target!r} is not 'cpu'"))
    if not scipy.sparse.issparse(value):
        raise TypeError(format_error(f"{type(value).__name__} is no sparse matrix"))
    kind = SparseType(format or value.format, value.dtype.name)
    stored = kind.filter(value)
    if stored is value and not borrow:
        stored = value.copy()
    return SparseSharedVariable(kind, stored, name, strict, allow_downcast)


def matrix(format: str, name: str | None = None, dtype: str | None = None) -> SparseVariable:
    """Return a new sparse variable.

    Parameters
    ----------
    format : {"csc", "csr"}
    name : str, optional
    dtype : str, optional
        `floatX` by default.
    """
    made: SparseVariable = SparseType(format, dtype or str(config.floatX))(name)
    return made


def csc_matrix(name: str | None = None, dtype: str | None = None) -> SparseVariable:
    """Return a new variable for a matrix compressed by columns; `dtype` is `floatX` by default."""
    return matrix("csc", name, dtype)


def csr_matrix(name: str | None = None, dtype: str | None = None) -> SparseVariable:
    """Return a new variable for a matrix compressed by rows; `dtype` is `floatX` by default."""
    return matrix("csr", name, dtype)


def is_sparse(x: object) -> bool:
    """Tell whether `x` is a sparse variable or a sparse matrix of SciPy."""
    return isinstance(x.type, SparseType) if isinstance(x, Variable) else bool(scipy.sparse.issparse(x))


def as_sparse_variable(x: Any, name: str | None = None) -> Any:
    """Return `x` as a sparse variable.

    Parameters
    ----------
    x : sparse variable, Apply with one such output, or scipy.sparse matrix in csc or csr format
    name : str, optional
        Of the constant that is made of a matrix.

    Returns
    -------
    SparseVariable
        Of the format and dtype of `x`.

    Raises
    ------
    TypeError
        If `x` is not sparse.

    Examples
    --------
    >>> from theano import sparse
    >>> import scipy.sparse
    >>> sparse.as_sparse_variable(scipy.sparse.csr_matrix([[0, 1.0]])).type
    SparseType('csr', 'float64')
    """
    if isinstance(x, Apply):
        x = x.default_output()
    if isinstance(x, Variable):
        if isinstance(x.type, SparseType):
            return x
        raise TypeError(
            format_error(
                "a sparse variable is wanted here",
                context=[describe(x)],
                hint="use csr_from_dense(x) or csc_from_dense(x)",
            )
        )
    if not scipy.sparse.issparse(x):
        raise TypeError(
            format_error(
                f"a sparse matrix is wanted here, not {type(x).__name__}", hint="pass a csc or csr matrix of SciPy"
            )
        )
    kind = SparseType(x.format, x.dtype.name)
    return SparseConstant(kind, kind.filter(x.copy()), name)


#: The same under its shorter documented name.
as_sparse = as_sparse_variable


def as_sparse_or_tensor_variable(x: Any, name: str | None = None) -> Any:
    """Return `x` as a sparse variable, or as a tensor variable where it is not sparse."""
    return as_sparse_variable(x, name) if is_sparse(x) else as_tensor_variable(x, name)


def constant(x: Any, name: str | None = None) -> SparseConstant:
    """Return a sparse matrix as a constant."""
    made: SparseConstant = as_sparse_variable(x, name)
    return made
