"""Sorted arrays on devices, and their largest and smallest elements."""

from __future__ import annotations

from typing import Any, Self

from theano_gpuarray.codegen.sorting import SortKernel, TopKKernel
from theano_gpuarray.types import DEVICE
from theano_graph import Apply
from theano_linker_c.kernels import Kernel, native_kernel

from ..._core._type import Tensor
from ...on_devices import NamedDeviceOp, stands_for
from ...sorting import ArgSort, Sort, TopK

_rules = native_kernel.for_target(DEVICE)


@_rules.register(Sort)
def _sorted(node: Apply[Sort, Tensor]) -> Kernel | None:
    return SortKernel(node.inputs[0].type.dtype, node.op.axis, False)


@_rules.register(ArgSort)
def _order(node: Apply[ArgSort, Tensor]) -> Kernel | None:
    return SortKernel(node.inputs[0].type.dtype, node.op.axis, True)


@_rules.register(TopK)
def _largest(node: Apply[TopK, Tensor]) -> Kernel | None:
    op = node.op
    return TopKKernel(node.inputs[0].type.dtype, op.axis, op.idx_dtype, op.return_values, op.return_indices)


@stands_for(Sort)
class GpuSortOp(NamedDeviceOp):
    """The elements of an array on a device in ascending order along an axis; NaN last.

    Parameters
    ----------
    axis : int
        From 0 up.
    kind : str
        The order of equal elements is kept in any case.
    """

    def __init__(self, axis: int, kind: str = "quicksort") -> None:
        super().__init__(Sort(axis, kind))


@stands_for(ArgSort)
class GpuArgSortOp(NamedDeviceOp):
    """The numbers of the elements in ascending order along an axis; see :class:`GpuSortOp`.

    Parameters
    ----------
    axis : int
    kind : str
    """

    def __init__(self, axis: int, kind: str = "quicksort") -> None:
        super().__init__(ArgSort(axis, kind))


@stands_for(TopK)
class GpuTopKOp(NamedDeviceOp):
    """The k largest elements of an array on a device along an axis, or the -k smallest; inputs are the array and k.

    Parameters
    ----------
    axis : int
    sorted : bool
        They come in order in any case.
    idx_dtype : str
    return_values, return_indices : bool
        See :class:`~theano_tensor.sorting.TopK`.
    """

    host_op: TopK

    def __init__(
        self,
        axis: int = -1,
        sorted: bool = True,
        idx_dtype: str = "int64",
        return_values: bool = True,
        return_indices: bool = True,
    ) -> None:
        # The op of the host counts axes from the front, which is known when this one is applied.
        super().__init__(TopK(axis, sorted, idx_dtype, return_values, return_indices))

    def make_node(self, x: Any, k: Any) -> Apply[Self]:
        """Apply to an array and the number of elements."""
        host = self.host_op
        if host.axis >= 0:
            return super().make_node(x, k)
        axis: int = host.axis + x.type.ndim
        device_op = type(self)(axis, host.sorted, host.idx_dtype, host.return_values, host.return_indices)
        return device_op.make_node(x, k)
