"""Neighbourhoods in images as an op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import describe, format_error
from theano_linker_c.cop import EnumList
from theano_tensor import ShapeError, Tensor, as_tensor_variable
from theano_tensor.nnet.neighbours import images2neibs as neighbourhoods
from theano_tensor.on_devices import device_expression

from .._expression_ops import ExpressionOp

_MODES = ("valid", "half", "full", "wrap_centered", "ignore_borders")


class Images2Neibs(ExpressionOp):
    """Neighbourhoods in images as rows of a matrix: see `images2neibs`.

    Parameters
    ----------
    mode : {'valid', 'half', 'full', 'wrap_centered', 'ignore_borders'}

    Raises
    ------
    NotImplementedError
        For other modes.

    Examples
    --------
    >>> from theano.tensor.nnet import neighbours
    >>> import numpy as np
    >>> neighbours.Images2Neibs()(np.arange(8.0).reshape(1, 1, 2, 4), [2, 2]).eval()
    array([[0., 1., 4., 5.],
           [2., 3., 6., 7.]])
    """

    __props__ = ("mode",)
    # Its expression is long, and does not become shorter beside others.
    inline = False
    BORDER_MODE = EnumList(*((f"MODE_{mode.upper()}", mode) for mode in _MODES))

    def __init__(self, mode: str = "valid") -> None:
        if mode not in _MODES:
            raise NotImplementedError(
                format_error(f"Images2Neibs: unknown mode {mode!r}", hint=f"use one of {', '.join(_MODES)}")
            )
        self.mode = mode

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.mode}}}"

    def operands(self, ten4: Any, neib_shape: Any, neib_step: Any = None) -> list[Tensor]:
        """Take images, and the shape and the step of the window, as vectors; the step is the shape by default."""
        images, shape = as_tensor_variable(ten4), as_tensor_variable(neib_shape)
        step = shape if neib_step is None else as_tensor_variable(neib_step)
        if (images.type.ndim, shape.type.ndim, step.type.ndim) != (4, 1, 1):
            raise ShapeError(
                format_error(
                    "Images2Neibs takes images with four dimensions, and vectors with two lengths",
                    context=[describe(v) for v in (images, shape, step)],
                    hint="add dimensions with dimshuffle",
                )
            )
        return [images, shape, step]

    def expression(self, ten4: Any, neib_shape: Any, neib_step: Any) -> list[Tensor]:
        """Return the matrix."""
        step = None if neib_step is neib_shape else neib_step
        return [neighbourhoods(ten4, neib_shape, step, mode=self.mode)]


def images2neibs(ten4: Any, neib_shape: Any, neib_step: Any = None, mode: str = "valid") -> Tensor:
    """Slide a window over images, and make each neighbourhood a row of a matrix.

    Parameters
    ----------
    ten4 : tensor_like
        Images, of shape (a, b, rows, columns).
    neib_shape : two ints, or a vector of integers
        Height and width of the window.
    neib_step : two ints, or a vector of integers, optional
        How far the window moves down and to the right; by its own size if it is not given.
    mode : {'valid', 'full', 'half', 'ignore_borders', 'wrap_centered'}
        The treatment of borders; see `theano_tensor.nnet.neighbours.images2neibs`.

    Returns
    -------
    Tensor
        Of shape (number of windows, height * width).

    Examples
    --------
    >>> from theano.tensor.nnet import neighbours
    >>> import numpy as np
    >>> neighbours.images2neibs(np.arange(8.0).reshape(1, 1, 2, 4), (2, 2)).eval()
    array([[0., 1., 4., 5.],
           [2., 3., 6., 7.]])
    """
    result: Tensor = Images2Neibs(mode)(ten4, neib_shape, neib_step)
    return result


@device_expression.register(Images2Neibs)
def _on_devices(op: Images2Neibs, inputs: Sequence[Any]) -> list[Tensor]:
    return op.expression(*inputs)
