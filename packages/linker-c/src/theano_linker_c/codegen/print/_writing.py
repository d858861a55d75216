"""Statements as lines of C, whose dialect a printer says."""

from __future__ import annotations

from collections.abc import Sequence

from ...scalar import c_stored
from ..ir import Assign, Check, Expression, If, Joined, Let, Loop, Move, Opaque, Region, Statement, Store
from ._elements import element_text, expression_value, joined_text

__all__ = ["StatementWriter"]


class StatementWriter:
    """Collects the lines of statements.

    Attributes
    ----------
    indent : str
        Stands before the lines of one more body.
    lines : list of str
    """

    indent = "    "

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str) -> str:
        """Return C text in the dialect."""
        return text

    def loop(self, loop: Loop) -> tuple[list[str], str]:
        """Return lines that stand before a loop, and its head."""
        raise NotImplementedError

    def failed(self, check: Check, condition: str) -> str:
        """Return the statement that ends a call unless a condition holds."""
        raise NotImplementedError

    def write(self, body: Sequence[Statement], depth: int) -> None:
        """Add the lines of statements."""
        lines, indent = self.lines, self.indent * depth
        for statement in body:
            bodies = statement.bodies()
            if not bodies:
                lines += [f"{indent}{self.line(line)}" for line in self._lines_of(statement)]
                continue
            before, head = self._head(statement)
            lines += before
            lines.append(f"{indent}{head} {{" if head else f"{indent}{{")
            self.write(bodies[0], depth + 1)
            lines.append(f"{indent}}}")
            if len(bodies) > 1 and bodies[1]:
                lines.append(f"{indent}else {{")
                self.write(bodies[1], depth + 1)
                lines.append(f"{indent}}}")

    def _lines_of(self, statement: Statement) -> Sequence[str]:
        if isinstance(statement, Opaque):
            return statement.lines
        if isinstance(statement, Let):
            return [_definition(statement)]
        if isinstance(statement, Store):
            buffer, value = statement.buffer, statement.value
            numbers = buffer.space == "numbers"
            text = _text(value) if numbers else c_stored(expression_value(value), buffer.dtype)
            return [f"{element_text(buffer, statement.position)} = {text};"]
        if isinstance(statement, Move):
            source = element_text(statement.source.buffer, statement.source.position)
            return [f"{element_text(statement.buffer, statement.position)} = {source};"]
        if isinstance(statement, Assign):
            return [f"{statement.name} = {_text(statement.value)};"]
        assert isinstance(statement, Check), f"{type(statement).__name__} has no form in C"
        return [self.failed(statement, "" if statement.condition is None else _text(statement.condition))]

    def _head(self, statement: Statement) -> tuple[list[str], str]:
        if isinstance(statement, Loop):
            return self.loop(statement)
        if isinstance(statement, If):
            return [], f"if ({_text(statement.condition)})"
        assert isinstance(statement, Region), f"{type(statement).__name__} has no form in C"
        return [], self.line(statement.head)


def _text(expression: Expression) -> str:
    """Return an expression that stands alone."""
    if isinstance(expression, Joined):
        return joined_text(expression, expression_value(expression.left), expression_value(expression.right))
    return expression_value(expression).text


def _definition(statement: Let) -> str:
    kind, constant = statement.kind, statement.constant
    if kind.endswith("*"):
        named = f"{kind}const {statement.name}" if constant else f"{kind}{statement.name}"
    else:
        named = f"const {kind} {statement.name}" if constant else f"{kind} {statement.name}"
    return f"{named};" if statement.value is None else f"{named} = {_text(statement.value)};"
