"""Loop-invariant code: statements that can stand before the braces of a loop or a branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir import Statement
from ._effects import written_in

__all__ = ["hoisted"]


def hoisted(
    body: Sequence[Statement], is_fixed: Callable[[str], bool]
) -> tuple[list[Statement], list[Statement], set[str]]:
    """Part the statements of a body into statements that can stand before it, and others.

    Parameters
    ----------
    body : sequence of Statement
    is_fixed : callable
        Tells of a variable that the body does not define whether it is known before the braces, where it has the
        value that it has inside.

    Returns
    -------
    before, after : list of Statement
    names : set of str
        Variables that `before` defines.
    """
    inside = written_in(body)
    before: list[Statement] = []
    after: list[Statement] = []
    names: set[str] = set()
    for statement in body:
        if statement.total and all(name in names if name in inside else is_fixed(name) for name in statement.reads()):
            before.append(statement)
            names.update(statement.defines())
        else:
            after.append(statement)
    return before, after, names
