"""Arithmetic and comparisons of two matrices, at least one of them sparse."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse

from theano_graph import Apply, Variable, describe, format_error, pullback, pushforward
from theano_tensor import as_tensor_variable

from .._core._conversion import SparseFromDense, dense_from_sparse, slopes_where_stored, to_format, without_duplicates
from .._core._op import SparseOp, as_sparse_or_tensor_variable, as_sparse_variable, common_dtype, dense, is_sparse
from .._core._structure import csm_data, stored_positions, with_data
from .._core._type import Operand, SparseType, _Operators
from ._structured import conjugate


class Neg(SparseOp):
    """The matrix with the opposite sign. Regular gradient."""

    like: ClassVar[int | None] = 0

    def make_node(self, x: Operand) -> Apply[Self]:
        """Apply to a sparse matrix."""
        matrix = as_sparse_variable(x)
        return Apply(self, [matrix], [matrix.type.make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Negate the elements."""
        return -values[0]


neg = Neg()


@pullback.register(Neg)
def _pullback_neg(node: Apply[Neg], cotangents: list[Variable]) -> list[Variable | None]:
    g: Any = cotangents[0]
    return [-g]


@pushforward.register(Neg)
def _pushforward_neg(node: Apply[Neg], tangents: list[Variable | None]) -> list[Variable | None]:
    tangent: Any = tangents[0]
    return [None if tangent is None else -tangent]


class _TwoSparse(SparseOp):
    """Base of the ops on two sparse matrices; the result has the format of the first."""

    like: ClassVar[int | None] = 0

    def make_node(self, x: Operand, y: Operand) -> Apply[Self]:
        """Apply to two sparse matrices; the result has the format of the first."""
        first, second = as_sparse_variable(x), as_sparse_variable(y)
        return Apply(
            self, [first, second], [SparseType(first.type.format, self.dtype_of(first, second)).make_variable()]
        )

    def dtype_of(self, x: Any, y: Any) -> str:
        """Return the dtype of the result."""
        return common_dtype(x, y)

    def check(self, x: Any, y: Any) -> None:
        """Raise ValueError where the shapes differ."""
        if x.shape != y.shape:
            raise ValueError(
                format_error(
                    f"{self}: the shapes {x.shape} and {y.shape} differ", hint="sparse matrices do not broadcast"
                )
            )


class AddSS(_TwoSparse):
    """The sum of two sparse matrices. Regular gradient."""

    def compute(self, node: Apply, *values: Any) -> Any:
        """Add."""
        self.check(*values)
        return values[0] + values[1]


class MulSS(_TwoSparse):
    """The product, element by element, of two sparse matrices. Regular gradient."""

    def compute(self, node: Apply, *values: Any) -> Any:
        """Multiply."""
        self.check(*values)
        return values[0].multiply(values[1])


class AddSD(SparseOp):
    """The sum of a sparse and a dense matrix, dense. Structured gradient for the sparse one."""

    def make_node(self, x: Operand, y: Operand) -> Apply[Self]:
        """Apply to a sparse and a dense matrix."""
        inputs = [as_sparse_variable(x), _matrix(self, y)]
        return Apply(self, inputs, [dense(common_dtype(*inputs), 2)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Add the stored elements to a copy of the dense matrix."""
        x, y = values
        _same_shape(self, x, y)
        result = np.array(y, dtype=node.outputs[0].type.dtype)
        if x.has_canonical_format:
            coordinates = x.tocoo(copy=False)
            result[coordinates.row, coordinates.col] += coordinates.data
            return result
        return result + x.toarray()


class MulSD(SparseOp):
    """The product, element by element, of a sparse and a dense matrix, sparse. Regular gradient."""

    like: ClassVar[int | None] = 0

    def make_node(self, x: Operand, y: Operand) -> Apply[Self]:
        """Apply to a sparse and a dense matrix."""
        inputs = [as_sparse_variable(x), _matrix(self, y)]
        return Apply(self, inputs, [SparseType(inputs[0].type.format, common_dtype(*inputs)).make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Multiply the stored elements."""
        x, y = values
        _same_shape(self, x, y)
        coordinates = x.tocoo(copy=False)
        elements = coordinates.data * y[coordinates.row, coordinates.col]
        return scipy.sparse.coo_matrix((elements, (coordinates.row, coordinates.col)), shape=x.shape)


def _matrix(op: SparseOp, y: Any) -> Any:
    result = as_tensor_variable(y)
    if result.type.ndim != 2:
        raise TypeError(
            format_error(f"{op}: the dense operand is a matrix", context=[describe(result)], hint="pass two dimensions")
        )
    return result


def _same_shape(op: SparseOp, x: Any, y: Any) -> None:
    if x.shape != y.shape:
        raise ValueError(
            format_error(f"{op}: the shapes {x.shape} and {y.shape} differ", hint="sparse matrices do not broadcast")
        )


add_s_s, add_s_d, mul_s_s, mul_s_d = AddSS(), AddSD(), MulSS(), MulSD()


@pullback.register(AddSS)
def _pullback_add(node: Apply[AddSS], cotangents: list[Variable]) -> list[Variable | None]:
    g: Any = cotangents[0]
    if not is_sparse(g):
        return [g, g]
    return [to_format(g, x.type.format) for x in node.inputs]


@pullback.register(AddSD)
def _pullback_add_dense(node: Apply[AddSD], cotangents: list[Variable]) -> list[Variable | None]:
    (x, _), (g,) = node.inputs, cotangents
    return [slopes_where_stored(g, x), g]


@pushforward.register(AddSS)
@pushforward.register(AddSD)
def _pushforward_add(node: Apply[AddSS | AddSD], tangents: list[Variable | None]) -> list[Variable | None]:
    there: list[Any] = [t for t in tangents if t is not None]
    if not there:
        return [None]
    result = there[0] if len(there) == 1 else add(*there)
    if is_sparse(result) and not is_sparse(node.outputs[0]):
        result = dense_from_sparse(result)
    return [to_format(result, node.outputs[0].type.format) if is_sparse(result) else result]


@pullback.register(MulSS)
@pullback.register(MulSD)
def _pullback_mul(node: Apply[MulSS | MulSD], cotangents: list[Variable]) -> list[Variable | None]:
    g = as_sparse_or_tensor_variable(cotangents[0])
    x, y = (_conjugate(v) for v in node.inputs)
    for_x, for_y = mul(g, y), mul(g, x)
    if not is_sparse(for_x):
        for_x = SparseFromDense(as_sparse_variable(node.inputs[0]).type.format)(for_x)
    if not is_sparse(y) and is_sparse(for_y):
        for_y = dense_from_sparse(for_y)
    if is_sparse(for_y):
        for_y = to_format(for_y, y.type.format)
    return [to_format(for_x, x.type.format), for_y]


@pushforward.register(MulSS)
@pushforward.register(MulSD)
def _pushforward_mul(node: Apply[MulSS | MulSD], tangents: list[Variable | None]) -> list[Variable | None]:
    (x, y), (for_x, for_y) = node.inputs, tangents
    terms = [mul(for_x, y)] if for_x is not None else []
    terms += [mul(x, for_y)] if for_y is not None else []
    return [None if not terms else terms[0] if len(terms) == 1 else add(*terms)]


def _conjugate(x: Any) -> Any:
    if not x.type.dtype.startswith("complex"):
        return x
    return conjugate(x) if is_sparse(x) else x.conj()


def _operands(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    first, second = as_sparse_or_tensor_variable(x), as_sparse_or_tensor_variable(y)
    if not is_sparse(first) and not is_sparse(second):
        raise TypeError(
            format_error(
                f"{name}: one of the two must be sparse",
                context=[describe(first), describe(second)],
                hint="use the function of the same name in theano.tensor for dense arrays",
            )
        )
    return first, second


def add(x: Operand, y: Operand) -> Any:
    """Return the sum of two matrices, at least one of them sparse.

    Parameters
    ----------
    x, y : sparse or dense matrix

    Returns
    -------
    SparseVariable or Tensor
        Sparse if both are, in the format of the first, else dense.

    Raises
    ------
    TypeError
        If neither is sparse, or a dense one is no matrix.

    Notes
    -----
    The gradient is regular where both are sparse, structured for the sparse one beside a dense one.
    """
    first, second = _operands("add", x, y)
    if is_sparse(first) and is_sparse(second):
        return add_s_s(first, second)
    return add_s_d(first, second) if is_sparse(first) else add_s_d(second, first)


def sub(x: Operand, y: Operand) -> Any:
    """Return the difference of two matrices, at least one of them sparse; see :func:`add`."""
    first, second = _operands("sub", x, y)
    return add(first, -second)


def mul(x: Operand, y: Operand) -> Any:
    """Return the product, element by element, of two matrices, at least one of them sparse.

    Parameters
    ----------
    x, y : sparse matrix, dense matrix, vector or number
        A vector scales the columns.

    Returns
    -------
    SparseVariable
        In the format of the (first) sparse one. The gradient is regular.

    Raises
    ------
    TypeError
        If neither is sparse, or a dense one has more than two dimensions.
    """
    first, second = _operands("mul", x, y)
    if not is_sparse(first):
        first, second = second, first
    if is_sparse(second):
        return mul_s_s(first, second)
    if second.type.ndim == 0:
        matrix = without_duplicates(first)
        return with_data(matrix, csm_data(matrix) * second)
    if second.type.ndim == 1:
        return col_scale(first, second)
    return mul_s_d(first, second)


def col_scale(x: Operand, s: Operand) -> Any:
    """Return a sparse matrix with each column multiplied by the element of a vector. Structured gradient.

    Parameters
    ----------
    x : sparse matrix
    s : vector
        As long as `x` has columns.

    Returns
    -------
    SparseVariable
        In the format of `x`.
    """
    return _scaled(x, s, 1, "col_scale", "column")


def row_scale(x: Operand, s: Operand) -> Any:
    """Return a sparse matrix with each row multiplied by the element of a vector. Structured gradient.

    Parameters
    ----------
    x : sparse matrix
    s : vector
        As long as `x` has rows.

    Returns
    -------
    SparseVariable
        In the format of `x`.
    """
    return _scaled(x, s, 0, "row_scale", "row")


def _scaled(x: Any, s: Any, axis: int, name: str, line: str) -> Any:
    matrix, factors = without_duplicates(x), as_tensor_variable(s)
    if factors.type.ndim != 1:
        raise TypeError(
            format_error(f"{name}: one factor for each {line}", context=[describe(factors)], hint="pass a vector")
        )
    length = matrix.shape[axis]
    checked = _CHECK_LENGTH(factors, length)
    return with_data(matrix, csm_data(matrix) * checked[stored_positions(matrix)[axis]])


class CheckLength(SparseOp):
    """A vector, after a look at its length."""

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, x: Operand, length: Operand) -> Apply[Self]:
        """Apply to a vector and an integer."""
        inputs = [as_tensor_variable(x), as_tensor_variable(length)]
        return Apply(self, inputs, [inputs[0].type.make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Return the vector; ValueError where it has another length."""
        x, length = values
        if len(x) != length:
            raise ValueError(
                format_error(
                    f"{len(x)} factors for {int(length)} rows or columns of a sparse matrix", hint="pass one for each"
                )
            )
        return x


_CHECK_LENGTH = CheckLength()


@pullback.register(CheckLength)
def _pullback_check(node: Apply[CheckLength], cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0], None]


@pushforward.register(CheckLength)
def _pushforward_check(node: Apply[CheckLength], tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]


class Comparison(SparseOp):
    """Whether a relation holds, element by element: uint8, sparse where both operands are, else dense. No gradient.

    Parameters
    ----------
    name : {"eq", "neq", "lt", "le", "gt", "ge"}
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def make_node(self, x: Operand, y: Operand) -> Apply[Self]:
        """Apply to two matrices, at least one of them sparse."""
        first, second = _operands(self.name, x, y)
        if is_sparse(first) and is_sparse(second):
            if first.type.format != second.type.format:
                raise TypeError(
                    format_error(
                        f"{self.name} compares two matrices of one format",
                        context=[describe(first), describe(second)],
                        hint="make both csc or both csr",
                    )
                )
            return Apply(self, [first, second], [SparseType(first.type.format, "uint8").make_variable()])
        return Apply(self, [first, second], [dense("uint8", 2)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Compare."""
        x, y = values
        relation = _RELATIONS[self.name]
        if all(scipy.sparse.issparse(v) for v in values):
            _same_shape(self, x, y)
            if self.name in _TRUE_FOR_ZEROS:
                return node.outputs[0].type.filter(_whole(relation(x.toarray(), y.toarray()), x.format))
            return relation(x, y)
        first, second = (v.toarray() if scipy.sparse.issparse(v) else v for v in values)
        if first.ndim == 2 and second.ndim == 2:
            _same_shape(self, first, second)
        return relation(first, second)

    def __str__(self) -> str:
        return f"Comparison{{{self.name}}}"


def _whole(value: Any, format: str) -> Any:
    return scipy.sparse.csr_matrix(value, dtype="uint8").asformat(format)


_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "neq": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
#: These hold between two zeros, so that nearly all elements are 1.
_TRUE_FOR_ZEROS = {"eq", "le", "ge"}

eq, neq, lt, le, gt, ge = (Comparison(name) for name in _RELATIONS)


@pullback.register(Comparison)
def _pullback_comparison(node: Apply[Comparison], cotangents: list[Variable]) -> list[Variable | None]:
    return [None, None]


@pushforward.register(Comparison)
def _pushforward_comparison(node: Apply[Comparison], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None]


_Operators.table |= {"neg": neg, "add": add, "sub": sub, "mul": mul, "lt": lt, "le": le, "gt": gt, "ge": ge}
