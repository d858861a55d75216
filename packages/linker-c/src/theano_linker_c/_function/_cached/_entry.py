"""The stored form of a function: data for its calls, and apart from them data for its graph."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Op, ReplaceValidate, Variable
from theano_graph.columns import graph_columns
from theano_optimize import DestroyHandler, Supervisor

from ..._perform import OwnThunk
from ...cop import CThunk
from ...kernels import Kernel, Linkage, LoadedKernel
from ...program import Cluster, state_of_cluster
from ...runtime._buffer_donation import Overwriting, _Allowed
from ...runtime._inplace import Decisions
from ...runtime._instructions import Branch, Form, KernelForm, PerformForm, Program, Schedule
from ...runtime._native_machine import encoded_of
from ...runtime._thunks import Machine
from .._making._maker import FunctionMaker
from ._encoded import BY_NODE, Kind, Row, tell_instructions
from ._key import Given
from ._pickles import NotCachedError, dump, load

#: Forms that are made again for the node: a thunk of the op's own, its C code, or a choice between inputs.
AGAIN = "again"


class Entry:
    """The part of a function that is read at once.

    Attributes
    ----------
    leaves : list of Variable
        Those of the rewritten graph, its inputs first.
    overwriting : frozenset of Overwriting
    linkages : dict of str to (Linkage, str)
        Symbol of a compiled kernel -> how it is loaded, and the name of the object that holds it.
    routines : dict of int to Kernel
        Kernels that are routines of libraries, by the numbers of their forms.
    symbols : dict of int to str
        Symbols of compiled kernels, by the numbers of their forms.
    schedule : Schedule or None
    rest : dict
        The numbers of the other fields of the program, and how many nodes there are.
    kinds, rows : list
        The instructions as the machine in C takes them; None where they belong to another machine.
    waits : bool
        Whether the rest can be read at the first look at it: nothing in it is found by the name of a user's module.
    later : bytes
        The rest.
    """

    __slots__ = (
        *("kinds", "later", "leaves", "linkages", "overwriting", "rest", "routines", "rows", "schedule", "symbols"),
        "waits",
    )
    leaves: list[Variable]
    overwriting: frozenset[Overwriting]
    linkages: dict[str, tuple[Linkage, str]]
    routines: dict[int, Kernel]
    symbols: dict[int, str]
    schedule: Schedule | None
    rest: dict[str, Any]
    kinds: list[Kind] | None
    rows: list[Row]
    waits: bool
    later: bytes

    @property
    def is_complete(self) -> bool:
        """Whether calls need nothing of the rest."""
        return self.kinds is not None and all(row[0] != BY_NODE for row in self.rows)


#: The columns of numbers, which make up most of an entry: a pickle would ask for the class of each.
_NUMBERS = ("nodes", "outputs", "results", "uses", "tags", "n_inputs")
_OBJECTS = ("ops", "types", "names", "origins")
#: The attributes in the pickle of the part that is read at once.
_AT_ONCE = ("leaves", "overwriting", "linkages", "routines", "symbols", "kinds", "schedule")


class Draft:
    """A function's entry, noted while nobody can change it, to be written later and in any thread.

    Parameters
    ----------
    at_once, later : tuple
        The content of the two pickles: objects that do not change.
    rest, rows, numbers : object
        Plain numbers and texts.
    """

    def __init__(self, at_once: tuple[Any, ...], later: tuple[Any, ...], details: Any, rows: Any, numbers: Any) -> None:
        self._at_once, self._later = at_once, later
        self._numbers = details, rows, numbers

    def written(self, graph: Given) -> bytes:
        """Return it as bytes.

        Raises
        ------
        NotCachedError
            If there is something in it that another process could not take over.
        """
        details, rows, numbers = self._numbers
        later, waits = dump(self._later, graph)
        at_once, _ = dump(self._at_once, graph)
        return marshal.dumps((at_once, details, rows, waits, marshal.dumps((later, marshal.dumps(numbers)))))


def draft_entry(
    maker: FunctionMaker, machine: Machine, graph: Given, object_of: Callable[[str], str | None], name: str
) -> Draft:
    """Return the entry of a built function.

    Parameters
    ----------
    maker : FunctionMaker
    machine : Machine
    graph : Given
    object_of : callable
        Gives the name of the object that holds a kernel, by its key.
    name : str
        That of the function on disk, which matters where nodes run together (:func:`has_clusters`).

    Raises
    ------
    NotCachedError
        If there is something in it that another process could not take over.
    GraphError
        If the graph cannot be written as columns.
    """
    program = machine.program
    columns, numbers, nodes = graph_columns(maker.fgraph, _ops_once(maker.decisions, graph))
    positions = {node: i for i, node in enumerate(nodes)}
    clusters = _clusters(program, positions, numbers, name)
    forms = _Forms(object_of)
    encoded = encoded_of(machine)
    kinds, rows = (None, ()) if encoded is None else tell_instructions(encoded, program.instructions, forms.number)
    instructions = [
        (positions[x.node], forms.number(x.form), x.inputs, x.outputs, x.release, x.donors, x.waits, x.unread)
        for x in program.instructions
    ]
    loops = [(spec, forms.number(form)) for spec, form in program.loops.items()]
    shown = [(positions[node], op, form) for node, op, form in maker.decisions.known()]
    objects = {column: getattr(columns, column) for column in _OBJECTS}
    holders = {id(leaf.data): numbers[leaf] for leaf in columns.leaves if isinstance(leaf, Constant)}
    details = {
        "n_registers": program.n_registers,
        "inputs": [given_input.register for given_input in program.inputs],
        "cells": [register for register, _ in program.cells],
        "constants": [(register, holders[id(value)]) for register, value in program.constants],
        "outputs": program.outputs,
        "updates": [register for register, _ in program.updates],
        "shown": program.shown,
        "n_nodes": len(nodes),
    }
    return Draft(
        (columns.leaves, maker.overwriting, forms.linkages, forms.routines, forms.symbols, kinds, program.schedule),
        (objects, _features(maker.fgraph, numbers), shown, clusters, forms.items, loops),
        details,
        rows,
        ({column: getattr(columns, column) for column in _NUMBERS}, instructions),
    )


def has_clusters(program: Program) -> bool:
    """Tell whether nodes of a program run together, and keep something under the name of the function."""
    return any(isinstance(x.node.op, Cluster) for x in program.instructions)


def read_entry(data: bytes, graph: Given) -> Entry:
    """Return the result of :meth:`Draft.written`, with the variables, ops and lines of another, equal graph."""
    entry = Entry()
    at_once, entry.rest, entry.rows, entry.waits, entry.later = marshal.loads(data)
    for name, value in zip(_AT_ONCE, load(at_once, graph), strict=True):
        setattr(entry, name, value)
    return entry


def _clusters(
    program: Program, positions: dict[Apply, int], numbers: Mapping[Variable, int], name: str
) -> list[tuple[list[int], list[int], list[int], Any]]:
    """Return the entry of nodes that run together; `positions` gets the number of each cluster."""
    clusters: list[tuple[list[int], list[int], list[int], Any]] = []
    inner = [x.node for x in program.instructions if isinstance(x.node.op, Cluster)]
    for node, where in zip(inner, names_of_clusters(name), strict=False):
        state = state_of_cluster(node.op, where)
        if state is None:
            raise NotCachedError("nodes run together that other processes would have to put together again")
        inside = [positions[member] for member in node.op.nodes]
        clusters.append((inside, [numbers[v] for v in node.inputs], [numbers[v] for v in node.outputs], state))
        positions[node] = -len(clusters)
    return clusters


def names_of_clusters(name: str) -> Iterator[str]:
    """Yield the names on disk of the clusters of a function, in the order of its instructions."""
    return (f"{name}/{k}" for k in count())


def _ops_once(decisions: Decisions, graph: Given) -> Callable[[Apply], Op]:
    """Return a function that gives the plain op of a node: of equal ones that rewriting has made, the same object."""
    plain = {node: op for node, op, _ in decisions.known()}
    callers = set(map(id, graph.ops))
    ops: dict[Op, Op] = {}

    def op_of(node: Apply) -> Op:
        op = plain.get(node, node.op)
        return op if id(op) in callers else ops.setdefault(op, op)

    return op_of


class _Forms:
    """The different forms of a program by number.

    Attributes
    ----------
    items : list
        None for Python code, "again", or a kernel with the name of its machine code: of a compiled one its symbol, ""
        for that of a library, None for none.
    """

    def __init__(self, object_of: Callable[[str], str | None]) -> None:
        self._object_of = object_of
        self.items: list[Any] = []
        self.linkages: dict[str, tuple[Linkage, str]] = {}
        self.routines: dict[int, Kernel] = {}
        self.symbols: dict[int, str] = {}
        self._numbers: dict[Any, int] = {}

    def number(self, form: Form) -> int:
        number_of_form = self._numbers.get(id(form))
        if number_of_form is None:
            number_of_form = self._numbers[id(form)] = len(self.items)
            self.items.append(self._entry(form, number_of_form))
        return number_of_form

    def _entry(self, form: Form, number: int) -> Any:
        if isinstance(form, PerformForm):
            return None
        if not isinstance(form, KernelForm):
            assert isinstance(form, (OwnThunk, CThunk, Branch)), "these are all that forms can be"
            return AGAIN
        code = form.code
        if code is None:
            return form.kernel, None
        if not isinstance(code, LoadedKernel):
            raise NotCachedError("a target keeps machine code of its own")
        if code.linkage is None:
            self.routines[number] = form.kernel
            return form.kernel, ""
        if code.symbol not in self.linkages:
            name = self._object_of(code.symbol[1:])
            if name is None:
                raise NotCachedError("a kernel is not on disk")
            self.linkages[code.symbol] = code.linkage, name
        self.symbols[number] = code.symbol
        return form.kernel, code.symbol


def _features(fgraph: FunctionGraph, numbers: Mapping[Variable, int]) -> list[tuple[str, Any]]:
    features: list[tuple[str, Any]] = []
    for feature in fgraph.features:
        kind = type(feature)
        if isinstance(feature, Supervisor) and kind is Supervisor:
            features.append(("protected", [numbers[v] for v in feature.protected]))
        elif isinstance(feature, _Allowed):
            features.append(("allowed", feature.kinds.copy()))
        elif isinstance(feature, DestroyHandler) and kind is DestroyHandler:
            features.append(("handler", feature.is_settled))
        elif kind is ReplaceValidate:
            features.append(("validate", None))
        elif not getattr(feature, "only_remembers", False):
            raise NotCachedError(f"the graph has a feature of the class {kind.__qualname__}")
    return features
