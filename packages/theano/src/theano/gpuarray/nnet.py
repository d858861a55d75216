"""Softmax and its losses on devices; compiled functions contain the expressions that they stand for."""

from __future__ import annotations

from typing import Any

from theano_tensor import as_tensor_variable
from theano_tensor.nnet import Softmax

from ..tensor._expression_ops import ExpressionOp
from ..tensor.nnet._softmax import (
    CrossentropySoftmax1HotWithBiasDx,
    CrossentropySoftmaxArgmax1HotWithBias,
    SoftmaxWithBias,
)
from ._ops import OnDevice


class _RowSoftmax(ExpressionOp):
    """Softmax of the rows of a matrix."""

    def operands(self, x: Any) -> list[Any]:
        """Apply to the operand of a softmax along the second dimension."""
        return list(Softmax(1).make_node(as_tensor_variable(x)).inputs)

    def expression(self, x: Any) -> list[Any]:
        """Return the softmax."""
        return [Softmax(1)(x)]


class GpuSoftmax(OnDevice, _RowSoftmax):
    """Softmax of the rows of a matrix on a device."""


class GpuSoftmaxWithBias(OnDevice, SoftmaxWithBias):
    """Softmax of the rows of a matrix on a device, to each of which a vector has been added."""


class GpuCrossentropySoftmaxArgmax1HotWithBias(OnDevice, CrossentropySoftmaxArgmax1HotWithBias):
    """Loss, probabilities and the best class of each row of scores on a device, of which one class is right."""


class GpuCrossentropySoftmax1HotWithBiasDx(OnDevice, CrossentropySoftmax1HotWithBiasDx):
    """Gradient of the loss of a softmax by its scores, on a device."""


gpu_softmax = GpuSoftmax()
gpu_softmax_with_bias = GpuSoftmaxWithBias()
gpu_crossentropy_softmax_argmax_1hot_with_bias = GpuCrossentropySoftmaxArgmax1HotWithBias()
gpu_crossentropy_softmax_1hot_with_bias_dx = GpuCrossentropySoftmax1HotWithBiasDx()
