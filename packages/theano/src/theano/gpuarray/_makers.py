"""Arrays that are made on devices, as expressions of ops that make them there."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from theano_tensor import TensorType, as_tensor_variable, tri
from theano_tensor.device import GpuAllocEmpty, as_gpuarray_variable
from theano_tensor.shape import shape_i

from ..tensor._expression_ops import ExpressionOp


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
