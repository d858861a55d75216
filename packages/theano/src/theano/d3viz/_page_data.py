"""The data of a graph's page."""

from __future__ import annotations

import linecache
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from theano_graph import Apply, DiagramEdge, DiagramShape, Op, Variable, cell_of, inner_graph, printable_graph
from theano_linker_c.profiling import readable_time

from ._page_groups import MOST_SHAPES, Grouping, ShapeGroup
from .formatting import PyDotFormatter

_MOST_LINES = 6
_LONGEST_LIST = 40
_LONGEST_LABEL = 40
_GROUP_FILL = "#8899aa"


def page_data(fct: Any, formatter: PyDotFormatter) -> dict[str, Any]:
    """Return the content of the page, in terms of JSON.

    Parameters
    ----------
    fct : Variable, Apply, FunctionGraph, compiled function, or list of these
    formatter : PyDotFormatter
        Says which variables are shown, and colours.

    Returns
    -------
    dict
        ``graphs``: the graph, then each graph inside an op once. ``longest``: the longest time of a node in seconds,
        None without a profile. ``legend``: the meaning of the colours.
    """
    whole = printable_graph(fct)
    times = whole.times
    profile = _Profile(times, sum(times.values()))
    graphs: list[dict[str, Any]] = []
    waiting = [whole]
    numbers: dict[Op, int] = {}
    # The list grows while it is gone through.
    for graph in waiting:
        drawn = formatter.diagram(graph)
        nodes = []
        for shape in drawn.shapes:
            op = shape.thing.op if isinstance(shape.thing, Apply) else None
            if op is not None and op not in numbers:
                inside = inner_graph(op)
                if inside is not None:
                    numbers[op] = len(waiting)
                    waiting.append(inside)
            number = None if op is None else numbers.get(op)
            nodes.append(_node(shape, formatter.fill_of(shape), number, profile))
        grouping = Grouping(drawn)
        if len(drawn.shapes) > MOST_SHAPES:
            grouping.build()
        for node in nodes:
            node["group"] = grouping.parents.get(node["id"])
        keys = {shape.thing: shape.key for shape in drawn.shapes}
        shapes = {shape.key: shape for shape in drawn.shapes}
        graphs.append(
            {
                "nodes": nodes,
                "groups": [_group(group, formatter, profile) for group in grouping.groups],
                "edges": [_edge(edge, shapes) for edge in drawn.edges],
                "inputs": [keys.get(variable) for variable in graph.inputs],
                "outputs": [keys.get(variable) for variable in graph.outputs],
            }
        )
    legend = _legend(graphs)
    return {"graphs": graphs, "longest": max(times.values()) if times else None, "legend": legend}


#: Kind of a shape -> its entry in the legend.
_KINDS = {
    "input": "input",
    "shared": "shared variable",
    "constant": "constant",
    "output": "output",
    "unused": "result that nothing uses",
    "variable": "result",
}


def _legend(graphs: list[dict[str, Any]]) -> list[list[str]]:
    """Return text, colour and form of each kind of shape and edge that the graphs have."""
    nodes = [node for graph in graphs for node in graph["nodes"]]
    rows: dict[tuple[str, str], list[str]] = {}
    for node in nodes:
        if node["kind"] == "apply":
            ops = rows.setdefault(("apply", node["fill"]), ["", node["fill"], "round"])
            name = node["about"][0][1].partition("{")[0]
            if name not in ops[0].split(", ") and len(ops[0]) < _LONGEST_LIST:
                ops[0] = f"{ops[0]}, {name}" if ops[0] else name
        else:
            rows.setdefault((node["kind"], ""), [_KINDS[node["kind"]], node["fill"], "square"])
    listed = [*(rows[key] for key in sorted(rows))]
    edges = [edge for graph in graphs for edge in graph["edges"]]
    if any(graph["groups"] for graph in graphs):
        listed.append(["nodes that one line made: double click", "", "group"])
    if any(node["inner"] is not None for node in nodes):
        listed.append(["has a graph inside: double click", "#fff", "round inner"])
    for colour, text in (("blue", "may be a view"), ("red", "is overwritten")):
        if any(edge["colour"] == colour for edge in edges):
            listed.append([text, colour, "line " + colour])
    if any(edge["dashed"] for edge in edges):
        listed.append(["becomes the new value of", "", "dashes"])
    return listed


@dataclass(frozen=True)
class _Profile:
    times: Mapping[Apply, float]
    total: float


def _node(shape: DiagramShape, fill: str, inner: int | None, profile: _Profile) -> dict[str, Any]:
    time = profile.times.get(shape.thing) if isinstance(shape.thing, Apply) else None
    return {
        "id": shape.key,
        "label": short_label(shape),
        "kind": shape.kind,
        "fill": fill,
        "inner": inner,
        "time": time,
        "about": _about(shape.thing, shape.kind, time, profile.total),
    }


def short_label(shape: DiagramShape) -> str:
    """Return what a shape is called on the page: no types and no parameters, which are told under the pointer.

    Examples
    --------
    >>> from theano.d3viz._page_data import short_label
    >>> from theano_graph import diagram
    >>> import theano.tensor as T
    >>> [short_label(shape) for shape in diagram(T.exp(T.scalar("x"))).shapes]
    ['x', 'exp', 'output']
    """
    thing = shape.thing
    if isinstance(thing, Variable):
        if thing.name or thing.owner is None:
            text = re.sub(r"^\w*Constant\{(.*)\}$", r"\1", str(thing), flags=re.DOTALL)
        else:
            text = _KINDS[shape.kind].partition(" ")[0]
    else:
        text = str(thing.op).removeprefix("Elemwise{")
        if text.startswith("Composite{"):
            text = re.sub(r"Constant\{([^{}]*)\}", r"\1", text.removeprefix("Composite{"))
            text = re.sub(r"\}+(\[\(.*\)\])?(,\w+\})?$", "", text)
        else:
            text = re.split(r"[{,}]", text)[0]
    return _cut(text)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _time_text(seconds: float, total: float) -> str:
    return f"{readable_time(seconds)} ({seconds / total if total else 0:.1%} of all nodes)"


def _counted(labels: Iterable[str]) -> str:
    """Return the most frequent labels with their numbers."""
    counts = Counter(labels).most_common(_MOST_LINES)
    return ", ".join(label if count == 1 else f"{label} \N{MULTIPLICATION SIGN} {count}" for label, count in counts)


def _note(group: ShapeGroup, nodes: int) -> str:
    """Return the small line of a group: where its nodes were made, and how many they are."""
    if group.frame is None:
        return f"{nodes} nodes" if nodes else ""
    part = "" if group.part == 1 else f", part {group.part}"
    return f"{group.frame}{part}, {nodes} nodes"


def _group(group: ShapeGroup, formatter: PyDotFormatter, profile: _Profile) -> dict[str, Any]:
    """Return what the page knows of a group: a node that stands for those in it."""
    frame, nodes = group.frame, [shape.thing for shape in group.shapes if isinstance(shape.thing, Apply)]
    first = group.shapes[0]
    times = [profile.times[node] for node in nodes if node in profile.times]
    where = "" if frame is None else f"{cell_of(frame.filename) or frame}"
    source = "" if frame is None else linecache.getline(frame.filename, frame.lineno).strip()
    label = group.title or source or where
    about = [["Group", label]]
    if frame is not None:
        about.append(["Made at", f"{where} in {frame.function}"])
    about.append(["Nodes", str(len(nodes))])
    if group.times > 1:
        about.append(["Repeated", f"{group.times} times, of which the first is shown when this is opened"])
    if times:
        about.append(["Time", _time_text(sum(times), profile.total)])
    about.append(["Holds", _counted(short_label(shape) for shape in group.shapes)])
    return {
        "id": group.key,
        "group": group.parent,
        "label": _cut(label),
        "note": _note(group, len(nodes)),
        "kind": "group",
        "fill": _GROUP_FILL if nodes else formatter.fill_of(first),
        "inner": None,
        "times": group.times,
        "time": sum(times) if times else None,
        "about": about,
    }


def _about(thing: Variable | Apply, kind: str, time: float | None, total: float) -> list[list[str]]:
    """Return the description of the shape under the pointer, as pairs of texts."""
    if isinstance(thing, Variable):
        lines = [["Variable", str(thing)], ["Kind", kind], ["Type", repr(thing.type)]]
    else:
        lines = [["Op", str(thing.op)]]
        lines += [[f"Input {i}", repr(x.type)] for i, x in enumerate(thing.inputs[:_MOST_LINES])]
        lines += [[f"Output {i}", repr(x.type)] for i, x in enumerate(thing.outputs[:_MOST_LINES])]
    if time is not None:
        lines.append(["Time", _time_text(time, total)])
    if thing.origin is not None:
        lines.append(
            [
                "Made at",
                "\n".join(f"{cell_of(name) or name}:{line} {text}" for name, line, _, text in thing.origin.entries()),
            ]
        )
    return lines


def _edge(edge: DiagramEdge, shapes: dict[str, DiagramShape]) -> dict[str, Any]:
    thing = shapes[edge.source].thing
    if isinstance(thing, Apply):
        thing = thing.outputs[edge.output or 0]
    return {
        "source": edge.source,
        "target": edge.target,
        "label": edge.label,
        "colour": edge.colour,
        "dashed": edge.dashed,
        "input": edge.input,
        "output": edge.output,
        "about": [["Variable", str(thing)], ["Type", repr(thing.type)]],
    }
