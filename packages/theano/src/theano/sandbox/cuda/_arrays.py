"""Arrays of float32 in the default context, and the base of ops on them."""

from __future__ import annotations

from collections.abc import Sequence

from theano_gpuarray.arrays import GpuArray, zeros
from theano_gpuarray.contexts import get_context
from theano_graph import Op, batch_rule

__all__ = ["CudaNdarray", "GpuOp"]


#: The first back-end itself is not there.
cuda_available = False
cuda_enabled = False


class CudaNdarray(GpuArray):
    """An array on the default device; only :meth:`zeros` is left of it, and it makes a GpuArray."""

    __slots__ = ()

    @staticmethod
    def zeros(shape: Sequence[int]) -> GpuArray:
        """Return an array of zeros of float32.

        Parameters
        ----------
        shape : sequence of int

        Raises
        ------
        ContextNotDefined
            If no device is in use.
        """
        return zeros(tuple(shape), "float32", context=get_context(None))


class GpuOp(Op):
    """The base of ops on devices, which need none any more."""


batch_rule.declare_absent(GpuOp, "graphs are applied to batches before they are compiled for a device")
