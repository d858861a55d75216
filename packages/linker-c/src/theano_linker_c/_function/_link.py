"""From an optimized graph to a machine that runs it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theano_graph import FunctionGraph, compose, config

from .._container import Container
from ..modes import Linker, ModeError
from ..ops import DeepCopyOp
from ..program import HAS_RUNTIME, Hooks, Machine, Program, lower, make_machine
from ._collect import Signature
from ._io import In


@dataclass(frozen=True)
class Wiring:
    """How a machine is connected to the function around it.

    Attributes
    ----------
    arguments : sequence of int
        Graph inputs that a call gives, in the order of the arguments.
    takes_float : sequence of bool
        For each of them, whether any Python float is valid.
    cells : mapping of int to list
        The other graph inputs -> the one-element list that holds the value.
    updates : sequence of (int, list)
        Graph output -> the one-element list that it is stored in when all has been computed.
    n_outputs : int
        How many graph outputs a call returns.
    hooks : Hooks
        What the machine leaves to the function.
    """

    arguments: Sequence[int]
    takes_float: Sequence[bool]
    cells: Mapping[int, list[Any]]
    updates: Sequence[tuple[int, list[Any]]]
    n_outputs: int
    hooks: Hooks


def wire(
    signature: Signature,
    containers: Sequence[Container],
    on_irregular: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    on_input: Callable[[int, Any], Any],
) -> Wiring:
    """Return how a machine is connected for this signature."""
    n_outputs = len(signature.outputs)
    keys = signature.keys
    finish = None if keys is None else lambda outputs: dict(zip(keys, outputs, strict=True))
    explicit = [(i, item) for i, item in enumerate(signature.inputs) if not item.implicit]
    return Wiring(
        arguments=[i for i, _ in explicit],
        takes_float=[_takes_float(item) for _, item in explicit],
        cells={i: containers[i].storage for i, item in enumerate(signature.inputs) if item.implicit},
        updates=[(n_outputs + k, containers[target].storage) for k, target in enumerate(signature.update_targets)],
        n_outputs=n_outputs,
        hooks=Hooks(on_irregular, on_input, finish, single=signature.single),
    )


def _takes_float(item: In) -> bool:
    """Tell whether the type accepts every Python float, so that the machine may convert it without asking."""
    if item.strict or not hasattr(item.variable.type, "array_spec"):
        return False
    try:
        # No binary float of any width is 0.1, so that a type which accepts it accepts rounding.
        item.variable.type.filter(0.1, strict=False, allow_downcast=item.allow_downcast)
    except (TypeError, ValueError):
        return False
    return True


def link(fgraph: FunctionGraph, wiring: Wiring, linker: Linker, where: str) -> Machine:
    """Return a machine for the graph.

    Raises
    ------
    ModeError
        If the linker takes only native code and an op has none.
    """
    program = lower(
        fgraph,
        arguments=wiring.arguments,
        cells=wiring.cells,
        updates=wiring.updates,
        n_outputs=wiring.n_outputs,
        takes_float=wiring.takes_float,
        native=linker.native and HAS_RUNTIME,
    )
    if linker.native_only:
        _check_native(program, linker, where)
    allow_gc = config.allow_gc if linker.allow_gc is None else linker.allow_gc
    limit = {} if allow_gc else {"buffer_limit": sys.maxsize}
    return make_machine(program, wiring.hooks, native=linker.native, **limit)


def _check_native(program: Program, linker: Linker, where: str) -> None:
    for instruction in program.instructions:
        node = instruction.node
        if instruction.kernel is None and not isinstance(node.op, DeepCopyOp):
            made = f" made at {node.origin}" if node.origin is not None else ""
            raise ModeError(
                compose(
                    f"{where}: linker {linker} runs native code only, and {node.op} has none for these types",
                    where=[f"{node}{made}", *(f"`{v}`: {v.type}" for v in node.inputs)],
                    mend="use the linker 'cvm', which runs such nodes in Python.",
                )
            )
