"""What is stored of a function: its rewritten graph, and its program with the names of its kernels."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Op, ReplaceValidate, Variable, record
from theano_graph.columns import GraphColumns, graph_columns, graph_from_columns
from theano_optimize import DestroyHandler, Supervisor

from ..._instructions._data import Instruction, Program, ProgramInput
from ..._instructions._forms import Form, KernelForm, PerformForm
from ..._instructions._schedule import Branch, Schedule
from ..._overwriting._kinds import Overwriting, _Allowed
from ..._overwriting._shown import Decisions
from ..._perform import OwnThunk
from ...kernels import Kernel, Linkage, LoadedKernel
from ...program import Cluster, branch_of, restored_cluster, state_of_cluster, thunk_of
from ...targets import Target
from .._making._link import Wiring
from .._making._maker import FunctionMaker
from ._key import Given
from ._pickles import NotCachedError, dump, load

#: Forms that are made again for the node: a thunk of the op's own, or a choice between inputs.
_AGAIN = "again"
#: A kernel with the name of its machine code: of a compiled one its symbol, "" for that of a library, None for none.
KernelEntry = tuple[Kernel, str | None]


@record
class Entry:
    """What is stored of a function.

    Attributes
    ----------
    columns : GraphColumns
        The rewritten graph, with plain ops.
    features : list of (str, object)
        Names of features and what they hold.
    overwriting : frozenset of Overwriting
    shown : list of (int, Op, Op)
        Nodes that are shown with in-place forms of their ops: the plain op and the form.
    instructions : list of tuple
        For each: number of its node (-1 for the first cluster, -2 for the second one), of its form, its other fields.
    clusters : list of (list of int, list of int, list of int, object)
        Of each its nodes, inputs and outputs, and what its rule has told of it.
    forms : list
        The different ones: ``None`` for Python code, "again", or a kernel.
    linkages : dict of str to (Linkage, str)
        Symbol of a compiled kernel -> how it is loaded, and the name of the object that holds it.
    rest : dict
        The numbers of the other fields of the program.
    schedule : Schedule or None
    loops : list of (LoopSpec, int)
        What does all steps of a loop: the number of its form.
    """

    columns: GraphColumns
    features: list[tuple[str, Any]]
    overwriting: frozenset[Overwriting]
    shown: list[tuple[int, Op, Op]]
    instructions: list[tuple[Any, ...]]
    clusters: list[tuple[list[int], list[int], list[int], Any]]
    forms: list[Any]
    linkages: dict[str, tuple[Linkage, str]]
    rest: dict[str, Any]
    schedule: Schedule | None
    loops: list[tuple[Any, int]]


def write_entry(
    maker: FunctionMaker, program: Program, given: Given, object_of: Callable[[str], str | None], name: str
) -> bytes:
    """Return a built function as bytes.

    Parameters
    ----------
    maker : FunctionMaker
    program : Program
    given : Given
    object_of : callable
        Gives the name of the object that holds a kernel, by its key.
    name : str
        That of the function on disk.

    Raises
    ------
    NotCachedError
        If there is something in it that another process could not take over.
    GraphError
        If the graph cannot be written as columns.
    """
    columns, numbers, nodes = graph_columns(maker.fgraph, _ops_once(maker.decisions, given))
    place = {node: i for i, node in enumerate(nodes)}
    clusters = _clusters(program, place, numbers, name)
    forms = _Forms(object_of)
    instructions = [
        (place[x.node], forms.number(x.form), x.inputs, x.outputs, x.release, x.donors, x.waits, x.unread)
        for x in program.instructions
    ]
    loops = [(spec, forms.number(form)) for spec, form in program.loops.items()]
    holders = {id(leaf.data): numbers[leaf] for leaf in columns.leaves if isinstance(leaf, Constant)}
    entry = Entry(
        columns,
        _features(maker.fgraph, numbers),
        maker.overwriting,
        [(place[node], op, form) for node, op, form in maker.decisions.known()],
        instructions,
        clusters,
        forms.items,
        forms.linkages,
        {
            "n_registers": program.n_registers,
            "inputs": [given_input.register for given_input in program.inputs],
            "cells": [register for register, _ in program.cells],
            "constants": [(register, holders[id(value)]) for register, value in program.constants],
            "outputs": program.outputs,
            "updates": [register for register, _ in program.updates],
            "shown": program.shown,
        },
        program.schedule,
        loops,
    )
    return _packed(entry, given)


def _clusters(
    program: Program, place: dict[Apply, int], numbers: Mapping[Variable, int], name: str
) -> list[tuple[list[int], list[int], list[int], Any]]:
    """Return what is stored of the nodes that run together; `place` gets the number of each cluster."""
    found: list[tuple[list[int], list[int], list[int], Any]] = []
    inner = [x.node for x in program.instructions if isinstance(x.node.op, Cluster)]
    for node, where in zip(inner, _names_of_clusters(name), strict=False):
        state = state_of_cluster(node.op, where)
        if state is None:
            raise NotCachedError("nodes run together that other processes would have to put together again")
        inside = [place[member] for member in node.op.nodes]
        found.append((inside, [numbers[v] for v in node.inputs], [numbers[v] for v in node.outputs], state))
        place[node] = -len(found)
    return found


def _names_of_clusters(name: str) -> Iterator[str]:
    """Yield the names on disk of the clusters of a function, in the order of its instructions."""
    return (f"{name}/{k}" for k in count())


def _ops_once(decisions: Decisions, given: Given) -> Callable[[Apply], Op]:
    """Return what gives the plain op of a node: of equal ones that rewriting has made, the same object."""
    plain = {node: op for node, op, _ in decisions.known()}
    callers = set(map(id, given.ops))
    known: dict[Op, Op] = {}

    def op_of(node: Apply) -> Op:
        op = plain.get(node, node.op)
        return op if id(op) in callers else known.setdefault(op, op)

    return op_of


#: The columns that are numbers, which make up most of an entry.
_NUMBERS = ("nodes", "outputs", "results", "uses", "tags")


def _packed(entry: Entry, given: Given) -> bytes:
    """Return an entry as bytes: what is numbers apart from the objects, for a pickle asks of each what it is."""
    columns = entry.columns
    numbers = marshal.dumps(([getattr(columns, name) for name in _NUMBERS], entry.instructions, entry.rest))
    empty: dict[str, Any] = {name: [] for name in _NUMBERS}
    rest = replace(entry, columns=replace(columns, **empty), instructions=[], rest={})
    return dump((numbers, rest), given)


def read_entry(data: bytes, given: Given) -> Entry:
    """Return what :func:`write_entry` has written, with the variables, ops and lines of another, equal graph."""
    entry: Entry
    numbers, entry = load(data, given)
    columns, instructions, rest = marshal.loads(numbers)
    told: dict[str, Any] = dict(zip(_NUMBERS, columns, strict=True))
    return replace(entry, columns=replace(entry.columns, **told), instructions=instructions, rest=rest)


class _Forms:
    """The different forms of a program by number."""

    def __init__(self, object_of: Callable[[str], str | None]) -> None:
        self._object_of = object_of
        self.items: list[Any] = []
        self.linkages: dict[str, tuple[Linkage, str]] = {}
        self._numbers: dict[Any, int] = {}

    def number(self, form: Form) -> int:
        found = self._numbers.get(id(form))
        if found is None:
            found = self._numbers[id(form)] = len(self.items)
            self.items.append(self._entry(form))
        return found

    def _entry(self, form: Form) -> Any:
        if isinstance(form, PerformForm):
            return None
        if isinstance(form, (OwnThunk, Branch)):
            return _AGAIN
        if not isinstance(form, KernelForm):
            raise NotCachedError("an op has C code of its own")
        code = form.code
        if code is None:
            return form.kernel, None
        if not isinstance(code, LoadedKernel):
            raise NotCachedError("a target keeps machine code of its own")
        if code.linkage is not None:
            if code.symbol not in self.linkages:
                name = self._object_of(code.symbol[1:])
                if name is None:
                    raise NotCachedError("a kernel is not on disk")
                self.linkages[code.symbol] = code.linkage, name
            return form.kernel, code.symbol
        return form.kernel, ""


def _features(fgraph: FunctionGraph, numbers: Mapping[Variable, int]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for feature in fgraph.features:
        kind = type(feature)
        if isinstance(feature, Supervisor) and kind is Supervisor:
            found.append(("protected", [numbers[v] for v in feature.protected]))
        elif isinstance(feature, _Allowed):
            found.append(("allowed", feature.kinds))
        elif isinstance(feature, DestroyHandler) and kind is DestroyHandler:
            found.append(("handler", feature.is_settled))
        elif kind is ReplaceValidate:
            found.append(("validate", None))
        elif not getattr(feature, "only_remembers", False):
            raise NotCachedError(f"the graph has a feature of the class {kind.__qualname__}")
    return found


def restore_graph(entry: Entry, decisions: Decisions) -> tuple[FunctionGraph, list[Variable], list[Apply]]:
    """Return the rewritten graph with its features, its variables by number, and its nodes; `decisions` show later."""
    fgraph, variables, nodes = graph_from_columns(entry.columns)
    for name, content in entry.features:
        match name:
            case "protected":
                fgraph.attach_feature(Supervisor(variables[i] for i in content))
            case "allowed":
                allowed = _Allowed()
                allowed.kinds |= content
                fgraph.attach_feature(allowed)
            case "handler":
                handler = DestroyHandler()
                if content:
                    handler.settle_later(decisions.withdrawn)
                fgraph.attach_feature(handler)
            case _:
                fgraph.attach_feature(ReplaceValidate())
    return fgraph, variables, nodes


def _named_clusters(entry: Entry, name: str) -> Iterator[tuple[list[int], list[int], list[int], Any, str]]:
    """Yield what is stored of each cluster, with its name on disk."""
    for found, where in zip(entry.clusters, _names_of_clusters(name), strict=False):
        yield (*found, where)


def restore_program(
    entry: Entry,
    variables: list[Variable],
    nodes: list[Apply],
    loaded: Mapping[str, LoadedKernel],
    target: Target,
    name: str,
) -> Callable[[Wiring], Program]:
    """Return what makes the program when it is known how the function, called `name` on disk, is wired."""
    forms = [_restored_form(form, loaded) for form in entry.forms]
    rest = entry.rest
    arguments = [variables[i] for i in range(entry.columns.n_inputs)]
    clusters = [
        restored_cluster(
            [nodes[i] for i in inside], [variables[i] for i in given], [variables[i] for i in made], state, where
        )
        for inside, given, made, state, where in _named_clusters(entry, name)
    ]

    def program(wiring: Wiring) -> Program:
        instructions = []
        for place, number, inputs, outputs, release, donors, waits, unread in entry.instructions:
            node, form = nodes[place] if place >= 0 else clusters[-1 - place], forms[number]
            if form is None:
                again = thunk_of(node, target) or branch_of(node)
                assert again is not None, "the environment of the function is the same, and so is the op"
                form = again
            instructions.append(Instruction(node, inputs, outputs, release, form, donors, waits, unread))
        given = zip(rest["inputs"], wiring.arguments, wiring.accepts, strict=True)
        return Program(
            instructions=tuple(instructions),
            n_registers=rest["n_registers"],
            inputs=tuple(ProgramInput(register, arguments[i], accepts) for register, i, accepts in given),
            cells=tuple(zip(rest["cells"], wiring.cells.values(), strict=True)),
            constants=tuple((register, variables[i].data) for register, i in rest["constants"]),
            outputs=rest["outputs"],
            updates=tuple(
                (register, cell) for register, (_, cell) in zip(rest["updates"], wiring.updates, strict=True)
            ),
            schedule=entry.schedule,
            shown=rest["shown"],
            loops={spec: form for spec, i in entry.loops if isinstance(form := forms[i], KernelForm)},
        )

    return program


def _restored_form(form: Any, loaded: Mapping[str, LoadedKernel]) -> Form | None:
    """Return a form; None for one that is made again for its node."""
    if form is None:
        return PerformForm()
    if form == _AGAIN:
        return None
    kernel, symbol = form
    if symbol is None:
        return KernelForm(kernel)
    code = loaded[symbol] if symbol else kernel.routine()
    return PerformForm() if code is None else KernelForm(kernel, code)
