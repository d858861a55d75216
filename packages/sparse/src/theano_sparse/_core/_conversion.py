"""From sparse to dense and back, casts, the order of stored elements, and sums of duplicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Variable, pullback, pushforward, shape_rule
from theano_tensor import as_tensor_variable

from ._op import SparseOp, as_sparse_variable, dense, is_sparse, refuse_rank
from ._structure import CSM, CSMProperties, csm_shape, elements_where_stored, with_data
from ._type import CLASSES, Operand, SparseType, _Operators

# ---- Elements stored several times at one position: the matrix has their sum there


class SumDuplicates(SparseOp):
    """The matrix with one stored element for each position; the matrix itself where it has one. Regular gradient."""

    like: ClassVar[int | None] = 0
    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, x: Operand) -> Apply[Self]:
        """Apply to a sparse matrix."""
        matrix = as_sparse_variable(x)
        return Apply(self, [matrix], [matrix.type.make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Add up elements stored at one position."""
        (x,) = values
        return summed(x)


def summed(x: Any) -> Any:
    """Return a matrix of SciPy with one stored element for each position, `x` itself where it is one."""
    if x.has_canonical_format:
        return x
    result = x.copy()
    result.sum_duplicates()
    # The order of stored elements is kept where nothing adds up.
    return x if result.nnz == x.nnz else result


@pullback.register(SumDuplicates)
def _pullback_sum(node: Apply[SumDuplicates], cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0]]


@pushforward.register(SumDuplicates)
def _pushforward_sum(node: Apply[SumDuplicates], tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]


def without_duplicates(x: Operand) -> Any:
    """Return a sparse matrix with one stored element for each position.

    Elementwise functions that are not linear need that; and so do gradients.
    """
    matrix = as_sparse_variable(x)
    return matrix if stores_once(matrix) else SumDuplicates()(matrix)


def stores_once(x: Any) -> bool:
    """Tell whether a variable is known to have no duplicates: its positions are those of such a matrix."""
    node = x.owner
    if node is None:
        return getattr(x, "data", None) is not None and bool(x.data.has_canonical_format)
    if isinstance(node.op, CSM) and node.op.kmap is None:
        indices, indptr = (v.owner for v in node.inputs[1:3])
        if indices is None or indices is not indptr or not isinstance(indices.op, CSMProperties):
            return False
        node = indices.inputs[0].owner
        return node is not None and isinstance(node.op, SumDuplicates)
    return isinstance(node.op, SumDuplicates)


def slopes_where_stored(g: Any, x: Any) -> Any:
    """Return the matrix of the elements of `g`, sparse or dense, wherever `x` stores something."""
    matrix = without_duplicates(x)
    return with_data(matrix, elements_where_stored(g, matrix))


# ---- Conversions


class DenseFromSparse(SparseOp):
    """The dense matrix with the same elements.

    Parameters
    ----------
    structured : bool
        Whether the gradient is structured (the default): only stored elements have one.
    sparse_grad : bool, optional
        Another name of it.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("sparse_grad",)

    def __init__(self, structured: bool = True, sparse_grad: bool | None = None) -> None:
        self.sparse_grad = bool(structured if sparse_grad is None else sparse_grad)

    def make_node(self, x: Operand) -> Apply[Self]:
        """Apply to a sparse matrix."""
        matrix = as_sparse_variable(x)
        return Apply(self, [matrix], [dense(matrix.type.dtype, 2)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Return the matrix as an array."""
        return values[0].toarray()


class SparseFromDense(SparseOp):
    """The sparse matrix with the same elements, of which zeros are not stored. Regular gradient.

    Parameters
    ----------
    format : {"csc", "csr"}
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("format",)

    def __init__(self, format: str) -> None:
        self.format = format

    def make_node(self, x: Operand) -> Apply[Self]:
        """Apply to a dense matrix; vectors and numbers become matrices of one row, as in SciPy."""
        values = as_tensor_variable(x)
        if values.type.ndim < 2:
            values = values.dimshuffle(["x"] * (2 - values.type.ndim) + list(range(values.type.ndim)))
        refuse_rank(self, values, 2, "a sparse matrix has two dimensions")
        return Apply(self, [values], [SparseType(self.format, values.type.dtype).make_variable()])

    def lengths(self, node: Apply[Self]) -> Any:
        """Return the shape of the dense matrix."""
        return as_tensor_variable(node.inputs[0]).shape

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Store the elements other than zero."""
        return CLASSES[self.format](values[0])

    def __str__(self) -> str:
        return f"SparseFromDense{{{self.format}}}"


dense_from_sparse = DenseFromSparse()
csr_from_dense = SparseFromDense("csr")
csc_from_dense = SparseFromDense("csc")


@pullback.register(DenseFromSparse)
def _pullback_dense(node: Apply[DenseFromSparse], cotangents: list[Variable]) -> list[Variable | None]:
    (x,), (g,) = node.inputs, cotangents
    if node.op.sparse_grad:
        return [slopes_where_stored(g, x)]
    return [SparseFromDense(as_sparse_variable(x).type.format)(g)]


@pushforward.register(DenseFromSparse)
def _pushforward_dense(node: Apply[DenseFromSparse], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0])]


@shape_rule.register(DenseFromSparse)
def _shape_dense(node: Apply[DenseFromSparse], input_shapes: list[Any]) -> list[Any]:
    rows_columns = csm_shape(node.inputs[0])
    return [(rows_columns[0], rows_columns[1])]


@pullback.register(SparseFromDense)
def _pullback_sparse(node: Apply[SparseFromDense], cotangents: list[Variable]) -> list[Variable | None]:
    g = cotangents[0]
    return [dense_from_sparse(g) if is_sparse(g) else g]


@pushforward.register(SparseFromDense)
def _pushforward_sparse(node: Apply[SparseFromDense], tangents: list[Variable | None]) -> list[Variable | None]:
    if tangents[0] is None:
        return [None]
    result: Variable = with_data(node.outputs[0], elements_where_stored(tangents[0], node.outputs[0]))
    return [result]


class Cast(SparseOp):
    """The matrix with its elements converted to another dtype. Regular gradient.

    Parameters
    ----------
    out_type : str
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("out_type",)
    like: ClassVar[int | None] = 0

    def __init__(self, out_type: str) -> None:
        SparseType("csr", out_type)  # refuses dtypes that sparse matrices do not have
        self.out_type = str(out_type)

    def make_node(self, x: Operand) -> Apply[Self]:
        """Apply to a sparse matrix."""
        matrix = as_sparse_variable(x)
        return Apply(self, [matrix], [SparseType(matrix.type.format, self.out_type).make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Convert the elements."""
        return values[0].astype(self.out_type)

    def __str__(self) -> str:
        return f"Cast{{{self.out_type}}}"


@pullback.register(Cast)
def _pullback_cast(node: Apply[Cast], cotangents: list[Variable]) -> list[Variable | None]:
    x: Any = node.inputs[0]
    discrete = not x.type.dtype.startswith(("float", "complex"))
    return [None if discrete else as_precision(cotangents[0], x.type.dtype)]


@pushforward.register(Cast)
def _pushforward_cast(node: Apply[Cast], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else as_precision(tangents[0], node.op.out_type)]


def as_precision(g: Any, dtype: str) -> Any:
    """Return a gradient, sparse or dense, in a dtype."""
    if g.type.dtype == dtype:
        return g
    return Cast(dtype)(g) if is_sparse(g) else as_tensor_variable(g).astype(dtype)


def cast(variable: Operand, dtype: str) -> Any:
    """Return a sparse matrix with its elements converted to `dtype`. Regular gradient.

    Raises
    ------
    TypeError
        If `dtype` is none that sparse matrices have.
    """
    matrix = as_sparse_variable(variable)
    if matrix.type.dtype == dtype:
        return matrix
    # Roundings to integers do not add up.
    return Cast(dtype)(without_duplicates(matrix) if np.dtype(dtype).kind in "iub" else matrix)


def bcast(x: Operand) -> Any:
    """Return the matrix with elements of int8."""
    return cast(x, "int8")


def wcast(x: Operand) -> Any:
    """Return the matrix with elements of int16."""
    return cast(x, "int16")


def icast(x: Operand) -> Any:
    """Return the matrix with elements of int32."""
    return cast(x, "int32")


def lcast(x: Operand) -> Any:
    """Return the matrix with elements of int64."""
    return cast(x, "int64")


def fcast(x: Operand) -> Any:
    """Return the matrix with elements of float32."""
    return cast(x, "float32")


def dcast(x: Operand) -> Any:
    """Return the matrix with elements of float64."""
    return cast(x, "float64")


def ccast(x: Operand) -> Any:
    """Return the matrix with elements of complex64."""
    return cast(x, "complex64")


def zcast(x: Operand) -> Any:
    """Return the matrix with elements of complex128."""
    return cast(x, "complex128")


class ToFormat(SparseOp):
    """The same matrix in another format. Regular gradient.

    Parameters
    ----------
    format : {"csc", "csr"}
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("format",)
    like: ClassVar[int | None] = 0

    def __init__(self, format: str) -> None:
        self.format = format

    def make_node(self, x: Operand) -> Apply[Self]:
        """Apply to a sparse matrix."""
        matrix = as_sparse_variable(x)
        return Apply(self, [matrix], [SparseType(self.format, matrix.type.dtype).make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Store the matrix in the other way."""
        return values[0].asformat(self.format, copy=True)


def to_format(x: Operand, format: str) -> Any:
    """Return a sparse matrix in a format. Regular gradient."""
    matrix = as_sparse_variable(x)
    return matrix if matrix.type.format == format else ToFormat(format)(matrix)


@pullback.register(ToFormat)
def _pullback_format(node: Apply[ToFormat], cotangents: list[Variable]) -> list[Variable | None]:
    g = cotangents[0]
    return [to_format(g, as_sparse_variable(node.inputs[0]).type.format) if is_sparse(g) else g]


@pushforward.register(ToFormat)
def _pushforward_format(node: Apply[ToFormat], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else to_format(tangents[0], node.op.format)]


class _SameElements(SparseOp):
    """Base of the ops that change the storage of a matrix, not its value. Regular gradient."""

    like: ClassVar[int | None] = 0

    def make_node(self, x: Operand) -> Apply[Self]:
        """Apply to a sparse matrix."""
        matrix = as_sparse_variable(x)
        return Apply(self, [matrix], [matrix.type.make_variable()])


class EnsureSortedIndices(_SameElements):
    """The matrix with sorted indices.

    Parameters
    ----------
    inplace : bool
        Whether the matrix itself is sorted.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = bool(inplace)
        if self.inplace:
            self.destroy_map: Mapping[int, Sequence[int]] = {0: [0]}

    def compute(self, node: Apply, *values: Any) -> Any:
        """Sort the indices."""
        (x,) = values
        if self.inplace:
            x.sort_indices()
            return x
        return x.sorted_indices()

    def __str__(self) -> str:
        return "EnsureSortedIndices{inplace}" if self.inplace else "EnsureSortedIndices"


class Remove0(_SameElements):
    """The matrix without stored zeros.

    Parameters
    ----------
    inplace : bool
        Whether they are removed from the matrix itself.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = bool(inplace)
        if self.inplace:
            self.destroy_map: Mapping[int, Sequence[int]] = {0: [0]}

    def compute(self, node: Apply, *values: Any) -> Any:
        """Remove the zeros."""
        x = values[0] if self.inplace else values[0].copy()
        x.eliminate_zeros()
        return x


ensure_sorted_indices = EnsureSortedIndices()
remove0 = Remove0()


def clean(x: Operand) -> Any:
    """Return the matrix without stored zeros, with sorted indices. Regular gradient."""
    return ensure_sorted_indices(remove0(x))


@pullback.register(_SameElements)
def _pullback_same(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0]]


@pushforward.register(_SameElements)
def _pushforward_same(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]


_Operators.table |= {"toarray": dense_from_sparse, "cast": cast}
