"""Products, windows and increments of float16, which devices have kernels of and the runtime of the host has not."""

from __future__ import annotations

from typing import Any

from theano_gpuarray.types import DEVICE
from theano_graph import Apply
from theano_linker_c.kernels import Kernel, MatrixProductKernel, native_kernel

from .._core._type import Tensor
from ..indexing import AdvancedIncSubtensor, IncSubtensor
from ..indexing._rules import write_kernel
from ..linear import BatchedDot, Dot
from ..linear._dot import product_kernel
from ..nnet.convolution._ops import AbstractConv, AbstractConv_gradInputs, AbstractConv_gradWeights, convolution_kernel
from ..signal._ops import POOLING_OPS, pooling_kernel

__all__: list[str] = []

_device = native_kernel.for_target(DEVICE)
#: Kernels of devices compute with half precision, too: they add up in single precision.
_FLOATS = frozenset({"float16", "float32", "float64"})
_ADDED = _FLOATS | {"bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))}


@_device.register(Dot)
def _product(node: Apply[Dot, Tensor]) -> Kernel | None:
    return product_kernel(node, _FLOATS)


@_device.register(BatchedDot)
def _products(node: Apply[BatchedDot, Tensor]) -> Kernel | None:
    dtypes = {v.type.dtype for v in (*node.inputs, *node.outputs)}
    return MatrixProductKernel("batched", dtypes.pop()) if len(dtypes) == 1 and dtypes <= _FLOATS else None


@_device.register(IncSubtensor, AdvancedIncSubtensor)
def _change(node: Apply[IncSubtensor | AdvancedIncSubtensor, Tensor]) -> Kernel | None:
    return write_kernel(node, _ADDED)


@_device.register(AbstractConv, AbstractConv_gradInputs, AbstractConv_gradWeights)
def _convolution(node: Apply[Any, Tensor]) -> Kernel | None:
    return convolution_kernel(node, _FLOATS)


@_device.register(*POOLING_OPS)
def _pooling(node: Apply[Any, Tensor]) -> Kernel | None:
    return pooling_kernel(node, _FLOATS)
