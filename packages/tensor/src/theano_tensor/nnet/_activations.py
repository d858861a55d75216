"""Activation functions, element by element."""

from __future__ import annotations

from typing import Any

from .._convert import as_tensor_variable, constant
from .._variable import Tensor
from ..elemwise import abs_, clip, expm1, maximum, minimum, sigmoid as sigmoid, softplus as softplus, switch


def relu(x: Any, alpha: Any = 0) -> Tensor:
    """Rectified linear activation: ``x`` above zero, ``alpha * x`` below.

    Parameters
    ----------
    x : tensor_like
    alpha : number or tensor_like
        Slope below zero, usually from 0 to 1; a shared variable makes it learnable.

    Examples
    --------
    >>> from theano_tensor import dmatrix
    >>> relu(dmatrix("x")).type
    TensorType(float64, matrix)
    """
    variable = as_tensor_variable(x)
    if isinstance(alpha, (int, float)) and alpha == 0:
        return maximum(variable, 0)
    return switch(variable > 0, variable, variable * alpha)


def elu(x: Any, alpha: Any = 1) -> Tensor:
    """Exponential linear activation: ``x`` above zero, ``alpha * (exp(x) - 1)`` below.

    References
    ----------
    Clevert, Unterthiner, Hochreiter: Fast and Accurate Deep Network Learning by Exponential Linear Units, 2015.
    """
    variable = as_tensor_variable(x)
    # The exponential sees no positive number, so that the branch that is not taken cannot overflow into the gradient.
    return switch(variable > 0, variable, alpha * expm1(minimum(variable, 0)))


def selu(x: Any) -> Tensor:
    """Scaled exponential linear activation.

    References
    ----------
    Klambauer, Unterthiner, Mayr, Hochreiter: Self-Normalizing Neural Networks, 2017.
    """
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


def softsign(x: Any) -> Tensor:
    """``x / (1 + abs(x))``."""
    variable = as_tensor_variable(x)
    return variable / (1.0 + abs_(variable))


def hard_sigmoid(x: Any) -> Tensor:
    """Piecewise linear approximation of the sigmoid: ``0.2 * x + 0.5`` between 0 and 1, which it reaches exactly."""
    variable = as_tensor_variable(x)
    slope, shift = (as_tensor_variable(v).astype((variable * 0.5).dtype) for v in (0.2, 0.5))
    return clip(variable * slope + shift, 0.0, 1.0)


#: The pieces of `ultra_fast_sigmoid`, as functions of half the size of the argument.
_CURVED, _FLAT = 1.7, 3.0
_LINE = (0.935409070603099, 0.0458812946797165)
_TOP = 0.99505475368673


def ultra_fast_sigmoid(x: Any) -> Tensor:
    """Approximate the sigmoid by three pieces: a fraction, a line, and a constant for large arguments.

    Values lie between 0.00247262315663 and 0.997527376843, and differ from the sigmoid by less than 0.025; there are
    jumps of less than 0.005 where the pieces meet. Rewrites that keep logarithms of a sigmoid finite do not know this
    form; the rewrite ``local_ultra_fast_sigmoid`` puts it in place of sigmoids after these have run.

    Parameters
    ----------
    x : tensor_like

    Examples
    --------
    >>> ultra_fast_sigmoid([0.0, 100.0]).eval()
    array([0.5       , 0.99752738])
    """
    variable = as_tensor_variable(x)
    dtype = (variable * 0.5).dtype
    one, half, steep, edge, end, height, slope, top = (
        constant(v, dtype=dtype) for v in (1.0, 0.5, 1.5, _CURVED, _FLAT, *_LINE, _TOP)
    )
    size = abs_(variable * half)
    # Each piece sees arguments from its own range only, so that infinities do no harm, in derivatives either.
    near = minimum(size, edge)
    line = height + slope * (minimum(size, end) - edge)
    distance = switch(size < edge, steep * near / (one + near), switch(size >= end, top, line))
    return half * (one + switch(variable < 0, -distance, distance))
