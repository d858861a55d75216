"""Which nodes of a graph run on devices, and the graph in which they do."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from theano_gpuarray.contexts import get_context, list_contexts, moves_computation
from theano_gpuarray.types import (
    DEVICE,
    DeviceOp,
    GpuArrayType,
    GpuFromHost,
    GpuToGpu,
    TransferOp,
    context_of,
    has_device_form,
    has_library,
    host_from_gpu,
    host_inputs_of,
    is_host_array,
)
from theano_graph import Apply, Constant, FunctionGraph, Variable, origin_from, record, toposort
from theano_linker_c.kernels import Kernel, ReshapeKernel, SpecifyShapeKernel, TransposeKernel, native_kernel

from .._core._dtypes import COMPLEX_DTYPES, DISCRETE_DTYPES
from .._graph_op import compiles_inner_graph
from ..shape import ShapeI, ShapeOf
from ._table import device_op_of, lifter_of
from ._variables import move_to_gpu

Pairs = list[tuple[Variable, Variable]]


@record
class Choice:
    """A node that runs on a device: in which context, and which of its inputs stay on the host."""

    context_name: Hashable
    kernel: Kernel | None
    stays: frozenset[int]


class Placement:
    """Which nodes of a graph run on devices.

    A node does if there is code for it and an operand is there already: because it comes from a device, or is computed
    there, or is an argument of the function that goes there by default. So does one all of whose results go there.
    Integers of which only lengths and positions are made stay on the host.

    Parameters
    ----------
    fgraph : FunctionGraph

    Attributes
    ----------
    chosen : dict
        Node -> the choice, in an order in which nodes can be computed.
    is_empty : bool
        Whether the graph has nothing to do with devices.
    """

    def __init__(self, fgraph: FunctionGraph) -> None:
        self.fgraph = fgraph
        self.chosen: dict[Apply, Choice] = {}
        self._places: dict[Variable, Hashable] = dict(_sources(fgraph))
        self.is_empty = not self._places
        if self.is_empty:
            return
        # Not the graph's own order: a reader of an input beside an op that overwrites it is only copied later.
        self.order = toposort(fgraph.inputs, fgraph.outputs)
        for node in self.order:
            self._follow(node)
        for node in reversed(self.order):
            if node not in self.chosen:
                self._precede(node)
            elif self._is_wanted_on_host(node):
                self._take_back(node)
        self.chosen = {node: self.chosen[node] for node in self.order if node in self.chosen}

    def _follow(self, node: Apply) -> None:
        """Choose a node with an operand on a device."""
        if all(v not in self._places for v in node.inputs) or _reads_no_elements(node):
            return
        code = _code_for(node)
        if code is None:
            return
        kernel, stays = code
        names = [self._places[v] for i, v in enumerate(node.inputs) if v in self._places and i not in stays]
        if names and _fits(node, kernel, names[0]):
            self._choose(node, Choice(names[0], kernel, stays))

    def _choose(self, node: Apply, choice: Choice) -> None:
        self.chosen[node] = choice
        self._places.update(dict.fromkeys(node.outputs, choice.context_name))

    def _precede(self, node: Apply) -> None:
        """Choose a node all of whose results go to a device; numbers are made on the host, where that costs nothing."""
        if isinstance(node.op, (TransferOp, DeviceOp)) or all(_is_number(v) for v in node.outputs):
            return
        names = [name for v in node.outputs for name in self._goes_to(v)]
        if not names or any(name is _HOST for name in names):
            return
        code = _code_for(node)
        if code is not None and _fits(node, code[0], names[0]):
            self._choose(node, Choice(names[0], *code))

    def _goes_to(self, variable: Variable) -> Iterable[Any]:
        """Yield where each use of a variable wants it."""
        for user, i in self.fgraph.clients(variable):
            if not isinstance(user, Apply):
                yield _HOST
            elif isinstance(user.op, GpuFromHost):
                yield user.op.context_name
            else:
                choice = self.chosen.get(user)
                yield _HOST if choice is None or i in choice.stays else choice.context_name

    def _is_wanted_on_host(self, node: Apply) -> bool:
        """Tell whether it is no use that a chosen node runs on a device.

        These are integers of the host of which only lengths and positions are made, and views of whole arrays that are
        read on the host alone.
        """
        users = [user for v in node.outputs for user, _ in self.fgraph.clients(v)]
        if not users or any(isinstance(user, str) or isinstance(user.op, GpuFromHost) for user in users):
            return False
        if any(name is not _HOST for v in node.outputs for name in self._goes_to(v)):
            return False
        if isinstance(self.chosen[node].kernel, _WHOLE_VIEWS):
            return True
        discrete = all(v.type.dtype in DISCRETE_DTYPES for v in node.outputs)
        return discrete and all(_comes_from_host(v, self.chosen) for v in node.inputs)

    def _take_back(self, node: Apply) -> None:
        del self.chosen[node]
        for v in node.outputs:
            self._places.pop(v, None)


#: Kernels whose results are views of all elements of an operand.
_WHOLE_VIEWS = (TransposeKernel, ReshapeKernel, SpecifyShapeKernel)
#: Stands for the host among names of contexts.
_HOST = object()


def _sources(fgraph: FunctionGraph) -> Iterable[tuple[Variable, Hashable]]:
    """Yield the variables of the host that are on a device already, or go there by default, and where."""
    for node in fgraph.apply_nodes:
        if node.op == host_from_gpu:
            yield node.outputs[0], node.inputs[0].type.context_name
        elif isinstance(node.op, GpuFromHost):
            yield node.inputs[0], node.op.context_name
    moves = moves_computation() and not compiles_inner_graph()
    for variable in fgraph.inputs:
        target = getattr(variable.tag, "target", None) if variable.has_tag() else None
        if target == "cpu" or not is_host_array(variable) or not move_to_gpu(variable.type):
            continue
        if moves or (target is not None and target in list_contexts()):
            yield variable, target


def _reads_no_elements(node: Apply) -> bool:
    return isinstance(node.op, (TransferOp, DeviceOp, ShapeI, ShapeOf))


def _is_number(variable: Variable) -> bool:
    return getattr(variable.type, "ndim", 0) == 0


def _comes_from_host(variable: Variable, chosen: dict[Apply, Choice]) -> bool:
    node = variable.owner
    return node is None or (node not in chosen and node.op != host_from_gpu)


def _code_for(node: Apply) -> tuple[Kernel | None, frozenset[int]] | None:
    """Return the kernel of a node and which of its inputs stay on the host; None where devices have no code for it."""
    if lifter_of(node.op) is not None:
        return None, frozenset()
    if not all(is_host_array(v) for v in node.outputs):
        return None
    kernel = native_kernel.describe(node, DEVICE)
    if kernel is None or not has_device_form(kernel):
        return None
    return kernel, frozenset(host_inputs_of(kernel, len(node.inputs)))


def _fits(node: Apply, kernel: Kernel | None, name: Hashable) -> bool:
    """Tell whether a device has the dtypes of a node, and a library where its kernel needs one."""
    if kernel is not None and not has_library(kernel, name):
        return False
    dtypes = {v.type.dtype for v in (*node.inputs, *node.outputs) if is_host_array(v)}
    if dtypes & set(COMPLEX_DTYPES):
        return False
    return "float64" not in dtypes or get_context(name).properties.doubles


class Lifting:
    """Makes the nodes of a placement, and the replacements that put them in.

    Parameters
    ----------
    placement : Placement
    """

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        #: Variable of the host -> the variable on a device with its value.
        self._found: dict[Variable, Variable] = {}
        self._moved: dict[tuple[Variable, Hashable], Variable] = {}
        self._back: dict[Variable, Variable] = {}

    def replacements(self) -> Pairs:
        """Make all nodes; return variables with their replacements, transfers that cancel included."""
        for node in self._placement.fgraph.apply_nodes:
            if node.op == host_from_gpu:
                self._found[node.outputs[0]] = node.inputs[0]
        lifted = [node for node, choice in self._placement.chosen.items() if self._lift(node, choice)]
        return [*self._transfers(), *self._for_the_host(lifted), *self._shapes()]

    def _lift(self, node: Apply, choice: Choice) -> bool:
        with origin_from(node):
            outputs = self._made(node, choice)
        if outputs is None:
            return False
        self._found.update(zip(node.outputs, outputs, strict=True))
        return True

    def _made(self, node: Apply, choice: Choice) -> list[Variable] | None:
        name = choice.context_name
        lifter = lifter_of(node.op)
        if lifter is None:
            inputs = [
                self._on_host(v) if i in choice.stays else self.on_device(v, name) for i, v in enumerate(node.inputs)
            ]
            op = device_op_of(node, name)
            return op.applied(node, inputs, kernel=choice.kernel, context_name=name).outputs
        # Ops for devices look through transfers to the host.
        inputs = [self._on_host(v) for v in node.inputs]
        answer = lifter(node.op, name, inputs, node.outputs)
        if answer is None or answer is False:
            return None
        if callable(answer):
            answer = answer(*inputs, return_list=True)
        results = list(answer) if isinstance(answer, (list, tuple)) else [answer]
        return [self.on_device(v, name) for v in results]

    def on_device(self, v: Variable, name: Hashable) -> Variable:
        """Return a variable on a device that has the value of one of the host; other values stay as they are."""
        if isinstance(v.type, GpuArrayType):
            counterpart: Variable | None = v
        elif not is_host_array(v):
            return v
        else:
            counterpart = self._found.get(v)
        if counterpart is not None and context_of(counterpart) == name:
            return counterpart
        key = (v, name)
        if key not in self._moved:
            self._moved[key] = _transferred(v, counterpart, name)
        return self._moved[key]

    def _on_host(self, v: Variable) -> Variable:
        """Return a variable of the host, moved back where a lifted node computes it."""
        if v not in self._found or (v.owner is not None and v.owner.op == host_from_gpu):
            return v
        if v not in self._back:
            with origin_from(v):
                self._back[v] = host_from_gpu(self._found[v])
        return self._back[v]

    def _transfers(self) -> Pairs:
        """Replace transfers to a device of arrays that are there."""
        nodes = [node for node in self._placement.fgraph.apply_nodes if isinstance(node.op, GpuFromHost)]
        pairs = [(node.outputs[0], self.on_device(node.inputs[0], node.op.context_name)) for node in nodes]
        return [(old, new) for old, new in pairs if new is not old and new.owner != old.owner and _differ(old, new)]

    def _for_the_host(self, lifted: Sequence[Apply]) -> Pairs:
        """Move results back that something on the host uses."""
        chosen, clients = set(lifted), self._placement.fgraph.clients
        outputs = [
            v
            for node in lifted
            for v in node.outputs
            if any(isinstance(user, str) or (user not in chosen and not _cancels(user)) for user, _ in clients(v))
        ]
        return [(v, self._on_host(v)) for v in outputs]

    def _shapes(self) -> Pairs:
        """Ask the arrays on devices for their shapes, without moving them."""
        nodes = [n for n in self._placement.fgraph.apply_nodes if isinstance(n.op, (ShapeI, ShapeOf))]
        return [
            (node.outputs[0], node.op(self._found[node.inputs[0]])) for node in nodes if node.inputs[0] in self._found
        ]


def _cancels(user: Apply) -> bool:
    return isinstance(user.op, (GpuFromHost, ShapeI, ShapeOf))


def _differ(old: Variable, new: Variable) -> bool:
    """Tell whether two transfers are different ones."""
    a, b = old.owner, new.owner
    return a is None or b is None or a.op != b.op or a.inputs != b.inputs


def _transferred(v: Any, known: Variable | None, name: Hashable) -> Variable:
    moved: Variable
    if known is not None:
        moved = GpuToGpu(name)(known)
    elif isinstance(v, Constant):
        kind: Any = v.type
        moved = GpuArrayType(kind.dtype, kind.shape, name).make_constant(v.data)
    else:
        moved = GpuFromHost(name)(v)
    return moved
