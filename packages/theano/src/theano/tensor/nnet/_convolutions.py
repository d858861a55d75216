"""Convolutions, with the rewrites that give them the ops of Theano 1.0 in compiled functions."""

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from theano_graph import Variable, format_error
from theano_tensor.nnet import convolution as _convolution
from theano_tensor.nnet.convolution import (
    conv2d as conv2d,
    conv3d as conv3d,
    separable_conv2d as separable_conv2d,
    separable_conv3d as separable_conv3d,
)

from . import _conv_rewrites as _conv_rewrites

P = ParamSpec("P")
R = TypeVar("R")


def _with_lengths(function: Callable[P, R], name: str) -> Callable[P, R]:
    """Return the function, which then insists on the lengths along which filters slide: several may be possible."""
    declared = signature(function)
    required = declared.replace(
        parameters=[p.replace(default=p.empty) if p.name == name else p for p in declared.parameters.values()]
    )
    first_length = 2

    @wraps(function)
    def insisting(*args: P.args, **kwargs: P.kwargs) -> R:
        shape: Any = required.bind(*args, **kwargs).arguments[name]
        hint = "say at least the lengths along the axes along which filters slide"
        if shape is None:
            raise TypeError(format_error(f"{function.__name__}: {name} is None", hint=hint))
        if isinstance(shape, Variable):
            raise ValueError(
                format_error(f"{function.__name__}: {name} is a list of lengths, not one variable", hint=hint)
            )
        lengths: Sequence[Any] = list(shape)
        if None in [n for n in (lengths[first_length:] or lengths) if not isinstance(n, Variable)]:
            raise ValueError(format_error(f"{function.__name__}: {name} = {shape} has no lengths", hint=hint))
        return function(*args, **kwargs)

    insisting.__signature__ = required  # type: ignore[attr-defined]  # read by inspect.signature
    return insisting


conv2d_grad_wrt_inputs = _with_lengths(_convolution.conv2d_grad_wrt_inputs, "input_shape")
conv3d_grad_wrt_inputs = _with_lengths(_convolution.conv3d_grad_wrt_inputs, "input_shape")
conv2d_grad_wrt_weights = _with_lengths(_convolution.conv2d_grad_wrt_weights, "filter_shape")
conv3d_grad_wrt_weights = _with_lengths(_convolution.conv3d_grad_wrt_weights, "filter_shape")
conv2d_transpose = _with_lengths(_convolution.conv2d_transpose, "output_shape")
