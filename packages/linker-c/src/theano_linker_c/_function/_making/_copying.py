"""Copies of functions: the rewritten graph again, with other shared variables or without updates."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from theano_graph import Variable, describe, format_error

from ...runtime._storage import SharedVariable
from .._signature._collect import Signature
from .._signature._errors import FunctionInputError, SwapError
from .._signature._io import In
from ._maker import FunctionMaker


def copy_maker(
    maker: FunctionMaker, swap: Mapping[SharedVariable, SharedVariable], delete_updates: bool, name: str
) -> FunctionMaker:
    """Return a maker for a copy of the function; see :meth:`Function.copy`."""
    source = maker.signature
    _check_swap(source, swap)
    signature = Signature(
        [_swapped(item, swap) for item in source.inputs],
        list(source.outputs),
        [] if delete_updates else list(source.update_targets),
        source.keys,
        single=False,
        name=name,
    )
    if delete_updates:
        for item in signature.inputs:
            item.update = None
    fgraph = maker.graph_of(range(len(source.outputs)), updates=not delete_updates)
    _check_targets(signature)
    twin = FunctionMaker(signature, fgraph, maker.mode, maker.function_builder, maker.accept_inplace)
    twin.source = maker.source.without_updates(len(source.outputs)) if delete_updates else maker.source
    twin.given_up = maker.given_up
    # Without its update, a shared variable keeps memory that an output could share until now.
    twin.protect()
    twin.profile, twin.overwriting = maker.profile, maker.overwriting
    return twin


def _check_swap(signature: Signature, swap: Mapping[Any, Any]) -> None:
    shared_variables = {item.variable for item in signature.inputs if item.shared}
    for old, new in swap.items():
        if old not in shared_variables:
            raise SwapError(
                format_error(
                    f"{signature.label}.copy: swap names a variable that the function does not use: {old}",
                    context=[describe(old)] if isinstance(old, Variable) else [],
                    hint=f"its shared variables are {', '.join(str(v) for v in shared_variables) or 'none'}.",
                )
            )
        if not isinstance(new, SharedVariable) or not old.type.is_super(new.type):
            description = describe(new) if isinstance(new, Variable) else repr(new)
            raise FunctionInputError(
                format_error(
                    f"{signature.label}.copy: `{old}` can only be swapped for a shared variable of its type "
                    f"{old.type.describe()}",
                    context=[describe(old), f"to be swapped for {description}"],
                    hint="make a shared variable of the same type.",
                )
            )


def _check_targets(signature: Signature) -> None:
    seen: dict[int, Variable] = {}
    for target in signature.update_targets:
        item = signature.inputs[target]
        if item.shared and id(item.value) in seen:
            raise SwapError(
                format_error(
                    f"{signature.label}: after the swap, one shared variable would have two updates",
                    context=[describe(item.variable), describe(seen[id(item.value)])],
                    hint="swap for different variables, or pass delete_updates=True.",
                )
            )
        seen[id(item.value)] = item.variable


def _swapped(item: In, swap: Mapping[Any, Any]) -> In:
    new = swap.get(item.variable) if item.shared else None
    if new is not None:
        return In(new, value=new.container, borrow=True, shared=True)
    return copy.copy(item)
