"""Printing and drawing graphs: formulas, trees, texts for Graphviz, pages for a browser, and values as they pass.

Run ``python examples/chapter_printing.py``; every statement about the results is checked.
"""

from __future__ import annotations

import io
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.d3viz import d3viz
from theano.printing import PictureError, Print, debugprint, pp, pprint, pydotprint


def logistic() -> tuple[Any, Any]:
    """Return the prediction of a small classifier, before and after compilation."""
    x = T.dmatrix("x")
    w, b = theano.shared(np.ones(3), name="w"), theano.shared(0.1, name="b")
    prediction = 1 / (1 + T.exp(-T.dot(x, w) - b)) > 0.5
    return prediction, theano.function([x], prediction, name="predict")


def formulas() -> None:
    """`pp` and `pprint` write mathematics."""
    x, y = T.dscalars("x", "y")
    assert pp(x + y * 2) == "(x + (y * TensorConstant{2}))"
    assert pprint(T.exp(x) / y) == "(exp(x) / y)"


def trees() -> None:
    """`debugprint` writes every node once, before or after compilation."""
    prediction, f = logistic()
    before = str(debugprint(prediction, file="str"))
    assert before.startswith("Elemwise{gt,no_inplace} [id A] ''")
    assert " |x [id" in before
    assert str(debugprint(f, file="str")).count("[id") < before.count("[id")
    shown = io.StringIO()
    with redirect_stdout(shown):
        debugprint(prediction, depth=2, print_type=True)
    assert "<TensorType(" in shown.getvalue()
    assert "dot" not in shown.getvalue()


def pictures(folder: Path) -> str:
    """`pydotprint` draws a file through Graphviz; the text for Graphviz needs no program."""
    prediction, f = logistic()
    dot = folder / "predict.dot"
    with redirect_stdout(io.StringIO()):
        pydotprint(f, outfile=str(dot), format="dot")
    assert dot.read_text().startswith("digraph")
    assert "w" in dot.read_text()
    try:
        with redirect_stdout(io.StringIO()):
            pydotprint(prediction, outfile=str(folder / "prediction.png"), var_with_name_simple=True)
    except PictureError as error:
        for word in ("graphviz", "pydot"):
            assert word in str(error).lower(), error
        return "no Graphviz here"
    assert (folder / "prediction.png").stat().st_size > 1000
    return "drawn by Graphviz"


def pages(folder: Path) -> None:
    """A page for the browser is one file that needs nothing else."""
    _, f = logistic()
    page = folder / "predict.html"
    d3viz(f, page)
    text = page.read_text(encoding="utf-8")
    assert text.lstrip().lower().startswith("<!doctype html")
    assert "Elemwise" in text
    assert theano.printing.to_html(f).startswith('<div class="theano-graph">')
    assert theano.printing.to_mermaid(f).startswith("flowchart")


def values() -> None:
    """`Print` writes the values that pass, and attributes of them; a function may format them."""
    x = T.dmatrix("x")
    shown = io.StringIO()
    with redirect_stdout(shown):
        theano.function([x], Print("hidden", attrs=["shape", "dtype"])(x).sum())(np.ones((2, 3)))
    assert shown.getvalue() == "hidden shape = (2, 3)\nhidden dtype = float64\n"
    seen: list[Any] = []
    printer = Print("kept", global_fn=lambda op, value: seen.append((op.message, value.sum())))
    theano.function([x], printer(x) * 2)(np.ones((2, 2)))
    assert seen == [("kept", 4.0)]


def main() -> None:
    formulas()
    trees()
    with tempfile.TemporaryDirectory() as name:
        how = pictures(Path(name))
        pages(Path(name))
    values()
    print(f"printing: formulas, trees, pages; {how}")


if __name__ == "__main__":
    main()
