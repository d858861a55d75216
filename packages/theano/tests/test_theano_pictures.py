"""Formulas and pictures of programs under their documented names."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import TestCase, mock

import numpy

import theano
import theano.tensor as T
from theano import function, pp, printing
from theano_graph import Apply, FunctionGraph, Op


class IfElse(Op):
    """A conditional with one output, as far as pictures see one."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[1].type()])


class Loop(Op):
    """An op with a graph inside."""

    __props__ = ()

    def __init__(self) -> None:
        x = T.dscalar("inside")
        self.fgraph = FunctionGraph([x], [T.exp(x)])

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])


class Drawn:
    """pydot's reading of a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def create(self, prog: str, format: str) -> bytes:
        return f"{prog} {format} {self.text}".encode()


PYDOT = SimpleNamespace(graph_from_dot_data=lambda text: [Drawn(text)])


class TestFormulas(TestCase):
    def test_the_logistic_regression_of_the_manual(self) -> None:
        x = T.matrix("x")
        w = theano.shared(numpy.zeros(3), name="w")
        b = theano.shared(0.0, name="b")
        prediction = 1 / (1 + T.exp(-T.dot(x, w) - b)) > 0.5
        self.assertEqual(
            printing.pprint(prediction),
            "gt((TensorConstant{1} / (TensorConstant{1} + exp(((-(x \\dot w)) - b)))), TensorConstant{0.5})",
        )
        ids = str(printing.debugprint(prediction, file="str"))
        self.assertEqual(ids.count("TensorConstant{1} [id D]"), 2)

    def test_the_gradient_of_a_square(self) -> None:
        x = T.dscalar("x")
        gradient = T.grad(x**2, x)
        self.assertEqual(
            pp(gradient),
            "((fill((x ** TensorConstant{2}), TensorConstant{1.0}) * TensorConstant{2}) * "
            "(x ** (TensorConstant{2} - TensorConstant{1})))",
        )
        f = function([x], gradient)
        self.assertRegex(pp(f.maker.fgraph.outputs[0]), r"^\(TensorConstant\{2(\.0)?\} \* x\)$")

    def test_updates_of_a_function(self) -> None:
        w = theano.shared(1.5, name="w")
        x = T.dscalar("x")
        f = function([x], T.exp(x), updates=[(w, w + x)], mode="FAST_COMPILE")
        self.assertEqual(pp(f), "exp(x)\nw <- (w + x)")
        self.assertIn('label="update", style=dashed', printing.to_dot(f))
        self.assertIn("update of", f._repr_html_() or "")


class TestPydotprint(TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.x = T.dscalar("x")

    def printed(self, *args: Any, **options: Any) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            self.assertIsNone(printing.pydotprint(*args, **options))
        return stream.getvalue()

    def test_text_for_graphviz_needs_no_library(self) -> None:
        path = self.folder / "graph.dot"
        with mock.patch.dict(sys.modules, {"pydot": None, "graphviz": None}):
            said = self.printed(T.exp(self.x), outfile=str(path), var_with_name_simple=True)
        self.assertEqual(said, f"The output file is available at {path}\n")
        self.assertIn('label="x", shape=box, style=filled, fillcolor="#32CD32"', path.read_text())
        self.assertIn(
            'label="Elemwise{exp,no_inplace}", shape=ellipse, style=filled, fillcolor="#FFAABB"', path.read_text()
        )

    def test_a_format_that_is_given_counts(self) -> None:
        self.assertEqual(self.printed(self.x, self.folder / "graph", format="dot", print_output_file=False), "")
        self.assertTrue((self.folder / "graph.dot").exists())

    def test_without_a_library_the_error_says_what_to_install(self) -> None:
        with (
            mock.patch.dict(sys.modules, {"pydot": None, "graphviz": None}),
            self.assertRaisesRegex(RuntimeError, "needs the library pydot or graphviz"),
        ):
            printing.pydotprint(self.x, outfile=self.folder / "graph.png")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_pydot_draws(self) -> None:
        with mock.patch.dict(sys.modules, {"pydot": PYDOT}):
            image = printing.pydotprint(T.exp(self.x), return_image=True, format="svg")
            self.printed(T.exp(self.x), outfile=self.folder / "graph.png")
        self.assertEqual((image or b"")[:18], b"dot svg digraph {\n")
        self.assertTrue((self.folder / "graph.png").read_bytes().startswith(b"dot png"))

    def test_graphviz_draws_when_pydot_fails(self) -> None:
        broken = SimpleNamespace(graph_from_dot_data=mock.Mock(side_effect=OSError("no dot")))
        source = mock.Mock()
        source.return_value.pipe.return_value = b"picture"
        with mock.patch.dict(sys.modules, {"pydot": broken, "graphviz": SimpleNamespace(Source=source)}):
            self.assertEqual(printing.pydotprint(self.x, return_image=True), b"picture")
        with (
            mock.patch.dict(sys.modules, {"pydot": broken, "graphviz": None}),
            self.assertRaisesRegex(RuntimeError, "(?s)did not draw.*OSError: no dot"),
        ):
            printing.pydotprint(self.x, return_image=True)

    def test_branches_of_a_conditional(self) -> None:
        both = T.exp(self.x)
        out = IfElse()(self.x, T.sin(both), T.cos(both))
        for choice in (True, out.owner):
            text = (printing.pydotprint(out, format="dot", return_image=True, cond_highlight=choice) or b"").decode()
            for name, colour in (("exp", "purple"), ("sin", "blue"), ("cos", "red")):
                with self.subTest(name):
                    self.assertRegex(text, rf'Elemwise{{{name},no_inplace}}".*color="{colour}", penwidth')
        plain = printing.pydotprint(both, format="dot", return_image=True, cond_highlight=True)
        self.assertNotIn(b"penwidth", plain or b"")

    def test_graphs_inside(self) -> None:
        path = self.folder / "outer.dot"
        self.printed(Loop()(self.x), outfile=path, scan_graphs=True)
        self.assertIn("inside", (self.folder / "outer_Loop_0.dot").read_text())
