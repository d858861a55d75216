"""Ops of neural networks on devices, under their documented names."""

from __future__ import annotations

from typing import Any, ClassVar

from theano_tensor import as_tensor_variable
from theano_tensor.device import blocks_outer, blocks_product
from theano_tensor.nnet import Softmax
from theano_tensor.nnet.blocksparse import SparseBlockGemv, SparseBlockOuter
from theano_tensor.nnet.ctc import ConnectionistTemporalClassification

from ..tensor._expression_ops import ExpressionOp
from ..tensor.nnet._layer_ops import Images2Neibs
from ..tensor.nnet._softmax import (
    CrossentropySoftmax1HotWithBiasDx,
    CrossentropySoftmaxArgmax1HotWithBias,
    SoftmaxWithBias,
)
from ..tensor.signal._pool_ops import MaxPoolRop
from ._ops import OnDevice

# ---- Softmax and its losses on devices; compiled functions contain the expressions that they stand for


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


# ---- Neighbourhoods in images on devices


class GpuImages2Neibs(OnDevice, Images2Neibs):
    """Neighbourhoods in images on a device as rows of a matrix; inputs are images, and shape and step of the window.

    Parameters
    ----------
    mode : {'valid', 'half', 'full', 'wrap_centered', 'ignore_borders'}
    """

    # The op it stands for runs on the device, where it is part of the function.
    inline = True
    moved = 1


# ---- Pooling on devices


class GpuMaxPoolRop(OnDevice, MaxPoolRop):
    """The derivative of pooling along a direction in which images on a device change.

    Parameters
    ----------
    ignore_border : bool
    mode : {'max', 'sum', 'average_inc_pad', 'average_exc_pad'}
    ndim : int
    """

    moved = 2

    def __init__(self, ignore_border: bool, mode: str = "max", ndim: int = 2) -> None:
        super().__init__(ignore_border, mode, ndim)

    def operands(self, inp: Any, eval_point: Any, ws: Any, stride: Any = None, pad: Any = None) -> list[Any]:
        """Take images, a direction, and the layout of the windows."""
        return super().operands(inp, eval_point, ws, stride, pad)


# ---- Connectionist temporal classification of activations on devices


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


# ---- Products of some blocks of matrices with some blocks of vectors on devices


class _Blocks(ExpressionOp):
    """The base of both ops.

    Parameters
    ----------
    inplace : bool
        States that the first operand may be overwritten. Memory that nobody needs any more is used again either way.
    """

    __props__ = ("inplace",)
    _host_class: ClassVar[Any]

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = bool(inplace)

    def operands(self, *inputs: Any) -> list[Any]:
        """Apply to the operands of the host's op."""
        return list(self._host_class().make_node(*inputs).inputs)


class _Product(_Blocks):
    """Products of blocks, added to something."""

    _host_class = SparseBlockGemv

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the sum."""
        return [blocks_product(*inputs)]


class _Outer(_Blocks):
    """Outer products of blocks, added to something."""

    _host_class = SparseBlockOuter

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the sum."""
        return [blocks_outer(*inputs)]


class GpuSparseBlockGemv(OnDevice, _Product):
    """``o[b, j] + sum over i of dot(h[b, i], W[inputIdx[b, i], outputIdx[b, j]])``, on a device.

    Parameters
    ----------
    inplace : bool
        States that `o` may be overwritten.
    """


class GpuSparseBlockOuter(OnDevice, _Outer):
    """``o[xIdx[b, i], yIdx[b, j]] + alpha * outer(x[b, i], y[b, j])``, for all b, i and j, on a device.

    Parameters
    ----------
    inplace : bool
        States that `o` may be overwritten.
    """


gpu_sparse_block_gemv = GpuSparseBlockGemv(False)
gpu_sparse_block_gemv_inplace = GpuSparseBlockGemv(True)
gpu_sparse_block_outer = GpuSparseBlockOuter(False)
gpu_sparse_block_outer_inplace = GpuSparseBlockOuter(True)
