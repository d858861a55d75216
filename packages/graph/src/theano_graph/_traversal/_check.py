"""Checks of what walks over graphs are given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._errors import format_error
from .._expression._nodes import Apply, Variable, describe


def variables_of(role: str, given: Any) -> list[Variable]:
    """Return variables as a list.

    Parameters
    ----------
    role : str
        What they are called in errors, in the plural: "outputs".
    given : iterable of Variable

    Raises
    ------
    TypeError
        If it is a single variable, no iterable, or something in it is no variable.
    """
    if isinstance(given, Variable):
        raise TypeError(
            format_error(
                f"{role} are a list of variables, not one variable",
                context=[describe(given)],
                hint=f"pass [{given}]",
            )
        )
    if not isinstance(given, Iterable):
        raise TypeError(format_error(f"{role} are a list of variables, not {given!r}", hint="pass a list or tuple"))
    found = list(given)
    for i, variable in enumerate(found):
        if not isinstance(variable, Variable):
            raise TypeError(_no_variable(f"{i} of the {role}", variable))
    return found


def variable_of(role: str, given: Any) -> Variable:
    """Return `given`, which must be a variable; `role` names it in the TypeError."""
    if not isinstance(given, Variable):
        raise TypeError(_no_variable(role, given))
    return given


def node_of(role: str, given: Any) -> Apply:
    """Return `given`, which must be an apply node; `role` names it in the TypeError."""
    if not isinstance(given, Apply):
        hint = "pass `variable.owner`" if isinstance(given, Variable) else "pass an apply node"
        where = [describe(given)] if isinstance(given, Variable) else []
        raise TypeError(format_error(f"{role} is no apply node: {given!r}", context=where, hint=hint))
    return given


def _no_variable(role: str, given: object) -> str:
    if isinstance(given, Apply):
        where = [f"{given}" + (f" made at {given.origin}" if given.origin is not None else "")]
        return format_error(f"{role} is a node, not a variable", context=where, hint="pass its outputs: `node.outputs`")
    return format_error(
        f"{role} is no variable: {given!r}", hint="pass variables; a value becomes one through Type.make_constant"
    )
