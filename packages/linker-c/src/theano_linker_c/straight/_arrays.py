"""Arrays as C code sees them, where they lie, loops over them, the rules of nodes, and statements as they are added."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from theano_graph import Apply, RuleTable, TheanoError, record

from ..codegen.ir import (
    Assign,
    Buffer,
    Expression,
    If,
    Index,
    Let,
    Load,
    Loop,
    LoopKind,
    Move,
    Opaque,
    Position,
    Region,
    Space,
    Statement,
    Store,
    Value,
    operand_value,
    value_of_text,
)
from ..codegen.lengths import ONE, ZERO, Length, as_length, product_of
from ..scalar import CValue, c_literal, c_loaded

# ---- Lengths and strides, as rules of this folder import them


# ---- Arrays as C code sees them: a pointer, lengths and strides, and known elements


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


# ---- Where the arrays of a call lie: those whose lifetimes do not meet share memory

#: Arrays begin at multiples of so many elements.
ALIGNMENT = 8


def arranged(roots: Iterable[Root], end: int) -> tuple[dict[str, int], int]:
    """Give each array of known size an offset in one piece of memory, whose elements are all of one type.

    Parameters
    ----------
    roots : iterable of Root
        In the order in which they come to life; roots that live on have no end yet.
    end : int
        The time at which these end.

    Returns
    -------
    dict of str to int, int
        Offsets in elements, by name; and how many elements there are in all.
    """
    free: list[tuple[int, int]] = []
    living: list[tuple[int, int, int]] = []
    offsets: dict[str, int] = {}
    total = 0
    for root in sorted(roots, key=lambda root: root.begin):
        while living and living[0][0] < root.begin:
            _, offset, size = living.pop(0)
            _give_back(free, offset, size)
        size = -(-max(root.size.factor, 1) // ALIGNMENT) * ALIGNMENT
        gap = _taken(free, size)
        offset, total = (total, total + size) if gap is None else (gap, total)
        offsets[root.name] = offset
        insort(living, (end if root.end < 0 else root.end, offset, size))
    return offsets, total


def _taken(free: list[tuple[int, int]], size: int) -> int | None:
    """Take memory out of the smallest gap that is large enough."""
    best = min(((gap, offset) for offset, gap in free if gap >= size), default=None)
    if best is None:
        return None
    gap, offset = best
    free.remove((offset, gap))
    if gap > size:
        insort(free, (offset + size, gap - size))
    return offset


def _give_back(free: list[tuple[int, int]], offset: int, size: int) -> None:
    """Add a gap, joined with those beside it."""
    for other in [(o, s) for o, s in free if o + s == offset or offset + size == o]:
        free.remove(other)
        offset, size = min(offset, other[0]), size + other[1]
    insort(free, (offset, size))


# ---- Loops over all elements of some arrays that go along with each other


@record
class Nest:
    """Lengths of nested loops, the outermost first, and how far each operand moves in each of them.

    Parameters
    ----------
    shape : tuple of Length
    strides : tuple of tuple of Length
        For each operand, one for each loop, in elements.
    """

    shape: tuple[Length, ...]
    strides: tuple[tuple[Length, ...], ...]


def joined_nest(shape: Sequence[Length], strides: Sequence[Sequence[Length]], keep: Sequence[int] = ()) -> Nest:
    """Leave out loops of one turn, and make one loop of two wherever all operands allow it.

    Parameters
    ----------
    shape : sequence of Length
    strides : sequence of sequence of Length
        For each operand.
    keep : sequence of int
        Positions in `shape` before which loops are not joined.
    """
    lengths: list[Length] = []
    columns: list[list[Length]] = []
    closed = False
    for axis, length in enumerate(shape):
        closed = closed or axis in keep
        if length == ONE:
            continue
        column = [row[axis] for row in strides]
        if lengths and not closed and all(a == b * length for a, b in zip(columns[-1], column, strict=True)):
            lengths[-1] = lengths[-1] * length
            columns[-1] = column
        else:
            lengths.append(length)
            columns.append(column)
        closed = False
    return Nest(tuple(lengths), tuple(tuple(column[k] for column in columns) for k in range(len(strides))))


def offset_text(indices: Sequence[str], strides: Sequence[Length]) -> str:
    """Return the C text of the offset of an element, from its indices."""
    return str(Index.of(indices, strides))


# ---- Which nodes have a form in straight-line C: rules for kernels, and for ops that are none


class NoStraightForm(TheanoError, TypeError):
    """A node cannot be written as straight-line C."""


#: Writes a kernel into a block, and returns its results.
KernelRule: TypeAlias = Callable[[Any, Any, Sequence[CArray]], Sequence[CArray]]
#: The same for a node whose op is no kernel.
OpRule: TypeAlias = Callable[[Apply, Any, Sequence[CArray]], Sequence[CArray]]

#: By the class of the kernel. A rule is called ``(kernel, block, inputs)``.
straight_kernel: RuleTable[KernelRule] = RuleTable("straight_kernel")
#: By the class of the op. A rule is called ``(node, block, inputs)``.
straight_op: RuleTable[OpRule] = RuleTable("straight_op")
#: By the class of a type whose values are no arrays: gives the array in which such a value is kept.
straight_value: RuleTable[Callable[[Any], Any]] = RuleTable("straight_value")


# ---- Statements of the loop IR as they are added, one after the other, in bodies inside of each other


class Statements:
    """A body to which statements are added.

    Attributes
    ----------
    statements : list of Statement
        Those of the innermost body.
    """

    def __init__(self) -> None:
        self.statements: list[Statement] = []

    def add(self, statement: Statement) -> None:
        """Add a statement."""
        self.statements.append(statement)

    def line(self, *lines: str, defines: Sequence[str] = (), changes: Sequence[str] = (), total: bool = False) -> None:
        """Add C text as an opaque statement.

        Parameters
        ----------
        *lines : str
        defines : sequence of str
            Variables that it defines, if that is all that it is for.
        changes : sequence of str
            Variables, defined before, to which it gives values.
        total : bool
            Whether it can stand wherever the variables that it reads are known.
        """
        self.add(Opaque(lines, tuple(defines), tuple(changes), total))

    def let(self, kind: str, name: str, value: str | Expression, *, moves: bool = False) -> None:
        """Define a constant.

        Parameters
        ----------
        kind : str
            C type, which ends with an asterisk for pointers.
        name : str
        value : str or expression
        moves : bool
            Whether to compute the value changes memory, so that it is computed even if nothing reads it.
        """
        self.add(Let(name, kind, _expression(value), True, moves))

    def variable(self, kind: str, name: str, value: str | Expression | None = None) -> None:
        """Define a variable whose value changes."""
        self.add(Let(name, kind, None if value is None else _expression(value), False))

    def assign(self, name: str, value: str | Expression) -> None:
        """Give a variable a value."""
        self.add(Assign(name, _expression(value)))

    def store(self, array: CArray, at: str | Position, value: CValue | Expression) -> None:
        """Set an element to a value, converted to the dtype."""
        self.add(Store(array.buffer, array.place(at), operand_value(value) if isinstance(value, CValue) else value))

    def move(self, source: CArray, a: str | Position, target: CArray, b: str | Position) -> None:
        """Set an element to one of another array, bit by bit."""
        self.add(Move(target.buffer, target.place(b), Load(source.buffer, source.place(a))))

    @contextmanager
    def inside(self) -> Iterator[list[Statement]]:
        """Put the statements that follow into a list of their own, which is given."""
        outer, self.statements = self.statements, []
        yield self.statements
        self.statements = outer

    @contextmanager
    def block(self, head: str, variables: Sequence[str] = (), changes: Sequence[str] = ()) -> Iterator[None]:
        """Add C text and, between braces, the statements that follow.

        Parameters
        ----------
        head : str
        variables, changes : sequence of str
            Variables that the text defines for the statements, and others to which it gives values.
        """
        with self.inside() as body:
            yield
        self.add(Region(head, tuple(body), tuple(variables), tuple(changes)))

    @contextmanager
    def scope(self, braces: bool = True) -> Iterator[None]:
        """Put the statements that follow between braces, so that their variables end there."""
        if not braces:
            yield
            return
        with self.block(""):
            yield

    @contextmanager
    def loop(self, index: str, length: Length, kind: LoopKind = LoopKind.SERIAL) -> Iterator[None]:
        """Add a loop over the statements that follow."""
        with self.inside() as body:
            yield
        self.add(Loop(kind, index, length, tuple(body)))

    def choose(self, condition: str, then: Sequence[Statement], otherwise: Sequence[Statement]) -> None:
        """Add statements of which the first ones run if a condition holds, and the others if it does not."""
        self.add(If(value_of_text(condition, "bool"), tuple(then), tuple(otherwise)))


def _expression(value: str | Expression) -> Expression:
    return value_of_text(value) if isinstance(value, str) else value


__all__ = [
    "ONE",
    "ZERO",
    "Length",
    "as_length",
    "product_of",
    "CArray",
    "Root",
    "contiguous_strides",
    "ALIGNMENT",
    "arranged",
    "Nest",
    "joined_nest",
    "offset_text",
    "KernelRule",
    "NoStraightForm",
    "OpRule",
    "straight_kernel",
    "straight_op",
    "straight_value",
    "Statements",
]
