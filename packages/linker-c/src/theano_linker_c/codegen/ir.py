"""The loop IR: statements over buffers and variables, as they are before they are printed for a compiler.

A body is a tuple of statements. Expressions are typed: elements of buffers, elements joined by a scalar op, and
values, whose C text is one operand. Everything else is an opaque statement: C text that declares which
variables it reads, writes and defines. Variables have names that are used for nothing else in their function, except
that two bodies, of which neither is inside of the other, may define the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, Literal, TypeAlias

from theano_graph import record

from .._c_interface import named
from ..scalar import CValue, ScalarOp
from .lengths import ONE, ZERO, Length

__all__ = [
    "Accumulate",
    "Assign",
    "Body",
    "Buffer",
    "Check",
    "Expression",
    "If",
    "Index",
    "Joined",
    "Let",
    "Load",
    "Loop",
    "LoopKind",
    "Move",
    "Opaque",
    "Position",
    "Region",
    "Scheme",
    "Space",
    "Statement",
    "Store",
    "Total",
    "Value",
    "operand_value",
    "value_of_text",
]

#: Whose memory it is: the caller's; a table's; of a variable that keeps its value; the caller's memory for a result; of
#: the call; a C variable's; or that of a few numbers, which are kept as variables keep them.
Space: TypeAlias = Literal["argument", "constant", "state", "result", "temporary", "local", "numbers"]


# ---- memory and places in it


@record
class Buffer:
    """Memory with elements of one dtype.

    Parameters
    ----------
    pointer : str
        C text of a pointer to the first element; ``&name`` for a variable.
    dtype : str
        A bool is a byte in memory, and a float16 its bits.
    rank : int
        Number of dimensions.
    space : str
    """

    pointer: str
    dtype: str
    rank: int
    space: Space

    @property
    def variable(self) -> str | None:
        """Name of the variable that this is; None for memory that is pointed to."""
        name = self.pointer[1:]
        return name if self.pointer[0] == "&" and name.isidentifier() else None

    def reads(self) -> Iterator[str]:
        """Names that the pointer reads."""
        return iter(named(self.pointer))


@record
class Index:
    """The place of an element: the sum of products of indices and strides.

    Parameters
    ----------
    terms : tuple of (tuple of str, Length)
        Names of variables whose sum is an index, and its stride.

    Examples
    --------
    >>> n = Length(1, ("n",))
    >>> str(Index.of(["i", "j"], [n, ONE])), str(Index())
    ('i * n + j', '0')
    """

    terms: tuple[tuple[tuple[str, ...], Length], ...] = ()

    @classmethod
    def of(cls, indices: Iterable[str], strides: Iterable[Length]) -> Index:
        """Return the place that has given indices."""
        pairs = zip(indices, strides, strict=True)
        return cls(tuple(((index,), stride) for index, stride in pairs if stride != ZERO and index != "0"))

    def __add__(self, other: Index) -> Index:
        return Index(self.terms + other.terms)

    def __str__(self) -> str:
        return " + ".join(_term(*term) for term in self.terms) or "0"

    def replaced(self, index: str, names: tuple[str, ...]) -> Index:
        """Return the place at which an index is the sum of other variables."""
        return Index(tuple((names if indices == (index,) else indices, stride) for indices, stride in self.terms))

    def reads(self) -> Iterator[str]:
        """Names of variables."""
        for names, stride in self.terms:
            yield from names
            yield from stride.names


def _term(names: tuple[str, ...], stride: Length) -> str:
    text = names[0] if len(names) == 1 else f"({' + '.join(names)})"
    return text if stride == ONE else f"{text} * {stride.atom}"


# ---- expressions


@record
class Value:
    """A name, a number, or C text that declares its reads.

    Parameters
    ----------
    operand : CValue
    names : tuple of str
        Names that it reads.
    total : bool
        Whether it can be computed wherever its variables are known: it reads no memory, and cannot fail.
    """

    operand: CValue
    names: tuple[str, ...]
    total: bool = False

    @property
    def dtype(self) -> str:
        """Dtype of the value."""
        return self.operand.dtype

    def reads(self) -> Iterator[str]:
        """Names of variables."""
        return iter(self.names)


@record
class Load:
    """An element of a buffer, as a number."""

    buffer: Buffer
    position: Position

    @property
    def dtype(self) -> str:
        """Dtype of the element."""
        return self.buffer.dtype

    def reads(self) -> Iterator[str]:
        """Names of variables, and of the memory."""
        yield from self.buffer.reads()
        yield from self.position.reads()


@record
class Joined:
    """Two values joined by a scalar op, converted to a dtype before and after."""

    op: ScalarOp
    left: Expression
    right: Expression
    dtype: str

    def reads(self) -> Iterator[str]:
        """Names of variables, and of memory."""
        yield from self.left.reads()
        yield from self.right.reads()


Expression: TypeAlias = "Value | Load | Joined"
#: A place is looked up in a table, or is C text, where it is no sum of products of indices.
Position: TypeAlias = "Index | Load | Value"


def operand_value(operand: CValue) -> Value:
    """Return an operand of scalar code as a value that reads all that its text names."""
    return Value(operand, named(operand.text))


def value_of_text(text: str, dtype: str = "int64", *, total: bool = False) -> Value:
    """Return C text as a value that reads all that the text names."""
    return Value(CValue(text, dtype), named(text), total)


# ---- statements


class Statement:
    """A statement, as passes see it: variables that it reads, defines and writes, and the bodies inside of it.

    Attributes
    ----------
    effect : bool
        Whether it does more than to define or to set variables.
    total : bool
        Whether it can stand wherever the variables that it reads are known.
    """

    __slots__ = ()
    effect = True
    total = False

    def reads(self) -> Iterable[str]:
        """Names of variables and memory that are read, without those of bodies."""
        return ()

    def defines(self) -> tuple[str, ...]:
        """Variables that the statements behind it may name."""
        return ()

    def writes(self) -> tuple[str, ...]:
        """Variables, defined before, to which it gives values, without those of bodies."""
        return ()

    def bodies(self) -> tuple[Body, ...]:
        """Statements inside of it."""
        return ()

    def own(self) -> tuple[str, ...]:
        """Variables that only its bodies may name."""
        return ()

    def with_bodies(self, bodies: Sequence[Body]) -> Statement:
        """Return the same statement around other bodies."""
        return self


#: Statements in the order in which they run.
Body: TypeAlias = tuple[Statement, ...]


@record
class Let(Statement):
    """A variable, and its value.

    Parameters
    ----------
    name : str
    kind : str
        C type, which ends with an asterisk for pointers.
    value : expression, optional
    constant : bool
        Whether no other statement gives it a value.
    moves : bool
        Whether to compute the value changes memory, so that it is computed even if nothing reads it.
    """

    name: str
    kind: str
    value: Expression | None
    constant: bool = True
    moves: bool = False

    effect = False

    @property
    def total(self) -> bool:  # type: ignore[override]
        """Whether the value can be computed wherever its variables are known."""
        return self.constant and isinstance(self.value, Value) and self.value.total

    def reads(self) -> Iterable[str]:
        return () if self.value is None else self.value.reads()

    def defines(self) -> tuple[str, ...]:
        return (self.name,)


@record
class Assign(Statement):
    """A new value of a variable."""

    name: str
    value: Expression

    effect = False

    def reads(self) -> Iterable[str]:
        return self.value.reads()

    def writes(self) -> tuple[str, ...]:
        return (self.name,)


class _Change(Statement):
    """A new value of an element of a buffer, which may be a variable."""

    __slots__ = ()
    buffer: Buffer
    position: Position

    @property
    def effect(self) -> bool:  # type: ignore[override]
        """Whether it writes to memory."""
        return self.buffer.variable is None

    def writes(self) -> tuple[str, ...]:
        name = self.buffer.variable
        return () if name is None else (name,)

    def _reads(self, value: Expression) -> Iterator[str]:
        yield from value.reads()
        if self.buffer.variable is None:
            yield from self.buffer.reads()
            yield from self.position.reads()


@record
class Store(_Change):
    """A value that becomes an element of a buffer, converted to its dtype."""

    buffer: Buffer
    position: Position
    value: Expression

    def reads(self) -> Iterable[str]:
        return self._reads(self.value)


@record
class Move(_Change):
    """An element that is carried over to another buffer of the same dtype, bit by bit."""

    buffer: Buffer
    position: Position
    source: Load

    def reads(self) -> Iterable[str]:
        return self._reads(self.source)


@record
class Check(Statement):
    """The end of the call with an error, unless a condition holds.

    Parameters
    ----------
    condition : Value or None
        None if it never holds.
    code : int
        The status code of the error.
    """

    condition: Value | None
    code: int

    def reads(self) -> Iterable[str]:
        return () if self.condition is None else self.condition.reads()


class LoopKind(Enum):
    """How the turns of a loop follow each other."""

    SERIAL = "serial"
    #: They may run at the same time.
    VECTOR = "vector"
    #: Each has statements of its own in the text: their number is known.
    UNROLLED = "unrolled"
    #: Work-groups of a device take them in turns, and need nothing of each other.
    GROUPS = "groups"


@record
class Loop(Statement):
    """A body that runs for an index from 0 up to a length."""

    kind: LoopKind
    index: str
    length: Length
    body: Body

    def reads(self) -> Iterable[str]:
        return self.length.names

    def own(self) -> tuple[str, ...]:
        return (self.index,)

    def bodies(self) -> tuple[Body, ...]:
        return (self.body,)

    def with_bodies(self, bodies: Sequence[Body]) -> Loop:
        return Loop(self.kind, self.index, self.length, bodies[0])


@record
class If(Statement):
    """Two bodies, of which one runs."""

    condition: Value
    then: Body
    otherwise: Body

    def reads(self) -> Iterable[str]:
        return self.condition.reads()

    def bodies(self) -> tuple[Body, ...]:
        return (self.then, self.otherwise)

    def with_bodies(self, bodies: Sequence[Body]) -> If:
        return If(self.condition, bodies[0], bodies[1])


@record
class Region(Statement):
    """A body between braces, behind C text that says how often it runs.

    Parameters
    ----------
    head : str
        Empty for a body that runs once.
    body : tuple of Statement
    variables : tuple of str
        Variables that the head defines for the body.
    changed : tuple of str
        Variables to which the head gives values.
    """

    head: str
    body: Body
    variables: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def reads(self) -> Iterable[str]:
        return named(self.head) if self.head else ()

    def writes(self) -> tuple[str, ...]:
        return self.changed

    def own(self) -> tuple[str, ...]:
        return self.variables

    def bodies(self) -> tuple[Body, ...]:
        return (self.body,)

    def with_bodies(self, bodies: Sequence[Body]) -> Region:
        return Region(self.head, bodies[0], self.variables, self.changed)


@record
class Opaque(Statement):
    """C text; it reads all that it names.

    Parameters
    ----------
    lines : tuple of str
    defined : tuple of str
        Variables that it defines, if that is all that it is for.
    changed : tuple of str
        Variables to which it gives values.
    total : bool
        Whether it can stand wherever the variables that it reads are known.
    """

    lines: tuple[str, ...]
    defined: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    total: bool = False

    @property
    def effect(self) -> bool:  # type: ignore[override]
        """Whether it does more than to define variables."""
        return not self.defined

    def reads(self) -> Iterable[str]:
        return [name for line in self.lines for name in named(line) if name not in self.defined]

    def defines(self) -> tuple[str, ...]:
        return self.defined

    def writes(self) -> tuple[str, ...]:
        return self.changed


# ---- accumulation


@record
class Total:
    """A total, to which values are joined.

    Parameters
    ----------
    name : str
        The variable with the total.
    op : ScalarOp
        Joins two of them.
    dtype, part_dtype : str
        Of the total, and of parts of it that are kept side by side.
    seed : number
        The number with which it begins.
    """

    name: str
    op: ScalarOp
    dtype: str
    part_dtype: str
    seed: Any


@record
class Scheme:
    """In which order values are joined.

    Parameters
    ----------
    lanes : int
        How many partial totals there are side by side, so that one need not wait for the other; 1 for none.
    part : int
        As many values are joined to partial totals before these are joined to the total.
    """

    lanes: int = 1
    part: int = 0


@record
class Accumulate(Statement):
    """Loops, one inside the other, whose values are joined; they define the variables of the totals.

    Parameters
    ----------
    totals : tuple of Total
    indices : tuple of str
    lengths : tuple of Length
        Of the loops, the outermost first.
    body : tuple of Statement
    values : tuple of expression
        Of one turn, for each total.
    scheme : Scheme
    """

    totals: tuple[Total, ...]
    indices: tuple[str, ...]
    lengths: tuple[Length, ...]
    body: Body
    values: tuple[Expression, ...]
    scheme: Scheme

    def reads(self) -> Iterable[str]:
        inside = {*self.indices, *(name for statement in self.body for name in statement.defines())}
        names = [name for value in self.values for name in value.reads() if name not in inside]
        return [*names, *(name for length in self.lengths for name in length.names)]

    def defines(self) -> tuple[str, ...]:
        return tuple(total.name for total in self.totals)

    def own(self) -> tuple[str, ...]:
        return self.indices

    def bodies(self) -> tuple[Body, ...]:
        return (self.body,)

    def with_bodies(self, bodies: Sequence[Body]) -> Accumulate:
        return Accumulate(self.totals, self.indices, self.lengths, bodies[0], self.values, self.scheme)
