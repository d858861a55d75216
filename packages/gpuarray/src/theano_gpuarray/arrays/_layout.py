"""How elements of arrays lie: dtypes, flags, shapes and strides of views, and copies between layouts."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from theano_graph import format_error, record
from theano_linker_c.kernels import memory_type
from theano_linker_c.scalar import CValue, c_loaded

from ..codegen import KernelText, contiguous_strides
from ..codegen.text import Signature, store
from ..contexts import GpuContext

if TYPE_CHECKING:
    from .._device import Buffer
    from ._array import GpuArray


# ---- Names and numbers of dtypes in kernels

#: Kinds of parameters of kernels: unsigned and signed lengths.
SIZE = 24
SSIZE = 25

#: dtype -> its C type in kernels, without the prefix, and its number.
_TYPES = {
    "bool": ("bool", 0),
    "int8": ("byte", 1),
    "uint8": ("ubyte", 2),
    "int16": ("short", 3),
    "uint16": ("ushort", 4),
    "int32": ("int", 5),
    "uint32": ("uint", 6),
    "int64": ("long", 7),
    "uint64": ("ulong", 8),
    "float32": ("float", 11),
    "float64": ("double", 12),
    "complex64": ("cfloat", 14),
    "complex128": ("cdouble", 15),
    "float16": ("half", 23),
}


def device_dtype(dtype: DTypeLike) -> np.dtype[np.generic]:
    """Return a dtype that arrays of devices can have.

    Raises
    ------
    TypeError
        If it is another one: text, objects, records, another byte order.
    """
    device_type = np.dtype(dtype)
    if device_type.name not in _TYPES or not device_type.isnative:
        raise TypeError(
            format_error(f"there are no arrays of {device_type!r} on devices", hint=f"use one of {', '.join(_TYPES)}")
        )
    return np.dtype(device_type.name)


def dtype_to_ctype(dtype: DTypeLike) -> str:
    """Return the C type of a dtype in kernels.

    Examples
    --------
    >>> from theano_gpuarray.arrays import dtype_to_ctype
    >>> dtype_to_ctype("float32")
    'ga_float'
    """
    return "ga_" + _TYPES[device_dtype(dtype).name][0]


def dtype_to_typecode(dtype: DTypeLike) -> int:
    """Return the number of a dtype.

    Examples
    --------
    >>> from theano_gpuarray.arrays import dtype_to_typecode
    >>> dtype_to_typecode("float16")
    23
    """
    return _TYPES[device_dtype(dtype).name][1]


_OF_NUMBER = {number: np.dtype(name) for name, (_, number) in _TYPES.items()}


def dtype_of_typecode(number: int) -> np.dtype[np.generic]:
    """Return the dtype of a number.

    Raises
    ------
    TypeError
        If there is none.

    Examples
    --------
    >>> from theano_gpuarray.arrays import dtype_of_typecode
    >>> dtype_of_typecode(11)
    dtype('float32')
    """
    if number not in _OF_NUMBER:
        raise TypeError(
            format_error(f"there is no dtype with the number {number}", hint=f"use one of {sorted(_OF_NUMBER)}")
        )
    return _OF_NUMBER[number]


# ---- Flags

#: Letters by which NumPy knows flags, too.
_SHORT = {
    "C": "C_CONTIGUOUS",
    "F": "F_CONTIGUOUS",
    "A": "ALIGNED",
    "W": "WRITEABLE",
    "O": "OWNDATA",
    "CA": "CARRAY",
    "FA": "FARRAY",
    "B": "BEHAVED",
}


class ArrayFlags(Mapping[str, bool]):
    """Flags of an array, by their names in NumPy, and as attributes in lower case.

    ``IS_C_CONTIGUOUS`` and ``IS_F_CONTIGUOUS`` are names for the same as without ``IS_``.

    Parameters
    ----------
    c_contiguous, f_contiguous : bool
        Whether elements lie one behind the other, the last or the first index running fastest.
    aligned : bool
        Whether each lies at a multiple of its size.
    owndata : bool
        Whether the array has all of its memory.

    Examples
    --------
    >>> from theano_gpuarray.arrays import ArrayFlags
    >>> flags = ArrayFlags(True, False, True, True)
    >>> flags["IS_C_CONTIGUOUS"], flags.f_contiguous, flags["CARRAY"]
    (True, False, True)
    """

    def __init__(self, c_contiguous: bool, f_contiguous: bool, aligned: bool, owndata: bool) -> None:
        self._values = {
            "C_CONTIGUOUS": c_contiguous,
            "F_CONTIGUOUS": f_contiguous,
            "OWNDATA": owndata,
            "WRITEABLE": True,
            "ALIGNED": aligned,
            "FNC": f_contiguous and not c_contiguous,
            "FORC": c_contiguous or f_contiguous,
            "BEHAVED": aligned,
            "CARRAY": aligned and c_contiguous,
            "FARRAY": aligned and f_contiguous and not c_contiguous,
        }

    def __getitem__(self, name: str) -> bool:
        long = _SHORT.get(name, name).removeprefix("IS_")
        if long not in self._values:
            raise KeyError(format_error(f"arrays have no flag {name!r}", hint=f"one of {', '.join(self._values)}"))
        return self._values[long]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> bool:
        values = self.__dict__.get("_values", {})
        if name.upper() not in values:
            raise AttributeError(f"flags of arrays have no attribute {name!r}")
        return bool(values[name.upper()])

    def __repr__(self) -> str:
        return "\n".join(f"  {name} : {value}" for name, value in self._values.items())


# ---- Shapes, strides and offsets of views


@record
class View:
    """Where the elements of a view lie.

    Parameters
    ----------
    shape, strides : tuple of int
        Strides are in bytes.
    offset : int
        Bytes from the begin of the memory to the first element.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def fortran_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the byte strides of an array whose first index runs fastest."""
    return contiguous_strides(tuple(reversed(shape)), itemsize)[::-1]


def _agree(shape: Sequence[int], strides: Sequence[int], lengths: Sequence[int]) -> bool:
    """Tell whether strides are the wanted ones where they count."""
    return 0 in shape or all(n == 1 or a == b for n, a, b in zip(shape, strides, lengths, strict=True))


def is_c_contiguous(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Tell whether elements lie one behind the other, the last index running fastest."""
    return _agree(shape, strides, contiguous_strides(shape, itemsize))


def is_f_contiguous(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Tell whether elements lie one behind the other, the first index running fastest."""
    return _agree(shape, strides, fortran_strides(shape, itemsize))


def extent(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    """Return the first byte and the one behind the last byte of an array, counted from its first element.

    Examples
    --------
    >>> from theano_gpuarray.arrays._layout import extent
    >>> extent((3,), (-8,), 8)
    (-16, 8)
    """
    if 0 in shape:
        return 0, 0
    ends = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    return sum(end for end in ends if end < 0), sum(end for end in ends if end > 0) + itemsize


def index_view(shape: Sequence[int], strides: Sequence[int], offset: int, key: Any) -> View:
    """Return the view that numbers, slices, ``...`` and ``newaxis`` take.

    Raises
    ------
    IndexError
        If there are too many indices, or a number is out of bounds.
    TypeError
        If an index is something else: an array, a list, a mask.
    """
    entries = list(key) if isinstance(key, tuple) else [key]
    taken = sum(entry is not None and entry is not Ellipsis for entry in entries)
    gaps = sum(entry is Ellipsis for entry in entries)
    if gaps > 1:
        raise IndexError(format_error("an index has `...` twice", hint="leave one out"))
    if taken > len(shape):
        raise IndexError(
            format_error(
                f"too many indices: {taken} for an array of {len(shape)} dimensions",
                hint=f"give at most {len(shape)} numbers and slices",
            )
        )
    full_slices = [slice(None)] * (len(shape) - taken)
    position = next((i for i, entry in enumerate(entries) if entry is Ellipsis), len(entries))
    entries[position : position + gaps] = full_slices
    new_shape, new_strides, dimension = [], [], 0
    for entry in entries:
        if entry is None:
            new_shape.append(1)
            new_strides.append(0)
            continue
        length, step = shape[dimension], strides[dimension]
        dimension += 1
        if isinstance(entry, slice):
            start, stop, stride = entry.indices(length)
            count = len(range(start, stop, stride))
            offset += start * step if count else 0
            new_shape.append(count)
            new_strides.append(step * stride)
        else:
            offset += _position(entry, length, dimension - 1) * step
    return View(tuple(new_shape), tuple(new_strides), offset)


def _position(entry: Any, length: int, dimension: int) -> int:
    """Return the position that a number means."""
    try:
        if isinstance(entry, bool):
            raise TypeError
        number = operator.index(entry)
    except TypeError:
        raise TypeError(
            format_error(
                f"an array of a device is indexed by numbers, slices, `...` and newaxis, not by {entry!r}",
                hint="index its host copy, numpy.asarray(x)[...], or the variable of a compiled function",
            )
        ) from None
    if not -length <= number < length:
        raise IndexError(
            format_error(
                f"index {number} is out of bounds for dimension {dimension} of length {length}",
                hint=f"take one from {-length} to {length - 1}" if length else "the dimension has no elements",
            )
        )
    return number % length


def complete_shape(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """Return a shape with the length that is given as -1.

    Raises
    ------
    ValueError
        If the shape does not have `size` elements.
    """
    lengths = [operator.index(length) for length in shape]
    product = 1
    for length in lengths:
        product *= length if length != -1 else 1
    if lengths.count(-1) == 1 and product > 0 and size % product == 0:
        lengths[lengths.index(-1)] = size // product
        return tuple(lengths)
    if lengths.count(-1) or min(lengths, default=0) < 0 or product != size:
        raise ValueError(
            format_error(
                f"an array of {size} elements has no shape {tuple(lengths)}",
                hint=f"choose lengths whose product is {size}",
            )
        )
    return tuple(lengths)


def reshape_strides(shape: Sequence[int], strides: Sequence[int], new_shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return the strides of a view of another shape, elements in C order; None where it takes a copy.

    Both shapes have the same number of elements.

    Examples
    --------
    >>> from theano_gpuarray.arrays._layout import reshape_strides
    >>> reshape_strides((2, 6), (96, 8), (2, 3, 2)), reshape_strides((3, 2), (8, 24), (6,))
    ((96, 16, 8), None)
    """
    old = [(n, step) for n, step in zip(shape, strides, strict=True) if n != 1]
    if 0 in shape:
        return contiguous_strides(new_shape, 1)
    result = [0] * len(new_shape)
    targets = [(n, position) for position, n in enumerate(new_shape) if n != 1]
    i = j = 0
    while i < len(old) and j < len(targets):
        # The shortest runs of old and new dimensions with as many elements as each other.
        first, begin = i, j
        have, want = old[i][0], targets[j][0]
        i, j = i + 1, j + 1
        while have != want:
            if have < want:
                have, i = have * old[i][0], i + 1
            else:
                want, j = want * targets[j][0], j + 1
        if any(old[k][1] != old[k + 1][1] * old[k + 1][0] for k in range(first, i - 1)):
            return None
        step = old[i - 1][1]
        for n, position in reversed(targets[begin:j]):
            result[position] = step
            step *= n
    return tuple(result)


# ---- Copies to the host

#: A view is read with the gaps between its elements where that is at most so many times as much.
_WIDEST = 4


def read_elements(x: GpuArray) -> NDArray[Any]:
    """Wait for the device, and return the elements of an array."""
    begin, end = extent(x.shape, x.strides, x.itemsize)
    aligned = all(step % x.itemsize == 0 for step in x.strides)
    if not aligned or (end - begin > _WIDEST * x.nbytes and x.context.kind != "null"):
        return read_elements(x.copy())
    if x.flags.c_contiguous:
        result = np.empty(x.shape, x.dtype)
        if x.size:
            x.buffer.read(x.offset, result.reshape(-1))
        return result
    # The gaps between elements come along, which costs less than a launch that closes them.
    memory = np.empty((end - begin) // x.itemsize, x.dtype)
    x.buffer.read(x.offset + begin, memory)
    first = memory[-begin // x.itemsize :]
    view = np.lib.stride_tricks.as_strided(first, x.shape, x.strides)
    return view.copy("K") if view.size < memory.size else view


# ---- Copies on a device, between layouts and dtypes

_LOCAL, _GROUPS = 256, 4096
#: Numbers of elements below this are divided in 32 bits, which takes a fraction of the time.
_NARROW = 2**31
#: Bytes of an element -> an integer type of that size, and how many of them.
_WORDS = {1: ("uint8", 1), 2: ("uint16", 1), 4: ("uint32", 1), 8: ("uint64", 1), 16: ("uint64", 2)}


class Strided(Protocol):
    """Where the elements of an array lie."""

    @property
    def buffer(self) -> Buffer:
        """The memory."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Kind of elements."""

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes."""

    @property
    def offset(self) -> int:
        """Bytes to the first element."""


def copy_elements(context: GpuContext, shape: Sequence[int], target: Strided, source: Strided) -> None:
    """Copy elements within one context; the arrays do not overlap, and no dtype is complex unless both are the same.

    Parameters
    ----------
    context : GpuContext
    shape : sequence of int
        Of both arrays; strides of 0 repeat elements of the source.
    target, source : Strided
    """
    count = int(np.prod(shape, dtype=np.int64))
    if not count:
        return
    size = target.dtype.itemsize
    same = target.dtype == source.dtype
    if same and is_c_contiguous(shape, target.strides, size) and is_c_contiguous(shape, source.strides, size):
        target.buffer.copy(target.offset, source.buffer, source.offset, count * size)
        return
    lengths, to, of = _merged(shape, target.strides, source.strides)
    word, times = _WORDS[size] if same else ("", 1)
    if times > 1:
        lengths, to, of = [*lengths, times], [*to, size // times], [*of, size // times]
        count *= times
    kernel = context.kernel(_text(len(lengths), word or target.dtype.name, word or source.dtype.name, count < _NARROW))
    local = min(_LOCAL, kernel.max_local)
    groups = min(-(-count // local), _GROUPS)
    arguments: list[Any] = [target.buffer, target.offset, source.buffer, source.offset, count, *lengths, *to, *of]
    context.launch(kernel, [groups], [local], arguments)


def _merged(
    shape: Sequence[int], target: Sequence[int], source: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Join dimensions that can be walked as one, in both arrays; at least one is left."""
    lengths, to, of = [1], [0], [0]
    for n, a, b in zip(shape, target, source, strict=True):
        if n == 1:
            continue
        if lengths[-1] == 1:
            lengths[-1], to[-1], of[-1] = n, a, b
        elif to[-1] == a * n and of[-1] == b * n:
            lengths[-1], to[-1], of[-1] = lengths[-1] * n, a, b
        else:
            lengths, to, of = [*lengths, n], [*to, a], [*of, b]
    return lengths, to, of


@cache
def _text(ndim: int, target: str, source: str, narrow: bool) -> KernelText:
    """Return the kernel that copies arrays of so many dimensions; `narrow` says whether 32 bits count the elements."""
    kind = "uint32_t" if narrow else "uint64_t"
    signature = Signature()
    signature.array("z", written=True)
    signature.array("x")
    signature.number("q", "count")
    for stem in ("n", "zs", "xs"):
        signature.number("q", *(f"{stem}{d}" for d in range(ndim)))
    steps = []
    for d in reversed(range(1, ndim)):
        steps += [f"  const int64_t i{d} = rest % ({kind})n{d};", f"  rest /= ({kind})n{d};"]
    steps.append("  const int64_t i0 = rest;")
    offset, value = (" + ".join(f"i{d} * {stem}{d}" for d in range(ndim)) for stem in ("zs", "xs"))
    element = c_loaded(f"*(GLOBAL_MEM const {memory_type(source)} *)(x + {value})", source)
    body = [
        f"for ({kind} i = ({kind})GID_0 * LDIM_0 + LID_0; i < ({kind})count; i += ({kind})GDIM_0 * LDIM_0) {{",
        f"  {kind} rest = i;",
        *steps,
        f"  {store(f'*(GLOBAL_MEM {memory_type(target)} *)(z + {offset})', CValue(f'({element})', source), target)}",
        "}",
    ]
    return signature.text("copy", body)


__all__ = [
    "SIZE",
    "SSIZE",
    "device_dtype",
    "dtype_of_typecode",
    "dtype_to_ctype",
    "dtype_to_typecode",
    "ArrayFlags",
    "View",
    "extent",
    "fortran_strides",
    "index_view",
    "is_c_contiguous",
    "is_f_contiguous",
    "reshape_strides",
    "read_elements",
    "Strided",
    "copy_elements",
]
