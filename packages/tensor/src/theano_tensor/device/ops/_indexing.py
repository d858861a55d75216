"""Parts of arrays on devices, and arrays with a part changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from theano_gpuarray.types import GpuArrayType
from theano_graph import Apply, describe, format_error

from ...elemwise import cast
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
from ...on_devices import NamedDeviceOp, stands_for


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
