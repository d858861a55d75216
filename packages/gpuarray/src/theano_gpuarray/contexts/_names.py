"""Contexts by name."""

from __future__ import annotations

import copyreg
import pickle
import threading
from collections.abc import Hashable
from typing import Any

from theano_graph import format_error

from .._errors import ContextError, ContextNotDefined
from ._context import GpuContext

__all__ = ["get_context", "list_contexts", "note_failure", "reg_context", "registered"]

_registered: dict[Hashable, GpuContext] = {}
#: Names that flags map to devices which could not be opened, and why.
_failed: dict[Hashable, str] = {}
_lock = threading.RLock()


def reg_context(name: Hashable, ctx: GpuContext) -> None:
    """Register a context under a name.

    Parameters
    ----------
    name : hashable
        None for the default one.
    ctx : GpuContext

    Raises
    ------
    TypeError
        If `ctx` is no context, or `name` cannot be hashed.
    ContextError
        If there is a context of this name.

    Examples
    --------
    >>> from theano_gpuarray.contexts import get_context, open_context, reg_context
    >>> reg_context("example", open_context("null0"))
    >>> get_context("example").devname
    'null0'
    """
    if not isinstance(ctx, GpuContext):
        raise TypeError(
            format_error(
                f"a name is registered for a context, not for {ctx!r}",
                hint="open one: open_context('cuda0')",
            )
        )
    with _lock:
        if name in _registered:
            raise ContextError(
                format_error(
                    f"there is a context of the name {name!r} already",
                    context=[f"{name!r} is {_registered[name]!r}"],
                    hint="choose another name; get_context(name) returns the one that there is",
                )
            )
        _registered[name] = ctx
        _failed.pop(name, None)
        if ctx.name is None:
            ctx.name = name


def note_failure(name: Hashable, why: str) -> None:
    """Remember why a device that a flag gives a name to could not be opened."""
    with _lock:
        _failed[name] = why


def get_context(name: Hashable) -> GpuContext:
    """Return the context of a name.

    Parameters
    ----------
    name : hashable
        None for the default one.

    Raises
    ------
    ContextNotDefined
        If there is none.
    """
    try:
        return _registered[name]
    except (KeyError, TypeError):
        pass
    what = "no device is in use by default" if name is None else f"there is no context of the name {name!r}"
    hint = "set THEANO_FLAGS=device=cuda0" if name is None else f"set THEANO_FLAGS='contexts={name}->cuda0'"
    there = ", ".join(map(repr, _registered)) or "none"
    why = _failed.get(name, "") if isinstance(name, Hashable) else ""
    where = [*why.splitlines(), f"names that there are: {there}"]
    raise ContextNotDefined(format_error(what, context=where, hint=f"{hint} (or another device), or call init_dev"))


def _by_name(context: GpuContext) -> tuple[Any, tuple[Any]]:
    """Tell `pickle` the name of a context, by which it is found again, maybe in another process."""
    if _registered.get(context.name) is not context:
        raise pickle.PicklingError(
            format_error(
                f"{context!r} has no name by which another process finds it", hint="register it: reg_context(name, x)"
            )
        )
    return get_context, (context.name,)


copyreg.pickle(GpuContext, _by_name)


def registered(name: Any) -> bool:
    """Tell whether there is a context of a name."""
    return isinstance(name, Hashable) and name in _registered


def list_contexts() -> list[Any]:
    """Return the names of all contexts, in the order in which they were registered."""
    return list(_registered)
