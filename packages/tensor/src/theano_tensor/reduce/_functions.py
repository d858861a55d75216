"""Reductions as functions."""

from __future__ import annotations

from theano_graph import config, describe, format_error
from theano_linker_c.scalar import part_dtype

from .._core._convert import as_tensor_variable
from .._core._dtypes import COMPLEX_DTYPES, DISCRETE_DTYPES, AxisLike, DTypeLike, TensorLike
from .._core._type import Tensor
from .._protocols._methods import operation
from ..elemwise import (
    abs_,
    cast,
    eq,
    exp,
    imag,
    isclose,
    log,
    maximum,
    mul,
    neq as not_equal,
    real,
    sqr,
    sqrt,
    switch,
    true_div,
)
from ..shape import shape_i
from ._reduce import (
    AccumulatingReduce,
    All,
    Any_,
    Max,
    Min,
    Prod,
    Reduce,
    Sum,
    as_axes,
    keep_dims,
    normal_axes,
    refuse_narrow_accumulator,
)


def _reduce(op: Reduce, x: Tensor, axis: AxisLike, keepdims: bool) -> Tensor:
    # Rewriting and gradients may narrow a program's outputs.
    if isinstance(op, AccumulatingReduce):
        refuse_narrow_accumulator(op.label, x, op.acc_dtype)
    result: Tensor = op(x)
    return keep_dims(x, result, axis) if keepdims else result


@operation("sum")
def sum(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike | None = None,
) -> Tensor:
    """Sum of the elements over axes.

    Parameters
    ----------
    x : tensor_like
    axis : None, int or sequence of int
        Axes to sum over; None for all.
    dtype : str, optional
        Dtype of the result; that of `x` by default, int64 or uint64 for smaller integers.
    keepdims : bool
        Whether summed axes stay, with length 1.
    acc_dtype : str, optional
        Dtype of the accumulator; at least 64 bits by default: float32 is summed in float64.

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If an axis does not exist.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.sum(T.fmatrix("x"), axis=0).type
    TensorType(float32, vector)
    """
    variable = as_tensor_variable(x)
    return _reduce(Sum(axis, dtype, acc_dtype), variable, axis, keepdims)


@operation("prod")
def prod(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike | None = None,
    no_zeros_in_input: bool = False,
) -> Tensor:
    """Product of the elements over axes.

    Parameters
    ----------
    x : tensor_like
    axis, dtype, keepdims, acc_dtype
        As for :func:`sum`.
    no_zeros_in_input : bool
        Promise that no element is zero. The gradient is then simpler and can be differentiated again.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.prod(T.ivector("x")).dtype
    'int64'
    """
    variable = as_tensor_variable(x)
    return _reduce(Prod(axis, dtype, acc_dtype, no_zeros_in_input), variable, axis, keepdims)


@operation("max")
def max(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """Largest element over axes; NaN if there is one.

    Parameters
    ----------
    x : tensor_like
    axis : None, int or sequence of int
    keepdims : bool
        Whether reduced axes stay, with length 1.

    Raises
    ------
    ValueError
        When run, if there is no element.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.max(T.dmatrix("x"), axis=1).ndim
    1
    """
    variable = as_tensor_variable(x)
    return _reduce(Max(axis), variable, axis, keepdims)


@operation("min")
def min(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """Smallest element over axes; NaN if there is one. See :func:`max`.

    Parameters
    ----------
    x : tensor_like
    axis : int, sequence of int or None
        The reduced axes; all of them by default.
    keepdims : bool
        Keep reduced axes, with length one.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.min([[1.0, 3.0], [0.5, 6.0]], axis=1).eval()
    array([1. , 0.5])
    """
    variable = as_tensor_variable(x)
    return _reduce(Min(axis), variable, axis, keepdims)


@operation("all")
def all(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """Whether all elements over axes are true (nonzero); true where there is none.

    Parameters
    ----------
    x : tensor_like
    axis : int, sequence of int or None
        The reduced axes; all of them by default.
    keepdims : bool
        Keep reduced axes, with length one.

    Returns
    -------
    Tensor
        Of dtype bool.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.all([[True, False], [True, True]], axis=1).eval()
    array([False,  True])
    """
    variable = as_tensor_variable(x)
    return _reduce(All(axis), variable, axis, keepdims)


@operation("any")
def any(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """Whether any element over axes is true (nonzero); false where there is none.

    Parameters
    ----------
    x : tensor_like
    axis : int, sequence of int or None
        The reduced axes; all of them by default.
    keepdims : bool
        Keep reduced axes, with length one.

    Returns
    -------
    Tensor
        Of dtype bool.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.any([[True, False], [False, False]], axis=1).eval()
    array([ True, False])
    """
    variable = as_tensor_variable(x)
    return _reduce(Any_(axis), variable, axis, keepdims)


def allclose(a: TensorLike, b: TensorLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether all elements of two tensors are equal within a tolerance, as ``numpy.allclose``.

    Parameters
    ----------
    a, b : tensor_like
    rtol, atol : float
        Elements may differ by ``atol + rtol * abs(b)``.
    equal_nan : bool
        Whether NaN equals NaN.

    Returns
    -------
    Tensor
        A scalar of dtype bool.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.allclose(T.dvector("x"), [1.0, 2.0]).dtype
    'bool'
    """
    return all(isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def _count(x: Tensor, axis: AxisLike, dtype: str) -> Tensor:
    axes = normal_axes("mean", as_axes(axis), x)
    lengths = [shape_i(x, i) for i in (range(x.type.ndim) if axes is None else axes)]
    total: Tensor = mul(*lengths) if len(lengths) > 1 else lengths[0] if lengths else as_tensor_variable(1)
    return cast(total, dtype)


@operation("mean")
def mean(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike | None = None,
) -> Tensor:
    """Mean of the elements over axes.

    Parameters
    ----------
    x : tensor_like
    axis : None, int or sequence of int
    dtype : str, optional
        Dtype of the sum that is divided; by default that of `x`, or float64 for integers (floatX with the flag
        ``cast_policy='numpy+floatX'``).
    keepdims : bool
        Whether reduced axes stay, with length 1.
    acc_dtype : str, optional
        Dtype of the accumulator; float32 is summed in float64 by default.

    Returns
    -------
    Tensor
        Floating-point, or complex where `x` is.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.mean(T.fvector("x")).dtype, T.mean(T.ivector("i")).dtype
    ('float32', 'float64')
    """
    variable = as_tensor_variable(x)
    discrete = variable.type.dtype in DISCRETE_DTYPES
    dtype_of_sum = dtype if dtype is not None and str(dtype) not in DISCRETE_DTYPES else None
    if dtype_of_sum is None and (discrete or dtype is not None):
        dtype_of_sum = "float64" if config.cast_policy == "custom" else config.floatX
    # The sum and the number of elements of a narrow type may be beyond it where their quotient is not.
    narrow = variable.type.dtype == "float16" and dtype_of_sum in (None, "float16")
    total = sum(
        variable, axis=axis, dtype="float32" if narrow else dtype_of_sum, keepdims=keepdims, acc_dtype=acc_dtype
    )
    result = true_div(total, _count(variable, axis, part_dtype(total.dtype)))
    return cast(result, "float16") if narrow else result


@operation("var")
def var(x: TensorLike, axis: AxisLike = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False) -> Tensor:
    """Variance over axes, from the squared distances to the mean; real for complex numbers too.

    Parameters
    ----------
    x : tensor_like
    axis : None, int or sequence of int
    ddof : int
        The divisor is the number of elements minus `ddof`.
    keepdims : bool
        Whether reduced axes stay, with length 1.
    corrected : bool
        Whether the rounding error of the mean is compensated (two-pass algorithm).

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.var(T.dmatrix("x"), axis=0).ndim
    1
    """
    if not isinstance(ddof, int):
        raise TypeError(format_error(f"var: ddof must be a Python int, not {ddof!r}"))
    variable = as_tensor_variable(x)
    if variable.type.dtype == "float16":
        wide = var(cast(variable, "float32"), axis=axis, ddof=ddof, keepdims=keepdims, corrected=corrected)
        return cast(wide, "float16")
    deviation = variable - mean(variable, axis=axis, keepdims=True)
    squares = sum(_size_squared(deviation), axis=axis, keepdims=keepdims)
    count = _count(variable, axis, squares.dtype)
    if corrected:
        squares = squares - _size_squared(sum(deviation, axis=axis, keepdims=keepdims)) / count
    return squares / (count if ddof == 0 else maximum(count - cast(ddof, squares.dtype), cast(0, squares.dtype)))


def _size_squared(x: Tensor) -> Tensor:
    squared: Tensor = sqr(real(x)) + sqr(imag(x)) if x.dtype in COMPLEX_DTYPES else sqr(x)
    return squared


@operation("std")
def std(x: TensorLike, axis: AxisLike = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False) -> Tensor:
    """Standard deviation over axes: the square root of :func:`var`.

    Parameters
    ----------
    x : tensor_like
    axis : int, sequence of int or None
        The reduced axes; all of them by default.
    ddof : int
        Subtracted from the number of elements in the divisor.
    keepdims : bool
        Keep reduced axes, with length one.
    corrected : bool
        As in :func:`var`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.std([[1.0, 3.0], [2.0, 6.0]], axis=1).eval()
    array([1., 2.])
    """
    variable = as_tensor_variable(x)
    narrow = variable.type.dtype == "float16"
    wide = cast(variable, "float32") if narrow else variable
    result = sqrt(var(wide, axis=axis, ddof=ddof, keepdims=keepdims, corrected=corrected))
    return cast(result, "float16") if narrow else result


@operation("ptp")
def ptp(x: TensorLike, axis: AxisLike = None) -> Tensor:
    """Range of the elements over an axis: largest minus smallest.

    Parameters
    ----------
    x : tensor_like
    axis : int, optional
        All elements by default.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.ptp([[1.0, 3.0], [2.0, 6.0]], axis=1).eval()
    array([2., 4.])
    """
    return max(x, axis=axis) - min(x, axis=axis)


@operation("norm")
def norm(x: TensorLike, L: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """L-norm over axes: ``sum(abs(x) ** L) ** (1 / L)``.

    The number of nonzero elements for 0, the largest size for inf.

    Parameters
    ----------
    x : tensor_like
    L : int, float or None
        Order of the norm; 2 is the usual length.
    axis : int, sequence of int or None
        The reduced axes; all of them by default.
    keepdims : bool
        Keep reduced axes, with length one.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.norm([3.0, 4.0], 2).eval()
    array(5.)
    """
    variable = as_tensor_variable(x)
    if variable.type.dtype == "float16":
        return cast(norm(cast(variable, "float32"), L, axis=axis, keepdims=keepdims), "float16")
    if isinstance(L, (int, float)):
        if L == 0:
            return sum(not_equal(variable, 0), axis=axis, keepdims=keepdims)
        if L == 1:
            return sum(abs_(variable), axis=axis, keepdims=keepdims)
        if L == 2:
            return sqrt(sum(sqr(abs_(variable)), axis=axis, keepdims=keepdims))
        if L in (float("inf"), float("-inf")):
            return (max if L > 0 else min)(abs_(variable), axis=axis, keepdims=keepdims)
    sizes = abs_(variable)
    order = _order_of(L, sizes.dtype)
    total = sum(sizes**order, axis=axis, keepdims=keepdims)
    return total ** (cast(1, total.dtype) / order)


def _order_of(L: TensorLike, dtype: str) -> Tensor:
    """Return the order of a norm in the dtype of the elements, so that it does not change that of the result."""
    order = as_tensor_variable(L)
    if order.type.ndim or order.type.dtype in COMPLEX_DTYPES:
        raise TypeError(format_error(f"norm: the order must be one real number, not {L!r}", context=[describe(order)]))
    return cast(order, "float64" if dtype in DISCRETE_DTYPES else dtype)


def logsumexp(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """Logarithm of the sum of exponentials over axes, right for elements of any size.

    The largest element is taken out first; where it is infinite, it is the result.

    Parameters
    ----------
    x : tensor_like
    axis : None, int or sequence of int
    keepdims : bool

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.logsumexp(T.dvector("x")).ndim
    0
    """
    variable = as_tensor_variable(x)
    if variable.type.dtype == "float16":
        # The sum may be larger than float16 can hold where its logarithm is not.
        return cast(logsumexp(cast(variable, "float32"), axis=axis, keepdims=keepdims), "float16")
    largest = max(variable, axis=axis, keepdims=True)
    infinite = eq(abs_(largest), float("inf"))
    shift = switch(infinite, largest.zeros_like(), largest)
    result = log(sum(exp(variable - shift), axis=axis, keepdims=True)) + shift
    return result if keepdims else sum(result, axis=axis)
