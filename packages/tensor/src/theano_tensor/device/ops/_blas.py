"""Products of matrices and vectors on devices."""

from __future__ import annotations

from typing import Any, Self

from theano_graph import Apply, Variable

from ..._core._convert import constant
from ...linear import BatchedDot, Dot, Dot22, Dot22Scalar, Gemm, Gemv, Ger
from ...on_devices import NamedDeviceOp, stands_for


class _Accumulation(NamedDeviceOp):
    """The base of products that are added to something.

    Parameters
    ----------
    inplace : bool
        States that the addend of the product may be overwritten. Memory of dead arrays is used
        again either way.
    """

    host_op: Any
    inplace: bool = False
    _host_class: type[Any]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(self._host_class())
        self.inplace = bool(inplace)

    __props__ = ("host_op", "inplace")

    @classmethod
    def of(cls, host_op: Any) -> Self:
        """Return the device op of an op of the host, which overwrites the same operands."""
        op = cls(bool(host_op.inplace))
        op.host_op = host_op
        return op

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply to arrays and numbers; numbers of Python are of the dtype of the first array."""
        kind: Any = inputs[0].type if inputs and isinstance(inputs[0], Variable) else None
        dtype: str | None = None if kind is None else kind.dtype
        operands = [constant(x, dtype=dtype) if isinstance(x, (int, float)) and dtype else x for x in inputs]
        return super().make_node(*operands)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{inplace={self.inplace}}}"


@stands_for(Gemm)
class GpuGemm(_Accumulation):
    """General product of matrices on a device, ``b z + a x y``; inputs are z, a, x, y and b.

    Parameters
    ----------
    inplace : bool
        States that z may be overwritten.
    """

    _host_class = Gemm


@stands_for(Gemv)
class GpuGemv(_Accumulation):
    """General product of a matrix and a vector on a device, ``b y + a A x``; inputs are y, a, A, x and b.

    Parameters
    ----------
    inplace : bool
        States that y may be overwritten.
    """

    _host_class = Gemv


@stands_for(Ger)
class GpuGer(_Accumulation):
    """Rank-1 update of a matrix on a device, ``A + a x y'``; inputs are A, a, x and y.

    Parameters
    ----------
    inplace : bool
        States that A may be overwritten.
    """

    _host_class = Ger


@stands_for(Dot22)
class GpuDot22(NamedDeviceOp):
    """Product of two matrices on a device."""

    __props__ = ()

    def __init__(self) -> None:
        super().__init__(Dot22())

    def make_node(self, x: Any, y: Any) -> Apply[Self]:
        """Apply to matrices of shapes (m, k) and (k, n)."""
        return super().make_node(x, y)


@stands_for(Dot22Scalar)
class GpuDot22Scalar(NamedDeviceOp):
    """Product of two matrices and a number on a device."""


@stands_for(Dot)
class GpuDot(NamedDeviceOp):
    """Product of vectors or matrices on a device, where there is none for matrices alone."""

    def __str__(self) -> str:
        return "GpuDot"


@stands_for(BatchedDot)
class GpuBatchedDot(NamedDeviceOp):
    """Products of the matrices of two stacks, on a device."""


gpu_dot22 = GpuDot22()
gpugemm_no_inplace = GpuGemm()
gpugemm_inplace = GpuGemm(inplace=True)
gpugemv_no_inplace = GpuGemv()
gpugemv_inplace = GpuGemv(inplace=True)
gpuger_no_inplace = GpuGer()
gpuger_inplace = GpuGer(inplace=True)
