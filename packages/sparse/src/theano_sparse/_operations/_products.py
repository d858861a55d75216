"""Matrix products of which at least one operand is sparse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse

import theano_tensor as T
from theano_graph import Apply, Variable, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import CompressedKernel, Kernel, native_kernel
from theano_tensor import as_tensor_variable
from theano_tensor.rewrites.length_checks import COMPARED, Term, is_plain, term_of

from .._compressed import NATIVE_DTYPES
from .._core._conversion import SparseFromDense, dense_from_sparse, to_format, without_duplicates
from .._core._op import (
    SparseOp,
    as_sparse_or_tensor_variable,
    as_sparse_variable,
    common_dtype,
    dense,
    is_sparse,
    refuse_rank,
)
from .._core._structure import csm_data, csm_shape, stored_positions, with_data
from .._core._type import Operand, SparseType, _Operators
from ._structured import conjugate


def _adjoint(x: Any) -> Any:
    """Return the conjugate transpose of a sparse or dense matrix."""
    transposed = x.T
    if not transposed.type.dtype.startswith("complex"):
        return transposed
    return conjugate(transposed) if is_sparse(transposed) else transposed.conj()


def _lengths(x: Any) -> Any:
    return csm_shape(x) if is_sparse(x) else x.shape


def _check_inner(op: SparseOp, x: Any, y: Any) -> None:
    if x.shape[1] != y.shape[0]:
        raise ValueError(
            format_error(
                f"{op}: shapes {x.shape} and {y.shape} do not fit: {x.shape[1]} columns meet {y.shape[0]} rows",
                hint="transpose one of the two",
            )
        )


def _as_array(value: Any) -> Any:
    return value.toarray() if scipy.sparse.issparse(value) else np.asarray(value)


class _Product(SparseOp):
    """Base of the products of two matrices."""

    def lengths(self, node: Apply) -> Any:
        """Return the rows of the first operand and the columns of the second."""
        return T.stack([_lengths(node.inputs[0])[0], _lengths(node.inputs[1])[1]])

    def operands(self, x: Operand, y: Operand) -> tuple[Any, Any]:
        """Return both as variables; TypeError where one is no matrix, or none is sparse."""
        first, second = as_sparse_or_tensor_variable(x), as_sparse_or_tensor_variable(y)
        if not is_sparse(first) and not is_sparse(second):
            raise TypeError(
                format_error(
                    f"{self}: one of the two must be sparse",
                    context=[describe(first), describe(second)],
                    hint="use theano.tensor.dot for dense matrices",
                )
            )
        for variable in (first, second):
            if not is_sparse(variable):
                refuse_rank(self, variable, 2, "both operands are matrices")
        return first, second


class Dot(_Product):
    """The dense product of two matrices, at least one sparse. Regular gradient, which is dense."""

    def make_node(self, x: Operand, y: Operand) -> Apply[Self]:
        """Apply to two matrices."""
        first, second = self.operands(x, y)
        rows = None if is_sparse(first) else first.type.shape[0]
        columns = None if is_sparse(second) else second.type.shape[1]
        return Apply(self, [first, second], [T.TensorType(common_dtype(first, second), (rows, columns))()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Multiply."""
        _check_inner(self, *values)
        return _as_array(values[0] @ values[1])


@pullback.register(Dot)
def _pullback_dot(node: Apply[Dot], cotangents: list[Variable]) -> list[Variable | None]:
    (x, y), (g,) = node.inputs, cotangents
    return [_any_dot(g, _adjoint(y)), _any_dot(_adjoint(x), g)]


def _any_dot(x: Any, y: Any) -> Any:
    return dot(x, y) if is_sparse(x) or is_sparse(y) else T.dot(x, y)


@pushforward.register(Dot)
def _pushforward_dot(node: Apply[Dot], tangents: list[Variable | None]) -> list[Variable | None]:
    (x, y), (for_x, for_y) = node.inputs, tangents
    terms = [_any_dot(for_x, y)] if for_x is not None else []
    terms += [_any_dot(x, for_y)] if for_y is not None else []
    return [sum(terms[1:], terms[0]) if terms else None]


class StructuredDot(_Product):
    """The product of a sparse matrix and a sparse or dense one; see :func:`structured_dot`. Structured gradient."""

    def make_node(self, x: Operand, y: Operand) -> Apply[Self]:
        """Apply to a sparse matrix and any matrix."""
        first, second = self.operands(x, y)
        if not is_sparse(first):
            raise TypeError(
                format_error(
                    f"{self}: the first operand must be sparse",
                    context=[describe(first)],
                    hint="use structured_dot(y.T, x.T).T",
                )
            )
        dtype = common_dtype(first, second)
        if is_sparse(second):
            return Apply(self, [first, second], [SparseType(first.type.format, dtype).make_variable()])
        return Apply(self, [first, second], [T.TensorType(dtype, (None, second.type.shape[1])).make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Multiply."""
        _check_inner(self, *values)
        return values[0] @ values[1]


@pullback.register(StructuredDot)
def _pullback_structured(node: Apply[StructuredDot], cotangents: list[Variable]) -> list[Variable | None]:
    (x, y), g = node.inputs, as_sparse_or_tensor_variable(cotangents[0])
    matrix, other = without_duplicates(x), _adjoint(y)
    for_x = with_data(matrix, sampled(g, other, *stored_positions(matrix)))
    transposed = _adjoint(as_sparse_variable(x))
    if not is_sparse(y):
        return [for_x, structured_dot(transposed, g if not is_sparse(g) else g.toarray())]
    for_y = structured_dot(transposed, g if is_sparse(g) else SparseFromDense(transposed.format)(g))
    return [for_x, to_format(for_y, as_sparse_variable(y).type.format)]


def sampled(x: Operand, y: Operand, rows: Any, columns: Any) -> Any:
    """Return the elements of the product of two matrices at given positions, a vector; the product is not formed."""
    return SampledProduct()(_dense_of(x), _dense_of(y), rows, columns)


def _dense_of(x: Any) -> Any:
    return dense_from_sparse(x) if is_sparse(x) else x


class SampledProduct(SparseOp):
    """The elements of the product of two dense matrices at given rows and columns."""

    def make_node(self, x: Operand, y: Operand, rows: Operand, columns: Operand) -> Apply[Self]:
        """Apply to two matrices and two vectors of integers of one length."""
        inputs = [as_tensor_variable(part) for part in (x, y, rows, columns)]
        return Apply(self, inputs, [dense(common_dtype(*inputs[:2]), 1)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Multiply rows of one with columns of the other, some at a time."""
        x, y, rows, columns = values
        _check_inner(self, x, y)
        kind: Any = node.outputs[0].type
        result = np.empty(len(rows), kind.dtype)
        step = max(1, _CHUNK // max(1, x.shape[1]))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            result[part] = np.einsum("ij,ij->i", x[rows[part]], y.T[columns[part]])
        return result


@native_kernel.register(SampledProduct)
def _native_sampled(node: Apply[SampledProduct]) -> Kernel | None:
    kinds: list[Any] = [variable.type for variable in node.inputs]
    element, other, row, column = (kind.dtype for kind in kinds)
    if element != other or element not in NATIVE_DTYPES or {row, column} - {"int32", "int64"}:
        return None
    return CompressedKernel("sampled", element)


#: How many numbers of each operand are gathered at once.
_CHUNK = 1 << 18


@pullback.register(SampledProduct)
def _pullback_sampled(node: Apply[SampledProduct], cotangents: list[Variable]) -> list[Variable | None]:
    (x, y, rows, columns), g = node.inputs, as_tensor_variable(cotangents[0])
    first, second = as_tensor_variable(x), as_tensor_variable(y)
    other_rows, other_columns = second.T.conj()[columns], first.conj()[rows]
    spread = g.dimshuffle(0, "x")
    for_x = T.inc_subtensor(T.zeros_like(first, dtype=g.dtype)[rows], spread * other_rows)
    for_y = T.inc_subtensor(T.zeros_like(second.T, dtype=g.dtype)[columns], spread * other_columns).T
    return [for_x, for_y, None, None]


@pushforward.register(SampledProduct)
def _pushforward_sampled(node: Apply[SampledProduct], tangents: list[Variable | None]) -> list[Variable | None]:
    x, y, rows, columns = node.inputs
    terms = [node.op(tangents[0], y, rows, columns)] if tangents[0] is not None else []
    terms += [node.op(x, tangents[1], rows, columns)] if tangents[1] is not None else []
    return [sum(terms[1:], terms[0]) if terms else None]


@shape_rule.register(SampledProduct)
def _shape_sampled(node: Apply[SampledProduct], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[2]]


@pushforward.register(StructuredDot)
def _pushforward_structured(node: Apply[StructuredDot], tangents: list[Variable | None]) -> list[Variable | None]:
    (x, y), (for_x, for_y) = node.inputs, tangents
    terms: list[Any] = [structured_dot(for_x, y)] if for_x is not None else []
    terms += [structured_dot(x, for_y)] if for_y is not None else []
    return [sum(terms[1:], terms[0]) if terms else None]


class TrueDot(_Product):
    """The sparse product of a sparse matrix and a sparse or dense one; see :func:`true_dot`. Regular gradient.

    Parameters
    ----------
    grad_preserves_dense : bool
        Whether the gradient by a dense operand is dense.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("grad_preserves_dense",)

    def __init__(self, grad_preserves_dense: bool = True) -> None:
        self.grad_preserves_dense = bool(grad_preserves_dense)

    def make_node(self, x: Operand, y: Operand) -> Apply[Self]:
        """Apply to two matrices."""
        first, second = self.operands(x, y)
        format = (first if is_sparse(first) else second).type.format
        return Apply(self, [first, second], [SparseType(format, common_dtype(first, second)).make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Multiply; zeros of the product are not stored."""
        _check_inner(self, *values)
        kind: Any = node.outputs[0].type
        result = values[0] @ values[1]
        return result if scipy.sparse.issparse(result) else scipy.sparse.coo_matrix(result).asformat(kind.format)


@pullback.register(TrueDot)
def _pullback_true(node: Apply[TrueDot], cotangents: list[Variable]) -> list[Variable | None]:
    (x, y), g = node.inputs, as_sparse_or_tensor_variable(cotangents[0])
    result = []
    for variable, left, right in ((x, g, _adjoint(y)), (y, _adjoint(x), g)):
        if not is_sparse(left) and not is_sparse(right):
            result.append(T.dot(left, right))
            continue
        gradient = node.op(left, right)
        if is_sparse(variable):
            gradient = to_format(gradient, as_sparse_variable(variable).type.format)
        elif node.op.grad_preserves_dense:
            gradient = dense_from_sparse(gradient)
        result.append(gradient)
    return list(result)


@pushforward.register(TrueDot)
def _pushforward_true(node: Apply[TrueDot], tangents: list[Variable | None]) -> list[Variable | None]:
    (x, y), (for_x, for_y) = node.inputs, tangents
    terms: list[Any] = [node.op(for_x, y)] if for_x is not None else []
    terms += [node.op(x, for_y)] if for_y is not None else []
    return [sum(terms[1:], terms[0]) if terms else None]


class Usmm(_Product):
    """``alpha * dot(x, y) + z``, dense; x or y is sparse. Put in by a rewrite. No gradient of its own."""

    def make_node(self, alpha: Operand, x: Operand, y: Operand, z: Operand) -> Apply[Self]:
        """Apply to a number, two matrices and a dense matrix."""
        first, second = self.operands(x, y)
        factor, addend = as_tensor_variable(alpha), as_tensor_variable(z)
        inputs = [factor, first, second, addend]
        refuse_rank(self, addend, 2, "`z` is a matrix")
        if any(n != 1 for n in factor.type.shape):
            raise TypeError(format_error("Usmm: `alpha` is a number", context=[describe(factor)], hint="pass a scalar"))
        return Apply(self, inputs, [T.TensorType(common_dtype(*inputs), shape=addend.type.shape)()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Multiply and add."""
        alpha, x, y, z = values
        _check_inner(self, x, y)
        if z.shape != (x.shape[0], y.shape[1]):
            raise ValueError(
                format_error(
                    f"Usmm: a product of shape {(x.shape[0], y.shape[1])} is added to {z.shape}", hint="hint z"
                )
            )
        return _as_array(x @ y) * alpha + z


def _shape_of_product(node: Apply, x: Any, y: Any) -> list[Any]:
    return [(_lengths(x)[0], _lengths(y)[1])]


@shape_rule.register(Dot)
def _shape_dot(node: Apply[Dot], input_shapes: list[Any]) -> list[Any]:
    return _shape_of_product(node, *node.inputs)


@shape_rule.register(StructuredDot)
def _shape_structured(node: Apply[StructuredDot], input_shapes: list[Any]) -> list[Any]:
    return [None] if is_sparse(node.outputs[0]) else _shape_of_product(node, *node.inputs)


@shape_rule.register(Usmm)
def _shape_usmm(node: Apply[Usmm], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[3]]


@COMPARED.register(Usmm)
def _compared_by_usmm(node: Apply[Usmm]) -> list[list[Term]]:
    _, x, y, z = node.inputs
    return [[term_of(v, axis), term_of(z, axis)] for axis, v in enumerate((x, y)) if is_plain(v)]


usmm = Usmm()
_DOT, _STRUCTURED = Dot(), StructuredDot()


def dot(x: Operand, y: Operand) -> Any:
    """Return the dense product of two matrices, at least one of them sparse. Regular gradient.

    Parameters
    ----------
    x, y : sparse or dense matrix
        One may be a vector.

    Returns
    -------
    Tensor
        Of the shape (rows of x, columns of y).

    Raises
    ------
    TypeError
        If neither is sparse, or a dense one is no matrix.

    Notes
    -----
    The gradient by a sparse operand is dense: every element has one. See :func:`structured_dot`.
    """
    return _of_vectors_too(_DOT, as_sparse_or_tensor_variable(x), as_sparse_or_tensor_variable(y))


def _of_vectors_too(product: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Return a product of matrices, where one of the two may be a vector: a column on the right, a row on the left."""
    if is_sparse(x) and y.type.ndim == 1:
        return product(x, y.dimshuffle(0, "x"))[:, 0]
    if is_sparse(y) and x.type.ndim == 1:
        return product(x.dimshuffle("x", 0), y)[0]
    return product(x, y)


def structured_dot(x: Operand, y: Operand) -> Any:
    """Return the product of a sparse matrix with a matrix; only stored elements of x have a gradient.

    Parameters
    ----------
    x, y : sparse or dense matrix
        One may be a vector.

    Returns
    -------
    SparseVariable or Tensor
        Sparse if both are, else dense. The gradient by a sparse operand is sparse, by a dense one dense.

    Raises
    ------
    TypeError
        If neither is sparse, or one is no matrix.

    Notes
    -----
    Where only `y` is sparse, this is the transpose of the product of the transposes.
    """
    return _of_vectors_too(_structured, as_sparse_or_tensor_variable(x), as_sparse_or_tensor_variable(y))


def _structured(x: Any, y: Any) -> Any:
    return _STRUCTURED(x, y) if is_sparse(x) or not is_sparse(y) else _STRUCTURED(y.T, x.T).T


def true_dot(x: Operand, y: Operand, grad_preserves_dense: bool = True) -> Any:
    """Return the product of a sparse matrix with a matrix, sparse. Regular gradient.

    Parameters
    ----------
    x, y : sparse or dense matrix
        At least one is sparse.
    grad_preserves_dense : bool
        Whether the gradient by a dense operand is dense (the default), or sparse.

    Returns
    -------
    SparseVariable
    """
    result: Any = TrueDot(grad_preserves_dense)(x, y)
    return result


def sampling_dot(x: Operand, y: Operand, p: Operand) -> Any:
    """Return ``p * dot(x, y.T)``, computed only where `p` stores something. Structured gradient for `p`.

    Parameters
    ----------
    x : dense matrix (m, k)
    y : dense matrix (n, k)
    p : sparse matrix (m, n)

    Returns
    -------
    SparseVariable
        In the format of `p`.
    """
    pattern = without_duplicates(p)
    first, second = as_tensor_variable(x), as_tensor_variable(y)
    for variable in (first, second):
        refuse_rank(SampledProduct(), variable, 2, "both operands are dense matrices")
    return with_data(pattern, csm_data(pattern) * sampled(first, second.T, *stored_positions(pattern)))


_Operators.table |= {"dot": dot, "structured_dot": structured_dot}
