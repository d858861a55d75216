"""Graphs that can be printed, and short descriptions of variables."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from .._errors import format_error
from .._expression._nodes import Apply, Variable
from .._record import record
from .._traversal._walk import toposort

# ---- Objects as graphs that printers read, whichever layer they come from


@record
class PrintableGraph:
    """The view of an object that the printers show.

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
    """Return the printable view of `obj`; higher layers register their own classes (compiled functions)."""
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
        The result of :func:`inner_graph`.
    """
    mappings = getattr(node.op, "var_mappings", None)
    if mappings is None:
        same = len(graph.inputs) == len(node.inputs)
        return dict(zip(graph.inputs, node.inputs, strict=True)) if same else {}
    result: dict[int, int] = mappings["outer_inp_from_inner_inp"]
    return {
        graph.inputs[inner]: node.inputs[outer]
        for inner, outer in result.items()
        if outer >= 0 and inner < len(graph.inputs)
    }


def letters(number: int) -> str:
    """Return A for 0, Z for 25, BA for 26, and so on: digits to the base 26, of which A is the zero."""
    text = chr(ord("A") + number % 26)
    while number := number // 26:
        text = chr(ord("A") + number % 26) + text
    return text


# ---- Short descriptions of variables


def _as_variable(obj: Any) -> Variable:
    if isinstance(obj, Apply):
        result: Variable = obj.default_output()
        return result
    if isinstance(obj, Variable):
        return obj
    raise TypeError(format_error(f"{obj!r} is no variable", hint="pass a variable, or a node with one output"))


def min_informative_str(obj: Any, indent_level: int = 0) -> str:
    """Return the part of a graph that defines a variable in terms of constants and named variables.

    Parameters
    ----------
    obj : Variable or Apply
    indent_level : int
        Number of tabulators before each line.

    Returns
    -------
    str
        One line for each variable, its inputs below it with one more space. Each has a letter; a variable that was
        shown before is its letter alone, in angle brackets.

    Raises
    ------
    TypeError
        If `obj` is no variable.

    Examples
    --------
    >>> from theano_graph import generic
    >>> min_informative_str(generic("x"))
    'A. x'
    """
    names: dict[Variable, str] = {}
    lines: list[str] = []
    work = [(_as_variable(obj), 0)]
    while work:
        variable, level = work.pop()
        indent = "\t" * indent_level + " " * level
        if variable in names:
            lines.append(f"{indent}<{names[variable]}>")
            continue
        names[variable] = letters(len(names))
        node = variable.owner
        if variable.name is not None or node is None:
            lines.append(f"{indent}{names[variable]}. {variable}")
            continue
        lines.append(f"{indent}{names[variable]}. {_op_text(variable, node)}")
        work.extend((x, level + 1) for x in reversed(node.inputs))
    return "\n".join(lines)


def var_descriptor(obj: Any) -> str:
    """Return one line that says fully how a variable is computed, the same in each process.

    Parameters
    ----------
    obj : Variable or Apply

    Returns
    -------
    str
        Nested calls. A part that is used again, or an input without a name, is numbered where it first stands
        (``<1>=``) and is its number afterwards.

    Raises
    ------
    TypeError
        If `obj` is no variable.

    Examples
    --------
    >>> from theano_graph import generic
    >>> var_descriptor(generic("x"))
    'x'
    """
    root = _as_variable(obj)
    uses: dict[Variable, int] = {}
    for node in toposort((), [root]):
        for x in node.inputs:
            uses[x] = uses.get(x, 0) + 1
    numbers: dict[Variable, str] = {}
    parts: list[str] = []
    work: list[str | Variable] = [root]
    while work:
        item = work.pop()
        if isinstance(item, str):
            parts.append(item)
        elif item in numbers:
            parts.append(numbers[item])
        else:
            if uses.get(item, 0) > 1 and (item.owner is not None or item.name is None):
                numbers[item] = f"<{len(numbers) + 1}>"
                parts.append(f"{numbers[item]}=")
            if item.owner is None:
                parts.append(str(item))
            else:
                work.extend(reversed(_call(item, item.owner)))
    return "".join(parts)


def _call(variable: Variable, node: Apply) -> list[str | Variable]:
    pieces: list[str | Variable] = [f"{_op_text(variable, node)}("]
    for i, x in enumerate(node.inputs):
        if i:
            pieces.append(", ")
        pieces.append(x)
    pieces.append(")")
    return pieces


def _op_text(variable: Variable, node: Apply) -> str:
    return str(node.op) if len(node.outputs) == 1 else f"{node.op}.{variable.index}"
