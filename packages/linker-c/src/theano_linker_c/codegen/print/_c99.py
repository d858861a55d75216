"""Statements as portable C99."""

from __future__ import annotations

from collections.abc import Sequence

from ...scalar import c_stored
from ..ir import (
    Assign,
    Check,
    Expression,
    If,
    Joined,
    Let,
    Loop,
    LoopKind,
    Move,
    Opaque,
    Region,
    Statement,
    Store,
)
from ._elements import element_text, expression_value, joined_text

__all__ = ["c99_lines", "portable"]

#: Stands before loops whose turns may run at the same time.
_INDEPENDENT = "THEANO_INDEPENDENT"
_SPECIAL_VALUES = {
    '__builtin_nanf("")': "NAN",
    '__builtin_nan("")': "((double)NAN)",
    "__builtin_inff()": "INFINITY",
    "__builtin_inf()": "((double)INFINITY)",
    "__builtin_": "",
}


def portable(text: str) -> str:
    """Return C99 text for text with calls that only gcc and clang know.

    Examples
    --------
    >>> portable("__builtin_fabs(x) < __builtin_inf()")
    'fabs(x) < ((double)INFINITY)'
    """
    if "__builtin_" in text:
        for special, standard in _SPECIAL_VALUES.items():
            text = text.replace(special, standard)
    return text


def c99_lines(body: Sequence[Statement], fail: str, depth: int = 1) -> list[str]:
    """Return the lines of statements.

    Parameters
    ----------
    body : sequence of Statement
        Accumulations have been written out as loops.
    fail : str
        Text of a failed check, with ``{}`` for the status code.
    depth : int
        How far the lines are indented.
    """
    lines: list[str] = []
    writer = _Writer(fail, lines)
    writer.write(body, depth)
    return lines


class _Writer:
    def __init__(self, fail: str, lines: list[str]) -> None:
        self._fail = fail
        self._lines = lines

    def write(self, body: Sequence[Statement], depth: int) -> None:
        """Add the lines of statements."""
        lines, indent = self._lines, "    " * depth
        for statement in body:
            if isinstance(statement, Loop) and statement.kind == LoopKind.VECTOR:
                lines.append(_INDEPENDENT)
            bodies = statement.bodies()
            if not bodies:
                lines += [f"{indent}{portable(line)}" for line in self._lines_of(statement)]
                continue
            head = _head(statement)
            lines.append(f"{indent}{head} {{" if head else f"{indent}{{")
            self.write(bodies[0], depth + 1)
            lines.append(f"{indent}}}")
            if len(bodies) > 1:
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
        assert isinstance(statement, Check), f"{type(statement).__name__} has no form in C99"
        failure = self._fail.format(statement.code)
        return [failure if statement.condition is None else f"if (!({_text(statement.condition)})) {failure}"]


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


def _head(statement: Statement) -> str:
    if isinstance(statement, Loop):
        index = statement.index
        return f"for (int64_t {index} = 0; {index} < {statement.length}; {index}++)"
    if isinstance(statement, If):
        return f"if ({_text(statement.condition)})"
    assert isinstance(statement, Region), f"{type(statement).__name__} has no form in C99"
    return portable(statement.head)
