"""Variables and memory that statements read and write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..ir import Statement

__all__ = ["named_in", "walk", "written_in"]


def walk(body: Iterable[Statement]) -> Iterator[Statement]:
    """Go through statements, and those inside of them, in the order of their text."""
    waiting = [iter(body)]
    while waiting:
        for statement in waiting[-1]:
            yield statement
            bodies = statement.bodies()
            if bodies:
                waiting += [iter(inner) for inner in reversed(bodies)]
                break
        else:
            waiting.pop()


def named_in(body: Iterable[Statement]) -> set[str]:
    """Return all names that statements read or write, functions among them."""
    names: set[str] = set()
    for statement in walk(body):
        names.update(statement.reads())
        names.update(statement.writes())
    return names


def written_in(body: Iterable[Statement]) -> set[str]:
    """Return the variables that statements define, or to which they give values."""
    names: set[str] = set()
    for statement in walk(body):
        names.update(statement.defines(), statement.writes(), statement.own())
    return names
