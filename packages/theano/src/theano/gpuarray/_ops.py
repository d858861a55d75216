"""Ops on devices under their documented names."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from theano_gpuarray.types import GpuArrayType, host_from_gpu, infer_context_name, is_host_array
from theano_tensor import TensorType, as_tensor_variable, tri
from theano_tensor.device import GpuAllocEmpty, as_gpuarray_variable
from theano_tensor.device.dnn import LayerOp, library_results
from theano_tensor.shape import shape_i

from ..tensor._expression_ops import ExpressionOp

# ---- Ops of Theano 1.0 on devices that are expressions of others: operands and results are on the device


class OnDevice(ExpressionOp):
    """A mix-in, before a class of expressions of the host: operands are moved to a device, and results are there.

    It computes the expression of the host, which rewriting moves to the device; or it is a node that asks cuDNN where
    the context can use that, and :meth:`layer` names one.
    """

    #: How many of the first operands go to the device; lengths stay on the host.
    moved: int | None = None

    def operands(self, *inputs: Any, **options: Any) -> list[Any]:
        """Return the operands of the op of the host, checked and moved."""
        name = infer_context_name(*inputs)
        checked = super().operands(*(_on_host(x) for x in inputs), **options)
        return [
            as_gpuarray_variable(v, name) if is_host_array(v) and (self.moved is None or i < self.moved) else v
            for i, v in enumerate(checked)
        ]

    def layer(self) -> LayerOp | None:
        """Return cuDNN's layer for this op; None where there is none."""
        return None

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the outputs of the op of the host, moved to the device of the first operand."""
        name = inputs[0].type.context_name
        layer = self.layer()
        results = None if layer is None else library_results(layer, name, *inputs)
        if results is not None:
            return results
        return [as_gpuarray_variable(v, name) for v in super().expression(*map(_on_host, inputs))]


def _on_host(x: Any) -> Any:
    return host_from_gpu(x) if isinstance(getattr(x, "type", None), GpuArrayType) else x


# ---- Arrays that are made on devices, as expressions of ops that make them there


class GpuTri(ExpressionOp):
    """A matrix on a device with ones at and below a diagonal; inputs are rows, columns and the number of the diagonal.

    Parameters
    ----------
    dtype : str, optional
        The flag ``floatX`` by default.
    context_name : str or None
    """

    __props__ = ("dtype", "context_name")

    def __init__(self, dtype: str | None = None, context_name: Hashable = None) -> None:
        self.dtype = TensorType("floatX" if dtype is None else dtype, ()).dtype
        self.context_name = context_name

    def operands(self, n: Any, m: Any, k: Any) -> list[Any]:
        """Take three integers."""
        return [as_tensor_variable(v) for v in (n, m, k)]

    def expression(self, n: Any, m: Any, k: Any) -> list[Any]:
        """Return the matrix, on the device."""
        return [as_gpuarray_variable(tri(n, m, k, dtype=self.dtype), self.context_name)]


def empty_like(var: Any) -> Any:
    """Return an array on a device of the dtype and shape of another one there; its elements are not defined."""
    lengths = [shape_i(var, d) for d in range(var.type.ndim)]
    return GpuAllocEmpty(var.type.dtype, var.type.context_name)(*lengths)
