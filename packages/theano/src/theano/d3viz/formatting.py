"""Graphs for Graphviz, with colours and shapes that can be changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from theano_graph import Apply, Diagram, DiagramShape, diagram, format_error
from theano_linker_c import Function
from theano_tensor.builders import OpFromGraph

from .. import printing
from .._names import borrowed, pydot_library
from .._pictures import APPLY_COLOURS, NODE_COLOURS, PictureError

#: Kinds of shapes that no node computes.
INPUT_KINDS = ("input", "shared", "constant")


class PyDotFormatter:
    """Makes graphs of the library pydot from expressions and functions.

    Parameters
    ----------
    compact : bool
        Leave out computed variables that have no name and are no outputs.

    Attributes
    ----------
    node_colors : dict
        Kind of a shape (``input``, ``shared_input``, ``constant_input``, ``output``, ``unused``, ``variable``,
        ``apply``) -> colour.
    apply_colors : dict
        Part of the name of an op's class -> colour of its nodes; the first that fits counts.
    shapes : dict
        ``input``, ``output`` and ``apply`` -> form, as Graphviz names it.

    Examples
    --------
    >>> from theano.d3viz import formatting
    >>> import theano.tensor as T
    >>> formatter = formatting.PyDotFormatter()
    >>> formatter.node_colors["input"] = "yellow"
    >>> "yellow" in formatter.dot_text(T.exp(T.scalar("x")))
    True
    """

    def __init__(self, compact: bool = True) -> None:
        self.compact = compact
        self.node_colors: dict[str, str] = dict(NODE_COLOURS)
        self.apply_colors: dict[str, str] = dict(APPLY_COLOURS)
        self.shapes: dict[str, str] = {"input": "box", "output": "box", "apply": "ellipse"}

    def __call__(self, fct: Any, graph: Any = None) -> Any:
        """Return the graph of a function or expression.

        Parameters
        ----------
        fct : Variable, Apply, FunctionGraph, compiled function, or list of these
        graph : pydot.Dot, optional
            Where nodes and edges are added; a new one by default.

        Returns
        -------
        pydot.Dot

        Raises
        ------
        PictureError
            If pydot is not installed.
        TypeError
            If `fct` is nothing that can be shown.
        """
        pydot = pydot_library()
        if pydot is None:
            raise PictureError(
                format_error(
                    "PyDotFormatter: the library pydot is not installed", hint="install pydot, or call d3write or d3viz"
                )
            )
        made = pydot.Dot(graph_type="digraph") if graph is None else graph
        self._add(pydot, made, fct, "")
        return made

    def _add(self, pydot: Any, made: Any, fct: Any, prefix: str) -> None:
        """Add nodes and edges; the graph inside of an op made of a graph is a cluster, whose name is its `subg`.

        A compiled function shows the compiled graphs inside.
        """
        drawn = self.diagram(fct)
        inputs: dict[str, Any] = {}
        for shape in drawn.shapes:
            node = pydot.Node(prefix + shape.key, **self._shape_attributes(shape), node_type=self.type_of(shape))
            made.add_node(node)
            if shape.kind in INPUT_KINDS:
                inputs[shape.key] = node
            op = _op(shape)
            if isinstance(op, OpFromGraph):
                cluster = pydot.Cluster(prefix + shape.key)
                inside = op.fn if isinstance(fct, Function) else op.fgraph
                self._add(pydot, cluster, inside, f"{prefix}{shape.key}_")
                made.add_subgraph(cluster)
                node.set("subg", cluster.get_name())
        read: set[str] = set()
        for source, target, attributes in self._edges(drawn):
            if source in inputs and source in read:
                # Programs count nodes: each reader adds its inputs, and Graphviz draws equal names once.
                made.add_node(inputs[source])
            read.add(source)
            made.add_edge(pydot.Edge(prefix + source, prefix + target, **attributes))

    def diagram(self, fct: Any) -> Diagram:
        """Return the shapes and arrows of a graph, before colours of kinds."""
        return diagram(fct, compact=self.compact, colours=self.apply_colors)

    def fill_of(self, shape: DiagramShape) -> str:
        """Return the colour of a shape."""
        if shape.kind == "apply" and any(name in type(_op(shape)).__name__ for name in self.apply_colors):
            return shape.fill
        return self.node_colors[self.type_of(shape)]

    def type_of(self, shape: DiagramShape) -> str:
        """Return the kind of a shape: ``apply``, ``input``, ``shared_input``, ``constant_input``, ``output``, ..."""
        names = {"shared": "shared_input", "constant": "constant_input"}
        return names.get(shape.kind, shape.kind)

    def form_of(self, shape: DiagramShape) -> str:
        """Return the form of a shape, as Graphviz names it."""
        if shape.kind == "apply":
            return self.shapes["apply"]
        return self.shapes["input" if shape.kind in INPUT_KINDS else "output"]

    def dot_text(self, fct: Any) -> str:
        """Return a graph in the language of Graphviz; needs no library."""
        drawn = self.diagram(fct)
        nodes = (f"  {shape.key} [{_listed(self._shape_attributes(shape))}];" for shape in drawn.shapes)
        edges = (f"  {source} -> {target} [{_listed(style)}];" for source, target, style in self._edges(drawn))
        return "\n".join(["digraph {", *nodes, *edges, "}", ""])

    def _shape_attributes(self, shape: DiagramShape) -> dict[str, str]:
        return {
            "label": _quoted(shape.label),
            "shape": self.form_of(shape),
            "style": "filled",
            "fillcolor": _quoted(self.fill_of(shape)),
        }

    def _edges(self, drawn: Diagram) -> Iterator[tuple[str, str, dict[str, str]]]:
        for edge in drawn.edges:
            attributes = {"color": edge.colour, "style": "dashed" if edge.dashed else "solid"}
            if edge.label:
                attributes["label"] = _quoted(edge.label)
            yield edge.source, edge.target, attributes


def __getattr__(name: str) -> object:
    """Tell whether the library pydot is there, and the missing part if not."""
    if name in ("pydot_imported", "pydot_imported_msg"):
        return getattr(printing, name)
    return borrowed(__name__, name)


def _op(shape: DiagramShape) -> object:
    return shape.thing.op if isinstance(shape.thing, Apply) else None


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "").replace("\n", "\\n")
    return f'"{escaped}"'


def _listed(attributes: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in attributes.items())
