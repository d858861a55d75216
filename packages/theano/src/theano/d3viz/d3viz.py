"""Pages that show graphs in a browser, and texts for Graphviz."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from ._page_data import page_data
from .formatting import PyDotFormatter as PyDotFormatter

__all__ = ["GraphPage", "PyDotFormatter", "d3viz", "d3write", "replace_patterns", "safe_json"]

#: The parts of the page's script, in their order; the first lays graphs out.
SCRIPTS = ("vendor/dagre.min.js", "layout.js", "panels.js", "viewer.js")


class GraphPage:
    """A page that shows a graph; a notebook shows it below the cell.

    Attributes
    ----------
    text : str
        The page as HTML, which needs nothing but itself.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_html_(self) -> str:
        # A document of its own, so that its style and script are not those of the notebook.
        return f'<iframe srcdoc="{html.escape(self.text)}" style="width:100%;height:600px;border:0"></iframe>'


def d3viz(fct: Any, outfile: str | Path | None = None, copy_deps: bool = True, *args: Any, **kwargs: Any) -> GraphPage:
    """Show a graph as a page: in a notebook, or in a file for a browser.

    A graph of more than 60 shapes is shown in groups: the nodes that a line of the program made are one shape until it
    is opened by a double click, and repeated parts are shown once with their number. The button "All nodes" shows each
    node by itself, "Times" colours the nodes of a profiled function, "SVG" and "PNG" save the picture.

    The graph and each node can be dragged, the wheel zooms, the map in the corner shows the view. The shape under the
    pointer is described (type, the line of the program that made it, and its time if the function was profiled), and
    its neighbours stand out; they stay so after a click, which offers to edit the label. A double click, or one on the
    sign ⊞, opens and closes the graph inside an op that has one (`Scan`, `OpFromGraph`). The search field finds labels,
    types and ops. Edges go around nodes; in large graphs, distant nodes appear as small dashed boxes; a click on one
    which leads there.

    Parameters
    ----------
    fct : Variable, Apply, FunctionGraph, compiled function, or list of these
    outfile : path, optional
        Where the page is written, if anywhere.
    copy_deps : bool
        Taken for compatibility: the page holds all that it needs, so there is nothing to copy beside it.
    *args, **kwargs
        For :class:`~theano.d3viz.formatting.PyDotFormatter`.

    Returns
    -------
    GraphPage
        The page, which a notebook shows where it is the value of a cell.

    Raises
    ------
    TypeError
        If `fct` is nothing that can be shown.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.d3viz import d3viz
    >>> d3viz(T.exp(T.scalar("x"))).text[:15]
    '<!DOCTYPE html>'
    """
    path = Path("graph.html" if outfile is None else outfile)
    files = resources.files(__package__)
    parts = {
        "__TITLE__": html.escape(path.stem),
        "__STYLE__": files.joinpath("viewer.css").read_text(encoding="utf-8"),
        "__SCRIPT__": "".join(files.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS),
        "__DATA__": safe_json(page_data(fct, PyDotFormatter(*args, **kwargs))),
    }
    page = files.joinpath("viewer.html").read_text(encoding="utf-8")
    # In one pass, so that nothing in the graph is taken for one of the names.
    page = re.sub("|".join(parts), lambda found: parts[found[0]], page)
    if outfile is not None:
        path.write_text(page, encoding="utf-8")
    return GraphPage(page)


def d3write(fct: Any, path: str | Path, *args: Any, **kwargs: Any) -> None:
    """Write a graph in the language of Graphviz.

    Parameters
    ----------
    fct : Variable, Apply, FunctionGraph, compiled function, or list of these
    path : path
    *args, **kwargs
        For :class:`~theano.d3viz.formatting.PyDotFormatter`.

    Raises
    ------
    TypeError
        If `fct` is nothing that can be shown.
    """
    Path(path).write_text(PyDotFormatter(*args, **kwargs).dot_text(fct), encoding="utf-8")


def replace_patterns(x: str, replace: Mapping[str, str]) -> str:
    """Return a text with the matches of regular expressions replaced.

    Parameters
    ----------
    x : str
    replace : mapping
        Regular expression -> replacement, taken as it is. They are applied in order.

    Examples
    --------
    >>> replace_patterns("a1b22", {"[0-9]+": "#", "b": "c"})
    'a#c#'
    """
    for pattern, text in replace.items():
        x = re.sub(pattern, lambda _, text=text: text, x)  # type: ignore[misc]
    return x


def safe_json(obj: Any) -> str:
    r"""Return an object as JSON that can stand inside HTML, also inside a script.

    Parameters
    ----------
    obj : object

    Raises
    ------
    TypeError
        If JSON has no form for `obj`.

    Examples
    --------
    >>> safe_json(["<b>"])
    '["\\u003cb\\u003e"]'
    """
    text = json.dumps(obj)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
