"""The stored form of a function: instructions without addresses, data for its calls, and data for its graph."""

from __future__ import annotations

import io
import marshal
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Op, Origin, PureOp, ReplaceValidate, Variable
from theano_graph.columns import graph_columns
from theano_graph.hashing import known_name
from theano_optimize import DestroyHandler, Supervisor

from .._perform import OwnThunk
from ..cop import CThunk
from ..kernels import Kernel, Linkage, LoadedKernel, Overwriting
from ..program import Cluster, state_of_cluster
from ..runtime._buffer_donation import _Allowed
from ..runtime._inplace import Decisions
from ..runtime._instructions import Branch, Form, Instruction, KernelForm, PerformForm, Program, Schedule
from ..runtime._native_machine import Encoded, encoded_of
from ..runtime._thunks import Machine
from ._disk_key import Given
from ._maker import FunctionMaker

# ---- Pickles that refer to the graph as it was given: its variables, ops and lines belong to the process that reads

#: Bytes of new arrays in an entry at most: beyond, computing them takes no longer than reading, and the folder fills.
_MOST_BYTES = 4_000_000


class NotCachedError(Exception):
    """A function holds something that no other process can make of the graph as it is given there."""


def _given(kind: int, number: int) -> Any:
    """Stand in pickles for objects of the caller's graph; see :class:`_Unpickler`."""
    raise pickle.UnpicklingError(f"the given graph is not at hand, of which number {number} of kind {kind} is wanted")


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, given: Given) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._known: dict[int, tuple[int, int]] = {}
        self._lines: dict[Any, tuple[int, int]] = {}
        tables: tuple[Sequence[Any], ...] = (given.origins, given.ops, given.leaves)
        for kind, items in enumerate(tables):
            last = len(items) - 1
            # The first of several equal ones comes last here.
            self._known.update((id(item), (kind, last - i)) for i, item in enumerate(reversed(items)))
        self._known.pop(id(None), None)
        self._origins = given.origins
        self._n_bytes = 0
        #: Whether all that is found by its name is found in each process with the same versions.
        self.is_known = True

    def reducer_override(self, obj: Any) -> Any:
        # Asked of no number, text or container of Python's: a persistent id would be asked of each.
        reference = self._known.get(id(obj))
        if reference is not None:
            return _given, reference
        if type(obj) is Origin:
            return _given, self._line(obj)
        if isinstance(obj, (type, FunctionType, BuiltinFunctionType)) and obj is not _given:
            self.is_known = self.is_known and known_name(obj) is not None
        if isinstance(obj, np.ndarray):
            self._n_bytes += obj.nbytes
            if self._n_bytes > _MOST_BYTES:
                raise NotCachedError("rewriting has made large constants")
        if isinstance(obj, PureOp) and known_name(type(obj)) is None:
            # The function is to run the caller's own object, which may count its calls, say.
            raise NotCachedError(f"{obj} of the user stands inside of another op")
        return NotImplemented

    def _line(self, origin: Origin) -> tuple[int, int]:
        """Return the number of a line of the given graph that is not one of its objects: a copy by a pickle, say."""
        if not self._lines:
            self._lines = {other: (0, i) for i, other in reversed(list(enumerate(self._origins))) if other}
        if origin in self._lines:
            return self._lines[origin]
        # Rewriting makes nodes that stand for no others: they belong to the line that asked for the function.
        caller = self._origins[-1]
        if caller is None or caller.frames[0] not in origin.frames:
            raise NotCachedError(f"a node was made at {origin}, where none of the given graph was")
        return 0, len(self._origins) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, given: Given) -> None:
        super().__init__(file)
        self._tables: tuple[list[Any], ...] = (given.origins, given.ops, given.leaves)

    def find_class(self, module: str, name: str) -> Any:
        if name == _given.__name__ and module == __name__:
            return self._look_up
        return super().find_class(module, name)

    def _look_up(self, kind: int, number: int) -> Any:
        return self._tables[kind][number]


def dump(value: Any, graph: Given) -> tuple[bytes, bool]:
    """Return a pickle of a value with references to the given graph, and whether it names no code of the user's.

    Raises
    ------
    NotCachedError
        If the value holds something that only this process has.
    """
    file = io.BytesIO()
    pickler = _Pickler(file, graph)
    try:
        pickler.dump(value)
    except NotCachedError:
        raise
    except Exception as error:  # objects of users raise anything
        raise NotCachedError(str(error)) from error
    return file.getvalue(), pickler.is_known


def load(data: bytes, graph: Given) -> Any:
    """Return the object of :func:`dump`, with the variables, ops and lines of another, equal graph."""
    return _Unpickler(io.BytesIO(data), graph).load()


# ---- The instructions of a program as the machine in C takes them, told without the addresses of one process

#: The common part of many instructions: the number of the machine's instruction, its payload without addresses, where
#: the addresses of its machine code belong in that (of the function, of its outer part), the checks of its results, and
#: the number of its form.
Kind: TypeAlias = tuple[int, tuple[Any, ...], tuple[int, ...], tuple[int, ...], Any, int]
#: The number of a kind, and the registers that are read, written and let go of.
Row: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]

#: The kind of an instruction that is encoded again for its node.
BY_NODE = -1
_PLAIN = frozenset((float, bool, str, bytes, type(None)))
#: The remainder of whole numbers without their lowest 32 bits; others may be addresses, of routines of libraries say.
_NO_ADDRESS = (0, -1)


def tell_instructions(
    encoded: Sequence[Encoded], instructions: Sequence[Instruction], number_of: Callable[[Form], int]
) -> tuple[list[Kind], list[Row]]:
    """Return the different kinds of instructions, and for each instruction its kind and registers.

    Parameters
    ----------
    encoded : sequence of Encoded
        As a machine was given them.
    instructions : sequence of Instruction
        The same as they stand in the program.
    number_of : callable
        Gives the number of a form.
    """
    kinds: list[Kind] = []
    # Payloads of one kernel that are equal have the same types in the same places.
    registers: dict[Any, int] = {}
    rows: list[Row] = []
    for (number, inputs, outputs, release, payload, checks, code), instruction in zip(
        encoded, instructions, strict=True
    ):
        form = number_of(instruction.form)
        key = number, form, payload, checks
        kind = registers.get(key)
        if kind is None:
            payload_text, inner, outer = _without_addresses(payload, code)
            kind = registers[key] = len(kinds) if _is_plain(payload_text) else BY_NODE
            if kind != BY_NODE:
                kinds.append((number, payload_text, inner, outer, checks, form))
        rows.append((kind, inputs, outputs, release))
    return kinds, rows


def _without_addresses(payload: Any, code: LoadedKernel | None) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """Return a payload with 0 in the places of addresses, the places of that of the function and of its outer part."""
    if code is None or type(payload) is not tuple:
        return payload, (), ()
    inner, outer = _places(payload, code.address), _places(payload, code.outer_address)
    return tuple(0 if i in inner or i in outer else item for i, item in enumerate(payload)), inner, outer


def _places(payload: tuple[Any, ...], address: int) -> tuple[int, ...]:
    return tuple(i for i, item in enumerate(payload) if address and type(item) is int and item == address)


def _is_plain(value: Any) -> bool:
    """Tell whether a payload without the addresses of its machine code means the same in each process."""
    if type(value) is tuple:
        return all(map(_is_plain, value))
    if type(value) is int:
        return value >> 32 in _NO_ADDRESS
    return type(value) in _PLAIN or (type(value) is np.ufunc and getattr(np, value.__name__, None) is value)


def encode_again(
    kinds: Iterable[Kind],
    rows: Iterable[Row],
    codes: Mapping[int, LoadedKernel | None],
    by_node: Callable[[int], Encoded],
) -> tuple[Encoded, ...]:
    """Return instructions as the machine takes them in this process.

    Parameters
    ----------
    kinds, rows
        From :func:`tell_instructions`.
    codes : mapping of int to LoadedKernel or None
        The machine code of each form that has some.
    by_node : callable
        Encodes the instruction of a number for its node.
    """
    instructions = []
    for number, payload_text, inner, outer, checks, form in kinds:
        code, payload = codes.get(form), payload_text
        if code is not None and (inner or outer):
            items = list(payload_text)
            for i in inner:
                items[i] = code.address
            for i in outer:
                items[i] = code.outer_address
            payload = tuple(items)
        instructions.append((number, payload, checks, code))
    encoded: list[Encoded] = []
    for kind, inputs, outputs, release in rows:
        if kind == BY_NODE:
            encoded.append(by_node(len(encoded)))
        else:
            number, payload, checks, code = instructions[kind]
            encoded.append((number, inputs, outputs, release, payload, checks, code))
    return tuple(encoded)


# ---- The stored form of a function: data for its calls, and apart from them data for its graph

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
