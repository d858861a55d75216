"""Linkers: the choice of the machine that runs a program; a graph with its linker, without a function around them."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import FrozenInstanceError, field
from typing import Any, Self

from theano_graph import Apply, EnumFlag, FunctionGraph, Variable, add_flag, config, record

from .program import Hooks, Machine, Program, Thunk, lower
from .runtime._storage import Container
from .runtime._thunks import BUFFER_LIMIT, MachineView
from .targets import PYTHON, C, Target

# ---- Flags of linkers

add_flag(
    "vm.lazy",
    "Whether machines made by `VM_Linker` leave out inputs that lazy operations such as ifelse do not ask for: True, "
    "False, or None, which means yes.",
    EnumFlag("None", "True", "False"),
)
add_flag(
    "vm.function_code",
    "Which functions are compiled as one C function for the shapes of their arguments: 'busy' ones, in the background "
    "while they run on the machine; 'all', after their first call; or 'none'.",
    EnumFlag("busy", "all", "none"),
)


# ---- A graph and the linker that is to run it, without a function around them

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


#: The attributes of a linker, which do not change: functions and modes that have it would not know.
_FIXED = frozenset({"name", "target", "allow_gc", "native_only", "lazy", "accepted"})


@record
class Linker:
    """Runs an optimized graph.

    Parameters
    ----------
    name : str
        Name of the linker.
    target : Target
        Which native forms nodes have, and which machine runs them; by default that in C.
    allow_gc : bool or None
        Whether intermediate results are freed; None follows the flag `allow_gc`.
    native_only : bool
        True: an op without native form is an error.
    lazy : bool
        Whether operations that ask for their inputs (as `ifelse` does) may leave inputs uncomputed.

    Examples
    --------
    >>> from theano_linker_c import Linker
    >>> from theano_linker_c.targets import PYTHON
    >>> Linker("mine", PYTHON).clone(allow_gc=False).allow_gc
    False
    """

    name: str
    target: Target = C
    allow_gc: bool | None = None
    native_only: bool = False
    lazy: bool = True
    #: The graph that was accepted last, for programs that ask the linker itself for a function.
    accepted: AcceptedGraph | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def frees(self) -> bool:
        """Whether intermediate results are freed, the flag `allow_gc` being asked where the linker does not say."""
        return bool(config.allow_gc) if self.allow_gc is None else self.allow_gc

    @property
    def preferred(self) -> Callable[[FunctionGraph], Iterable[Apply]] | None:
        """A function of a graph that gives its nodes in the order in which they should run; None where all is one."""
        return None

    @property
    def clusters(self) -> bool:
        """Whether nodes may run together as one instruction: not where somebody looks at each of them."""
        return self.frees and self.target.overwrites and type(self).machine is Linker.machine

    def machine(self, program: Program, hooks: Hooks, fgraph: FunctionGraph, *, thread_scale: float = 1.0) -> Machine:
        """Return a machine for a program.

        Parameters
        ----------
        program : Program
        hooks : Hooks
        fgraph : FunctionGraph
            The graph that the program was made of.
        thread_scale : float
            How much more work than usual an instruction must have before several threads share it; infinity: never.
        """
        return self.plain_machine(program, hooks, thread_scale=thread_scale)

    def plain_machine(self, program: Program, hooks: Hooks, *, thread_scale: float = 1.0) -> Machine:
        """Return the target's machine, which needs no graph; classes of linkers that watch it make others."""
        limit = BUFFER_LIMIT if self.frees else sys.maxsize
        return self.target.present.machine(
            program, hooks, buffer_limit=limit, thread_scale=thread_scale, keep=not self.frees
        )

    def clone(self, allow_gc: bool | None = None) -> Self:
        """Return a linker like this one that frees, or does not free, intermediate results."""
        twin = copy.copy(self)
        if allow_gc is not None:
            object.__setattr__(twin, "allow_gc", allow_gc)
        return twin

    def accept(self, fgraph: FunctionGraph, no_recycling: Any = ()) -> AcceptedGraph:
        """Return `fgraph` together with this linker, ready to make a thunk; the linker itself makes it, too.

        Parameters
        ----------
        fgraph : FunctionGraph
        no_recycling : sequence of Variable
            Outputs whose memory is not to be used again by the next call; true of all outputs here.
        """
        graph = AcceptedGraph(self, fgraph)
        object.__setattr__(self, "accepted", graph)
        return graph

    def make_thunk(self, *args: Any, **kwargs: Any) -> Any:
        """Return a thunk for the graph that was accepted last; see :meth:`AcceptedGraph.make_thunk`."""
        return self._last().make_thunk(*args, **kwargs)

    def make_all(self, *args: Any, **kwargs: Any) -> Any:
        """Return thunks for all nodes of the graph that was accepted last; see :meth:`AcceptedGraph.make_all`."""
        return self._last().make_all(*args, **kwargs)

    def make_function(self, unpack_single: bool = True) -> Callable[..., Any]:
        """Return a function for the graph that was accepted last; see :meth:`AcceptedGraph.make_function`."""
        return self._last().make_function(unpack_single)

    def _last(self) -> AcceptedGraph:
        graph: AcceptedGraph | None = getattr(self, "accepted", None)  # classes may set their fields themselves
        if graph is None:
            raise ValueError(f"the linker {self.name} has no graph: accept one first")
        return graph

    def __setattr__(self, name: str, value: Any) -> None:
        # Classes of programs have attributes of their own.
        if name in _FIXED:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        # Classes of linkers have attributes of their own, of which the fields of this one know nothing.
        names = (name for base in type(self).__mro__ for name in getattr(base, "__slots__", ()))
        state = {name: getattr(self, name) for name in names if name != "accepted"}
        # Archives say of the two targets that are here which one it is, and need no class of theirs.
        if self.target in (C, PYTHON):
            state["native"] = state.pop("target") == C
        return {**getattr(self, "__dict__", {}), **state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        object.__setattr__(self, "accepted", None)
        for name, value in state.items():
            if name == "native":
                object.__setattr__(self, "target", C if value else PYTHON)
            else:
                object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return self.name
