"""The base of ops on sparse matrices, and their operands: variables from names, values and other variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse

from theano_graph import Apply, Op, Variable, batch_rule, config, describe, format_error
from theano_linker_c import SharedVariable, register_shared_constructor
from theano_linker_c.scalar import upcast
from theano_tensor import TensorType, as_tensor_variable

from ._type import SparseConstant, SparseType, SparseVariable, _Operators

# ---- The base of ops


class SparseOp(Op):
    """Base of the ops on sparse matrices: `compute` takes the values and returns those of the outputs.

    The cotangent of a sparse variable is sparse, in the format of the variable, or dense; pullbacks take both.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ()
    #: Which input has the shape of the only output, where one has.
    like: ClassVar[int | None] = None

    def lengths(self, node: Apply[Self]) -> Any:
        """Return the shape of a sparse output as a vector, worked out from the inputs; None where that cannot be."""
        return None

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Return the value of the only output, or a tuple of those of all."""
        raise TypeError(f"{type(self).__name__} is only a base")

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute all outputs in the types of the node."""
        item = self.compute(node, *inputs)
        values = item if len(node.outputs) > 1 else (item,)
        for storage, variable, value in zip(output_storage, node.outputs, values, strict=True):
            storage[0] = fitted(variable.type, value)

    def __str__(self) -> str:
        return type(self).__name__


def fitted(kind: Any, value: Any) -> Any:
    """Return `value` in the format and dtype of a sparse or tensor type."""
    if isinstance(kind, SparseType):
        return kind.filter(value, allow_downcast=True)
    return np.asarray(value, dtype=kind.dtype)


def common_dtype(*variables: Any) -> str:
    """Return the dtype that holds the elements of all `variables`."""
    return str(upcast(*(variable.type.dtype for variable in variables)))


def dense(dtype: str, ndim: int) -> Any:
    """Return a new tensor variable with `ndim` dimensions that do not broadcast."""
    return TensorType(dtype, (None,) * ndim).make_variable()


def refuse_rank(op: Op, variable: Any, ndim: int, expected: str) -> None:
    """Raise TypeError where a tensor variable has not `ndim` dimensions."""
    if variable.type.ndim != ndim:
        raise TypeError(format_error(f"{op}: {expected}", context=[describe(variable)], hint=f"pass {ndim} dimensions"))


batch_rule.declare_absent(SparseOp, "sparse matrices have no dimension for a batch")


# ---- Variables


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
    result: SparseVariable = SparseType(format, dtype or str(config.floatX))(name)
    return result


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
    result: SparseConstant = as_sparse_variable(x, name)
    return result
