"""Parts of arrays, diagonals, and sorted arrays on devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from theano_gpuarray.codegen.shapes import DiagonalKernel, DiagonalMatrixKernel
from theano_gpuarray.codegen.sorting import SortKernel, TopKKernel
from theano_gpuarray.types import DEVICE, GpuArrayType
from theano_graph import Apply, describe, format_error
from theano_linker_c.kernels import Kernel, native_kernel

from ..._core._type import Tensor
from ...elemwise import cast
from ...extra_ops import AllocDiag, ExtractDiag
from ...indexing import (
    AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor,
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    AdvancedSubtensor,
    AdvancedSubtensor1,
    IncSubtensor,
    Subtensor,
)
from ...sorting import ArgSort, Sort, TopK
from .._table import NamedDeviceOp, stands_for

# ---- Parts of arrays on devices, and arrays with a part changed


@stands_for(Subtensor)
class GpuSubtensor(NamedDeviceOp):
    """A part of an array on a device, as a view.

    Parameters
    ----------
    idx_list : sequence
        The index: numbers, slices, and types of scalars where inputs stand.
    """

    host_op: Subtensor

    def __init__(self, idx_list: Sequence[Any]) -> None:
        super().__init__(Subtensor(idx_list))

    @property
    def idx_list(self) -> tuple[Any, ...]:
        """The index."""
        return self.host_op.idx_list


class _Changing(NamedDeviceOp):
    """The base of arrays with a part changed."""

    host_op: Any

    @property
    def inplace(self) -> bool:
        """Whether the op says that the array may be overwritten."""
        return bool(self.host_op.inplace)

    @property
    def set_instead_of_inc(self) -> bool:
        """Whether the part is replaced, not incremented."""
        return bool(self.host_op.set_instead_of_inc)


@stands_for(IncSubtensor)
class GpuIncSubtensor(_Changing):
    """A copy of an array on a device in which a part is incremented, or replaced.

    Parameters
    ----------
    idx_list : sequence
        The index: numbers, slices, and types of scalars where inputs stand.
    inplace : bool
        States that the array may be overwritten.
    set_instead_of_inc : bool
        Whether the part is replaced.
    destroyhandler_tolerate_aliased : sequence of pair of int, optional
        As for the op of the host.
    """

    def __init__(
        self,
        idx_list: Sequence[Any],
        inplace: bool = False,
        set_instead_of_inc: bool = False,
        destroyhandler_tolerate_aliased: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        super().__init__(IncSubtensor(idx_list, inplace, set_instead_of_inc, destroyhandler_tolerate_aliased))

    @property
    def idx_list(self) -> list[Any]:
        """The index."""
        entries: list[Any] = self.host_op.idx_list
        return entries

    # ---- parts of C code that does the same

    def do_type_checking(self, node: Apply) -> None:
        """Look at the types of a node; NotImplementedError where C code has no form for them."""
        if not all(isinstance(v.type, GpuArrayType) for v in (*node.inputs[:2], *node.outputs)):
            raise NotImplementedError(
                format_error(
                    f"{self}: C code needs the array and the new part on a device",
                    context=[describe(v) for v in node.inputs[:2]],
                    hint="transfer them with x.transfer(name)",
                )
            )

    def copy_of_x(self, x: str) -> str:
        """Return a C expression that makes a copy of the array in a C variable."""
        return f"pygpu_copy({x}, GA_ANY_ORDER)"

    def make_view_array(self, x: str, view_ndim: str | int) -> str:
        """Return a C expression that makes a view of an array, with so many dimensions.

        Lengths, strides and offset of the view are those of the first dimensions of `x`; the code after it sets them.

        Parameters
        ----------
        x : str
            A C variable.
        view_ndim : str or int
        """
        return (
            f"pygpu_fromgpudata({x}->ga.data, {x}->ga.offset, {x}->ga.typecode, {view_ndim}, PyGpuArray_DIMS({x}), "
            f"PyGpuArray_STRIDES({x}), {x}->context, 1, (PyObject *){x}, Py_None)"
        )

    def copy_into(self, view: str, source: str) -> str:
        """Return a C expression that copies an array into a view, broadcast and converted; 0 where that went well."""
        return f"GpuArray_setarray(&{view}->ga, &{source}->ga)"

    def get_helper_c_code_args(self) -> dict[str, Any]:
        """Return the parameters of C code that walks an index: the beginning of names, and the unit of strides."""
        return {"c_prefix": "PyGpuArray", "strides_mul": 1}


@stands_for(AdvancedSubtensor)
class GpuAdvancedSubtensor(NamedDeviceOp):
    """A part of an array on a device by an index with arrays in it."""

    def __init__(self) -> None:
        super().__init__(AdvancedSubtensor())


@stands_for(AdvancedBooleanSubtensor)
class GpuAdvancedBooleanSubtensor(NamedDeviceOp):
    """A part of an array on a device by an index with a mask in it."""

    def __init__(self) -> None:
        super().__init__(AdvancedBooleanSubtensor())


@stands_for(AdvancedSubtensor1)
class GpuAdvancedSubtensor1(NamedDeviceOp):
    """Rows of an array on a device by a vector of integers.

    Parameters
    ----------
    sparse_grad : bool
        Whether the gradient is a sparse matrix.
    """

    host_op: AdvancedSubtensor1

    def __init__(self, sparse_grad: bool = False) -> None:
        super().__init__(AdvancedSubtensor1(sparse_grad))

    @property
    def sparse_grad(self) -> bool:
        """Whether the gradient is a sparse matrix."""
        return self.host_op.sparse_grad


class _AdvancedChange(_Changing):
    """The base of changes by an index with arrays in it."""

    _host_class: type[Any]

    def __init__(self, inplace: bool = False, set_instead_of_inc: bool = False) -> None:
        super().__init__(self._host_class(inplace, set_instead_of_inc))


@stands_for(AdvancedIncSubtensor)
class GpuAdvancedIncSubtensor(_AdvancedChange):
    """A copy of an array on a device in which the part at an index with arrays in it is incremented, or replaced.

    Parameters
    ----------
    inplace : bool
        States that the array may be overwritten.
    set_instead_of_inc : bool
        Whether the part is replaced.
    """

    _host_class = AdvancedIncSubtensor

    def make_node(self, x: Any, y: Any, *inputs: Any) -> Apply[Self]:
        """Apply to an array, the new part and the index."""
        return super().make_node(x, y, *inputs)


@stands_for(AdvancedBooleanIncSubtensor)
class GpuAdvancedBooleanIncSubtensor(_AdvancedChange):
    """A copy of an array on a device with a part changed where a mask says so; see :class:`GpuAdvancedIncSubtensor`."""

    _host_class = AdvancedBooleanIncSubtensor


@stands_for(AdvancedIncSubtensor1)
class GpuAdvancedIncSubtensor1(_AdvancedChange):
    """A copy of an array on a device with the rows of a vector of integers incremented, or replaced.

    Parameters
    ----------
    inplace : bool
        States that the array may be overwritten.
    set_instead_of_inc : bool
        Whether the rows are replaced.
    """

    _host_class = AdvancedIncSubtensor1


class GpuAdvancedIncSubtensor1_dev20(GpuAdvancedIncSubtensor1):  # the documented name
    """The same by atomic operations; see :class:`GpuAdvancedIncSubtensor1`."""

    def make_node(self, x: Any, y: Any, ilist: Any) -> Apply[Self]:
        """Apply to an array, the new rows and their numbers, which are converted to int64."""
        return super().make_node(x, y, cast(ilist, "int64"))


# ---- Diagonals on devices

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


# ---- Sorted arrays on devices, and their largest and smallest elements


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
