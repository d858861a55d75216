"""Overrides for derivatives of ops made of graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from theano_graph import Op, Variable, format_error

from ..gradient import DisconnectedType, NullType

#: "default", an op made of a graph, a callable, or a variable that says that there is no derivative.
Override: TypeAlias = "str | Op | Callable[..., Any] | Variable"


def as_overrides(overrides: Any, what: str, count: int) -> Override | list[Override]:
    """Check overrides: one for all, or a list of `count`.

    Raises
    ------
    TypeError
        If one is of the wrong kind.
    ValueError
        If a list has another length.
    """
    if not isinstance(overrides, (list, tuple)):
        return _checked(overrides, what)
    if len(overrides) != count:
        raise ValueError(
            format_error(
                f"OpFromGraph: {what} has {len(overrides)} items instead of {count}", hint="give 'default' for some"
            )
        )
    return [_checked(item, what) for item in overrides]


def _checked(item: Any, what: str) -> Override:
    if isinstance(item, str) and item == "default":
        return item
    if isinstance(item, Variable):
        if isinstance(item.type, (NullType, DisconnectedType)):
            return item
    elif callable(item):
        return item  # type: ignore[no-any-return]  # any callable will do; ops are callable too
    raise TypeError(
        format_error(
            f"OpFromGraph: {what} cannot be {item!r}",
            hint="give 'default', an OpFromGraph, a function, NullType()(), DisconnectedType()(), or a list of these",
        )
    )


def is_disconnected_override(override: Override) -> bool:
    """Tell whether an override says that the input does not matter."""
    return isinstance(override, Variable) and isinstance(override.type, DisconnectedType)


def is_absent(override: Override) -> bool:
    """Tell whether an override says that there is no derivative."""
    return isinstance(override, Variable)
