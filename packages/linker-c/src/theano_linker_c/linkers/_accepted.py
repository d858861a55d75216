"""A graph and the linker that is to run it, without a function around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from theano_graph import Apply, FunctionGraph, Variable

from .._machines._thunks import MachineView
from .._storage._container import Container
from ..program import Hooks, Machine, Thunk, lower

if TYPE_CHECKING:
    from ._linker import Linker

Cells = Sequence[list[Any]]


class AcceptedGraph:
    """A graph that a linker has accepted; made by :meth:`Linker.accept`.

    The graph is run as it is: neither rewritten, nor protected against outputs that share memory with inputs.

    Attributes
    ----------
    linker : Linker
    fgraph : FunctionGraph

    Examples
    --------
    >>> from theano_graph import FunctionGraph
    >>> from theano_linker_c import generic, view_op
    >>> from theano_linker_c.linkers import PerformLinker
    >>> x = generic("x")
    >>> thunk, (i,), (o,) = PerformLinker().accept(FunctionGraph([x], [view_op(x)])).make_thunk()
    >>> i.value = 3
    >>> thunk()
    >>> o.value
    3
    """

    def __init__(self, linker: Linker, fgraph: FunctionGraph) -> None:
        self.linker = linker
        self.fgraph = fgraph

    def make_thunk(
        self,
        input_storage: Cells | None = None,
        output_storage: Cells | None = None,
        storage_map: Mapping[Variable, list[Any]] | None = None,
    ) -> tuple[Callable[[], None], list[Container], list[Container]]:
        """Return a thunk without arguments, and containers for its inputs and outputs.

        Parameters
        ----------
        input_storage, output_storage : sequence of list, optional
            One-element lists to use as storage; new ones by default.
        storage_map : mapping of Variable to list, optional
            Storage for some inputs and outputs, where the two arguments above do not give it.
        """
        run, _, inputs, outputs = self._build(input_storage, output_storage, storage_map or {})
        return run, inputs, outputs

    def make_all(
        self, input_storage: Cells | None = None, output_storage: Cells | None = None
    ) -> tuple[Callable[[], None], list[Container], list[Container], list[Thunk], list[Apply]]:
        """Return the result of :meth:`make_thunk`, the thunks of the nodes, and the nodes in the same order.

        The thunks work on the storage of the containers.
        """
        run, machine, inputs, outputs = self._build(input_storage, output_storage, {})
        program = machine.program
        cells: list[list[Any]] = [[None] for _ in range(program.n_registers)]
        for register, value in program.constants:
            cells[register][0] = value
        for register, cell in (*program.cells, *program.updates):
            cells[register] = cell
        runner_of = self.linker.target.present.runner_of
        return run, inputs, outputs, MachineView(program, runner_of, cells).thunks, machine.nodes

    def make_function(self, unpack_single: bool = True) -> Callable[..., Any]:
        """Return a function from the values of the inputs to those of the outputs.

        Parameters
        ----------
        unpack_single : bool
            Whether the one output of a graph is returned by itself instead of in a list.
        """
        thunk, inputs, outputs = self.make_thunk()

        def call(*values: Any) -> Any:
            if len(values) != len(inputs):
                raise TypeError(f"the function takes {len(inputs)} values, got {len(values)}")
            for box, value in zip(inputs, values, strict=True):
                box.value = value
            thunk()
            results = [box.value for box in outputs]
            return results[0] if unpack_single and len(results) == 1 else results

        return call

    def _build(
        self, graph: Cells | None, options: Cells | None, storage_map: Mapping[Variable, list[Any]]
    ) -> tuple[Callable[[], None], Machine, list[Container], list[Container]]:
        inputs = _containers(self.fgraph.inputs, graph, storage_map)
        outputs = _containers(self.fgraph.outputs, options, storage_map)
        program = lower(
            self.fgraph,
            arguments=(),
            cells={i: box.storage for i, box in enumerate(inputs)},
            updates=[(i, box.storage) for i, box in enumerate(outputs)],
            n_outputs=0,
            target=self.linker.target.present,
            lazy=self.linker.lazy,
            keep=not self.linker.frees,
            preferred=self.linker.preferred,
        )
        machine = self.linker.machine(program, Hooks(_no_arguments, _no_input), self.fgraph)

        def run() -> None:
            machine()

        return run, machine, inputs, outputs


def _containers(
    variables: Sequence[Variable], cells: Cells | None, storage_map: Mapping[Variable, list[Any]]
) -> list[Container]:
    storage = [storage_map.get(v) for v in variables] if cells is None else cells
    return [Container(v, cell) for v, cell in zip(variables, storage, strict=True)]


def _no_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise TypeError("a thunk takes no arguments: put values into its containers")


def _no_input(index: int, value: Any) -> Any:
    raise TypeError("a thunk takes no arguments: put values into its containers")
