"""Activation functions, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_graph import Variable
from theano_linker_c import scalar

from .._core._convert import as_tensor_variable
from .._core._dtypes import DISCRETE_DTYPES, TensorLike
from .._core._type import Tensor
from ..elemwise import Elemwise, clip, expm1, sigmoid as sigmoid, softplus as softplus, switch

_rectified = Elemwise(scalar.relu)


def relu(x: TensorLike, alpha: TensorLike = 0) -> Tensor:
    """Rectified linear activation: ``x`` above zero, ``alpha * x`` below; the derivative at zero is their mean.

    Parameters
    ----------
    x : tensor_like
        The result for an array of NumPy is an array.
    alpha : number or tensor_like
        Slope below zero, usually from 0 to 1; a shared variable makes it learnable.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.relu(T.dmatrix("x")).type
    TensorType(float64, matrix)
    """
    if isinstance(x, np.ndarray) and not isinstance(alpha, Variable):
        # Of arrays it is arithmetic, and gives an array.
        array: Any = 0.5 * ((1 + alpha) * x + (1 - alpha) * abs(x))  # type: ignore[operator]
        return array  # type: ignore[no-any-return]
    variable = as_tensor_variable(x)
    result: Tensor = _rectified(variable)
    if isinstance(alpha, (int, float)) and alpha == 0:
        return result
    if variable.type.dtype in DISCRETE_DTYPES:
        return switch(variable > 0, variable, variable * alpha)
    below: Tensor = _rectified(-variable)
    slanted: Tensor = result - below * alpha
    return slanted


def elu(x: TensorLike, alpha: TensorLike = 1) -> Tensor:
    """Exponential linear activation: ``x`` above zero, ``alpha * (exp(x) - 1)`` below.

    Parameters
    ----------
    x : tensor_like
    alpha : float or tensor_like
        The limit for large negative elements is ``-alpha``.

    Returns
    -------
    Tensor

    References
    ----------
    Clevert, Unterthiner, Hochreiter: Fast and Accurate Deep Network Learning by Exponential Linear Units, 2015.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.elu([-1.0, 0.0, 2.0]).eval()
    array([-0.63212056,  0.        ,  2.        ])
    """
    variable = as_tensor_variable(x)
    # The exponential sees no positive number, so that the branch that is not taken cannot overflow into the gradient.
    # A minimum would do that, too, but has no slope at NaN.
    above: Tensor = variable > 0
    return switch(above, variable, alpha * expm1(switch(above, variable.zeros_like(), variable)))


def selu(x: TensorLike) -> Tensor:
    """Scaled exponential linear activation.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor

    References
    ----------
    Klambauer, Unterthiner, Mayr, Hochreiter: Self-Normalizing Neural Networks, 2017.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.selu([-1.0, 0.0, 1.0]).eval()
    array([-1.11133074,  0.        ,  1.05070099])
    """
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


softsign = Elemwise(scalar.softsign)
softsign.__doc__ = "``x / (1 + abs(x))``."


def hard_sigmoid(x: TensorLike) -> Tensor:
    """Piecewise linear approximation of the sigmoid: ``0.2 * x + 0.5`` between 0 and 1, which it reaches exactly.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.hard_sigmoid([-5.0, 0.0, 1.0]).eval()
    array([0. , 0.5, 0.7])
    """
    variable = as_tensor_variable(x)
    slope, shift = (as_tensor_variable(v).astype((variable * 0.5).dtype) for v in (0.2, 0.5))
    return clip(variable * slope + shift, 0.0, 1.0)


ultra_fast_sigmoid = Elemwise(scalar.ultra_fast_sigmoid)
ultra_fast_sigmoid.__doc__ = """Approximate the sigmoid by three pieces: a fraction, a line, and a constant.

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
