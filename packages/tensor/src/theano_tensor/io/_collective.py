"""Operations that all processes take part in, their derivatives, and the order of messages."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import (
    Apply,
    Feature,
    FunctionGraph,
    Op,
    Variable,
    batch_rule,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
    toposort,
)
from theano_linker_c.modes import optdb
from theano_linker_c.program import Branch, lazy_form
from theano_optimize import GraphRewriter

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._lazy import mpi
from ..gradient import grad_undefined
from ._messages import MessageOp, MPIRecv, MPIRecvWait, MPISend, MPISendWait, number, started

# ---- Operations that all processes take part in: sums over processes, and copies to all of them

#: Operation -> its name in MPI.
OPERATIONS = {"sum": "SUM", "prod": "PROD", "max": "MAX", "min": "MIN"}


class CollectiveOp(Op):
    """Base of computations by all processes together; each of them has to run it, in the same order."""

    tag: int

    def make_node(self, data: TensorLike) -> Apply[Self]:
        """Apply to an array, of one shape and dtype in all processes."""
        variable = as_tensor_variable(data)
        if variable.type.dtype in ("bool", "float16"):
            raise TypeError(
                format_error(
                    f"{self}: {variable.type.dtype} cannot be combined by MPI",
                    context=[describe(variable)],
                    hint="cast it to float32, or to an integer type",
                )
            )
        return Apply(self, [variable], [variable.type.make_variable()])

    def do_constant_folding(self, node: Apply[Self]) -> bool:
        """Never: the other processes wait."""
        return False


def _checked(operation: str) -> str:
    if operation not in OPERATIONS:
        raise ValueError(
            format_error(f"processes cannot be combined by {operation!r}", hint=f"give one of {', '.join(OPERATIONS)}")
        )
    return operation


class MPIAllReduce(CollectiveOp):
    """Combine the arrays of all processes, element by element; each process gets the result.

    Parameters
    ----------
    operation : {'sum', 'prod', 'max', 'min'}
    tag : int
        Of two such operations that could be first, the one with the lower tag is, in each process.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("operation", "tag")

    def __init__(self, operation: str = "sum", tag: int = 0) -> None:
        self.operation = _checked(operation)
        self.tag = number(tag, "tag")

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Combine; ImportError without MPI."""
        data = np.ascontiguousarray(inputs[0]).reshape(np.shape(inputs[0]))
        result = np.empty_like(data)
        world, kind = mpi().COMM_WORLD, getattr(mpi(), OPERATIONS[self.operation])
        started(lambda: world.Allreduce(data, result, kind), self, None)
        output_storage[0][0] = result


class MPIReduce(CollectiveOp):
    """Combine the arrays of all processes, element by element; one process gets the result, the others zeros.

    Parameters
    ----------
    root : int
        The rank of the process that gets it.
    operation : {'sum', 'prod', 'max', 'min'}
    tag : int
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("root", "operation", "tag")

    def __init__(self, root: int = 0, operation: str = "sum", tag: int = 0) -> None:
        self.root = number(root, "root")
        self.operation = _checked(operation)
        self.tag = number(tag, "tag")

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Combine; ImportError without MPI."""
        data = np.ascontiguousarray(inputs[0]).reshape(np.shape(inputs[0]))
        result = np.zeros_like(data)
        world, kind = mpi().COMM_WORLD, getattr(mpi(), OPERATIONS[self.operation])
        started(lambda: world.Reduce(data, result, kind, self.root), self, self.root)
        output_storage[0][0] = result


class MPIBroadcast(CollectiveOp):
    """The array of one process, in all of them.

    Parameters
    ----------
    root : int
        The rank of the process whose array it is; the arrays of the others give only its shape.
    tag : int
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("root", "tag")

    def __init__(self, root: int = 0, tag: int = 0) -> None:
        self.root = number(root, "root")
        self.tag = number(tag, "tag")

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Copy; ImportError without MPI."""
        result = np.array(inputs[0], order="C")
        started(lambda: mpi().COMM_WORLD.Bcast(result, self.root), self, self.root)
        output_storage[0][0] = result


def allreduce(var: Any, operation: str = "sum", tag: int = 0) -> Any:
    """Combine the arrays of all processes, element by element; each process gets the result.

    Parameters
    ----------
    var : Tensor
        Of one shape and dtype in all processes.
    operation : {'sum', 'prod', 'max', 'min'}
        Sums are differentiated, the others are not.
    tag : int
        All processes have to run such operations in the same order: of two that could be first, the one with the lower
        tag is.

    Returns
    -------
    Tensor
        Of the type of `var`.

    Raises
    ------
    ValueError
        For other operations, or a tag below 0.
    TypeError
        If the dtype is bool or float16.
    ImportError
        When a function runs, if there is no mpi4py or no MPI.

    Notes
    -----
    The gradient is that of the sum of the costs of all processes: the sum of their gradients by the result.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import io
    >>> io.allreduce(T.dvector("x")).type
    TensorType(float64, vector)
    """
    return MPIAllReduce(operation, tag)(var)


def reduce(var: Any, root: int = 0, operation: str = "sum", tag: int = 0) -> Any:
    """Combine the arrays of all processes; process `root` gets the result, the others zeros.

    Parameters and errors are those of :func:`allreduce`.
    """
    return MPIReduce(root, operation, tag)(var)


def broadcast(var: Any, root: int = 0, tag: int = 0) -> Any:
    """Return the array that process `root` has, in all processes.

    Parameters
    ----------
    var : Tensor
        Of one shape and dtype in all processes.
    root : int
    tag : int
        As for :func:`allreduce`.

    Returns
    -------
    Tensor
        Of the type of `var`.

    Raises
    ------
    ValueError
        If a number is below 0; when a function runs, if there is no process `root`.
    ImportError
        When a function runs, if there is no mpi4py or no MPI.

    Notes
    -----
    The gradient goes to process `root`, summed over processes; that of the others is zero.
    """
    return MPIBroadcast(root, tag)(var)


batch_rule.declare_absent(CollectiveOp, "all processes have to take part in one exchange after the other")


# ---- Derivatives of computations by all processes together
#
# Differentiated is the sum of the costs of all processes. Then the transpose of a sum that all get is the same sum, and
# the transpose of a copy to all is a sum that one gets, as in J. Bradbury et al., "JAX" (2018), `psum`; the rules are
# linear, so forward derivatives are the operations themselves.

Found = list[Variable | None]


@pullback.register(MPIAllReduce)
def _all(node: Apply[MPIAllReduce], cotangents: list[Variable]) -> Found:
    op: MPIAllReduce = node.op
    return [op(cotangents[0])] if op.operation == "sum" else [_undefined(node)]


@pullback.register(MPIReduce)
def _one(node: Apply[MPIReduce], cotangents: list[Variable]) -> Found:
    op: MPIReduce = node.op
    return [MPIBroadcast(op.root, op.tag)(cotangents[0])] if op.operation == "sum" else [_undefined(node)]


@pullback.register(MPIBroadcast)
def _copies(node: Apply[MPIBroadcast], cotangents: list[Variable]) -> Found:
    op: MPIBroadcast = node.op
    return [MPIReduce(op.root, "sum", op.tag)(cotangents[0])]


def _undefined(node: Apply) -> Variable:
    undefined: Variable = grad_undefined(
        node.op, 0, node.inputs[0], "only sums over processes are differentiated; use operation='sum'"
    )
    return undefined


@pushforward.register(CollectiveOp)
def _forward(node: Apply[CollectiveOp], tangents: Found) -> Found:
    op = node.op
    if tangents[0] is None:
        return [None]
    return [op(tangents[0])] if getattr(op, "operation", "sum") == "sum" else [_undefined(node)]


@shape_rule.register(CollectiveOp)
def _shape(node: Apply[CollectiveOp], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


# ---- Which of several operations that could run comes first, where other processes take part


def mpi_send_wait_key(a: Apply) -> int:
    """Wait as late as possible, and start to send and to receive early.

    Parameters
    ----------
    a : Apply

    Returns
    -------
    int
        -1 for the start of a message, 1 for a node that waits for other processes, 0 for everything else.
    """
    if isinstance(a.op, (MPISend, MPIRecv)):
        return -1
    return int(isinstance(a.op, (MPISendWait, MPIRecvWait, CollectiveOp)))


def mpi_tag_key(a: Apply) -> int:
    """Prefer lower tags.

    Parameters
    ----------
    a : Apply

    Returns
    -------
    int
        The tag, 0 for a node without one.
    """
    return a.op.tag if isinstance(a.op, (MessageOp, CollectiveOp)) else 0


#: The order of nodes, the first key first.
mpi_keys = (mpi_send_wait_key, mpi_tag_key)


# ---- Functions with messages start them early, wait late, and keep to the order of tags
#
# Without this, two processes could wait for each other: each for a message that the other one has not yet started.

Orderings = Mapping[Apply, Sequence[Apply]]


def _is_message(node: Apply) -> bool:
    return isinstance(node.op, (MessageOp, CollectiveOp))


class MessageOrder(Feature):
    """Ask for the order of messages, and for everything else that can be done to be done before a wait."""

    def orderings(self, fgraph: FunctionGraph) -> dict[Apply, list[Apply]]:
        """Return the nodes that must run before messages."""
        if not any(_is_message(node) for node in fgraph.apply_nodes):
            return {}
        before = _others(fgraph, self)
        order = toposort(fgraph.inputs, fgraph.outputs, before)
        needed = _needed(fgraph, before, order)
        chosen = sort_messages(order, before)
        found: dict[Apply, list[Apply]] = {}
        last: list[Apply] = []
        meanwhile: list[Apply] = []
        for node in chosen:
            if not _is_message(node):
                meanwhile.append(node)
                found[node] = [start for start in last if mpi_send_wait_key(start) < 0]
            elif node in needed:
                # Computations that ifelse may leave out are not asked for.
                early = [other for other in meanwhile if other in needed] if mpi_send_wait_key(node) > 0 else []
                found[node] = last + early
                last, meanwhile = [node], [] if early else meanwhile
        return {node: earlier for node, earlier in found.items() if earlier}


def _others(fgraph: FunctionGraph, mine: Feature) -> dict[Apply, list[Apply]]:
    merged: dict[Apply, list[Apply]] = {}
    for feature in fgraph.features:
        if feature is not mine:
            for node, before in feature.orderings(fgraph).items():
                merged.setdefault(node, []).extend(before)
    return merged


def _needed(fgraph: FunctionGraph, before: Orderings, order: Sequence[Apply]) -> set[Apply]:
    """Return the nodes that run in any case: all but the ones that are only in a branch."""
    stack = [v.owner for v in fgraph.outputs if v.owner is not None]
    needed: set[Apply] = set()
    while stack:
        node = stack.pop()
        if node in needed:
            continue
        needed.add(node)
        rule: Callable[[Apply], Branch | None] | None = lazy_form.get(node.op)
        branch = None if rule is None else rule(node)
        strict = node.inputs if branch is None else [node.inputs[branch.condition]]
        stack.extend(v.owner for v in strict if v.owner is not None)
        stack.extend(before.get(node, ()))
    return needed


def sort_messages(order: Sequence[Apply], before: Orderings) -> list[Apply]:
    """Sort nodes so that, of the nodes that could run next, the one with the lowest keys does.

    Parameters
    ----------
    order : sequence of Apply
        Nodes in topological order; the position is the last key. Before it comes whether a message waits
        for the node to start.
    before : mapping of Apply to sequence of Apply
        The nodes that must run before a node besides its inputs.
    """
    feeds = _feeds_a_start(order, before)
    keys = [(*(key(node) for key in mpi_keys), node not in feeds, i) for i, node in enumerate(order)]
    position = {node: i for i, node in enumerate(order)}
    waiting = [0] * len(order)
    readers: list[list[int]] = [[] for _ in order]
    for i, node in enumerate(order):
        for other in {*(v.owner for v in node.inputs), *before.get(node, ())}:
            if other in position:
                waiting[i] += 1
                readers[position[other]].append(i)
    ready = [keys[i] for i, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    found = []
    while ready:
        i = heapq.heappop(ready)[-1]
        found.append(order[i])
        for j in readers[i]:
            waiting[j] -= 1
            if not waiting[j]:
                heapq.heappush(ready, keys[j])
    return found


def _feeds_a_start(order: Sequence[Apply], before: Orderings) -> set[Apply]:
    """Return the nodes that some message waits for to start."""
    nodes: set[Apply] = set()
    for node in reversed(order):
        if node in nodes or mpi_send_wait_key(node) < 0:
            nodes.update(v.owner for v in node.inputs if v.owner is not None)
            nodes.update(before.get(node, ()))
    return nodes


class OrderMessages(GraphRewriter):
    """Attach the feature to graphs that have messages."""

    def apply(self, fgraph: FunctionGraph) -> None:
        """Look for messages."""
        if any(_is_message(node) for node in fgraph.apply_nodes):
            fgraph.attach_feature(MessageOrder())


#: After the last change of the graph.
optdb.register(
    "order_messages",
    OrderMessages("order_messages"),
    *("fast_run", "fast_compile", "o1", "o2", "o3", "o4", "unsafe", "mpi"),
    position=110,
)
