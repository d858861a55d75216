"""Ranges of numbers, identity matrices, triangles, and parts of matrices on one side of a diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import (
    Apply,
    Constant,
    Variable,
    batch_rule,
    config,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c.kernels import ArrayRoutineKernel, Kernel, native_kernel
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import INTEGER_DTYPES, DTypeLike, TensorLike, canonical_dtype
from .._core._ops import CheckAndRaise, TensorOp, run_in_a_loop
from .._core._type import Tensor, tensor_type
from .._errors import ShapeError
from .._protocols._methods import operation
from ..elemwise import add, cast, ceil, dimshuffle, ge, le, lt, maximum, minimum, or_, switch
from ..gradient import derived_pushforward
from ..shape import as_length, shape_i, static_int

# ---- Ranges of numbers, and identity matrices


class ARange(TensorOp):
    """The numbers from `start` up to, and without, `stop`, in steps of `step`.

    Parameters
    ----------
    dtype : str
        Dtype of the result.
    """

    __props__ = ("dtype",)

    def __init__(self, dtype: str) -> None:
        self.dtype = canonical_dtype(dtype, "float64")

    def make_node(self, start: TensorLike, stop: TensorLike, step: TensorLike) -> Apply[Self, Tensor]:
        """Apply to three scalars."""
        bounds = [as_tensor_variable(v) for v in (start, stop, step)]
        for v in bounds:
            if v.type.ndim:
                raise ShapeError(format_error("arange: bounds and step are scalars", context=[describe(v)]))
        length: int | None = None
        if all(isinstance(v, Constant) for v in bounds):
            length = len(_numbers([v.data for v in bounds], self.dtype))  # type: ignore[attr-defined]  # constants, see above
        return Apply(self, bounds, [tensor_type(self.dtype, (length,)).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy; ValueError for a step of zero."""
        output_storage[0][0] = _numbers(inputs, self.dtype)

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """How many numbers there are is not differentiable; integers are not either."""
        continuous = self.dtype not in INTEGER_DTYPES
        return [[continuous], [False], [continuous]]

    def __str__(self) -> str:
        return f"ARange{{dtype={self.dtype!r}}}"


def _numbers(bounds: Sequence[Any], dtype: str) -> Any:
    # Python numbers, since the difference of small unsigned integers would wrap around.
    start, stop, step = (v.item() for v in bounds)
    if step == 0:
        raise ValueError(
            format_error(f"arange: from {start} to {stop} in steps of zero there is no end", hint="use another step")
        )
    if all(isinstance(n, int) for n in (start, stop, step)) and _count(start, stop, step) > np.iinfo("int64").max >> 3:
        # NumPy counts in floating-point numbers and takes counts near 2**63 for negative ones.
        raise ValueError(
            format_error(
                f"arange: Maximum allowed size exceeded from {start} to {stop}", hint="use bounds that are closer"
            )
        )
    return np.arange(start, stop, step, dtype=dtype)


def _count(start: int, stop: int, step: int) -> int:
    """Return how many integers a range has: `len` takes none beyond the lengths of lists."""
    return max(0, -((start - stop) // step))


class Eye(TensorOp):
    """A matrix of zeros with ones on one diagonal; inputs are the numbers of rows and columns and the diagonal."""

    __props__ = ("dtype",)

    def __init__(self, dtype: str | None = None) -> None:
        self.dtype = canonical_dtype("floatX" if dtype is None else dtype, config.floatX)

    def make_node(self, n: TensorLike, m: TensorLike, k: TensorLike) -> Apply[Self, Tensor]:
        """Apply to three integer scalars."""
        inputs = [as_length(v) for v in (n, m, k)]
        shape = [static_int(v) for v in inputs[:2]]
        return Apply(self, inputs, [tensor_type(self.dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy."""
        n, m, k = (int(v) for v in inputs)
        output_storage[0][0] = np.eye(n, m, k, dtype=self.dtype)

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on anything."""
        return [[False]] * 3


@pullback.register(ARange)
def _pullback_range(node: Apply[ARange, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    """Element i is ``start + i * step``."""
    start, _, step = node.inputs
    if node.op.dtype in INTEGER_DTYPES:
        return [None, None, None]
    g = as_tensor_variable(cotangents[0])
    steps = (node.outputs[0] - start) / step
    return [g.sum(), None, (g * steps).sum()]


@pullback.register(Eye)
def _pullback_eye(node: Apply[Eye, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [None, None, None]


pushforward.register(ARange, Eye)(derived_pushforward)


# Entries with ranges of other lengths are refused in the loop.
batch_rule.register(ARange, Eye)(run_in_a_loop)


def _symbolic_count(low: Tensor, high: Tensor, step: int) -> Tensor:
    """Return how many of the integers from `low` up to `high` a step meets; their difference may be out of range."""
    first, last = cast(low, "int64"), cast(high, "int64")
    span = maximum(last - first, 0)
    if static_int(low) != 0 and not all(np.can_cast(v.type.dtype, "int32") for v in (low, high)):
        fits = or_(le(last, first), ge(last - first, 0))
        span = switch(lt(first, last), _TOO_LONG(last - first, fits), 0)
    result: Tensor = span if step == 1 else -(-span // step)
    return result


_TOO_LONG = CheckAndRaise(ValueError, "arange: Maximum allowed size exceeded")


@shape_rule.register(ARange)
def _shape_range(node: Apply[ARange, Tensor], input_shapes: list[Any]) -> list[Any]:
    start, stop, step = node.inputs
    length = node.outputs[0].type.shape[0]
    if length is not None:
        return [(length,)]
    by = static_int(step)
    if by and all(v.type.dtype in INTEGER_DTYPES for v in node.inputs):
        return [(_symbolic_count(start, stop, by) if by > 0 else _symbolic_count(stop, start, -by),)]
    span = cast(stop, "float64") - cast(start, "float64")
    return [(maximum(cast(ceil(span / cast(step, "float64")), "int64"), 0),)]


@shape_rule.register(Eye)
def _shape_eye(node: Apply[Eye, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [tuple(node.inputs[:2])]


_RANGES: dict[str, ARange] = {}


@operation("arange")
def arange(
    start: TensorLike, stop: TensorLike | None = None, step: TensorLike | None = None, dtype: DTypeLike | None = None
) -> Tensor:
    """Return a vector of evenly spaced numbers from `start` up to, and without, `stop`.

    Parameters
    ----------
    start, stop, step : number or scalar
        With one bound only, it is `stop`, and `start` is 0. The step is 1 by default.
    dtype : str, optional
        By default the common dtype of the three, int64 for integers.

    Raises
    ------
    ShapeError
        If a bound or the step is no scalar.
    ValueError
        For a step of zero.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.arange(3).type.shape
    (3,)
    """
    # A missing argument has no say in the dtype.
    given = [as_tensor_variable(v) for v in (start, stop) if v is not None]
    given += [as_tensor_variable(step)] if step is not None else []
    if stop is None:
        start, stop = 0, start
    bounds = [as_tensor_variable(v) for v in (start, stop, 1 if step is None else step)]
    if dtype is None:
        chosen = upcast(*(v.type.dtype for v in given))
        if chosen in INTEGER_DTYPES:
            chosen = "uint64" if chosen == "uint64" else "int64"
        elif config.cast_policy == "numpy+floatX" and chosen == "float64" and config.floatX == "float32":
            chosen = "float32"
    else:
        chosen = canonical_dtype(dtype, config.floatX)
    # One op for each dtype: programs compare ops by identity.
    op = _RANGES.get(chosen)
    if op is None:
        op = _RANGES[chosen] = ARange(chosen)
    result: Tensor = op(*bounds)
    return result


@operation("eye")
def eye(n: TensorLike, m: TensorLike | None = None, k: TensorLike = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Return a matrix of zeros with ones on one diagonal.

    Parameters
    ----------
    n, m : int or integer scalar
        Rows and columns; `m` is `n` by default.
    k : int or integer scalar
        The diagonal: 0 the main one, positive above, negative below.
    dtype : str, optional
        floatX by default.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.eye(2).type.shape
    (2, 2)
    """
    result: Tensor = Eye(canonical_dtype("floatX" if dtype is None else dtype, config.floatX))(
        n, n if m is None else m, k
    )
    return result


def identity_like(x: TensorLike) -> Tensor:
    """Return a matrix of the shape and dtype of `x` with ones on the main diagonal.

    Parameters
    ----------
    x : tensor_like
        A matrix; it need not be square.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.identity_like([[5.0, 6.0], [7.0, 8.0]]).eval()
    array([[1., 0.],
           [0., 1.]])
    """
    variable = as_tensor_variable(x)
    rows, columns = (variable.shape[i] for i in range(2))
    return eye(rows, columns, 0, dtype=variable.type.dtype)


@native_kernel.register(ARange)
def _native_range(node: Apply[ARange, Tensor]) -> Kernel | None:
    are_integers = all(
        v.type.dtype in ("int8", "int16", "int32", "int64") for v in map(as_tensor_variable, node.inputs)
    )
    return ArrayRoutineKernel("arange", "int64") if are_integers and node.op.dtype == "int64" else None


@native_kernel.register(Eye)
def _native_eye(node: Apply[Eye, Tensor]) -> Kernel | None:
    return ArrayRoutineKernel("eye", node.op.dtype)


# ---- Triangles of ones, and parts of matrices on one side of a diagonal


def _triangle(n: TensorLike, m: TensorLike, k: TensorLike) -> Tensor:
    """Whether ``column <= row + k``, for n rows and m columns."""
    height, width, offset = as_length(n), as_length(m), as_length(k, "a diagonal")
    known = static_int(offset)
    if known is None or abs(known) >= 2**62:
        # The sum with the number of a row must not wrap around.
        offset = minimum(maximum(offset, -height), width)
    rows, columns = arange(height), arange(width)
    diagonal = add(dimshuffle(rows, (0, "x")), offset)
    result: Tensor = ge(diagonal, dimshuffle(columns, ("x", 0)))
    return result


def tri(n: TensorLike, m: TensorLike | None = None, k: TensorLike = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Return a matrix with ones at and below a diagonal, and zeros above.

    Parameters
    ----------
    n, m : int or integer scalar
        Rows and columns; `m` is `n` by default.
    k : int or integer scalar
        The diagonal: 0 the main one, positive above, negative below.
    dtype : str, optional
        floatX by default.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tri(2, 3).eval()
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    return cast(_triangle(n, n if m is None else m, k), canonical_dtype(dtype or "floatX", config.floatX))


def _rows_and_columns(name: str, m: Any) -> tuple[Tensor, Any, Any]:
    x = as_tensor_variable(m)
    if x.type.ndim < 2:
        raise ShapeError(
            format_error(f"{name} takes two dimensions at least", context=[describe(x)], hint="use T.diag for a vector")
        )
    return x, shape_i(x, x.type.ndim - 2), shape_i(x, x.type.ndim - 1)


def tril(m: TensorLike, k: TensorLike = 0) -> Tensor:
    """Return the matrix (or stack of matrices) `m` with zeros above diagonal `k`.

    Parameters
    ----------
    m : tensor_like
        At least two dimensions.
    k : int
        The main diagonal is 0; positive numbers are above it.

    Raises
    ------
    ShapeError
        If there are less than two dimensions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tril([[1, 2], [3, 4]]).eval()
    array([[1, 0],
           [3, 4]])
    """
    x, rows, columns = _rows_and_columns("tril", m)
    result: Tensor = switch(_triangle(rows, columns, k), x, np.zeros((), x.type.dtype))
    return result


def triu(m: TensorLike, k: TensorLike = 0) -> Tensor:
    """Return the matrix (or stack of matrices) `m` with zeros below diagonal `k`; ShapeError for a vector.

    Parameters
    ----------
    m : tensor_like
        At least two dimensions.
    k : int
        The main diagonal is 0; positive numbers are above it.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.triu([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [0, 4]])
    """
    x, rows, columns = _rows_and_columns("triu", m)
    below = as_length(k, "a diagonal") - 1
    result: Tensor = switch(_triangle(rows, columns, below), np.zeros((), x.type.dtype), x)
    return result


def tril_indices(n: TensorLike, k: TensorLike = 0, m: TensorLike | None = None) -> tuple[Tensor, Tensor]:
    """Return the row and column numbers of the elements at and below diagonal `k` of an `n` by `m` matrix.

    Parameters
    ----------
    n : int
        Rows.
    k : int
        The main diagonal is 0; positive numbers are above it.
    m : int, optional
        Columns; as many as rows by default.

    Returns
    -------
    tuple of two Tensor

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> [a.tolist() for a in theano.function([], T.tril_indices(2))()]
    [[0, 1, 1], [0, 0, 1]]
    """
    rows, columns = _triangle(n, n if m is None else m, k).nonzero()
    return rows, columns


def triu_indices(n: TensorLike, k: TensorLike = 0, m: TensorLike | None = None) -> tuple[Tensor, Tensor]:
    """Return the row and column numbers of the elements at and above diagonal `k` of an `n` by `m` matrix.

    Parameters
    ----------
    n : int
        Rows.
    k : int
        The main diagonal is 0; positive numbers are above it.
    m : int, optional
        Columns; as many as rows by default.

    Returns
    -------
    tuple of two Tensor

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> [a.tolist() for a in theano.function([], T.triu_indices(2))()]
    [[0, 0, 1], [0, 1, 1]]
    """
    below = as_length(k, "a diagonal") - 1
    rows, columns = (~_triangle(n, n if m is None else m, below)).nonzero()
    return rows, columns


def tril_indices_from(a: TensorLike, k: TensorLike = 0) -> tuple[Tensor, Tensor]:
    """Return :func:`tril_indices` for the shape of the matrix `a`; ShapeError if it is none.

    Parameters
    ----------
    a : tensor_like
        A matrix.
    k : int
        The main diagonal is 0.

    Returns
    -------
    tuple of two Tensor

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> [a.tolist() for a in theano.function([], T.tril_indices_from(T.zeros((2, 2))))()]
    [[0, 1, 1], [0, 0, 1]]
    """
    rows, columns = _matrix_lengths("tril_indices_from", a)
    return tril_indices(rows, k, columns)


def triu_indices_from(a: TensorLike, k: TensorLike = 0) -> tuple[Tensor, Tensor]:
    """Return :func:`triu_indices` for the shape of the matrix `a`; ShapeError if it is none.

    Parameters
    ----------
    a : tensor_like
        A matrix.
    k : int
        The main diagonal is 0.

    Returns
    -------
    tuple of two Tensor

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> [a.tolist() for a in theano.function([], T.triu_indices_from(T.zeros((2, 2))))()]
    [[0, 0, 1], [0, 1, 1]]
    """
    rows, columns = _matrix_lengths("triu_indices_from", a)
    return triu_indices(rows, k, columns)


def _matrix_lengths(name: str, a: TensorLike) -> tuple[Tensor, Tensor]:
    x, rows, columns = _rows_and_columns(name, a)
    if x.type.ndim != 2:
        raise ShapeError(format_error(f"{name} takes a matrix", context=[describe(x)]))
    return rows, columns
