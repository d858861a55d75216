"""Functions in plain Python that are being called with symbolic values, and hints for their errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from theano_graph import Variable, current_origin


@dataclass(slots=True)
class Trace:
    """One call of a function with symbolic arguments.

    Attributes
    ----------
    name : str
        The function's name, for messages.
    updates : dict
        New values of shared variables that loops in it have returned, and that its function stores.
    """

    name: str
    updates: dict[Variable, Variable] = field(default_factory=dict)


#: The call that is being made in this thread, or None.
_traced: ContextVar[Trace | None] = ContextVar("theano_tensor_traced", default=None)
#: Returns it. It is the variable's own method: each call of a jitted function asks.
traced = _traced.get


@contextmanager
def tracing(name: str) -> Iterator[Trace]:
    """Note that the code inside runs a function of the user with symbolic arguments.

    Variables have no truth value then, and errors name the replacements of Python's `if`, loops and numbers.

    Parameters
    ----------
    name : str
        The function's name, for messages.

    Examples
    --------
    >>> from theano_tensor.builders import traced, tracing
    >>> with tracing("f"):
    ...     traced().name
    'f'
    """
    trace, around = Trace(name), _traced.get()
    token = _traced.set(trace)
    try:
        yield trace
    finally:
        _traced.reset(token)
    if around is not None:
        around.updates.update(trace.updates)


def note_updates(updates: Mapping[Any, Any]) -> None:
    """Tell the call that is being traced, if there is one, of new values that a loop has for shared variables."""
    trace = _traced.get()
    if trace is not None:
        trace.updates.update(updates)


def asked_where() -> list[str]:
    """Return, while a function is traced, the line of it that asks for a value; for the lines of an error."""
    trace, origin = _traced.get(), current_origin()
    if trace is None or origin is None:
        return []
    return [f"asked at {origin}, in `{trace.name}`, which is called to be compiled"]


def decided_by_python() -> str | None:
    """Return, while a function is traced, how an argument becomes one whose value Python knows; None otherwise."""
    if _traced.get() is None:
        return None
    return "or name the argument in `static_argnames` of theano.jit: its value is then known, and each is compiled"


#: The replacement of a loop over an array, in a function that is traced.
LOOP_OVER_ITEMS = "theano.functional.scan(body, init, x) is a loop over the items of x, as theano.scan is"


def loop_in_place_of_for() -> str:
    """Return the replacement of a loop over a range: the form over containers where a function is traced."""
    return "theano.scan" if _traced.get() is None else "theano.functional.fori_loop(lower, upper, body, init)"
