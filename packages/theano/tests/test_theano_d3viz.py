"""Pages that show graphs."""

from __future__ import annotations

import json
import math
import re
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, ClassVar
from unittest import mock

import theano
import theano.d3viz as d3v
import theano.tensor as T
from theano.d3viz.d3viz import d3viz, d3write, replace_patterns, safe_json
from theano_graph import Apply, FunctionGraph, Op, Variable


class Inside(Op):
    """An op that runs a graph."""

    __props__: ClassVar[tuple[str, ...]] = ("fgraph",)

    def __init__(self, fgraph: FunctionGraph) -> None:
        self.fgraph = fgraph

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [out.type.make_variable() for out in self.fgraph.outputs])

    def __str__(self) -> str:
        return "Inside"


class Dot:
    """As much of pydot as the formatter uses."""

    class Node(SimpleNamespace):
        def __init__(self, name: str, **attributes: str) -> None:
            super().__init__(name=name, **attributes)

        def set(self, name: str, value: str) -> None:
            setattr(self, name, value)

    class Edge(SimpleNamespace):
        def __init__(self, source: str, target: str, **attributes: str) -> None:
            super().__init__(source=source, target=target, **attributes)

    class Dot:
        def __init__(self, graph_type: str) -> None:
            self.kind = graph_type
            self.subgraphs: list[Any] = []
            self.nodes: list[Any] = []
            self.edges: list[Any] = []

        def add_node(self, node: Any) -> None:
            self.nodes.append(node)

        def add_edge(self, edge: Any) -> None:
            self.edges.append(edge)

        def add_subgraph(self, graph: Any) -> None:
            self.subgraphs.append(graph)

    class Cluster(Dot):
        def __init__(self, name: str) -> None:
            super().__init__("cluster")
            self.name = name

        def get_name(self) -> str:
            return f"cluster_{self.name}"


class InFolder(unittest.TestCase):
    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def page(self, fct: Any, **options: Any) -> tuple[str, dict[str, Any]]:
        """Return the text of a page and its data."""
        path = self.folder / "graph.html"
        d3v.d3viz(fct, str(path), **options)
        text = path.read_text(encoding="utf-8")
        match = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
        assert match is not None, "the page has data"
        data: dict[str, Any] = json.loads(match[1])
        return text, data


class TestPages(InFolder):
    def test_the_page_needs_nothing_else(self) -> None:
        x = T.dmatrix("x")
        text, _ = self.page(theano.function([x], T.tanh(T.dot(x, x) + theano.shared(1.0, "w"))))
        self.assertEqual(re.findall(r"(?:src|href)=|@import|https?://(?!www\.w3\.org/2000/svg)", text), [])
        for name in ("__DATA__", "__SCRIPT__", "__STYLE__", "__TITLE__"):
            self.assertNotIn(name, text)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["graph.html"])

    def test_nodes_and_edges(self) -> None:
        x = T.dvector("x")
        _, data = self.page(T.exp(x) * 2.0)
        (graph,) = data["graphs"]
        kinds = [node["kind"] for node in graph["nodes"]]
        self.assertEqual((kinds.count("input"), kinds.count("output"), data["longest"]), (1, 1, None))
        ids = {node["id"] for node in graph["nodes"]}
        self.assertTrue(all(edge["source"] in ids and edge["target"] in ids for edge in graph["edges"]))
        about = dict(next(node for node in graph["nodes"] if node["kind"] == "input")["about"])
        self.assertEqual((about["Variable"], about["Kind"]), ("x", "input"))
        self.assertIn("test_theano_d3viz.py", about["Made at"])

    def test_functions_and_compactness(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], T.exp(T.dot(x, x)))
        small, large = (len(self.page(f, compact=c)[1]["graphs"][0]["nodes"]) for c in (True, False))
        self.assertLess(small, large)

    def test_names_cannot_break_out(self) -> None:
        evil = "</script><script>alert(1)</script>__DATA__"
        text, data = self.page(T.exp(T.dvector(evil)))
        self.assertNotIn("alert(1)</script>", text)
        self.assertIn(evil, [dict(node["about"]).get("Variable") for node in data["graphs"][0]["nodes"]])

    def test_graphs_inside_ops_are_there_once(self) -> None:
        a, b, x, y = T.dscalars("a", "b", "x", "y")
        op = Inside(FunctionGraph([a, b], [a - b]))
        outer = Inside(FunctionGraph([x], [T.exp(op(x, x))]))
        _, data = self.page(op(x, y) + op(y, x) + outer(y))
        graphs = data["graphs"]
        self.assertEqual(len(graphs), 3)
        inner = [node["inner"] for node in graphs[0]["nodes"] if node["label"] == "Inside"]
        self.assertEqual(sorted(inner), [1, 1, 2])
        self.assertEqual([len(graph["inputs"]) for graph in graphs], [0, 2, 1])
        labels = {node["id"]: node["label"] for node in graphs[1]["nodes"]}
        self.assertEqual([labels[key][0] for key in graphs[1]["inputs"]], ["a", "b"])
        self.assertEqual([node["inner"] for node in graphs[2]["nodes"] if node["label"] == "Inside"], [1])

    def test_labels_have_no_types(self) -> None:
        x = T.dmatrix("x")
        _, data = self.page(theano.function([x], T.tanh(T.dot(x, x) * 2.0 + 1.0).sum(axis=0)))
        labels = {node["label"] for node in data["graphs"][0]["nodes"]}
        self.assertTrue({"x", "output", "Dot22"} <= labels, labels)
        self.assertFalse(any("TensorType" in label or "float64" in label for label in labels), labels)

    def test_large_graphs_have_groups(self) -> None:
        x = T.dvector("x")
        h = x
        for i in range(30):
            h = T.tanh(h * theano.shared(1.0, f"a{i}") + theano.shared(1.0, f"b{i}"))
        _, data = self.page(T.exp(h).sum())
        graph = data["graphs"][0]
        outer = [(group["label"], group["times"]) for group in graph["groups"] if group["group"] is None]
        self.assertEqual([times for label, times in outer if label.startswith("h = T.tanh")], [30])
        # A group depends on no group that depends on it.
        parents = {group["id"]: group["group"] for group in graph["groups"]}

        def outermost(node: dict[str, Any]) -> str:
            key = node["group"]
            while key is not None and parents[key] is not None:
                key = parents[key]
            return str(node["id"] if key is None else key)

        tops = {node["id"]: outermost(node) for node in graph["nodes"]}
        edges = {(tops[edge["source"]], tops[edge["target"]]) for edge in graph["edges"] if not edge["dashed"]}
        self.assertEqual([edge for edge in edges if edge[0] != edge[1] and edge[::-1] in edges], [])
        _, small = self.page(T.exp(x))
        self.assertEqual(small["graphs"][0]["groups"], [])

    def test_notebooks_show_pages(self) -> None:
        page = d3viz(T.exp(T.dvector("x")))
        self.assertIn("<title>graph</title>", page.text)
        self.assertIn("srcdoc=", page._repr_html_())

    def test_times(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], T.exp(T.dot(x, x)), mode="FAST_COMPILE", profile=True)
        f([1.0, 2.0])
        _, data = self.page(f)
        shown = {node["label"]: node["time"] for node in data["graphs"][0]["nodes"] if node["time"] is not None}
        self.assertEqual(len(shown), 2)
        self.assertEqual(data["longest"], max(shown.values()))
        about = [dict(node["about"]).get("Time", "") for node in data["graphs"][0]["nodes"]]
        self.assertEqual(sum("of all nodes" in text for text in about), 2)
        self.assertEqual(str(theano.printing.debugprint(f, file="str")).count(" --> "), 2)

    def test_what_cannot_be_shown(self) -> None:
        with self.assertRaisesRegex(TypeError, "cannot show an object of type int"):
            d3viz(3, self.folder / "graph.html")


class TestFormatter(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.out: Variable = T.exp(T.dvector("x") * theano.shared(2.0, "two"))

    def test_text_needs_no_library(self) -> None:
        path = self.folder / "graph.dot"
        with mock.patch.dict(sys.modules, {"pydot": None}):
            d3write(self.out, path, compact=False)
            with self.assertRaisesRegex(RuntimeError, "pydot is not installed"):
                d3v.formatting.PyDotFormatter()(self.out)
        text = path.read_text(encoding="utf-8")
        self.assertTrue(text.startswith("digraph {\n") and text.endswith("}\n"))
        for part in ("limegreen", "cyan", "dodgerblue", "shape=ellipse", "shape=box"):
            self.assertIn(part, text)

    def test_pydot(self) -> None:
        with mock.patch.dict(sys.modules, {"pydot": Dot}):
            formatter = d3v.formatting.PyDotFormatter()
            result = formatter(self.out)
            again = formatter(T.dscalar("z"), result)
        self.assertIs(again, result)
        shapes = formatter.diagram(self.out).shapes
        self.assertEqual(len(result.nodes), len(shapes) + 1)
        self.assertTrue(all(edge.source and edge.target for edge in result.edges))

    def test_kinds_and_graphs_inside_of_ops(self) -> None:
        x, y = T.dscalars("xy")
        square = theano.OpFromGraph([x], [x * x])
        with mock.patch.dict(sys.modules, {"pydot": Dot}):
            result = d3v.formatting.PyDotFormatter()(square(y) + square(square(y)))
        self.assertEqual(sorted({node.node_type for node in result.nodes}), ["apply", "input", "output"])
        self.assertEqual(
            [node.subg for node in result.nodes if hasattr(node, "subg")], [g.get_name() for g in result.subgraphs]
        )
        self.assertEqual([len(graph.nodes) for graph in result.subgraphs], [4, 4, 4])
        names = [
            node.name for graph in (result, *result.subgraphs) for node in graph.nodes if node.node_type != "input"
        ]
        self.assertEqual(len(set(names)), len(names))

    def test_each_reader_adds_its_inputs(self) -> None:
        x = T.dscalar("x")
        with mock.patch.dict(sys.modules, {"pydot": Dot}):
            result = d3v.formatting.PyDotFormatter()([x + 1, x * 2])
        inputs = [node.name for node in result.nodes if node.node_type == "input"]
        self.assertEqual((len(inputs), len(set(inputs))), (2, 1))

    def test_functions_show_the_compiled_graphs_inside(self) -> None:
        x = T.dvector("x")
        op = theano.OpFromGraph([x], [T.exp(x + 1) * 2])
        with mock.patch.dict(sys.modules, {"pydot": Dot}):
            result = d3v.formatting.PyDotFormatter()(theano.function([x], op(x)))
        kinds = [node.node_type for node in result.subgraphs[0].nodes]
        self.assertEqual(kinds.count("apply"), len(op.fn.maker.fgraph.apply_nodes))
        self.assertAlmostEqual(float(op.fn([0.0])[0][0]), 2 * math.e)

    def test_tables_can_be_changed(self) -> None:
        formatter = d3v.formatting.PyDotFormatter()
        formatter.apply_colors["Elemwise"] = "#123456"
        formatter.node_colors["input"] = "#654321"
        formatter.shapes["apply"] = "hexagon"
        text = formatter.dot_text(self.out)
        for part in ("#123456", "#654321", "shape=hexagon"):
            self.assertIn(part, text)
        self.assertNotIn("#123456", d3v.formatting.PyDotFormatter().dot_text(self.out))


class TestTexts(unittest.TestCase):
    def test_json(self) -> None:
        text = safe_json({"a": "</script>&"})
        self.assertEqual(json.loads(text), {"a": "</script>&"})
        self.assertNotRegex(text, "[<>&]")

    def test_patterns(self) -> None:
        self.assertEqual(replace_patterns("x = %% y %%", {"%% y %%": r"\1", "x": "z"}), r"z = \1")
