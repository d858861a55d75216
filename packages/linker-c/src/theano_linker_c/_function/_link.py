"""From an optimized graph to a machine that runs it; which functions start before their kernels are compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from theano_graph import FunctionGraph, InconsistencyError, config, filter_options, format_error, record
from theano_optimize import DestroyHandler

from ..compiler import CompilerOptions
from ..kernels import Overwriting, library
from ..linkers import OpWiseCLinker, VM_Linker
from ..modes import Linker, Mode, ModeError
from ..ops import DeepCopyOp
from ..program import Accepts, Hooks, Machine, Program, argument_spec_of, lower, on_lowered
from ..runtime._inplace import Decisions
from ..runtime._storage import Container
from ..runtime._tiers import within_tiers
from ..targets import C
from ._capture import Signature
from ._io import In

#: Elements from which it was measured to pay that threads share an addition; the default of the flag.
_MEASURED_SIZE = 200000


@record
class Wiring:
    """How a machine is connected to the function around it.

    Attributes
    ----------
    arguments : sequence of int
        Graph inputs that a call gives, in the order of the arguments.
    accepts : sequence of Accepts
        For each of them, the values that the machine may accept without asking its type.
    cells : mapping of int to list
        The other graph inputs -> the one-element list that holds the value.
    updates : sequence of (int, list)
        Graph output -> the one-element list that it is stored in when all has been computed.
    n_outputs : int
        How many graph outputs a call returns.
    hooks : Hooks
        The function's part of a call.
    """

    arguments: Sequence[int]
    accepts: Sequence[Accepts]
    cells: Mapping[int, list[Any]]
    updates: Sequence[tuple[int, list[Any]]]
    n_outputs: int
    hooks: Hooks


def wire(
    signature: Signature,
    containers: Sequence[Container],
    on_irregular: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    on_input: Callable[[int, Any], Any],
    given_up: Collection[int] = (),
) -> Wiring:
    """Return how a machine is connected for this signature; inputs `given_up` may be overwritten as mutable ones."""
    n_outputs = len(signature.outputs)
    keys = signature.keys
    finish = None if keys is None else lambda outputs: dict(zip(keys, outputs, strict=True))
    explicit = [(i, item) for i, item in enumerate(signature.inputs) if not item.implicit]
    return Wiring(
        arguments=[i for i, _ in explicit],
        accepts=[_accepts(item, item.mutable or i in given_up) for i, item in explicit],
        cells={i: containers[i].storage for i, item in enumerate(signature.inputs) if item.implicit},
        updates=[(n_outputs + k, containers[target].storage) for k, target in enumerate(signature.update_targets)],
        n_outputs=n_outputs,
        hooks=Hooks(on_irregular, on_input, finish, single=signature.single),
    )


def _accepts(item: In, overwrite: bool) -> Accepts:
    """Return the values that the type accepts for certain, so that the machine may convert them without asking."""
    spec = argument_spec_of(item.variable)
    if item.strict or spec is None or spec.shape:
        return Accepts(overwrite=overwrite)
    # No binary float of any width is 0.1, so that a type which accepts it accepts rounding.
    return Accepts(_takes(item, 0.1), all(_takes(item, n) for n in _extremes(spec.dtype)), overwrite)


def _extremes(dtype: str) -> tuple[int, ...]:
    """Return the least and the greatest integer that a dtype is asked to take."""
    kind = np.dtype(dtype).kind
    if kind == "f":
        return (0, 2**24)
    return (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) if kind in "iu" else (2**64,)


def _takes(item: In, value: object) -> bool:
    try:
        return bool(item.variable.type.filter(value, **filter_options(False, item.allow_downcast)) == value)
    except (TypeError, ValueError):
        return False


def link(
    fgraph: FunctionGraph,
    wiring: Wiring,
    linker: Linker,
    where: str,
    overwriting: Collection[Overwriting],
    decisions: Decisions | None = None,
    thread_scale: float | None = None,
    clusters: bool = True,
) -> Machine:
    """Return a machine for the graph, in which operations of some kinds overwrite dead operands.

    The overwriting is written into the graph where `decisions` are given, in place of earlier ones.
    With `clusters`, nodes that rules claim run together, if the linker lets them.

    Raises
    ------
    ModeError
        If the linker takes only native code and an op has none.
    """
    scale = present_thread_scale() if thread_scale is None else thread_scale
    if decisions is not None:
        decisions.withdraw()
    clusters = clusters and linker.clusters
    program = _lowered(fgraph, wiring, linker, overwriting, clusters)
    if linker.native_only:
        _check_native(program, linker, where)
    machine = linker.machine(program, wiring.hooks, fgraph, thread_scale=scale)
    if decisions is None or not overwriting:
        return machine
    decisions.write(program)
    if not _is_refused(fgraph):
        return machine
    decisions.withdraw()
    program = _lowered(fgraph, wiring, linker, (), clusters)
    return linker.machine(program, wiring.hooks, fgraph, thread_scale=scale)


class Prepared(Protocol):
    """A function rewritten and lowered elsewhere: a program, and a graph that is made at the first look at it.

    Attributes
    ----------
    n_nodes : int
        How many nodes the graph has.
    """

    n_nodes: int

    def graph(self) -> tuple[FunctionGraph, Decisions]:
        """Return the rewritten graph, with the overwriting of its program."""

    def program(self, wiring: Wiring) -> Program:
        """Return the program, for a function that is wired like this."""

    def plain_ops(self) -> AbstractContextManager[None]:
        """Let the nodes that a machine is made of have their plain ops meanwhile."""


def link_prepared(prepared: Prepared, wiring: Wiring, linker: Linker) -> Machine:
    """Return a machine for a program that is there, for a linker that does not look at its graph."""
    program = prepared.program(wiring)
    for look in on_lowered:
        look(program)
    with prepared.plain_ops():
        return linker.plain_machine(program, wiring.hooks, thread_scale=present_thread_scale())


def _lowered(
    fgraph: FunctionGraph, wiring: Wiring, linker: Linker, overwriting: Collection[Overwriting], clusters: bool
) -> Program:
    return lower(
        fgraph,
        arguments=wiring.arguments,
        cells=wiring.cells,
        updates=wiring.updates,
        n_outputs=wiring.n_outputs,
        accepts=wiring.accepts,
        target=linker.target.present,
        lazy=linker.lazy,
        keep=not linker.frees,
        preferred=linker.preferred,
        overwriting=overwriting,
        clusters=clusters,
    )


def _is_refused(fgraph: FunctionGraph) -> bool:
    """Tell whether a feature of the user's refuses the graph with the in-place forms that have been written into it."""
    for feature in fgraph.features:
        validate = getattr(feature, "validate", None)
        if validate is None or isinstance(feature, DestroyHandler):
            continue
        try:
            validate(fgraph)
        except InconsistencyError:
            return True
    return False


def present_thread_scale() -> float:
    """Return by how much the flags raise the amount of work from which threads are used."""
    return float(config.openmp_elemwise_minsize) / _MEASURED_SIZE if config.openmp else math.inf


def _check_native(program: Program, linker: Linker, where: str) -> None:
    for instruction in program.instructions:
        node = instruction.node
        # Some ops say that they do so little that Python does it as well.
        asks = getattr(node.op, "needs_no_native_form", None)
        little = isinstance(node.op, DeepCopyOp) or (asks is not None and asks(node))
        if not instruction.native and not little:
            origin = f" made at {node.origin}" if node.origin is not None else ""
            raise ModeError(
                format_error(
                    f"{where}: linker {linker} runs native code only, and {node.op} has none for these types",
                    context=[f"{node}{origin}", *(f"`{v}`: {v.type.describe()}" for v in node.inputs)],
                    hint="use the linker 'cvm', which runs such nodes in Python.",
                )
            )


# ---- Which functions start before their kernels are compiled

#: The tag of modes whose functions do.
TIERED = "tiered"
_LINKERS = (Linker, VM_Linker, OpWiseCLinker)


def options_in_tiers(mode: Mode) -> CompilerOptions | None:
    """Return how the kernels of a function are compiled in the background; None where they are waited for.

    Linkers that call somebody at each node, or take native code only, wait.
    """
    linker = mode.linker
    if not _is_wanted(mode) or type(linker) not in _LINKERS or linker.native_only:
        return None
    if linker.target is not C or C.present is not C or getattr(linker, "callback", None) is not None:
        return None
    options = CompilerOptions.from_config()
    # Without a compiler there is nothing to wait for; people look at its messages, and at values in its code.
    waits = not options.command or library.lacks_compiler(options) or options.warnings or options.debug
    return None if waits else options


def _is_wanted(mode: Mode) -> bool:
    query = mode.query
    if query is not None and TIERED in query.exclude:
        return False
    return bool(config.tiered) or within_tiers() or (query is not None and TIERED in query.include)
