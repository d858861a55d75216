"""What the printers show of an object, whichever layer the object comes from."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from .._errors import format_error
from .._expression._nodes import Apply, Variable
from .._record import record


@record
class PrintableGraph:
    """What the printers show of an object.

    Attributes
    ----------
    outputs : sequence of Variable
        Roots of the trees.
    order : sequence of Apply
        The nodes in the order in which they run; their positions are printed. Empty when there is no order.
    storage : mapping
        Variable -> the list that holds its value, for ``print_storage``.
    inputs : sequence of Variable
        The declared inputs; empty when none are declared.
    updates : mapping
        Output -> the input that takes its value after a call.
    times : mapping
        Node -> seconds that it has taken in all, where that was measured.
    call_time : float
        Seconds in all calls, where that was measured.
    title : str, optional
        Of a graph inside an op: how a list of such graphs is headed. Ops that say so are shown once for each use.
    """

    outputs: Sequence[Variable]
    order: Sequence[Apply] = ()
    storage: Mapping[Variable, Any] = field(default_factory=dict)
    inputs: Sequence[Variable] = ()
    updates: Mapping[Variable, Variable] = field(default_factory=dict)
    times: Mapping[Apply, float] = field(default_factory=dict)
    call_time: float = 0.0
    title: str | None = None


@functools.singledispatch
def printable_graph(obj: Any) -> PrintableGraph:
    """Return what the printers show of `obj`; higher layers register their own classes (compiled functions)."""
    raise TypeError(
        format_error(
            f"cannot show an object of type {type(obj).__name__} as a graph",
            hint="pass a variable, a node, a list of variables, a FunctionGraph or a compiled function",
        )
    )


@printable_graph.register(PrintableGraph)
def _of_itself(obj: PrintableGraph) -> PrintableGraph:
    return obj


@printable_graph.register(Variable)
def _of_variable(obj: Variable) -> PrintableGraph:
    return PrintableGraph([obj])


@printable_graph.register(Apply)
def _of_node(obj: Apply) -> PrintableGraph:
    return PrintableGraph(obj.outputs)


@printable_graph.register(list)
@printable_graph.register(tuple)
def _of_list(obj: Sequence[Any]) -> PrintableGraph:
    parts = [printable_graph(item) for item in obj]
    if len(parts) == 1:
        return parts[0]
    return PrintableGraph(
        outputs=[v for part in parts for v in part.outputs],
        order=[node for part in parts for node in part.order],
        storage={v: box for part in parts for v, box in part.storage.items()},
        inputs=[v for part in parts for v in part.inputs],
        updates={v: target for part in parts for v, target in part.updates.items()},
        times={node: seconds for part in parts for node, seconds in part.times.items()},
        call_time=sum(part.call_time for part in parts),
    )


def inner_graph(op: Any) -> PrintableGraph | None:
    """Return the graph that an op runs inside, or None.

    An op with such a graph has it as its attribute ``fgraph``; its attribute ``inner_graphs_title`` is the title of
    the graph.

    Parameters
    ----------
    op : Op
    """
    inside = getattr(op, "fgraph", None)
    if inside is None:
        return None
    return replace(printable_graph(inside), title=getattr(op, "inner_graphs_title", None))


def outer_inputs(node: Apply, graph: PrintableGraph) -> dict[Variable, Variable]:
    """Return for inputs of the graph inside an op the inputs of the node that they stand for.

    An op tells them by the entry ``outer_inp_from_inner_inp`` of its attribute ``var_mappings``, a dictionary of
    positions; for other ops they are those at the same positions where there are equally many.

    Parameters
    ----------
    node : Apply
    graph : PrintableGraph
        What :func:`inner_graph` returned.
    """
    mappings = getattr(node.op, "var_mappings", None)
    if mappings is None:
        same = len(graph.inputs) == len(node.inputs)
        return dict(zip(graph.inputs, node.inputs, strict=True)) if same else {}
    found: dict[int, int] = mappings["outer_inp_from_inner_inp"]
    return {
        graph.inputs[inner]: node.inputs[outer]
        for inner, outer in found.items()
        if outer >= 0 and inner < len(graph.inputs)
    }


def letters(number: int) -> str:
    """Return A for 0, Z for 25, BA for 26, and so on: digits to the base 26, of which A is the zero."""
    text = chr(ord("A") + number % 26)
    while number := number // 26:
        text = chr(ord("A") + number % 26) + text
    return text
