"""Batch normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import AxisLike, TensorLike
from .._core._type import Tensor
from .._errors import ShapeError
from ..elemwise import cast, dimshuffle, sqrt
from ..reduce import mean as mean_over
from ..shape import addbroadcast, shape_i

__all__ = ["batch_normalization", "batch_normalization_test", "batch_normalization_train"]

#: The smallest number that may be added to a variance.
MIN_EPSILON = 1e-5
_CHANNELS = 2


def batch_normalization(
    inputs: TensorLike, gamma: TensorLike, beta: TensorLike, mean: TensorLike, std: TensorLike, mode: str = "low_mem"
) -> Tensor:
    """Normalize activations with a given mean and standard deviation: ``(inputs - mean) * (gamma / std) + beta``.

    Parameters
    ----------
    inputs : tensor_like
        A mini-batch of activations.
    gamma, beta, mean, std : tensor_like
        Scale, shift, mean and standard deviation, broadcastable against `inputs`.
    mode : {'low_mem', 'high_mem'}
        Both compute the same in one fused loop here, which keeps nothing for the gradient.

    Raises
    ------
    ValueError
        For another `mode`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.batch_normalization([1.0, 3.0], 2.0, 0.5, 2.0, 1.0).eval()
    array([-1.5,  2.5])
    """
    if mode not in ("low_mem", "high_mem"):
        raise ValueError(
            format_error(f"batch_normalization: unknown mode {mode!r}", hint="use 'low_mem' or 'high_mem'")
        )
    x, scale, shift, center, spread = map(as_tensor_variable, (inputs, gamma, beta, mean, std))
    return (x - center) * (scale / spread) + shift


def _axes_of(name: str, axes: Any, x: Tensor) -> tuple[int, ...]:
    """Return the axes that are normalized over, ascending."""
    ndim = x.type.ndim
    if isinstance(axes, str):
        if axes == "per-activation":
            numbers: tuple[int, ...] = (0,)
        elif axes == "spatial":
            numbers = (0, *range(_CHANNELS, ndim))
        else:
            raise ValueError(
                format_error(
                    f"{name}: unknown axes {axes!r}", hint="use 'per-activation', 'spatial' or a tuple of ints"
                )
            )
    else:
        numbers = tuple(int(a) for a in ([axes] if isinstance(axes, int) else axes))
    if len(set(numbers)) != len(numbers) or not numbers or any(not 0 <= a < ndim for a in numbers):
        raise ShapeError(
            format_error(
                f"{name}: axes {numbers} do not fit {ndim} dimensions",
                context=[describe(x)],
                hint="name each axis once, from 0 up",
            )
        )
    return tuple(sorted(numbers))


def _check_epsilon(name: str, epsilon: Any) -> None:
    if isinstance(epsilon, (int, float)) and epsilon < MIN_EPSILON:
        raise ValueError(
            format_error(f"{name}: epsilon={epsilon} is too small", hint=f"use at least {MIN_EPSILON}, or the default")
        )


def _parameters(name: str, x: Tensor, axes: Sequence[int], given: dict[str, Any]) -> tuple[list[Tensor], bool]:
    """Return parameters with all dimensions of `x`, and whether they were given without the normalized ones."""
    ndim = x.type.ndim
    values = {key: as_tensor_variable(value) for key, value in given.items()}
    skipped = {value.type.ndim == ndim - len(axes) for value in values.values()}
    for key, value in values.items():
        if value.type.ndim not in (ndim, ndim - len(axes)) or len(skipped) > 1:
            raise ShapeError(
                format_error(
                    f"{name}: {key} has {value.type.ndim} dimensions; the parameters must all have"
                    f" {ndim}, of length 1 along {tuple(axes)}, or all {ndim - len(axes)}",
                    context=[describe(x), *map(describe, values.values())],
                    hint="give them the same layout",
                )
            )
    if skipped == {True}:
        remaining = iter(range(ndim))
        order: list[int | str] = ["x" if i in axes else next(remaining) for i in range(ndim)]
        return [dimshuffle(value, order) for value in values.values()], True
    return [addbroadcast(value, *axes) for value in values.values()], False


def _in_layout(value: Tensor, axes: Sequence[int], skipped: bool) -> Tensor:
    """Return a parameter in the layout in which the user's were."""
    if not skipped:
        return value
    return dimshuffle(value, [i for i in range(value.type.ndim) if i not in axes])


def batch_normalization_train(
    inputs: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    axes: str | AxisLike = "per-activation",
    epsilon: TensorLike = 1e-4,
    running_average_factor: TensorLike = 0.1,
    running_mean: TensorLike | None = None,
    running_var: TensorLike | None = None,
) -> tuple[Tensor, ...]:
    """Normalize a mini-batch with its own mean and variance.

    Parameters
    ----------
    inputs : tensor_like
    gamma, beta : tensor_like
        Scale and shift, of the shape of `inputs` with the normalized axes of length 1, or left out.
    axes : 'per-activation', 'spatial' or tuple of int
        The averaged axes: axis 0, all axes but the second, or the given ones.
    epsilon : float
        Is added to the variance; at least 1e-5.
    running_average_factor : float or scalar
        Weight of the batch in the new running averages.
    running_mean, running_var : tensor_like, optional
        Running averages so far, in the layout of `gamma`; both or none.

    Returns
    -------
    tuple of Tensor
        The normalized inputs, the mean, and the inverse of the standard deviation, these in the layout of `gamma`, so
        that programs may average them with variables of its shape; with running averages also their new values,
        ``running_mean * (1 - f) + mean * f`` and ``running_var * (1 - f) + m / (m - 1) * var * f`` for m averaged
        elements.

    Raises
    ------
    ValueError
        If `epsilon` is too small, `axes` unknown, or only one running average is given.
    ShapeError
        If axes or parameters do not fit `inputs`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> out, mean, invstd = T.nnet.batch_normalization_train([[1.0], [3.0]], [1.0], [0.0])
    >>> mean.eval()
    array([2.])
    """
    name = "batch_normalization_train"
    x = as_tensor_variable(inputs)
    over = _axes_of(name, axes, x)
    _check_epsilon(name, epsilon)
    if (running_mean is None) != (running_var is None):
        raise ValueError(
            format_error(f"{name}: one of running_mean and running_var is missing", hint="give both of them, or none")
        )
    parameters = {"gamma": gamma, "beta": beta}
    if running_mean is not None and running_var is not None:
        parameters |= {"running_mean": running_mean, "running_var": running_var}
    (scale, shift, *running), skipped = _parameters(name, x, over, parameters)
    mean = mean_over(x, axis=over, keepdims=True)
    centered = x - mean
    var = mean_over(centered * centered, axis=over, keepdims=True)
    invstd = 1 / sqrt(var + cast(epsilon, var.type.dtype))
    out = centered * (scale * invstd) + shift
    results = [out, _in_layout(mean, over, skipped), _in_layout(invstd, over, skipped)]
    if running:
        results += _moved(x, over, running, (mean, var), running_average_factor, skipped)
    return tuple(results)


def _moved(
    x: Tensor,
    axes: Sequence[int],
    running: Sequence[Tensor],
    batch: tuple[Tensor, Tensor],
    factor: TensorLike,
    skipped: bool,
) -> list[Tensor]:
    """Return the new running averages, in the layout of the old ones."""
    mean, var = batch
    dtype = var.type.dtype
    count = cast(1, "int64")
    for axis in axes:
        count = count * shape_i(x, axis)
    m, weight = cast(count, dtype), cast(factor, dtype)
    new_mean = running[0] * (1 - weight) + mean * weight
    new_var = running[1] * (1 - weight) + (m / (m - 1)) * var * weight
    return [_in_layout(value, axes, skipped) for value in (new_mean, new_var)]


def batch_normalization_test(
    inputs: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    mean: TensorLike,
    var: TensorLike,
    axes: str | AxisLike = "per-activation",
    epsilon: TensorLike = 1e-4,
) -> Tensor:
    """Normalize with a given mean and variance: ``(inputs - mean) * gamma / sqrt(var + epsilon) + beta``.

    Parameters
    ----------
    inputs : tensor_like
    gamma, beta, mean, var : tensor_like
        Of the shape of `inputs` with the normalized axes of length 1, or left out.
    axes : 'per-activation', 'spatial' or tuple of int
    epsilon : float
        At least 1e-5.

    Raises
    ------
    ValueError
        If `epsilon` is too small, or `axes` unknown.
    ShapeError
        If axes or parameters do not fit `inputs`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.batch_normalization_test([[1.0], [3.0]], [2.0], [0.0], [1.0], [4.0]).eval().round(3)
    array([[0.],
           [2.]])
    """
    name = "batch_normalization_test"
    x = as_tensor_variable(inputs)
    over = _axes_of(name, axes, x)
    _check_epsilon(name, epsilon)
    parameters = {"gamma": gamma, "beta": beta, "mean": mean, "var": var}
    (scale, shift, center, spread), _ = _parameters(name, x, over, parameters)
    return (x - center) * (scale / sqrt(spread + cast(epsilon, spread.type.dtype))) + shift
