"""The functions behind operators and methods, by name.

Ops are defined on variables, and ``x + y`` is defined by ops. The knot is cut by this table: methods look
up the function that they stand for by name, and the modules of the ops fill it when they are loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

#: Name -> the function behind the method or operator of that name.
OPERATIONS: dict[str, Callable[..., Any]] = {}


def operation(name: str) -> Callable[[FunctionT], FunctionT]:
    """Register a function as the one behind the method or operator `name`."""

    def accept(function: FunctionT) -> FunctionT:
        OPERATIONS[name] = function
        return function

    return accept


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call the function registered under `name`."""
    return OPERATIONS[name](*args, **kwargs)
