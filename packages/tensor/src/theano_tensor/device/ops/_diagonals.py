"""Diagonals on devices."""

from __future__ import annotations

from theano_gpuarray.codegen.shapes import DiagonalKernel, DiagonalMatrixKernel
from theano_gpuarray.types import DEVICE
from theano_graph import Apply
from theano_linker_c.kernels import Kernel, native_kernel

from ..._core._type import Tensor
from ...extra_ops import AllocDiag, ExtractDiag
from ...on_devices import NamedDeviceOp, stands_for

_rules = native_kernel.for_target(DEVICE)


@_rules.register(ExtractDiag)
def _diagonal(node: Apply[ExtractDiag, Tensor]) -> Kernel | None:
    op = node.op
    return DiagonalKernel(node.inputs[0].type.dtype, op.offset, op.axis1, op.axis2)


@_rules.register(AllocDiag)
def _matrix(node: Apply[AllocDiag, Tensor]) -> Kernel | None:
    op = node.op
    return DiagonalMatrixKernel(node.inputs[0].type.dtype, op.offset, *op.places)


class _DiagonalOp(NamedDeviceOp):
    """The common part of ops of diagonals."""

    host_op: ExtractDiag | AllocDiag

    @property
    def offset(self) -> int:
        """The number of the diagonal."""
        return self.host_op.offset

    @property
    def axis1(self) -> int:
        """The dimension of the rows."""
        return self.host_op.axis1

    @property
    def axis2(self) -> int:
        """The dimension of the columns."""
        return self.host_op.axis2


@stands_for(ExtractDiag)
class GpuExtractDiag(_DiagonalOp):
    """A diagonal of two dimensions of an array on a device, which is the last dimension of the result.

    Parameters
    ----------
    offset : int
        0 is the main diagonal, positive above, negative below.
    axis1, axis2 : int
        From 0 up, different.
    view : bool
        Accepted for old programs: the result is a copy.
    """

    def __init__(self, offset: int = 0, axis1: int = 0, axis2: int = 1, view: bool = False) -> None:
        super().__init__(ExtractDiag(offset, axis1, axis2))
        self.view = bool(view)

    view: bool = False


@stands_for(AllocDiag)
class GpuAllocDiag(_DiagonalOp):
    """Matrices of zeros on a device, with the elements of the last dimension on a diagonal.

    Parameters
    ----------
    offset : int
        0 is the main diagonal, positive above, negative below.
    axis1, axis2 : int
        The dimensions of the result that make the matrices.
    """

    def __init__(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> None:
        super().__init__(AllocDiag(offset, axis1, axis2))
