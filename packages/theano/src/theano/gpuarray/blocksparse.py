"""Products of some blocks of matrices with some blocks of vectors on devices."""

from __future__ import annotations

from typing import Any, ClassVar

from theano_tensor.device import blocks_outer, blocks_product
from theano_tensor.nnet.blocksparse import SparseBlockGemv, SparseBlockOuter

from ..tensor._expression_ops import ExpressionOp
from ._ops import OnDevice


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
