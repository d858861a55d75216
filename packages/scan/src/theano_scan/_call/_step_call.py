"""The call of the function that describes a step: what is said where it takes other arguments, or returns nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import format_error, shown_name

from ._arguments import SequenceArgument, StateArgument


def called(
    fn: Callable[..., Any],
    given: Sequence[Any],
    along: Sequence[SequenceArgument],
    states: Sequence[StateArgument | None],
    fixed: Sequence[Any],
) -> Any:
    """Return what the function returns for the arguments of a step.

    Parameters
    ----------
    fn : callable
    given : sequence of variables
        Elements of sequences and what outputs were; the non-sequences follow.
    along, states, fixed : sequence
        What the arguments stand for.

    Raises
    ------
    TypeError
        With the list of what is passed, if the function takes other arguments.
    ValueError
        If it returns None.
    """
    try:
        result = fn(*given, *fixed)
    except TypeError as error:
        # Raised by the call itself: nothing of the function has run.
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            signature = _signature_that_refuses(fn, [*given, *fixed])
            if signature is not None:
                raise TypeError(_wrong_arguments(fn, signature, _passed(along, states, fixed))) from None
        raise
    if result is None or (isinstance(result, (list, tuple)) and result and all(part is None for part in result)):
        raise ValueError(
            format_error(
                "scan: the function returns no value, so that there is nothing to compute in a step",
                context=[_place(fn)],
                hint="return the outputs of the step (`return new_state`), or a dictionary of updates",
            )
        )
    return result


def _signature_that_refuses(fn: Callable[..., Any], given: Sequence[Any]) -> inspect.Signature | None:
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*given)
    except TypeError:
        return signature
    return None


def _at(tap: int) -> str:
    return f"t{tap:+d}" if tap else "t"


def _suffix(tap: int) -> str:
    return "_t" if not tap else f"_t{'m' if tap < 0 else 'p'}{abs(tap)}"


def _passed(
    along: Sequence[SequenceArgument], states: Sequence[StateArgument | None], fixed: Sequence[Any]
) -> list[tuple[str, str]]:
    """Return a name and a description for each argument, in order."""
    found = []
    for k, argument in enumerate(along):
        name = argument.variable.name
        word, text = _word(name, f"x{k}"), _told("sequence", k, name)
        found += [(word + _suffix(tap), f"{text} at {_at(tap)}") for tap in argument.taps]
    for k, state in enumerate(states):
        if state is None:
            continue
        name = state.initial.name
        word, start = _word(name, f"y{k}"), f", which starts from `{name}`" if name else ""
        found += [(word + _suffix(tap), f"output {k} at {_at(tap)}{start}") for tap in state.taps]
    for k, variable in enumerate(fixed):
        found.append((_word(variable.name, f"w{k}"), f"{_told('non-sequence', k, variable.name)}, as it is"))
    return found


def _word(name: str | None, otherwise: str) -> str:
    return name if name is not None and name.isidentifier() else otherwise


def _told(kind: str, number: int, name: str | None) -> str:
    return f"{kind} `{name}`" if name else f"{kind} {number}"


def _place(fn: Callable[..., Any]) -> str:
    """Return the name and the line of a function."""
    name = getattr(fn, "__name__", type(fn).__name__)
    code = getattr(inspect.unwrap(fn), "__code__", None) or getattr(type(fn).__call__, "__code__", None)
    return f"`{name}`" + (f" at {shown_name(code.co_filename)}:{code.co_firstlineno}" if code else "")


def _wrong_arguments(fn: Callable[..., Any], signature: inspect.Signature, passed: Sequence[tuple[str, str]]) -> str:
    names = ", ".join(name for name, _ in passed)
    count = f"{len(passed)} argument{'s' if len(passed) != 1 else ''}"
    return format_error(
        f"scan passes {count} to the function, which takes {signature}",
        context=[f"function {_place(fn)}", *(f"argument {k}: {text}" for k, (_, text) in enumerate(passed, 1))],
        hint=f"let it take what is passed, in this order: ({names})",
    )
