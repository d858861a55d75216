"""Arrays as C code sees them: a pointer, lengths and strides, and known elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import record

from ..codegen.ir import Buffer, Expression, Load, Position, Space, Value, value_of_text
from ..scalar import CValue, c_literal, c_loaded
from ._lengths import ONE, ZERO, Length, product_of

__all__ = ["CArray", "Root", "contiguous_strides"]


class Root:
    """Memory in which arrays lie.

    Parameters
    ----------
    kind : {"argument", "constant", "state", "result", "temporary", "local"}
        Whose it is: the caller's; a table's; of a variable that keeps its value; the caller's memory for a result; of
        the call; or a C variable's.
    name : str
        Name of the pointer, or of the variable.
    dtype : str
    size : Length
        Number of elements.
    """

    def __init__(self, kind: Space, name: str, dtype: str, size: Length) -> None:
        self.kind = kind
        self.name = name
        self.dtype = dtype
        self.size = size
        #: How many registers hold arrays that lie here.
        self.readers = 0
        #: The times between which the memory is in use, as far as they are known.
        self.begin = self.end = -1

    @property
    def writable(self) -> bool:
        """Whether a result may be put here once nobody reads it any more."""
        return self.kind in ("temporary", "local")


@record
class CArray:
    """An array in C code.

    Parameters
    ----------
    dtype : str
    shape, strides : tuple of Length
        Strides count elements.
    pointer : str
        C text: a pointer to the first element, in its type in memory.
    root : Root
    value : ndarray or None
        The array itself, where it is known when the code is generated.
    numbers : tuple of Length or None
        The elements of integers that lengths are made of, of a scalar or a vector, where they are known as lengths.
    positions : CArray or None
        Where the elements of a vector stand behind the first one, if they are looked up in a table. Only loops over
        elements take such arrays.
    """

    dtype: str
    shape: tuple[Length, ...]
    strides: tuple[Length, ...]
    pointer: str
    root: Root
    value: Any = None
    numbers: tuple[Length, ...] | None = None
    positions: CArray | None = None

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> Length:
        """Number of elements."""
        return product_of(self.shape)

    @property
    def contiguous(self) -> bool:
        """Whether elements follow each other in C order, as far as the lengths tell."""
        if self.positions is not None:
            return False
        expected = ONE
        for length, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if length != ONE and stride != expected:
                return False
            expected = expected * length
        return True

    @property
    def buffer(self) -> Buffer:
        """The memory, as statements name it."""
        return Buffer(self.pointer, self.dtype, self.ndim, self.root.kind)

    def place(self, offset: str | Position) -> Position:
        """Return where the element is that stands so many elements behind the first."""
        position = value_of_text(offset) if isinstance(offset, str) else offset
        return position if self.positions is None else Load(self.positions.buffer, position)

    def element(self, offset: str) -> str:
        """Return the C text of the element that stands so many elements behind the first."""
        if self.pointer[0] == "&":
            return self.pointer[1:]
        return f"{self.pointer}[{offset if self.positions is None else self.positions.element(offset)}]"

    def load(self, offset: str) -> CValue:
        """Return an element as an operand of scalar code."""
        number = self._number()
        return CValue(c_loaded(self.element(offset), self.dtype), self.dtype) if number is None else number

    def read(self, offset: str | Position) -> Expression:
        """Return an element as an expression of the loop IR."""
        number = self._number()
        return Load(self.buffer, self.place(offset)) if number is None else Value(number, ())

    def _number(self) -> CValue | None:
        """Return the only element, if it is known."""
        if self.value is None or self.shape:
            return None
        number = self.value[()]
        return CValue(c_literal(number, self.dtype), self.dtype, number)


def contiguous_strides(shape: Sequence[Length]) -> tuple[Length, ...]:
    """Return the strides of an array in C order; of dimensions of length 1 they are 0."""
    strides, step = [], ONE
    for length in reversed(shape):
        strides.append(ZERO if length == ONE else step)
        step = step * length
    return tuple(reversed(strides))
