"""The common part of operations on matrices: operands, small expressions for rules, and stacks in Python."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, cast as typed

import numpy as np

from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error, pushforward

from .._core._convert import as_tensor_variable
from .._core._dtypes import COMPLEX_DTYPES, Array, TensorLike
from .._core._ops import on_stacks, refused
from .._core._type import Tensor
from .._errors import DTypeError, ShapeError
from ..creation import arange, eye
from ..elemwise import abs_, and_, cast, conj, dimshuffle, eq, gt, le, lt, or_, switch
from ..gradient import DisconnectedType, Lop, derived_pushforward, grad_undefined
from ..reduce import sum as sum_over
from ..shape import shape_i

# ---- Stacks of matrices in Python, for what the runtime has no form for: as few calls of NumPy as there are rows


def values_or_nan(compute: Callable[..., Any], *stacks: Array) -> Array:
    """Apply a function that raises LinAlgError where a matrix of a stack fails; NaN takes the place of such results.

    Stacks that fail are halved, so that few failures cost few calls.

    Parameters
    ----------
    compute : callable
        Of stacks; its result has the shape of the last one.
    *stacks : array
        Matrices or stacks of them; the last one may be a vector.

    Returns
    -------
    array
        As the last one.
    """
    lead, last = stacks[0].shape[:-2], stacks[-1]
    result = np.full(last.shape, np.nan, last.dtype)
    if not lead:
        with contextlib.suppress(np.linalg.LinAlgError):
            result[...] = compute(*stacks)
        return result
    count = int(np.prod(lead))
    *flat, target = (s.reshape(count, *s.shape[len(lead) :]) for s in (*stacks, result))
    pieces = [(0, count)]
    while pieces:
        begin, end = pieces.pop()
        try:
            target[begin:end] = compute(*(s[begin:end] for s in flat))
        except np.linalg.LinAlgError:
            middle = (begin + end) // 2
            pieces += [(begin, middle), (middle, end)] if end - begin > 1 else []
    return result


def substituted(a: Array, b: Array, lower: bool) -> Array:
    """Solve with stacks of triangular matrices, row by row; LinAlgError where there is a zero on a diagonal."""
    if (np.diagonal(a, axis1=-2, axis2=-1) == 0).any():
        raise np.linalg.LinAlgError
    result, n = b.copy(), a.shape[-1]
    for i in range(n) if lower else range(n - 1, -1, -1):
        known = slice(0, i) if lower else slice(i + 1, n)
        result[..., i : i + 1, :] -= a[..., i : i + 1, known] @ result[..., known, :]
        result[..., i, :] /= a[..., i, i, None]
    return result


def mirrored_values(a: Array, lower: bool) -> Array:
    """Return symmetric matrices of which one triangle was given."""
    part = np.tril(a) if lower else np.triu(a)
    return part + np.swapaxes(np.tril(part, -1) if lower else np.triu(part, 1), -1, -2)


# ---- The common part of operations on matrices: their operands, and small expressions that their rules are made of
#
# A stack of matrices has them in its last two dimensions.

_WORKING_DTYPES = frozenset({"float32", "float64", "complex64", "complex128"})


class MatrixOp(Op):
    """An op with rules for its derivatives, which can also be asked for in the way of ops that users write."""


pushforward.register(MatrixOp)(derived_pushforward)


batch_rule.register(MatrixOp)(on_stacks)


def as_matrices(name: str, x: TensorLike, *, square: bool = False, least: int = 2) -> Tensor:
    """Return `x` as a tensor of floating-point numbers that linear algebra takes.

    Integers become float64, float16 becomes float32.

    Parameters
    ----------
    name : str
        Of the operation, for errors.
    x : tensor_like
    square : bool
        Whether the last two lengths must be equal.
    least : int
        Number of dimensions at least.

    Raises
    ------
    ShapeError
        For too few dimensions. Lengths that are known and differ raise when they are computed.
    """
    variable = as_tensor_variable(x)
    if variable.type.ndim < least:
        what = "a matrix (or a stack of matrices)" if least == 2 else "a vector or a matrix"
        raise ShapeError(format_error(f"{name} takes {what}", context=[describe(variable)], hint="use T.reshape"))
    if square:
        rows, columns = variable.type.shape[-2:]
        if rows is not None and columns is not None and rows != columns:
            error = ShapeError(
                format_error(
                    f"{name} takes a square matrix, this one is {rows} by {columns}",
                    context=[describe(variable)],
                    hint="use nlinalg.pinv or nlinalg.lstsq for matrices that are not square",
                )
            )
            variable = refused(error, variable, (*variable.type.shape[:-1], rows))
    if variable.type.dtype in _WORKING_DTYPES:
        return variable
    dtype = "float32" if variable.type.dtype == "float16" else "float64"
    return cast(variable, dtype)


def must_be_real(name: str, x: Tensor) -> Tensor:
    """Return `x`; DTypeError if it is complex."""
    if x.type.dtype in COMPLEX_DTYPES:
        raise DTypeError(
            format_error(f"{name} takes real numbers", context=[describe(x)], hint="use T.real and T.imag")
        )
    return x


def check_square(name: str, node: Apply[Any, Tensor], value: Any) -> None:
    """Raise LinAlgError if an array holds no square matrices."""
    if value.shape[-1] != value.shape[-2]:
        raise linear_error(
            f"{name}: the matrix is {value.shape[-2]} by {value.shape[-1]}, not square",
            node,
            "use nlinalg.pinv or nlinalg.lstsq for matrices that are not square",
        )


def linear_error(what: str, node: Apply[Any, Tensor], hint: str) -> np.linalg.LinAlgError:
    """Return the error of linear algebra that names the inputs of a node."""
    return np.linalg.LinAlgError(format_error(what, context=[describe(v) for v in node.inputs], hint=hint))


def static_square(x: Tensor) -> bool:
    """Tell whether the matrices of a tensor are known to be square."""
    rows, columns = x.type.shape[-2:]
    return rows is not None and rows == columns


def transposed(x: TensorLike) -> Tensor:
    """Return a stack with each matrix transposed."""
    variable = as_tensor_variable(x)
    ndim = variable.type.ndim
    return dimshuffle(variable, [*range(ndim - 2), ndim - 1, ndim - 2])


def adjoint(x: TensorLike) -> Tensor:
    """Return a stack with each matrix transposed and conjugated."""
    return conj(transposed(x))


def scaled_columns(x: TensorLike, factors: TensorLike) -> Tensor:
    """Return ``x @ diag(factors)``."""
    v = as_tensor_variable(factors)
    ndim = v.type.ndim
    result: Tensor = x * dimshuffle(v, [*range(ndim - 1), "x", ndim - 1])
    return result


def scaled_rows(factors: TensorLike, x: TensorLike) -> Tensor:
    """Return ``diag(factors) @ x``."""
    v = as_tensor_variable(factors)
    result: Tensor = dimshuffle(v, [*range(v.type.ndim), "x"]) * x
    return result


def unit_like(x: TensorLike, axis: int = -2) -> Tensor:
    """Return the identity matrix as large as one length of `x`, in its dtype."""
    variable = as_tensor_variable(x)
    return eye(shape_i(variable, axis % variable.type.ndim), dtype=variable.type.dtype)


def places(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return row and column numbers, so that they broadcast over the matrices of `x`."""
    ndim = x.type.ndim
    rows, columns = arange(shape_i(x, ndim - 2)), arange(shape_i(x, ndim - 1))
    front = ["x"] * (ndim - 2)
    return dimshuffle(rows, [*front, 0, "x"]), dimshuffle(columns, [*front, "x", 0])


def half_triangle(x: TensorLike, lower: bool = True) -> Tensor:
    """Return one triangle of each matrix with half of the diagonal, and zeros elsewhere."""
    variable = as_tensor_variable(x)
    rows, columns = places(variable)
    inside = (gt if lower else lt)(rows, columns)
    zero, half = np.zeros((), variable.type.dtype), np.asarray(0.5, variable.type.dtype)
    result: Tensor = switch(inside, variable, switch(eq(rows, columns), variable * half, zero))
    return result


def gradient_of_triangle(x: TensorLike, lower: bool = True) -> Tensor:
    """Return the gradient by the triangle that is read, given the one by all elements of a symmetric matrix."""
    return half_triangle(x + transposed(x), lower)


def mirrored(x: TensorLike, lower: bool = True) -> Tensor:
    """Return the symmetric matrices of which one triangle is given."""
    half = half_triangle(x, lower)
    return half + transposed(half)


def differences(values: TensorLike) -> Tensor:
    """Return D with ``D[i, j] = values[j] - values[i]``."""
    v = as_tensor_variable(values)
    ndim = v.type.ndim
    front = list(range(ndim - 1))
    return dimshuffle(v, [*front, "x", ndim - 1]) - dimshuffle(v, [*front, ndim - 1, "x"])


def over_gaps(x: TensorLike, values: TensorLike, among: TensorLike, by_values: TensorLike | None = None) -> Tensor:
    """Return ``x[i, j] / (values[j] - values[i])`` off the diagonal and 0 on it.

    Parameters
    ----------
    x : tensor_like
        The change of a function when two vectors of a pair turn towards each other.
    values : tensor_like
        Eigenvalues or singular values. Values that differ by roundings count as equal: their vectors could be any of a
        plane, and where a function depends on none of them, `x` is 0 and so is the result. It is infinite or NaN
        where it does.
    among : tensor_like
        Matrices of which `x` is a difference: a rounding of them counts as 0.
    by_values : tensor_like, optional
        The gradient by `values`, which has to be the same for equal ones, too.
    """
    product, v = as_tensor_variable(x), as_tensor_variable(values)
    dtype = v.type.dtype
    gaps, one, zero = differences(v), np.ones((), dtype), np.zeros((), dtype)
    diagonal = eq(*places(gaps))
    step = np.asarray(np.finfo(dtype).eps * 16, dtype)
    equal = le(abs_(gaps), step * size_of(v))
    free = le(abs_(product), step * size_of(as_tensor_variable(among), 2))
    if by_values is not None:
        change = as_tensor_variable(by_values)
        free = and_(free, le(abs_(differences(change)), step * size_of(change)))
    without = or_(diagonal, and_(equal, free))
    result: Tensor = switch(without, zero, product / switch(without, one, switch(equal, zero, gaps)))
    return result


def over_sums(x: TensorLike, values: TensorLike) -> Tensor:
    """Return ``x[i, j] / (values[j] + values[i])`` for values of which none is negative; 0 where both are 0."""
    v = as_tensor_variable(values)
    ndim = v.type.ndim
    front = list(range(ndim - 1))
    sums = dimshuffle(v, [*front, "x", ndim - 1]) + dimshuffle(v, [*front, ndim - 1, "x"])
    one, zero = np.ones((), v.type.dtype), np.zeros((), v.type.dtype)
    none = eq(sums, 0)
    result: Tensor = switch(none, zero, as_tensor_variable(x) / switch(none, one, sums))
    return result


def size_of(x: Tensor, dims: int = 1) -> Tensor:
    """Return the size of vectors, or matrices, so that it broadcasts over matrices."""
    size = sum_over(abs_(x), axis=tuple(range(-dims, 0)), keepdims=True)
    return size if dims == 2 else dimshuffle(size, [*range(size.type.ndim), "x"])


def present(cotangent: Variable) -> Tensor | None:
    """Return a cotangent, or None where nothing depends on the output."""
    return None if isinstance(cotangent.type, DisconnectedType) else as_tensor_variable(cotangent)


def total_of(terms: Sequence[Tensor | None]) -> Tensor | None:
    """Return the sum of the terms that there are, None if there is none."""
    total: Tensor | None = None
    for term in terms:
        total = term if total is None else total if term is None else total + term
    return total


def pulled_through(expression: Any, inputs: Sequence[Variable], g: Variable) -> list[Variable | None]:
    """Return the gradients of an expression that has the value of an op, by each of `inputs`."""
    # One input may be computed from another; contributions there are not the business of this op.
    gradients = Lop(expression, list(inputs), g, consider_constant=list(inputs), disconnected_inputs="ignore")
    return list(typed("list[Variable]", gradients))


def no_complex_gradient(node: Apply[Any, Tensor]) -> list[Variable | None] | None:
    """Return gradients that say they do not exist where the first input is complex: the op is not holomorphic."""
    if node.inputs[0].type.dtype not in COMPLEX_DTYPES:
        return None
    why = "it is not holomorphic; differentiate by real and imaginary parts"
    return [grad_undefined(node.op, i, x, why) for i, x in enumerate(node.inputs)]
