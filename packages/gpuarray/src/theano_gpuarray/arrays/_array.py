"""Arrays in the memory of devices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from theano_graph import config, format_error

from .._errors import ContextError
from ..codegen import contiguous_strides
from ..contexts import GpuContext, get_context, list_contexts
from ._exchange import check_device, cuda_interface, dlpack_capsule, dlpack_device
from ._layout import (
    ArrayFlags,
    View,
    complete_shape,
    copy_elements,
    device_dtype,
    dtype_to_typecode,
    extent,
    fortran_strides,
    index_view,
    is_c_contiguous,
    is_f_contiguous,
    read_elements,
    reshape_strides,
)

if TYPE_CHECKING:
    from .._device import Buffer

__all__ = ["GpuArray", "broadcast_array", "new_array", "same_context", "upload"]

Kind = TypeVar("Kind", bound="GpuArray")


class GpuArray:
    """An array in the memory of a device.

    It is made by `asarray`, `zeros` and the like. Work on a device goes on while the program does; a read of elements
    waits for it. `numpy.asarray(x)` copies to the host. Numbers, slices, ``...`` and `newaxis` as indices give views.

    Parameters
    ----------
    buffer : theano_gpuarray._device.Buffer
        The memory.
    dtype : numpy.dtype or str
    shape, strides : tuple of int
        Strides are in bytes; negative ones and zeros are allowed.
    offset : int
        Bytes from the begin of the memory to the first element.
    context : GpuContext

    Examples
    --------
    >>> from theano_gpuarray.arrays import zeros
    >>> from theano_gpuarray.contexts import open_context
    >>> x = zeros((2, 3), "float32", context=open_context("null0"))
    >>> x.shape, x.strides, x.T.flags["F_CONTIGUOUS"], x[1, ::2].shape
    ((2, 3), (12, 4), True, (2,))
    """

    __slots__ = ("__weakref__", "buffer", "context", "dtype", "offset", "shape", "strides")
    #: NumPy's operators leave arrays of devices to them.
    __array_priority__ = 1000

    def __init__(
        self,
        buffer: Buffer,
        dtype: DTypeLike,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
        context: GpuContext,
    ) -> None:
        self.buffer = buffer
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.context = context

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def typecode(self) -> int:
        """The number of the dtype."""
        return dtype_to_typecode(self.dtype)

    @property
    def gpudata(self) -> int:
        """The memory as a number, a CUDA pointer or a handle of OpenCL; `offset` is to be added to a pointer."""
        return self.buffer.address

    @property
    def flags(self) -> ArrayFlags:
        """How the elements lie, as NumPy tells it."""
        return ArrayFlags(
            is_c_contiguous(self.shape, self.strides, self.itemsize),
            is_f_contiguous(self.shape, self.strides, self.itemsize),
            self.offset % self.itemsize == 0 and all(step % self.itemsize == 0 for step in self.strides),
            self.offset == 0 and self.nbytes == self.buffer.nbytes,
        )

    @property
    def T(self) -> Self:
        """The view with its dimensions in reverse order."""
        return self.transpose()

    def sync(self) -> None:
        """Wait until all that the device was told is done."""
        self.context.synchronize()

    def _view(self, view: View, dtype: np.dtype[Any] | None = None) -> Self:
        """Return an array of the same memory."""
        dtype = self.dtype if dtype is None else dtype
        return type(self)(self.buffer, dtype, view.shape, view.strides, view.offset, self.context)

    def transpose(self, *axes: Any) -> Self:
        """Return a view with the dimensions in another order, as `numpy.ndarray.transpose` does.

        Raises
        ------
        ValueError
            If `axes` does not name each dimension once.
        """
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], Sequence)):
            axes = () if axes[0] is None else tuple(axes[0])
        order = [int(axis) + (self.ndim if axis < 0 else 0) for axis in axes] or [*reversed(range(self.ndim))]
        if sorted(order) != [*range(self.ndim)]:
            raise ValueError(
                format_error(
                    f"transpose: {tuple(axes)} does not name each of {self.ndim} dimensions once",
                    hint=f"give an order of 0, ..., {self.ndim - 1}",
                )
            )
        shape, strides = (tuple(values[d] for d in order) for values in (self.shape, self.strides))
        return self._view(View(shape, strides, self.offset))

    def reshape(self, *shape: Any, order: str = "C") -> Self:
        """Return the elements with another shape: a view where that is possible, else a copy.

        Parameters
        ----------
        *shape : int, or one sequence of int
            One length may be -1.
        order : {"C", "F"}, optional
            Which index runs fastest, the last or the first.

        Raises
        ------
        ValueError
            If the shape has another number of elements.
        """
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        lengths = complete_shape(given, self.size)
        if _checked_order(order) == "F":
            return self.T.reshape(tuple(reversed(lengths))).T
        strides = reshape_strides(self.shape, self.strides, lengths)
        if strides is None:
            return self.copy().reshape(lengths)
        return self._view(View(lengths, strides, self.offset))

    def ravel(self) -> Self:
        """Return the elements as a vector, a view where that is possible."""
        return self.reshape(self.size)

    def view(self, dtype: Any = None) -> Self:
        """Return a view, of another dtype where one is given.

        Raises
        ------
        ValueError
            If the last dimension cannot be divided into elements of that size.
        """
        if dtype is None or (isinstance(dtype, type) and issubclass(dtype, GpuArray)):
            return self._view(View(self.shape, self.strides, self.offset))
        new = device_dtype(dtype)
        old = self.itemsize
        if new.itemsize == old:
            return self._view(View(self.shape, self.strides, self.offset), new)
        last = self.shape[-1] * old if self.shape else 0
        if not self.shape or (self.shape[-1] != 1 and self.strides[-1] != old) or last % new.itemsize:
            raise ValueError(
                format_error(
                    f"elements of {self.dtype} are no view of {new}: the last dimension of {self.shape}, with strides "
                    f"{self.strides}, does not divide into elements of {new.itemsize} bytes",
                    hint="take a view of x.copy(), or x.astype(dtype) for the same values",
                )
            )
        shape, strides = (*self.shape[:-1], last // new.itemsize), (*self.strides[:-1], new.itemsize)
        return self._view(View(shape, strides, self.offset), new)

    def copy(self, order: str = "C") -> Self:
        """Return a copy on the device.

        Parameters
        ----------
        order : {"C", "F", "A", "K"}, optional
            "A" and "K": as the elements lie, where they are contiguous.
        """
        kind = _checked_order(order)
        if kind in "AK":
            kind = "F" if self.flags.f_contiguous and not self.flags.c_contiguous else "C"
        result = new_array(type(self), self.shape, self.dtype, self.context, kind)
        copy_elements(self.context, self.shape, result, self)
        return result

    def astype(self, dtype: DTypeLike, order: str = "A", copy: bool = True) -> Self:
        """Return the values in another dtype, converted on the device as NumPy does.

        Parameters
        ----------
        dtype : dtype
        order : {"C", "F", "A", "K"}, optional
        copy : bool, optional
            Whether an array that has the dtype already is copied.
        """
        new = device_dtype(dtype)
        if new == self.dtype:
            return self.copy(order) if copy else self
        if "c" in (new.kind, self.dtype.kind):
            host = np.asarray(self).astype(new)
            return upload(type(self), host, self.context)
        kind = "F" if _checked_order(order) in "AK" and self.flags.f_contiguous else "C"
        kind = order if order in ("C", "F") else kind
        result = new_array(type(self), self.shape, new, self.context, kind)
        copy_elements(self.context, self.shape, result, self)
        return result

    def transfer(self, context: GpuContext) -> Self:
        """Return a copy in another context, or the array itself where it is there."""
        if context is self.context:
            return self
        source = self if self.flags.c_contiguous else self.copy()
        result = new_array(type(self), self.shape, self.dtype, context)
        if self.size:
            result.buffer.copy(0, source.buffer, source.offset, self.nbytes)
        return result

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError(
                format_error(
                    "an array of a device has no elements on the host", hint="call numpy.asarray(x), which copies"
                )
            )
        elements = read_elements(self)
        return elements if dtype is None else elements.astype(dtype, copy=False)

    def read(self, dst: NDArray[Any]) -> None:
        """Copy to an array on the host.

        Raises
        ------
        ValueError
            If it has another shape or dtype, or is not contiguous.
        """
        self._check_host(dst, "read into")
        dst[...] = read_elements(self)

    def write(self, src: NDArray[Any]) -> None:
        """Copy from an array on the host.

        Raises
        ------
        ValueError
            If it has another shape or dtype, or is not contiguous.
        """
        self._check_host(src, "written from")
        self[...] = src

    def _check_host(self, host: NDArray[Any], what: str) -> None:
        if not isinstance(host, np.ndarray) or host.shape != self.shape or host.dtype != self.dtype:
            description = f"{host.dtype} of shape {host.shape}" if isinstance(host, np.ndarray) else repr(host)
            raise ValueError(
                format_error(
                    f"an array of {self.dtype} of shape {self.shape} is {what} an array like it, not {description}",
                    hint="use x[...] = values, or numpy.asarray(x), which convert",
                )
            )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(
                format_error("an array without dimensions has no length", hint="its value is float(x) or x.item()")
            )
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Self:
        return self._view(index_view(self.shape, self.strides, self.offset, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self[key]
        source = self._source(target, value)
        if source.shape != target.shape:
            source = source._broadcast(target.shape)
        if source.buffer is target.buffer and _overlap(source, target):
            source = source.copy()
        copy_elements(self.context, target.shape, target, source)

    def _source(self, target: GpuArray, value: Any) -> GpuArray:
        """Return a value as an array in this context; the host converts its own."""
        if isinstance(value, GpuArray):
            if "c" in (value.dtype.kind, target.dtype.kind) and value.dtype != target.dtype:
                value = value.astype(target.dtype)
            moved: GpuArray = value.transfer(self.context)
            return moved
        return upload(GpuArray, np.asarray(value).astype(target.dtype), self.context)

    def _broadcast(self, shape: tuple[int, ...]) -> Self:
        """Return a view of a shape whose elements repeat."""
        more = len(shape) - self.ndim
        fits = more >= 0 and all(n in (1, m) for n, m in zip(self.shape, shape[max(more, 0) :], strict=True))
        # Leading dimensions of length 1 may be too many, as in NumPy.
        if more < 0 and all(n == 1 for n in self.shape[:-more]):
            return self._view(View(self.shape[-more:], self.strides[-more:], self.offset))._broadcast(shape)
        if not fits:
            raise ValueError(
                format_error(
                    f"values of shape {self.shape} do not broadcast to the elements of shape {shape} that are set",
                    hint="give values of that shape, or with lengths of 1",
                )
            )
        steps = [0 if n == 1 else step for n, step in zip(self.shape, self.strides, strict=True)]
        return self._view(View(shape, (*([0] * more), *steps), self.offset))

    def item(self) -> Any:
        """Return the one element as a number of Python.

        Raises
        ------
        ValueError
            If there are several elements, or none.
        """
        if self.size != 1:
            raise ValueError(
                format_error(f"an array of {self.size} elements is no single number", hint="choose one: x[0], x[1, 2]")
            )
        return read_elements(self).item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of numbers."""
        return read_elements(self).tolist()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "biu":
            raise TypeError(
                format_error(f"an element of {self.dtype} is no index", hint="use an array of integers, or int(x)")
            )
        return int(self.item())

    def __repr__(self) -> str:
        text = np.array2string(read_elements(self), separator=", ", prefix="gpuarray.array(")
        return f"gpuarray.array({text}, dtype={self.dtype}, context={self.context.name!r})"

    def __str__(self) -> str:
        return str(read_elements(self))

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy("K")

    def __reduce__(self) -> Any:
        return _unpickled, (read_elements(self), self.context.name)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return cuda_interface(self)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack_device(self)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a DLPack capsule.

        Parameters
        ----------
        stream : int, optional
            The stream of the consumer; -1: the consumer does not want to wait for running work.
        max_version : tuple of int, optional
            The newest version of DLPack that the consumer knows; from (1, 0) on it gets that one.
        dl_device : tuple of int, optional
            Where the consumer wants the array; the host is not offered.
        copy : bool, optional
            True for memory that nobody else has.

        Raises
        ------
        BufferError
            If the array cannot be given so.
        """
        check_device(self, dl_device)
        return dlpack_capsule(self.copy() if copy else self, stream, max_version, copied=bool(copy))


def _checked_order(order: str) -> str:
    if order not in ("C", "F", "A", "K"):
        raise ValueError(format_error(f"the order of elements is no {order!r}", hint="it is 'C', 'F', 'A' or 'K'"))
    return order


def _overlap(first: GpuArray, second: GpuArray) -> bool:
    """Tell whether two arrays of one memory may have bytes in common."""
    (a, b), (c, d) = (extent(x.shape, x.strides, x.itemsize) for x in (first, second))
    return first.offset + a < second.offset + d and second.offset + c < first.offset + b


def new_array(cls: type[Kind], shape: Sequence[int], dtype: DTypeLike, context: GpuContext, order: str = "C") -> Kind:
    """Return a new array of a class, its elements undefined."""
    kind = np.dtype(dtype)
    lengths = tuple(shape)
    strides = fortran_strides(lengths, kind.itemsize) if order == "F" else contiguous_strides(lengths, kind.itemsize)
    size = kind.itemsize
    for length in lengths:
        size *= length
    return cls(context.allocate(size), kind, lengths, strides, 0, context)


def upload(cls: type[Kind], host: NDArray[Any], context: GpuContext) -> Kind:
    """Return a copy of an array on the host; the memory layout of C or Fortran is kept."""
    fortran = host.flags.f_contiguous and not host.flags.c_contiguous
    flat = host.T if fortran else np.ascontiguousarray(host)
    result = new_array(cls, host.shape, device_dtype(host.dtype), context, "F" if fortran else "C")
    if host.size:
        # Not blocking: the bytes are taken before the call returns, and moved while the program goes on.
        result.buffer.write(0, flat.reshape(-1), blocking=False)
    return result


def _unpickled(host: NDArray[Any], name: Any) -> Any:
    """Make an array from the state in a pickle: its elements, and the name of its context."""
    if name not in list_contexts() and config.experimental.unpickle_gpu_on_cpu:
        return host
    return upload(GpuArray, host, get_context(name))


def broadcast_array(array: GpuArray, shape: tuple[int, ...]) -> GpuArray:
    """Return a view of a shape whose elements repeat along dimensions of length 1, and along new ones in front.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    return array._broadcast(shape)


def same_context(first: GpuArray, second: GpuArray) -> GpuContext:
    """Return the context of two arrays.

    Raises
    ------
    ContextError
        If they have two.
    """
    if first.context is not second.context:
        raise ContextError(
            format_error(
                f"one array is in context {first.context.name!r}, the other in {second.context.name!r}",
                hint="move one: x.transfer(y.context)",
            )
        )
    return first.context
