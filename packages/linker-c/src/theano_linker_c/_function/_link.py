"""From an optimized graph to a machine that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from theano_graph import FunctionGraph

from .._container import Container
from ..modes import Linker
from ._collect import Signature
from ._interim import InterimMachine


class Machine(Protocol):
    """What a function needs of a machine."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Filter the arguments, run the program, store the updates and return what the function returns."""

    def run(self, values: Sequence[Any]) -> list[Any]:
        """Run the program on filtered values, store the updates, and return the list of outputs."""

    def clear(self) -> None:
        """Let go of memory kept for the next call."""


@dataclass(frozen=True)
class Wiring:
    """How a machine is connected to the function around it.

    Attributes
    ----------
    arguments : sequence of int
        Graph inputs that a call gives, in the order of the arguments.
    cells : mapping of int to list
        The other graph inputs -> the one-element list that holds the value.
    updates : sequence of (int, list)
        Graph output -> the one-element list that it is stored in when all has been computed.
    n_outputs : int
        How many graph outputs a call returns.
    single : bool
        Whether a call returns the one output itself.
    on_irregular : callable
        Called ``(args, kwargs)`` where a call is not just one positional value an input. A tuple that it returns holds
        the value of each input, to go on with; anything else is the result of the call.
    on_input : callable
        ``(position, value) -> filtered value`` for a value that a fast check does not know.
    finish : callable or None
        Turns the list of outputs into what the call returns (a dictionary).
    """

    arguments: Sequence[int]
    cells: Mapping[int, list[Any]]
    updates: Sequence[tuple[int, list[Any]]]
    n_outputs: int
    single: bool
    on_irregular: Callable[[tuple[Any, ...], dict[str, Any]], Any]
    on_input: Callable[[int, Any], Any]
    finish: Callable[[list[Any]], Any] | None


def wire(
    signature: Signature,
    containers: Sequence[Container],
    on_irregular: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    on_input: Callable[[int, Any], Any],
) -> Wiring:
    """Return how a machine is connected for this signature."""
    n_outputs = len(signature.outputs)
    keys = signature.keys
    return Wiring(
        arguments=[i for i, item in enumerate(signature.inputs) if not item.implicit],
        cells={i: containers[i].storage for i, item in enumerate(signature.inputs) if item.implicit},
        updates=[(n_outputs + k, containers[target].storage) for k, target in enumerate(signature.update_targets)],
        n_outputs=n_outputs,
        single=signature.single,
        on_irregular=on_irregular,
        on_input=on_input,
        finish=None if keys is None else lambda outputs: dict(zip(keys, outputs, strict=True)),
    )


def make_machine(fgraph: FunctionGraph, wiring: Wiring, linker: Linker) -> Machine:
    """Return a machine for the graph."""
    return InterimMachine(fgraph, wiring)
