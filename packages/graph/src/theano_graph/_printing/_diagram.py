"""Graphs as diagrams: text for Graphviz and Mermaid, and HTML for notebooks."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from .._expression._node_state import html_hook
from .._expression._nodes import Apply, Constant, Variable
from .._record import record
from .._traversal._walk import toposort
from ._printable import PrintableGraph, printable_graph

FILLS: Mapping[str, str] = {
    "input": "#32CD32",
    "shared": "#00CED1",
    "constant": "#D3D3D3",
    "output": "#6495ED",
    "unused": "#A9A9A9",
    "variable": "#FFFFFF",
    "apply": "#FFF8DC",
}
_VIEW, _DESTROY = "blue", "red"
_NOTEBOOK_LINES = 200


@record
class DiagramShape:
    """A node or a variable in a diagram.

    Attributes
    ----------
    key : str
        Tells shapes apart.
    label : str
    kind : {"apply", "input", "shared", "constant", "output", "unused", "variable"}
    fill : str
        Colour, as ``#RRGGBB`` unless the caller gave another.
    thing : Variable or Apply
        The node of the graph.
    """

    key: str
    label: str
    kind: str
    fill: str
    thing: Variable | Apply


@record
class DiagramEdge:
    """An arrow between shapes, named by their keys; `output` and `input` are positions at nodes, None elsewhere."""

    source: str
    target: str
    label: str = ""
    colour: str = "black"
    dashed: bool = False
    output: int | None = None
    input: int | None = None


@record
class Diagram:
    """The parts of a diagram, for programs that draw it; made by :func:`diagram`."""

    shapes: tuple[DiagramShape, ...]
    edges: tuple[DiagramEdge, ...]


@record(frozen=False)
class _Builder:
    """Shapes and edges of a diagram, the same for each language."""

    graph: PrintableGraph
    compact: bool
    with_ids: bool
    colours: Mapping[str, str]
    max_label_size: int
    types: bool
    shapes: dict[Variable | Apply, DiagramShape] = field(default_factory=dict)
    edges: list[DiagramEdge] = field(default_factory=list)
    count: int = 0

    def build(self) -> None:
        outputs = dict.fromkeys(self.graph.outputs)
        order = list(self.graph.order) or toposort((), outputs)
        used = {x for node in order for x in node.inputs}
        for variable in self.graph.inputs:
            self.variable(variable, "" if variable in used or variable in outputs else "unused")
        for position, node in enumerate(order):
            for x in node.inputs:
                if x.owner is None or x in outputs or not self.compact or x.name is not None:
                    self.variable(x, "output" if x in outputs and x.owner is not None else "")
            self.node(node, position)
            for variable in node.outputs:
                self.result(node, variable, variable in outputs, variable in used)
        for output in outputs:
            self.variable(output, "output" if output.owner is not None else "")
            target = self.graph.updates.get(output)
            if target is not None:
                source = self.shapes[output]
                self.edges.append(DiagramEdge(source.key, self.variable(target).key, "update", "black", dashed=True))

    def result(self, node: Apply, variable: Variable, is_output: bool, is_used: bool) -> None:
        """Show an output of a node, unless it is one that goes straight on to other nodes."""
        if is_output or (is_used and not (self.compact and variable.name is None)):
            shape = self.variable(variable, "output" if is_output else "")
        elif not is_used:
            shape = self.variable(variable, "unused")
        else:
            return
        label = str(variable.index) if len(node.outputs) > 1 else ""
        self.edges.append(DiagramEdge(self.shapes[node].key, shape.key, label, output=variable.index))

    def variable(self, variable: Variable, kind: str = "") -> DiagramShape:
        shape = self.shapes.get(variable)
        if shape is None:
            kind = kind or kind_of(variable)
            label = str(variable)
            if variable.owner is not None and variable.name is None:
                label = repr(variable.type)
            elif variable.name is not None and self.types:
                label = f"{variable.name} {variable.type!r}"
            if self.with_ids:
                label += f" #{self.count}"
                self.count += 1
            shape = self.add(variable, label, kind, FILLS[kind])
        return shape

    def node(self, node: Apply, position: int) -> None:
        label = f"{node.op} {position}" if self.with_ids else str(node.op)
        fill = next((fill for name, fill in self.colours.items() if name in type(node.op).__name__), FILLS["apply"])
        shape = self.add(node, label, "apply", fill)
        for i, x in enumerate(node.inputs):
            notes = [str(i)] if len(node.inputs) > 1 else []
            source, output = self.shapes.get(x), None
            if source is None:
                source, output = self.shapes[x.owner], x.index
                if len(x.owner.outputs) > 1:
                    notes.insert(0, f"{x.index} to")
            edge = DiagramEdge(source.key, shape.key, " ".join(notes), _edge_colour(node, i), output=output, input=i)
            self.edges.append(edge)

    def add(self, thing: Variable | Apply, label: str, kind: str, fill: str) -> DiagramShape:
        if len(label) > self.max_label_size:
            label = label[: max(self.max_label_size - 3, 0)] + "..."
        shape = self.shapes[thing] = DiagramShape(f"n{len(self.shapes)}", label, kind, fill, thing)
        return shape


def kind_of(variable: Variable) -> str:
    if variable.owner is not None:
        return "variable"
    if isinstance(variable, Constant):
        return "constant"
    # Which variables keep a value between calls is known to the layers above: such a variable can be asked for it.
    return "shared" if callable(getattr(variable, "get_value", None)) else "input"


def _edge_colour(node: Apply, i: int) -> str:
    if any(i in positions for positions in node.op.destroy_map.values()):
        return _DESTROY
    return _VIEW if any(i in positions for positions in node.op.view_map.values()) else "black"


def _build(
    obj: Any, compact: bool, with_ids: bool, colours: Mapping[str, str] | None, max_label_size: int, types: bool = True
) -> _Builder:
    builder = _Builder(printable_graph(obj), compact, with_ids, colours or {}, max_label_size, types)
    builder.build()
    return builder


def diagram(
    obj: Any,
    *,
    compact: bool = True,
    with_ids: bool = False,
    colours: Mapping[str, str] | None = None,
    max_label_size: int = 70,
) -> Diagram:
    """Return a graph as shapes and arrows, for programs that draw it themselves.

    Parameters
    ----------
    obj : Variable, Apply, FunctionGraph, compiled function, or list of these
    compact, with_ids, colours, max_label_size
        As for :func:`to_dot`.

    Returns
    -------
    Diagram
        Shapes in the order of execution, variables near their nodes.

    Raises
    ------
    TypeError
        If `obj` is nothing that can be shown.

    Examples
    --------
    >>> from theano_graph import generic
    >>> [shape.kind for shape in diagram(generic("x")).shapes]
    ['input']
    """
    built = _build(obj, compact, with_ids, colours, max_label_size)
    return Diagram(tuple(built.shapes.values()), tuple(built.edges))


def _dot_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "").replace("\n", "\\n")
    return f'"{escaped}"'


def to_dot(
    obj: Any,
    *,
    compact: bool = True,
    with_ids: bool = False,
    high_contrast: bool = True,
    colours: Mapping[str, str] | None = None,
    borders: Mapping[Apply, str] | None = None,
    max_label_size: int = 70,
    names_only: bool = False,
) -> str:
    """Return a graph in the language of Graphviz.

    Parameters
    ----------
    obj : Variable, Apply, FunctionGraph, compiled function, or list of these
    compact : bool
        Leave out computed variables that have no name and are no outputs.
    with_ids : bool
        Number the variables, and the nodes by their positions in the order of execution.
    high_contrast : bool
        Fill the shapes with their colours; otherwise the colours are those of the borders.
    colours : mapping, optional
        Part of the name of an op's class -> colour of its nodes; the first that fits counts.
    borders : mapping, optional
        Node -> colour of a thick border around it.
    max_label_size : int
        Longer labels are cut.
    names_only : bool
        Write the name of a variable without its type.

    Returns
    -------
    str
        Nodes are ellipses. Variables are boxes: inputs green, shared variables cyan, outputs blue, constants light
        grey, unused variables dark grey. An edge to an input that is viewed is blue, to one that is destroyed red. A
        dashed edge goes from a new value to the shared variable that takes it.

    Raises
    ------
    TypeError
        If `obj` is nothing that can be shown.

    Examples
    --------
    >>> from theano_graph import generic
    >>> print(to_dot(generic("x"), names_only=True))
    digraph {
      n0 [label="x", shape=box, style=filled, fillcolor="#32CD32"];
    }
    """
    built = _build(obj, compact, with_ids, colours, max_label_size, not names_only)
    lines = ["digraph {"]
    bordered = {} if borders is None else borders
    for thing, shape in built.shapes.items():
        form = "ellipse" if shape.kind == "apply" else "box"
        fill = f'style=filled, fillcolor="{shape.fill}"' if high_contrast else f'color="{shape.fill}"'
        if isinstance(thing, Apply) and thing in bordered:
            fill += f', color="{bordered[thing]}", penwidth=3'
        lines.append(f"  {shape.key} [label={_dot_text(shape.label)}, shape={form}, {fill}];")
    for edge in built.edges:
        marks = [f"label={_dot_text(edge.label)}"] if edge.label else []
        if edge.colour != "black":
            marks.append(f"color={edge.colour}")
        if edge.dashed:
            marks.append("style=dashed")
        lines.append(f"  {edge.source} -> {edge.target}{' [' + ', '.join(marks) + ']' if marks else ''};")
    return "\n".join([*lines, "}"])


def _mermaid_text(text: str) -> str:
    codes = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "\n": " ", "\r": ""}
    return '"' + "".join(codes.get(character, character) for character in text) + '"'


def to_mermaid(obj: Any, *, compact: bool = True, with_ids: bool = False, max_label_size: int = 70) -> str:
    """Return a graph in the language of Mermaid, which many viewers of Markdown draw.

    Parameters
    ----------
    obj : Variable, Apply, FunctionGraph, compiled function, or list of these
    compact, with_ids, max_label_size
        As for :func:`to_dot`.

    Returns
    -------
    str
        A flow chart with rounded nodes and square variables, coloured as by :func:`to_dot`.

    Raises
    ------
    TypeError
        If `obj` is nothing that can be shown.

    Examples
    --------
    >>> from theano_graph import generic
    >>> to_mermaid(generic("x")).splitlines()[:2]
    ['flowchart TD', '  n0["x Generic"]:::input']
    """
    built = _build(obj, compact, with_ids, None, max_label_size)
    lines = ["flowchart TD"]
    for shape in built.shapes.values():
        opening, closing = ("([", "])") if shape.kind == "apply" else ("[", "]")
        lines.append(f"  {shape.key}{opening}{_mermaid_text(shape.label)}{closing}:::{shape.kind}")
    coloured: list[str] = []
    for i, edge in enumerate(built.edges):
        arrow = "-.->" if edge.dashed else "-->"
        label = f"|{_mermaid_text(edge.label)}|" if edge.label else ""
        lines.append(f"  {edge.source} {arrow}{label} {edge.target}")
        if edge.colour != "black":
            coloured.append(f"  linkStyle {i} stroke:{edge.colour}")
    kinds = dict.fromkeys(shape.kind for shape in built.shapes.values())
    lines += coloured
    lines += [f"  classDef {kind} fill:{FILLS[kind]},stroke:#333,color:#000" for kind in kinds]
    return "\n".join(lines)


def to_html(obj: Any, max_lines: int = _NOTEBOOK_LINES) -> str:
    """Return a graph as a piece of HTML: the tree of :func:`debugprint`, whose branches can be folded.

    Parameters
    ----------
    obj : Variable, Apply, FunctionGraph, compiled function, or list of these
    max_lines : int
        The tree is cut after so many lines.

    Returns
    -------
    str
        Text of the user (names, values) is escaped; there are no scripts.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> theano.printing.to_html(T.dscalar("x") + 1)[:5]
    '<div '
    """
    pieces: Any = importlib.import_module("._html", __package__)  # only notebooks need it
    return str(pieces.to_html(obj, max_lines))


html_hook.function = to_html
