"""The rules of the loop IR, in one list: each is about one statement and those around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from theano_graph import TheanoError, record

from .ir import (
    Accumulate,
    Assign,
    Body,
    Buffer,
    Check,
    Expression,
    Index,
    Joined,
    Let,
    Load,
    Loop,
    LoopKind,
    Move,
    Opaque,
    Statement,
    Store,
)
from .passes import walk

__all__ = ["RULES", "IRError", "verify", "verify_exports", "verify_if_wanted"]

#: Whether exports and kernels of devices verify their statements.
_always = False


class IRError(TheanoError, ValueError):
    """Statements break a rule of the loop IR."""


@record
class _Around:
    """The surroundings of a statement.

    Attributes
    ----------
    somewhere : set of str
        Variables that statements of the function define.
    visible : dict of str to (bool, int)
        Variables that the statement may name: whether they are constant, and in how many bodies they were defined.
    depth : int
        In how many bodies the statement is.
    vector : int
        In how many bodies the innermost loop is whose turns need nothing of each other; -1 outside of one.
    """

    somewhere: set[str]
    visible: dict[str, tuple[bool, int]]
    depth: int
    vector: int


#: Of a name that no statement of the function defines.
_VARIABLE = False, 1 << 30
Rule = Callable[[Statement, _Around], "str | None"]


def _defined_once(statement: Statement, around: _Around) -> str | None:
    for name in (*statement.defines(), *statement.own()):
        if name in around.visible:
            return f"{name} is defined already"
    return None


def _known_when_read(statement: Statement, around: _Around) -> str | None:
    mine = {*statement.own(), *statement.defines()}
    for name in statement.reads():
        if name in around.somewhere and name not in around.visible and name not in mine:
            return f"{name} is read where it is not known"
    return None


def _variable_when_written(statement: Statement, around: _Around) -> str | None:
    for name in statement.writes():
        if name in statement.own():
            continue
        if name in around.somewhere and name not in around.visible:
            return f"{name} gets a value where it is not known"
        if around.visible.get(name, _VARIABLE)[0]:
            return f"{name} is constant, and gets a value"
    return None


def _independent_turns(statement: Statement, around: _Around) -> str | None:
    for name in statement.writes():
        if around.visible.get(name, _VARIABLE)[1] <= around.vector and name not in statement.own():
            return f"turns of a loop that need nothing of each other give {name} values"
    return None


def _writable_memory(statement: Statement, around: _Around) -> str | None:
    if isinstance(statement, (Store, Move)) and statement.buffer.space in ("argument", "constant"):
        return f"memory of the kind {statement.buffer.space} is written"
    return None


def _same_dtype(statement: Statement, around: _Around) -> str | None:
    if isinstance(statement, Move) and statement.buffer.dtype != statement.source.dtype:
        return f"an element of {statement.source.dtype} is moved to {statement.buffer.dtype}"
    return None


def _no_more_indices(statement: Statement, around: _Around) -> str | None:
    for buffer, position in _elements(statement):
        if isinstance(position, Index) and len(position.terms) > buffer.rank:
            return f"{buffer.pointer} has {buffer.rank} dimensions, and an element is at {position}"
    return None


def _status_codes(statement: Statement, around: _Around) -> str | None:
    return "a status code is below 1" if isinstance(statement, Check) and statement.code < 1 else None


def _values_for_totals(statement: Statement, around: _Around) -> str | None:
    if not isinstance(statement, Accumulate):
        return None
    if len(statement.values) != len(statement.totals):
        return "there is not one value for each total"
    if len(statement.indices) != len(statement.lengths):
        return "there is not one index for each length"
    if statement.scheme.lanes > 1 and not statement.indices:
        return "lanes need a loop"
    index = statement.indices[-1] if statement.indices else ""
    if any(index in inner.reads() for inner in walk(statement.body) if isinstance(inner, Opaque)):
        return f"C text names the index {index} of an accumulation"
    return None


def _total_defines(statement: Statement, around: _Around) -> str | None:
    if isinstance(statement, Opaque) and statement.total and not statement.defined:
        return "C text that can stand anywhere defines nothing"
    return None


#: All rules.
RULES: tuple[Rule, ...] = (
    _defined_once,
    _known_when_read,
    _variable_when_written,
    _independent_turns,
    _writable_memory,
    _same_dtype,
    _no_more_indices,
    _status_codes,
    _values_for_totals,
    _total_defines,
)


def verify_exports(switch: bool = True) -> None:
    """Let all exports and kernels of devices verify their statements, as tests do; it takes a fifth of their time."""
    global _always  # noqa: PLW0603  (a switch of the process)
    _always = switch


def verify_if_wanted(body: Sequence[Statement]) -> None:
    """Verify statements if :func:`verify_exports` asks for it."""
    if _always:
        verify(body)


def verify(body: Sequence[Statement]) -> None:
    """Look whether statements keep the rules.

    Parameters
    ----------
    body : sequence of Statement
        Of a whole function.

    Raises
    ------
    IRError
        If they do not; the message names the rule and the statement.
    """
    somewhere = {name for statement in walk(body) for name in (*statement.defines(), *statement.own())}
    _verify(tuple(body), _Around(somewhere, {}, 0, -1))


def _verify(body: Body, around: _Around) -> None:
    visible, depth, names = around.visible, around.depth, list[str]()
    for statement in body:
        for rule in RULES:
            text = rule(statement, around)
            if text is not None:
                raise IRError(f"{text}: {statement}")
        variables, bodies = statement.own(), statement.bodies()
        if bodies:
            vector = isinstance(statement, Loop) and statement.kind in (LoopKind.VECTOR, LoopKind.GROUPS)
            inside = _Around(around.somewhere, visible, depth + 1, depth if vector else around.vector)
            visible.update(dict.fromkeys(variables, (False, depth + 1)))
            for inner in bodies:
                _verify(inner, inside)
            for name in variables:
                del visible[name]
        variable = (isinstance(statement, Let) and not statement.constant) or isinstance(statement, Accumulate)
        visible.update(dict.fromkeys(statement.defines(), (not variable, depth)))
        names += statement.defines()
    for name in names:
        del visible[name]


def _elements(statement: Statement) -> Iterator[tuple[Buffer, object]]:
    """Return the buffers and places that a statement names, besides those of its bodies."""
    if isinstance(statement, (Store, Move)):
        yield statement.buffer, statement.position
    if isinstance(statement, (Let, Assign, Store)) and statement.value is not None:
        yield from _loaded(statement.value)
    elif isinstance(statement, Move):
        yield from _loaded(statement.source)


def _loaded(expression: Expression) -> Iterator[tuple[Buffer, object]]:
    if isinstance(expression, Load):
        yield expression.buffer, expression.position
    elif isinstance(expression, Joined):
        yield from _loaded(expression.left)
        yield from _loaded(expression.right)
