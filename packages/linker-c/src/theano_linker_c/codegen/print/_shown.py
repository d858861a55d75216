"""Statements in a form for readers, and for tests that compare it."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import (
    Accumulate,
    Assign,
    Buffer,
    Check,
    Expression,
    If,
    Index,
    Joined,
    Let,
    Load,
    Loop,
    Move,
    Opaque,
    Position,
    Region,
    Statement,
    Store,
)

__all__ = ["shown"]


def shown(body: Sequence[Statement], depth: int = 0) -> str:
    """Return statements as text, one a line, each body indented below its statement.

    Parameters
    ----------
    body : sequence of Statement
    depth : int
        How far the lines are indented.
    """
    return "".join(_lines(body, depth))


def _lines(body: Sequence[Statement], depth: int) -> list[str]:
    lines = []
    for statement in body:
        lines += [f"{'  ' * depth}{line}\n" for line in _statement(statement)]
        for k, inner in enumerate(statement.bodies()):
            if k:
                lines.append(f"{'  ' * depth}else\n")
            lines += _lines(inner, depth + 1)
        if isinstance(statement, Accumulate):
            pairs = zip(statement.totals, statement.values, strict=True)
            lines += [
                f"{'  ' * (depth + 1)}{total.name} = {total.op.name}({total.name}, {_expression(value)})\n"
                for total, value in pairs
            ]
    return lines


def _statement(statement: Statement) -> list[str]:
    if isinstance(statement, Let):
        value = "" if statement.value is None else f" = {_expression(statement.value)}"
        more = f"{' total' if statement.total else ''}{' moves' if statement.moves else ''}"
        return [f"{'let' if statement.constant else 'var'} {statement.name}: {statement.kind}{value}{more}"]
    if isinstance(statement, Assign):
        return [f"{statement.name} = {_expression(statement.value)}"]
    if isinstance(statement, Store):
        return [f"store {_element(statement.buffer, statement.position)} = {_expression(statement.value)}"]
    if isinstance(statement, Move):
        source = _element(statement.source.buffer, statement.source.position)
        return [f"move {_element(statement.buffer, statement.position)} = {source}"]
    if isinstance(statement, Check):
        condition = "never" if statement.condition is None else _expression(statement.condition)
        return [f"check {condition} else {statement.code}"]
    if isinstance(statement, Loop):
        return [f"loop {statement.index} < {statement.length} {statement.kind.value}"]
    if isinstance(statement, If):
        return [f"if {_expression(statement.condition)}"]
    if isinstance(statement, Region):
        return [f"region {statement.head}".rstrip() + _named("changes", statement.changed)]
    if isinstance(statement, Accumulate):
        loops = ", ".join(f"{i} < {n}" for i, n in zip(statement.indices, statement.lengths, strict=True))
        scheme = statement.scheme
        how = "serial" if scheme.lanes == 1 else f"lanes {scheme.lanes} part {scheme.part}"
        starts = [f"{t.name}: {t.dtype} from {t.seed}" for t in statement.totals]
        return [f"accumulate {', '.join(starts)} over {loops or 'nothing'} {how}"]
    assert isinstance(statement, Opaque), type(statement)
    ends = _named("defines", statement.defined) + _named("changes", statement.changed)
    first, *others = statement.lines
    return [f"opaque {first}{ends}{' total' if statement.total else ''}", *(f"       {line}" for line in others)]


def _named(what: str, names: Sequence[str]) -> str:
    return f" {what} {' '.join(names)}" if names else ""


def _expression(expression: Expression) -> str:
    if isinstance(expression, Load):
        return _element(expression.buffer, expression.position)
    if isinstance(expression, Joined):
        return f"{expression.op.name}({_expression(expression.left)}, {_expression(expression.right)})"
    return expression.operand.text


def _element(buffer: Buffer, position: Position) -> str:
    if buffer.variable is not None:
        return f"{buffer.variable}: {buffer.dtype}"
    return f"{buffer.space} {buffer.pointer}[{_position(position)}]: {buffer.dtype}"


def _position(position: Position) -> str:
    if isinstance(position, Index):
        return str(position)
    return _expression(position)
