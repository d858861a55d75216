"""Dead code: variables whose values nothing reads."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Body, Let, Opaque, Statement
from ..print import expression_value
from ._effects import walk

__all__ = ["without_unread"]


def without_unread(body: Sequence[Statement]) -> Body:
    """Leave out definitions of variables, and new values of them, that nothing reads.

    Parameters
    ----------
    body : sequence of Statement
        Of a whole function.
    """
    statements = list(walk(body))
    defined = {name for statement in statements for name in statement.defines()}
    reads: list[set[str]] = []
    readers: dict[str, int] = {}
    setters: dict[str, list[int]] = {}
    sets: list[set[str]] = []
    for i, statement in enumerate(statements):
        read = set(statement.reads())
        names = set() if statement.effect else {*statement.defines(), *statement.writes()}
        if not names <= defined:
            names = set()
        reads.append(read)
        sets.append(names)
        for name in names:
            setters.setdefault(name, []).append(i)
        for name in read if names else read | set(statement.writes()):
            readers[name] = readers.get(name, 0) + 1
    dropped = _dropped(statements, reads, sets, readers, setters)
    return _left(body, {id(statements[i]) for i in dropped}) if dropped else tuple(body)


def _moves(statement: Statement) -> bool:
    return isinstance(statement, Let) and statement.moves


def _dropped(
    statements: Sequence[Statement],
    reads: Sequence[set[str]],
    sets: Sequence[set[str]],
    readers: dict[str, int],
    setters: dict[str, list[int]],
) -> set[int]:
    """Return the numbers of statements that only set variables which nothing reads, or only such statements."""
    dropped: set[int] = set()
    waiting = [name for name in setters if not readers.get(name)]
    while waiting:
        for i in setters[waiting.pop()]:
            if i in dropped or any(readers.get(name) for name in sets[i]):
                continue
            dropped.add(i)
            for name in () if _moves(statements[i]) else reads[i]:
                readers[name] -= 1
                if not readers[name] and name in setters:
                    waiting.append(name)
    return dropped


def _left(body: Sequence[Statement], dropped: set[int]) -> Body:
    """Return statements without some, by their identities."""
    left: list[Statement] = []
    for statement in body:
        bodies = statement.bodies()
        if id(statement) not in dropped:
            left.append(statement.with_bodies([_left(inner, dropped) for inner in bodies]) if bodies else statement)
        elif isinstance(statement, Let) and statement.moves and statement.value is not None:
            left.append(Opaque((f"(void)({expression_value(statement.value).text});",)))
    return tuple(left)
