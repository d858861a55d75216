"""The display of a notebook: cells by their number, and graphs, functions and flags as pieces of HTML."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy

import theano
import theano.tensor as T
from theano_graph import cell_of, shown_name

#: Runs cells as a notebook does, and prints the display of the last expression or the error.
PROGRAM = """
import os, sys
os.environ["IPYTHONDIR"] = sys.argv[1]
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.colors = "NoColor"
for cell in sys.stdin.read().split("#%%"):
    result = shell.run_cell(cell, store_history=True, silent=False)
    if result.error_in_exec is not None:
        print("ERROR", result.error_in_exec)
    elif result.result is not None:
        print("SHOWN", sorted(shell.display_formatter.format(result.result)[0]))
"""


def run_cells(*cells: str) -> str:
    """Return the output of cells."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", PROGRAM, folder]
        done = subprocess.run(command, input="\n#%%\n".join(cells), capture_output=True, text=True)
    return done.stdout + done.stderr


class TestCells(unittest.TestCase):
    printed: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.printed = run_cells(
            "import numpy as np, theano, theano.tensor as T",
            "x = T.dmatrix('x')\ny = T.dot(x, x)\ny",
            "f = theano.function([x], y)\nf",
            "f(np.zeros((2, 3)))",
            "print('origin', y.origin)",
            "theano.config",
            "theano.scan(lambda: 1, sequences=[x])",
        )

    def test_lines_of_cells(self) -> None:
        self.assertIn("origin In[2]:2", self.printed)
        self.assertIn("`x`: float64[None, None] made at In[2]:1", self.printed)
        self.assertIn("Cell In[2], line 2, in <module>\n      y = T.dot(x, x)", self.printed)
        self.assertIn("function `<lambda>` at In[7]:1", self.printed)

    def test_what_runs_the_cells_is_left_out(self) -> None:
        error = self.printed.partition("ERROR Shape mismatch")[2].partition("SHOWN")[0]
        self.assertTrue(error)
        self.assertNotIn("interactiveshell", error)

    def test_rich_forms(self) -> None:
        self.assertEqual(self.printed.count("SHOWN ['text/html', 'text/plain']"), 3)


class TestFileNames(unittest.TestCase):
    def test_names_of_files(self) -> None:
        self.assertEqual((shown_name("/home/me/train.py"), cell_of("/home/me/train.py")), ("train.py", None))

    def test_shells_that_name_no_cells(self) -> None:
        old = SimpleNamespace(get_ipython=lambda: SimpleNamespace(compile=SimpleNamespace()))
        for shell in (old, SimpleNamespace(), SimpleNamespace(get_ipython=lambda: None)):
            with mock.patch.dict(sys.modules, IPython=shell):
                self.assertEqual(shown_name("/home/me/train.py"), "train.py")
                self.assertEqual(float(theano.function([], T.exp(T.zeros(())))()), 1.0)


class Tree(HTMLParser):
    """Checks that elements are closed in order, and counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.counts: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.opened.append(tag)
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag, f"{tag} is closed out of order"


class TestPieces(unittest.TestCase):
    def counted(self, thing: Any) -> tuple[str, dict[str, int]]:
        text = thing._repr_html_()
        tree = Tree()
        tree.feed(text)
        self.assertEqual(tree.opened, [])
        return text, tree.counts

    def test_graphs(self) -> None:
        x = T.dvector("<x>")
        y = T.exp(x) + T.tanh(x)
        assert y.owner is not None, "it is computed"
        f = theano.function([x], y)
        for thing in (y, y.owner, f, f.maker.fgraph, theano.shared(1.0, "w")):
            with self.subTest(type(thing).__name__):
                text, counts = self.counted(thing)
                self.assertGreaterEqual(counts["details"], 1)
                self.assertIn("monospace", text)
                self.assertNotIn("<x>", text)

    def test_branches_are_nested(self) -> None:
        x = T.dvector("x")
        text, counts = self.counted(T.exp(x) + T.tanh(x))
        self.assertEqual((counts["details"], counts["summary"]), (4, 4))
        self.assertIn("Elemwise{exp,no_inplace} [id B]", text)
        self.assertIn("made at test_theano_notebooks.py:", text)

    def test_long_trees_are_folded(self) -> None:
        y = T.dvector("x")
        for _ in range(60):
            y = T.exp(y)
        text, counts = self.counted(y)
        self.assertEqual((counts["details"], text.count("<details open>")), (61, 4))

    def test_variables_are_one_line_and_a_formula(self) -> None:
        x, alpha = T.TensorType("float64", (None, 3))("x"), T.dscalar("alpha")
        text, _ = self.counted(x)
        self.assertIn("<details><summary>x: float64, shape (?, 3), made at test_theano_notebooks.py:", text)
        text, _ = self.counted((T.exp(x) + x ** (alpha + 1)) * 2)
        self.assertIn(r"$\displaystyle (\mathrm{exp}(x) + (x ^{(\alpha  + 1)})) \cdot  2$", text)

    def test_shared_variables_show_their_values(self) -> None:
        text, _ = self.counted(theano.shared(numpy.arange(6.0).reshape(2, 3), "w"))
        self.assertIn("w: float64, shape (2, 3), made at ", text)
        self.assertIn("[[0. 1. 2.]\n [3. 4. 5.]]", text)

    def test_flags(self) -> None:
        text, counts = self.counted(theano.config)
        self.assertEqual(counts["tr"], len(theano.config.flag_names()) + 1)
        self.assertIn("<td>floatX</td>", text)
        with theano.config.change_flags(openmp_elemwise_minsize=12345):
            config: Any = theano.config
            bold = config._repr_html_()
            table = repr(theano.config)
        self.assertRegex(bold, "bold'><td>openmp_elemwise_minsize</td><td>12345</td><td>change_flags</td>")
        self.assertRegex(table, r"(?m)^openmp_elemwise_minsize +12345 +change_flags ")
        self.assertRegex(repr(theano.config.gcc), r"^flag +value +from +meaning\n[- ]+\ngcc\.cxxflags ")
