"""Statements of the loop IR as they are added, one after the other, in bodies inside of each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..codegen.ir import (
    Assign,
    Expression,
    If,
    Let,
    Load,
    Loop,
    LoopKind,
    Move,
    Opaque,
    Position,
    Region,
    Statement,
    Store,
    operand_value,
    value_of_text,
)
from ..scalar import CValue
from ._arrays import CArray
from ._lengths import Length

__all__ = ["Statements"]


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
