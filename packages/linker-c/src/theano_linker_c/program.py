"""Programs: loops, and the way from a function graph to a :class:`Program`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from heapq import heapify, heappop, heappush
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Variable, has_own_thunk, record, toposort

from ._perform import OwnThunk, call_form
from .cop import CThunk, c_thunk
from .kernels import CompilerOptions, ElementwiseKernel, ElementwiseLoop, IndexWriteKernel, Overwriting
from .runtime._buffer_donation import ALL_KINDS, deaths_by_counting, deaths_in_order, decide
from .runtime._clusters import Cluster, ClusterRule, cluster_rule, contract, restored_cluster, state_of_cluster
from .runtime._errors import NodeError, annotate, annotate_node
from .runtime._inplace import overwriting_form
from .runtime._instructions import (
    ALWAYS,
    PERFORM,
    Accepts,
    ArraySpec,
    Branch,
    Calls,
    Form,
    HasArraySpec,
    Hooks,
    Instruction,
    KernelForm,
    PerformForm,
    Program,
    ProgramInput,
    Schedule,
    argument_spec_of,
    array_spec_of,
    branch_of,
    calls_of,
    certain_error,
    lazy_form,
    make_schedule,
    when_needed,
)
from .runtime._native_machine import HAS_RUNTIME, arrays_alike, dimensions, native_machine
from .runtime._python_machine import PythonMachine
from .runtime._thunks import Machine, MachineView, Thunk
from .targets import C, Target

#: Modules of the former package are found under their earlier names, which pickles have.
__path__: list[str] = []

# ---- Loops: programs that run many times in one call, without Python between the runs


class ResultKind(IntEnum):
    """The treatment of the values of an output; the same numbers as in c/machine/loop.c."""

    STACK = 0
    SUM = 1
    LAST = 2


#: Makes the exception for a value of another shape than before, from the number of the output, row, shape and expected
#: shape.
MakeShapeError = Callable[[int, int, Sequence[int], Sequence[int]], Exception]
#: Runs a loop: takes the number of runs (1 at least), the values, and exceptions for changed shapes; returns
#: the number of runs done and the results.
LoopRunner = Callable[[int, Sequence[Any], MakeShapeError], tuple[int, list[Any]]]


@record
class LoopSpec:
    """How a program is run in a loop.

    Its inputs are rows of sequences, states, and constant values, in this order; its outputs are the new states,
    other results, and maybe the boolean that ends the loop after this run.

    Attributes
    ----------
    rows, states : int
        How many there are.
    kinds : tuple of ResultKind
        For each output that is a result, whether its values are stacked or summed, or the last one is kept. A stack has
        one row for each run that was asked for, in the order of the sequences.
    until : bool
        Whether the last output ends the loop.
    backwards : bool
        Whether sequences are read, and stacks written, from the last row to the first.
    """

    rows: int
    states: int
    kinds: tuple[ResultKind, ...]
    until: bool = False
    backwards: bool = False


_step_of: ContextVar[LoopSpec | None] = ContextVar("step_of", default=None)


def loop_of_step() -> LoopSpec | None:
    """Return the loop for whose step programs are made at present; None outside of :func:`lowered_for_loop`."""
    return _step_of.get()


@contextmanager
def lowered_for_loop(loop_spec: LoopSpec) -> Iterator[None]:
    """Let programs that are made meanwhile have code for all steps of a loop, where that is more than calls of a step.

    Parameters
    ----------
    loop_spec : LoopSpec
        How the programs will be run in a loop.
    """
    token = _step_of.set(loop_spec)
    try:
        yield
    finally:
        _step_of.reset(token)


def forms_of_loops(
    order: Sequence[Apply],
    registers: Mapping[Variable, int],
    inputs: Sequence[int],
    outputs: Sequence[int],
    target: Target,
    options: CompilerOptions | None,
) -> dict[LoopSpec, KernelForm]:
    """Return code for all steps of the loops that a program is meant for, compiled together with the code of a step.

    Parameters
    ----------
    order : sequence of Apply
        The nodes of the program.
    registers : mapping of Variable to int
    inputs, outputs : sequence of int
        The registers of arguments and results.
    target : Target
    options : CompilerOptions or None
    """
    loop_spec = _step_of.get()
    if loop_spec is None or not target.has_loops or len(order) != 1:
        return {}
    kernel = target.kernel_of(order[0])
    if not isinstance(kernel, ElementwiseKernel):
        return {}
    read, written = ([registers[v] for v in side] for side in (order[0].inputs, order[0].outputs))
    loop = _loop_of(kernel, loop_spec, read, written, inputs, outputs)
    if loop is None or not loop.worthwhile:
        return {}
    _, form = target.build([kernel, loop], options)
    return {} if form is None else {loop_spec: form}


def _loop_of(
    kernel: ElementwiseKernel,
    loop_spec: LoopSpec,
    read: Sequence[int],
    written: Sequence[int],
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> ElementwiseLoop | None:
    """Return a loop of one kernel, which reads and writes some registers; None where there is more to do in a step."""
    kinds = loop_spec.kinds
    fits = len(outputs) == len(kinds) and loop_spec.rows + loop_spec.states <= len(inputs)
    if not fits or loop_spec.until or ResultKind.SUM in kinds or sorted(outputs) != sorted(written):
        return None
    states = dict(zip(inputs[loop_spec.rows :], outputs[: loop_spec.states], strict=False))
    return ElementwiseLoop(
        kernel,
        feeds=tuple(written.index(states[r]) if r in states else -1 for r in read),
        rows=tuple(r in inputs[: loop_spec.rows] for r in read),
        stacked=tuple(kinds[outputs.index(r)] == ResultKind.STACK for r in written),
    )


def loop_runner(machine: Any, loop_spec: LoopSpec) -> LoopRunner | None:
    """Return a function that runs the program of a machine many times in one call, or None where the machine cannot.

    Instructions write stacked results directly into their rows where they can; arrays of states are reused.
    All values of a stack or a sum have the shape of the first one, those of a state the shape of its start. An
    error names the run in a note. Each run stores updates, as a call does.

    Parameters
    ----------
    machine : Machine
    loop_spec : LoopSpec

    Returns
    -------
    callable or None
    """
    now = getattr(machine, "now", None)
    machine = machine if now is None else now()
    run = getattr(machine, "run_loop", None)
    if run is None:
        return None
    rows, states, until, backwards = loop_spec.rows, loop_spec.states, loop_spec.until, loop_spec.backwards
    kinds = tuple(int(kind) for kind in loop_spec.kinds)
    form = machine.program.loops.get(loop_spec)
    address = 0 if form is None else form.code.address

    def run_loop(runs: int, values: Sequence[Any], shape_error: MakeShapeError) -> tuple[int, list[Any]]:
        arguments = runs, tuple(values), rows, states, kinds, until, backwards, shape_error, address
        result: tuple[int, list[Any]] = run(*arguments)
        return result

    return run_loop


# ---- From a function graph to a :class:`Program`

#: Called with each program that :func:`lower` has made: for tests.
on_lowered: list[Callable[[Program], None]] = []


def lower(
    fgraph: FunctionGraph,
    *,
    arguments: Sequence[int] | None = None,
    cells: Mapping[int, list[Any]] | None = None,
    updates: Sequence[tuple[int, list[Any]]] = (),
    n_outputs: int | None = None,
    accepts: Sequence[Accepts] | None = None,
    target: Target = C,
    lazy: bool = True,
    keep: bool = False,
    options: CompilerOptions | None = None,
    overwriting: Collection[Overwriting] = ALL_KINDS,
    preferred: Callable[[FunctionGraph], Iterable[Apply]] | None = None,
    clusters: bool = False,
) -> Program:
    """Number the variables of a graph, order its nodes, and find and build their native forms.

    Parameters
    ----------
    fgraph : FunctionGraph
    arguments : sequence of int, optional
        Graph inputs that a call gives, in the order of the arguments; all of them by default.
    cells : mapping of int to list, optional
        The other graph inputs, with the one-element lists that hold their values.
    updates : sequence of (int, list)
        Graph outputs that are stored in one-element lists after a call has succeeded.
    n_outputs : int, optional
        How many graph outputs, from the first, a call returns; all by default.
    accepts : sequence of Accepts, optional
        For each argument, the values that the machine may accept unasked; by default it takes Python floats for 0-d
        float64.
    target : Target
        The target of the program.
    lazy : bool
        Whether nodes that ask for their inputs may do so; False gives them all of their inputs.
    keep : bool
        True: results keep their memory until the end of a call, but for arrays that a native node writes a part of.
    options : CompilerOptions, optional
    overwriting : collection of Overwriting
        Which operations may use the memory of operands that die.
    preferred : callable, optional
        Gives the nodes in the order in which they should run as far as they can.
    clusters : bool
        Whether nodes that rules claim become one instruction; see :class:`ClusterRule`.

    Returns
    -------
    Program
    """
    positions = range(len(fgraph.inputs)) if arguments is None else arguments
    whole = _run_order(fgraph) if preferred is None else _preferred_order(fgraph, preferred)
    order, inside = contract(fgraph, whole, lazy=lazy) if clusters else (whole, {})
    registers = _number(fgraph, order)
    thunks, branches = _thunks_and_branches(order, target)
    asking = _asking(thunks, branches) if lazy else None
    if asking:
        readers, release = deaths_by_counting(fgraph, order, registers)
        schedule = make_schedule(fgraph, order, readers, asking, inside)
    else:
        schedule, release = None, deaths_in_order(fgraph, order, registers)
    inputs, results = [registers[fgraph.inputs[i]] for i in positions], [registers[v] for v in fgraph.outputs]
    loops = forms_of_loops(order, registers, inputs, results, target, options)
    forms = _forms(order, thunks, branches, target, options)
    instructions = tuple(
        Instruction(
            node,
            tuple([registers[v] for v in node.inputs]),
            tuple([registers[v] for v in node.outputs]),
            _parts_written(node, forms[i], release[i], registers) if keep else release[i],
            forms[i],
            unread=_unread(fgraph, node, registers),
        )
        for i, node in enumerate(order)
    )
    accepts = [Accepts(_is_float64(fgraph.inputs[i])) for i in positions] if accepts is None else accepts
    program = Program(
        instructions=instructions,
        n_registers=len(registers),
        inputs=tuple(ProgramInput(r, fgraph.inputs[i], a) for i, r, a in zip(positions, inputs, accepts, strict=True)),
        cells=tuple((registers[fgraph.inputs[i]], cell) for i, cell in (cells or {}).items()),
        constants=tuple((r, v.data) for v, r in registers.items() if isinstance(v, Constant)),
        outputs=tuple(results[:n_outputs]),
        updates=tuple((results[i], cell) for i, cell in updates),
        schedule=schedule,
        shown=_shown_positions(fgraph, order) if preferred is None and not inside else (),
        loops=loops,
    )
    program = decide(program, overwriting) if target.overwrites else program
    for look in on_lowered:
        look(program)
    return program


def _run_order(fgraph: FunctionGraph) -> list[Apply]:
    """Return the nodes in the order in which they run: the needs of a node's first input come first.

    A sum to which term after term is added takes up each term before the next one is made. In the order in which nodes
    are shown (:meth:`FunctionGraph.toposort`) all terms would be there at the same time.
    """
    return toposort(fgraph.inputs, fgraph.outputs, fgraph.orderings() or None)


def _preferred_order(fgraph: FunctionGraph, preferred: Callable[[FunctionGraph], Iterable[Apply]]) -> list[Apply]:
    """Sort the nodes topologically; among ready nodes, take the first in preferred order."""
    rank = {node: i for i, node in enumerate(preferred(fgraph))}
    nodes = fgraph.toposort()
    before = fgraph.orderings()
    needs = {
        node: {v.owner for v in node.inputs if v.owner in fgraph.apply_nodes} | {*before.get(node, ())}
        for node in nodes
    }
    readers: dict[Apply, list[Apply]] = {node: [] for node in nodes}
    for node in nodes:
        for source in needs[node]:
            readers[source].append(node)
    keys = {node: (rank.get(node, len(rank)), i) for i, node in enumerate(nodes)}
    ready = [(*keys[node], node) for node in nodes if not needs[node]]
    heapify(ready)
    order = []
    while ready:
        *_, node = heappop(ready)
        order.append(node)
        for reader in readers[node]:
            needs[reader].discard(node)
            if not needs[reader]:
                heappush(ready, (*keys[reader], reader))
    return order


def _shown_positions(fgraph: FunctionGraph, order: Sequence[Apply]) -> tuple[int, ...]:
    """Return where each node is in the order in which nodes are shown; nothing where the orders are the same."""
    shown = fgraph.toposort()
    if shown == list(order):
        return ()
    positions = {node: i for i, node in enumerate(shown)}
    return tuple(positions[node] for node in order)


def _unread(fgraph: FunctionGraph, node: Apply, registers: Mapping[Variable, int]) -> tuple[int, ...]:
    """Return the registers of results that nothing reads; a node is there for one result at least."""
    if len(node.outputs) == 1:
        return ()
    return tuple(registers[v] for v in node.outputs if not fgraph.has_clients(v))


def _parts_written(
    node: Apply, form: Form, release: tuple[int, ...], registers: Mapping[Variable, int]
) -> tuple[int, ...]:
    """Return which of the dying registers a node may write into: to copy an array for a few elements is no option."""
    target = registers[node.inputs[0]] if _writes_by_index(form) else None
    return tuple(register for register in release if register == target)


def _writes_by_index(form: Form) -> bool:
    return isinstance(form, KernelForm) and isinstance(form.kernel, IndexWriteKernel)


def encode_nodes(nodes: Sequence[Apply], *, target: Target = C) -> list[Instruction]:
    """Return an instruction for each of some nodes, which need not be of one graph.

    The registers of each instruction are numbered by themselves: inputs, then outputs. Nothing is let go of.

    Parameters
    ----------
    nodes : sequence of Apply
    target : Target
        The target that runs them.
    """
    thunks = [_thunk_of(node, target) for node in nodes]
    forms = _forms(nodes, thunks, [None] * len(nodes), target, None)
    instructions = []
    for node, form in zip(nodes, forms, strict=True):
        numbers: dict[Variable, int] = {}
        for variable in (*node.inputs, *node.outputs):
            numbers.setdefault(variable, len(numbers))
        inputs, outputs = (tuple(numbers[v] for v in side) for side in (node.inputs, node.outputs))
        instructions.append(Instruction(node, inputs, outputs, (), form))
    return instructions


def form_again(node: Apply, target: Target) -> OwnThunk | CThunk | Branch:
    """Return the form of a node that runs neither a kernel nor `perform`, for another function of an equal graph.

    The op's C code is asked for again, and taken from disk where it is the same.
    """
    form = _thunk_of(node, target) or branch_of(node) or c_thunk(node)
    assert form is not None, "the environment of the function is the same, and so is the op"
    return form


def _thunk_of(node: Apply, target: Target) -> OwnThunk | None:
    """Return the thunk that the op of a node makes for it; None where it leaves that to us."""
    return OwnThunk(node, target.impl) if has_own_thunk(node.op) else None


def _thunks_and_branches(order: Sequence[Apply], target: Target) -> tuple[list[OwnThunk | None], list[Branch | None]]:
    """Return the thunks that ops make for nodes, and choices between inputs; None for all others.

    Each op is asked once whether there is something to ask of its nodes: graphs have many more nodes than ops.
    """
    ops = {id(node.op): node.op for node in order}
    numbers = {number for number, op in ops.items() if has_own_thunk(op)}
    choosing = {number for number, op in ops.items() if number not in numbers and lazy_form.get(op) is not None}
    if not numbers and not choosing:
        return [None] * len(order), [None] * len(order)
    thunks = [OwnThunk(node, target.impl) if id(node.op) in numbers else None for node in order]
    return thunks, [branch_of(node) if id(node.op) in choosing else None for node in order]


def _asking(thunks: Sequence[OwnThunk | None], branches: Sequence[Branch | None]) -> dict[int, Branch | None]:
    """Return the positions of the nodes that ask for their inputs when they run, with the choices among them."""
    return {
        i: branch
        for i, (thunk, branch) in enumerate(zip(thunks, branches, strict=True))
        if branch is not None or (thunk is not None and thunk.lazy)
    }


def _forms(
    order: Sequence[Apply],
    thunks: Sequence[OwnThunk | None],
    branches: Sequence[Branch | None],
    target: Target,
    options: CompilerOptions | None,
) -> list[Form]:
    """Return in which form each node runs; all machine code that is missing is compiled at once."""
    free = [node for i, node in enumerate(order) if thunks[i] is None and branches[i] is None]
    if len(free) == len(order):
        return target.forms(free, options)
    forms = iter(target.forms(free, options))
    return [thunks[i] or branches[i] or next(forms) for i in range(len(order))]


def _number(fgraph: FunctionGraph, order: Sequence[Apply]) -> dict[Variable, int]:
    registers: dict[Variable, int] = {}
    for variable in fgraph.inputs:
        registers.setdefault(variable, len(registers))
    for node in order:
        for variables in (node.inputs, node.outputs):
            for variable in variables:
                if variable not in registers:
                    registers[variable] = len(registers)
    for variable in fgraph.outputs:
        registers.setdefault(variable, len(registers))
    return registers


def _is_float64(variable: Variable) -> bool:
    spec = array_spec_of(variable)
    return spec is not None and spec.dtype == "float64" and not spec.shape


__all__ = [
    "ALWAYS",
    "HAS_RUNTIME",
    "PERFORM",
    "Accepts",
    "ArraySpec",
    "Branch",
    "Calls",
    "Cluster",
    "ClusterRule",
    "Form",
    "HasArraySpec",
    "Hooks",
    "Instruction",
    "KernelForm",
    "LoopSpec",
    "Machine",
    "MachineView",
    "NodeError",
    "PerformForm",
    "Program",
    "ProgramInput",
    "PythonMachine",
    "ResultKind",
    "Schedule",
    "Thunk",
    "annotate",
    "annotate_node",
    "argument_spec_of",
    "array_spec_of",
    "branch_of",
    "call_form",
    "calls_of",
    "certain_error",
    "cluster_rule",
    "lazy_form",
    "loop_of_step",
    "loop_runner",
    "lower",
    "lowered_for_loop",
    "native_machine",
    "on_lowered",
    "overwriting_form",
    "restored_cluster",
    "state_of_cluster",
    "when_needed",
    "arrays_alike",
    "dimensions",
]
