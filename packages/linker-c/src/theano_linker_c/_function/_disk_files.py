"""From bytes to functions and back: their program at once, their graph at the first look at it."""

from __future__ import annotations

import marshal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from theano_graph import Apply, FunctionGraph, GraphError, ReplaceValidate, Variable, collector_paused
from theano_graph.columns import GraphColumns, graph_from_columns
from theano_optimize import DestroyHandler, RewriteProfile, Supervisor

from .._cache import KernelCache
from ..compiler import CompilerOptions
from ..kernels import LoadedKernel
from ..kernels._build import library
from ..modes import Mode, predefined_optimizers
from ..program import form_again, restored_cluster
from ..runtime._buffer_donation import _Allowed
from ..runtime._inplace import Decisions
from ..runtime._instructions import Form, Instruction, KernelForm, PerformForm, Program, ProgramInput
from ..runtime._native_machine import Encoded, encode
from ..targets import Target
from ._capture import Signature
from ._disk_entry import (
    AGAIN,
    Draft,
    Entry,
    NotCachedError,
    draft_entry,
    encode_again,
    has_clusters,
    load,
    names_of_clusters,
    read_entry,
)
from ._disk_key import FunctionKey, Given, exchanged_code
from ._disk_lookup import stores
from ._link import Wiring
from ._maker import FunctionMaker, SourceGraph

# ---- From bytes to functions and back; loaded only when there is something to read or to write


def is_code_exchanged() -> bool:
    """Tell whether a program has put other code in the place of the library's own."""
    return exchanged_code() is not None


def key_of(
    signature: Signature,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    mode: Mode,
    leaf_of: Callable[[Variable], Variable] | None,
) -> FunctionKey | None:
    """Return a function's name, as :class:`FunctionKey`; None where it has none."""
    try:
        return FunctionKey(signature, inputs, outputs, mode, leaf_of)
    except Exception:  # noqa: BLE001  # there is no name, or code of the user's fails that nobody has called
        return None


def restored(
    data: bytes,
    key: FunctionKey,
    name: str,
    maker_of: Callable[..., FunctionMaker],
    source: SourceGraph,
    options: CompilerOptions,
) -> FunctionMaker | None:
    """Return the maker of a function as it was built before; None where it has to be built.

    Parameters
    ----------
    data : bytes
    key : FunctionKey
    name : str
        Of the file.
    maker_of : callable
        Makes it of the rewritten graph and the source.
    source : SourceGraph
    options : CompilerOptions
    """
    try:
        entry = read_entry(data, key.given)
    except Exception:  # noqa: BLE001  # a class of the user's that is elsewhere now, say: the function is built
        return None
    loaded = library.load(entry.linkages, options) if entry.linkages else {}
    if loaded is None:
        return None
    mode = key.mode
    function = RestoredFunction(entry, key.given, loaded, mode.linker.target.present, name)
    if not (entry.waits and function.is_complete):
        try:
            function.graph()
        except Exception:  # noqa: BLE001  # as above
            return None
    maker = maker_of(function, source)
    maker.overwriting = entry.overwriting
    maker.profile = _nothing_rewritten(mode, function.n_nodes)
    return maker


def put_later(function: Any, key: FunctionKey, sketch: str, options: CompilerOptions) -> None:
    """Put a function that has just been built on disk, if it can serve in another process.

    Changeable parts are noted at once; the background does the rest.
    """
    cache = library.cache(options)
    # Code of the user's does not run in other threads; and a cluster has the name of the function.
    at_once = key.has_user_code or has_clusters(function.machine.program)
    name = named(sketch, key, options) if at_once else ""
    if name is None:
        return
    try:
        draft = draft_entry(function.maker, function.machine, key.given, cache.holder, name)
    except (NotCachedError, GraphError):
        return
    if at_once:
        _put(draft, key, name, cache)
    else:
        stores.add(sketch, lambda: _name_and_put(draft, key, sketch, options, cache))


def _put(draft: Draft, key: FunctionKey, name: str, cache: KernelCache) -> None:
    try:
        cache.store_function(name, draft.written(key.given))
    except (NotCachedError, OSError):
        return


def _name_and_put(draft: Draft, key: FunctionKey, sketch: str, options: CompilerOptions, cache: KernelCache) -> None:
    """Store a function in the background, where nobody could be told of a mistake."""
    with suppress(Exception):
        name = named(sketch, key, options)
        if name is not None:
            _put(draft, key, name, cache)


def named(sketch: str, key: FunctionKey, options: CompilerOptions) -> str | None:
    """Return the name of the file of a function; None where there is none."""
    name = key.name(options)
    return None if name is None else f"{sketch}-{name}"


def _nothing_rewritten(mode: Mode, nodes: int) -> RewriteProfile | None:
    """Return the profile of rewriting that took place in another process; None for a mode without rewrites."""
    query = mode.query
    if query is None or query == predefined_optimizers[None]:
        return None
    return RewriteProfile(query.name or "cached", nodes_before=nodes, nodes_after=nodes)


# ---- Functions as they are read: their program at once, their graph at the first look at it


class RestoredFunction:
    """Another process's result for an equal graph.

    Parameters
    ----------
    entry : Entry
    given : Given
    loaded : mapping of str to LoadedKernel
        Compiled kernels by their symbols.
    target : Target
    name : str
        That of the function on disk.

    Attributes
    ----------
    n_nodes : int
    """

    def __init__(
        self, entry: Entry, given: Given, loaded: Mapping[str, LoadedKernel], target: Target, name: str
    ) -> None:
        self.n_nodes: int = entry.rest["n_nodes"]
        self._entry = entry
        self._given: Given | None = given
        self._target, self._name = target, name
        codes: dict[int, LoadedKernel | None] = {i: loaded[symbol] for i, symbol in entry.symbols.items()}
        codes.update((i, kernel.routine()) for i, kernel in entry.routines.items())
        self._codes = codes
        #: Whether calls need no node.
        self.is_complete = entry.is_complete and None not in codes.values()
        # Several threads may look at once.
        self._lock = threading.RLock()
        self._graph: _Graph | None = None
        self._instructions: tuple[Instruction, ...] | None = None

    def graph(self) -> tuple[FunctionGraph, Decisions]:
        """Return the rewritten graph, and the overwriting of its nodes."""
        restored_graph = self._restored()
        return restored_graph.fgraph, restored_graph.decisions

    def program(self, wiring: Wiring) -> Program:
        """Return the program, for a function that is wired like this."""
        return _RestoredProgram(self, self._entry, wiring)

    def plain_ops(self) -> AbstractContextManager[None]:
        """Let the nodes that a machine is made of have their plain ops meanwhile."""
        # A form that overwrites an operand as the op of a user does it is carried out in another way.
        return nullcontext() if self.is_complete else self._restored().decisions.withdrawn()

    def instructions(self) -> tuple[Instruction, ...]:
        """Return the instructions of the program."""
        with self._lock:
            if self._instructions is None:
                self._instructions = tuple(self._restored().instructions(self._target))
            return self._instructions

    def loops(self) -> dict[Any, KernelForm]:
        """Return the code for all steps of loops."""
        restored_graph = self._restored()
        return {
            spec: form for spec, i in restored_graph.loops if isinstance(form := restored_graph.forms[i], KernelForm)
        }

    def encoded(self) -> tuple[Encoded, ...] | None:
        """Return the instructions as the machine in C takes them; None where they were made for another machine."""
        entry = self._entry
        if entry.kinds is None or None in self._codes.values():
            return None
        return encode_again(entry.kinds, entry.rows, self._codes, lambda i: encode(self.instructions()[i]))

    def _restored(self) -> _Graph:
        with self._lock:
            if self._graph is None:
                assert self._given is not None, "it is let go of with the bytes, when the graph is there"
                with collector_paused():
                    self._graph = _Graph(self._entry, self._given, self._codes, self._name)
                self._entry.later, self._given = b"", None
            return self._graph


class _Graph:
    """The rewritten graph, with the objects that the instructions of the program refer to."""

    def __init__(self, entry: Entry, given: Given, codes: Mapping[int, LoadedKernel | None], name: str) -> None:
        objects, numbers = marshal.loads(entry.later)
        objects_of_graph, features, shown, clusters, forms, self.loops = load(objects, given)
        numbers_of_graph, self._rows = marshal.loads(numbers)
        columns = GraphColumns(leaves=entry.leaves, **objects_of_graph, **numbers_of_graph)
        self.decisions = Decisions()
        self.fgraph, variables, self._nodes = graph_from_columns(columns)
        _add_features(self.fgraph, variables, features, self.decisions)
        self.decisions.restore([(self._nodes[i], plain, form) for i, plain, form in shown])
        self.forms = [_restored_form(form, codes.get(i)) for i, form in enumerate(forms)]
        self._clusters = list(_restored_clusters(clusters, variables, self._nodes, name))

    def instructions(self, target: Target) -> Iterator[Instruction]:
        """Yield the instructions of the program."""
        nodes, clusters, forms = self._nodes, self._clusters, self.forms
        for position, number, inputs, outputs, release, donors, waits, unread in self._rows:
            node, form = nodes[position] if position >= 0 else clusters[-1 - position], forms[number]
            if form is None:
                form = form_again(node, target)
            yield Instruction(node, inputs, outputs, release, form, donors, waits, unread)


class _RestoredProgram(Program):
    """A program that makes its instructions when they are looked at."""

    __slots__ = ("_function",)
    _function: RestoredFunction

    def __init__(self, function: RestoredFunction, entry: Entry, wiring: Wiring) -> None:
        details, leaves = entry.rest, entry.leaves
        arguments = zip(details["inputs"], wiring.arguments, wiring.accepts, strict=True)
        updates = zip(details["updates"], wiring.updates, strict=True)
        description = {
            "_function": function,
            "n_registers": details["n_registers"],
            "inputs": tuple(ProgramInput(register, leaves[i], accepts) for register, i, accepts in arguments),
            "cells": tuple(zip(details["cells"], wiring.cells.values(), strict=True)),
            "constants": tuple((register, leaves[i].data) for register, i in details["constants"]),
            "outputs": details["outputs"],
            "updates": tuple((register, cell) for register, (_, cell) in updates),
            "schedule": entry.schedule,
            "shown": details["shown"],
        }
        for name, value in description.items():
            object.__setattr__(self, name, value)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The instructions, made at the first look at them."""
        return self._function.instructions()

    @property
    def loops(self) -> Mapping[Any, KernelForm]:
        """The code for all steps of loops."""
        return self._function.loops()

    def encoded(self) -> tuple[Encoded, ...] | None:
        """Return the instructions as the machine in C takes them."""
        return self._function.encoded()


def _add_features(
    fgraph: FunctionGraph, variables: list[Variable], features: list[tuple[str, Any]], decisions: Decisions
) -> None:
    for name, content in features:
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


def _restored_clusters(
    clusters: list[tuple[list[int], list[int], list[int], Any]],
    variables: list[Variable],
    nodes: list[Apply],
    name: str,
) -> Iterator[Apply]:
    for (inside, inputs, results, state), where in zip(clusters, names_of_clusters(name), strict=False):
        yield restored_cluster(
            [nodes[i] for i in inside], [variables[i] for i in inputs], [variables[i] for i in results], state, where
        )


def _restored_form(form: Any, code: LoadedKernel | None) -> Form | None:
    """Return a form; None for one that is made again for its node."""
    if form is None:
        return PerformForm()
    if form == AGAIN:
        return None
    kernel, symbol = form
    if symbol is None:
        return KernelForm(kernel)
    return PerformForm() if code is None else KernelForm(kernel, code)
