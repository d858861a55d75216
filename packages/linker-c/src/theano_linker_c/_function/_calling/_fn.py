"""The attribute `fn` of compiled functions: a machine whose calls leave the results in containers, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...program import Machine
from ...runtime._storage import Container


class FunctionMachine:
    """The machine of a function, for programs that call it themselves and look for the results in `output_storage`.

    A call does the work of a call of the function, and returns the same. Everything else is asked of the machine.

    Parameters
    ----------
    machine : Machine
    results : sequence of Container
        Where the outputs of a call go.
    new_values : sequence of (Container, Container)
        Where the new values of inputs go, and the containers of these inputs.
    position_of : callable
        The position of the output that a call has named in `output_subset`.
    """

    __slots__ = ("_machine", "_new_values", "_position_of", "_results")

    def __init__(
        self,
        machine: Machine,
        results: Sequence[Container],
        new_values: Sequence[tuple[Container, Container]],
        position_of: Callable[[Any], int],
    ) -> None:
        values = (("_machine", machine), ("_results", results), ("_new_values", new_values))
        for name, value in (*values, ("_position_of", position_of)):
            object.__setattr__(self, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, and leave its results in the containers."""
        subset = kwargs.get("output_subset")
        results = self._machine(*args, **kwargs)
        boxes = self._results if subset is None else [self._results[self._position_of(key)] for key in subset]
        values = results.values() if isinstance(results, dict) else results if isinstance(results, list) else [results]
        for box, value in zip(boxes, values, strict=True):
            box.storage[0] = value
        for box, held in self._new_values:
            box.storage[0] = held.storage[0]
        return results

    def replace(self, machine: Machine) -> None:
        """Call another machine from now on."""
        object.__setattr__(self, "_machine", machine)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._machine, name, value)

    def __dir__(self) -> list[str]:
        return dir(self._machine)

    def __repr__(self) -> str:
        return repr(self._machine)
