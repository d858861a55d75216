"""Python code of ops in the form in which machines call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Op

Runner = Callable[[list[Any]], Sequence[Any]]


def has_own_thunk(node: Apply) -> bool:
    """Tell whether the op says itself, by `make_thunk`, how it is run."""
    own = getattr(node.op, "make_thunk", None)
    return own is not None and getattr(own, "__func__", own) is not getattr(Op, "make_thunk", None)


def thunk_runner(node: Apply) -> Runner:
    """Return a function from input values to output values that runs the thunk which the op makes."""
    variables = (*node.inputs, *node.outputs)
    storage: dict[Any, list[Any]] = {variable: [None] for variable in variables}
    computed: dict[Any, list[bool]] = {variable: [False] for variable in variables}
    make_thunk: Any = node.op.make_thunk
    thunk = make_thunk(node, storage, computed, [])

    def run(values: list[Any]) -> list[Any]:
        for variable, value in zip(node.inputs, values, strict=True):
            storage[variable][0], computed[variable][0] = value, True
        for variable in node.outputs:
            storage[variable][0], computed[variable][0] = None, False
        try:
            thunk()
            return [storage[variable][0] for variable in node.outputs]
        finally:
            for variable in variables:
                storage[variable][0] = None

    return run


def params_of(node: Apply) -> tuple[Any, ...]:
    """Return the extra argument of `perform`: the op's parameters, where it has any."""
    if getattr(node.op, "params_type", None) is None:
        return ()
    get_params: Any = node.op.get_params
    return (get_params(node),)


def perform_runner(node: Apply) -> Runner:
    """Return a function from input values to output values that calls `perform`."""
    perform: Any = node.op.perform
    params, count = params_of(node), len(node.outputs)

    def run(values: list[Any]) -> list[Any]:
        storage: list[list[Any]] = [[None] for _ in range(count)]
        perform(node, values, storage, *params)
        return [as_value(slot[0]) for slot in storage]

    return run


def as_value(value: Any) -> Any:
    """Return a result as registers hold it: NumPy scalars as arrays without dimensions."""
    return np.asarray(value) if isinstance(value, np.generic) else value
