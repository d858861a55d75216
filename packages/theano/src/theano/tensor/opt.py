"""Rewrites of tensor expressions, and putting rewrites of one's own in the phases that all functions go through."""

from collections.abc import Callable
from typing import Any

from theano_linker_c import optdb
from theano_optimize import constant_folding as constant_folding
from theano_tensor import (
    NotScalarConstantError as NotScalarConstantError,
    get_scalar_constant_value as get_scalar_constant_value,
)


def _register(phase: str, lopt: Any, tags: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Register a local optimizer in a phase; given tags alone, return a decorator that does it."""
    if isinstance(lopt, str):
        return lambda inner: _register(phase, inner, (lopt, *tags), options)
    name = options.get("name") or getattr(lopt, "__name__", None) or lopt.name
    rest = {key: value for key, value in options.items() if key != "name"}
    database: Any = optdb[phase]
    database.register(name, lopt, "fast_run", *tags, **rest)
    return lopt


def _registration(phase: str, doc: str) -> Callable[..., Any]:
    def register(lopt: Any, *tags: Any, **kwargs: Any) -> Any:
        return _register(phase, lopt, tags, kwargs)

    register.__name__ = register.__qualname__ = f"register_{phase}"
    register.__doc__ = f"""{doc}

    Parameters
    ----------
    lopt : LocalOptimizer
        Or a tag: then a decorator is returned.
    *tags : str
        Besides "fast_run": "fast_compile" for one that all modes are to apply, for instance.
    name : str, optional
        That of the optimizer by default.

    Returns
    -------
    LocalOptimizer
        What was given, so that this can be used as a decorator.
    """
    return register


register_canonicalize = _registration("canonicalize", "Put a local optimizer in the phase that simplifies the graph.")
register_stabilize = _registration("stabilize", "Put a local optimizer in the phase that makes the graph stable.")
register_specialize = _registration("specialize", "Put a local optimizer in the phase that uses special operations.")
register_uncanonicalize = _registration(
    "uncanonicalize", "Put a local optimizer in the phase that undoes simplifications that cost time."
)
