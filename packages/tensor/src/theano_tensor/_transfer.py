"""Variables moved to where they shall be computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano_graph import Variable, describe, format_error

from ._core._convert import as_tensor_variable
from ._protocols._operations import operation

Transfer = Callable[[Variable, Any], Variable | None]

#: The functions of other back ends, asked in reverse order.
_TRANSFERS: list[Transfer] = []


def register_transfer(fn: Transfer) -> None:
    """Register a function that moves variables to targets of its own.

    Parameters
    ----------
    fn : callable
        Takes a variable and the target; returns the variable there, or None for a target that is not its own.

    Raises
    ------
    TypeError
        If `fn` cannot be called.
    """
    if not callable(fn):
        raise TypeError(format_error(f"{fn!r} cannot be called", hint="pass a function of a variable and a target"))
    _TRANSFERS.append(fn)


@operation("transfer")
def transfer(var: Variable, target: object) -> Variable:
    """Return a variable moved to `target`.

    Parameters
    ----------
    var : Variable
    target : str
        ``"cpu"`` for an ordinary tensor; others are those of registered back ends.

    Returns
    -------
    Variable
        `var` itself if it is there.

    Raises
    ------
    ValueError
        If nobody knows the target.
    """
    if target == "cpu":
        return as_tensor_variable(var)
    for function in reversed(_TRANSFERS):
        moved = function(var, target)
        if moved is not None:
            return moved
    raise ValueError(
        format_error(
            f"there is no target {target!r}", context=[describe(var)], hint="use 'cpu', or register a transfer for it"
        )
    )
