"""Connectionist temporal classification of activations on devices."""

from __future__ import annotations

from typing import Any

from theano_tensor.nnet.ctc import ConnectionistTemporalClassification

from ..tensor._expression_ops import ExpressionOp
from ._ops import OnDevice


class _Loss(ExpressionOp):
    """The loss of the host, and with `compute_grad` its gradient by the activations."""

    __props__ = ("compute_grad",)

    def __init__(self, compute_grad: bool = True) -> None:
        self.compute_grad = bool(compute_grad)

    def operands(self, *inputs: Any) -> list[Any]:
        """Apply to the operands of the host's op."""
        return list(ConnectionistTemporalClassification(self.compute_grad).make_node(*inputs).inputs)

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the results of the op of the host."""
        return list(ConnectionistTemporalClassification(self.compute_grad).make_node(*inputs).outputs)


class GpuConnectionistTemporalClassification(OnDevice, _Loss):
    """The loss of each example of a batch on a device, and its gradient by the activations; see :func:`gpu_ctc`.

    Parameters
    ----------
    compute_grad : bool
        Whether there is a second result, the gradient.
    """

    moved = 1


def gpu_ctc(activations: Any, labels: Any, input_lengths: Any) -> Any:
    """Return the loss of each example of a batch on a device.

    Parameters
    ----------
    activations : tensor_like
        Of shape (time, batch, symbols).
    labels : tensor_like of int
        The labels of each example in a row; negative numbers are padding, 0 is the blank.
    input_lengths : tensor_like of int
        How many time steps each example has.

    Returns
    -------
    GpuArrayVariable
        A vector, in the context of the activations.

    Raises
    ------
    ShapeError, DTypeError, ValueError
        As :func:`theano.tensor.nnet.ctc.ctc`.
    """
    return GpuConnectionistTemporalClassification()(activations, labels, input_lengths)[0]
