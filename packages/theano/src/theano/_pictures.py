"""Printers, colours and pictures of graphs for programs that use `theano.printing`."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from theano_graph import (
    Apply,
    Constant,
    FunctionGraph,
    TheanoError,
    Variable,
    applys_between,
    format_error,
    letters,
    printable_graph,
    to_dot,
)

from ._names import picture_drawers

# ---- Colours of nodes and variables in pictures

#: Part of the name of an op's class -> colour of its nodes.
APPLY_COLOURS: Mapping[str, str] = {
    "GpuFromHost": "red",
    "HostFromGpu": "red",
    "Scan": "yellow",
    "Shape": "brown",
    "IfElse": "magenta",
    "Elemwise": "#FFAABB",
    "Subtensor": "#BF80FF",
    "Alloc": "#FFAA22",
}
#: Kind of a shape -> its colour.
NODE_COLOURS: Mapping[str, str] = {
    "input": "limegreen",
    "shared_input": "cyan",
    "constant_input": "lightgrey",
    "output": "dodgerblue",
    "unused": "darkgrey",
    "variable": "white",
    "apply": "cornsilk",
}


# ---- Printers of `theano.printing` besides those of the graph layer

#: How operators may associate.
VALID_ASSOC = {"left", "right", "either"}
#: Whether signs are written in the language of LaTeX.
use_ascii = True
special = {"middle_dot": "\\dot", "big_sigma": "\\Sigma"}
greek = {name: f"\\{name}" for name in ("alpha", "beta", "gamma", "delta", "epsilon")}
#: Name of a class of ops, or a part of it -> the colour of its nodes in pictures.
default_colorCodes = {
    "GpuFromHost": "red",
    "HostFromGpu": "red",
    "Scan": "yellow",
    "Shape": "brown",
    "IfElse": "magenta",
    "Elemwise": "#FFAABB",
    "Subtensor": "#FFAAFF",
    "Alloc": "#FFAA22",
    "Output": "blue",
}


class LeafPrinter:
    """Writes the name of a variable, or its value, or its type."""

    def process(self, output: Variable, pstate: Any) -> str:
        """Return the text."""
        if output.name in greek:
            return greek[str(output.name)]
        return str(output)


class IgnorePrinter:
    """Writes the first input in place of the op."""

    def process(self, output: Variable, pstate: Any) -> str:
        """Return the text of the first input."""
        if output.owner is None:
            raise TypeError(f"{output} is the output of no op")
        return str(pstate.pprinter.process(output.owner.inputs[0], pstate))


leaf_printer = LeafPrinter()


class _TagGenerator:
    """Gives out A, B, C, ..."""

    def __init__(self) -> None:
        self.cur_tag_number = 0

    def get_tag(self) -> str:
        """Return the next one."""
        self.cur_tag_number += 1
        return letters(self.cur_tag_number - 1)


def hex_digest(x: np.ndarray[Any, Any]) -> str:
    """Return a text that two arrays share only if they are alike: a digest of the data, strides and shape.

    Parameters
    ----------
    x : numpy.ndarray
    """
    digest = hashlib.sha256(x.tobytes()).hexdigest()
    strides, shape = (",".join(map(str, numbers)) for numbers in (x.strides, x.shape))
    return f"{digest}|strides=[{strides}]|shape=[{shape}]"


def position_independent_str(obj: Any) -> str:
    """Return a text for a variable, constant or op that is the same in each run of a program.

    Parameters
    ----------
    obj : object
    """
    if isinstance(obj, Constant) or not isinstance(obj, Variable):
        return re.sub(r" at 0x[0-9a-f]+", "", str(obj))
    return f"name={obj.name}, type={obj.type}"


# ---- Pictures of graphs in files, drawn by Graphviz

_logger = logging.getLogger("theano.printing")

_EXTENSIONS = frozenset({"dot", "eps", "gif", "jpeg", "jpg", "pdf", "png", "ps", "svg"})
_LEFT, _RIGHT, _BOTH = "blue", "red", "purple"


class PictureError(TheanoError, RuntimeError):
    """A picture cannot be drawn: Graphviz or the library that calls it is missing or has failed."""


def pydotprint(
    fct: Any,
    outfile: str | Path | None = None,
    compact: bool = True,
    format: str = "png",
    with_ids: bool = False,
    high_contrast: bool = True,
    cond_highlight: Apply | bool | None = None,
    colorCodes: Mapping[str, str] | None = None,
    max_label_size: int = 70,
    scan_graphs: bool = False,
    var_with_name_simple: bool = False,
    print_output_file: bool = True,
    return_image: bool = False,
) -> bytes | None:
    """Draw a graph to a file.

    Parameters
    ----------
    fct : Variable, Apply, FunctionGraph, compiled function, or list of these
    outfile : path, optional
        By default ``theano.pydotprint`` with the extension of the format, in the current directory.
    compact : bool
        Leave out computed variables that have no name.
    format : str
        A format that Graphviz knows, for instance "png" or "svg"; "dot" is the text for Graphviz, which needs no
        library. Unless it is given, the extension of `outfile` counts.
    with_ids : bool
        Number the nodes by their positions in the order of execution, and the variables.
    high_contrast : bool
        Fill the shapes with their colours in place of colouring the borders.
    cond_highlight : Apply or bool, optional
        A lazy conditional, or True for the first in the graph: borders tell which nodes are needed for its first
        branch alone (blue), for its second alone (red), and for both (purple).
    colorCodes : mapping, optional
        Part of the name of an op's class -> colour of its nodes.
    max_label_size : int
        Longer labels are cut.
    scan_graphs : bool
        Draw the inner graph of each loop too, to files that are named after the op and its position.
    var_with_name_simple : bool
        Show the name of a variable without its type.
    print_output_file : bool
        Print where the file is.
    return_image : bool
        Return the picture and write no file.

    Returns
    -------
    bytes or None
        The picture if `return_image`.

    Raises
    ------
    PictureError
        If neither pydot nor graphviz is installed, or if they fail.
    TypeError
        If `fct` is nothing that can be shown.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> theano.printing.pydotprint(T.vector("v") * 2, format="dot", return_image=True)[:9]
    b'digraph {'
    """
    path = None if outfile is None else Path(outfile)
    extension = "" if path is None else path.suffix[1:].lower()
    kind = extension if extension in _EXTENSIONS and format == "png" else format
    if path is None:
        path = Path(f"theano.pydotprint.{kind}")
    elif extension != kind:
        path = path.with_name(f"{path.name}.{kind}")

    def picture(part: Any, borders: Mapping[Apply, str]) -> bytes:
        text = to_dot(
            part,
            compact=compact,
            with_ids=with_ids,
            high_contrast=high_contrast,
            colours=APPLY_COLOURS if colorCodes is None else colorCodes,
            borders=borders,
            max_label_size=max_label_size,
            names_only=var_with_name_simple,
        )
        return text.encode() if kind == "dot" else _draw(text, kind)

    image = picture(fct, _borders(fct, cond_highlight))
    if return_image:
        return image
    _write(path, image, print_output_file)
    if scan_graphs:
        for position, node, inner in _inner_graphs(fct):
            name = f"{path.stem}_{type(node.op).__name__}_{position}{path.suffix}"
            _write(path.with_name(name), picture(inner, {}), print_output_file)
    return None


def _write(path: Path, image: bytes, say: bool) -> None:
    path.write_bytes(image)
    if say:
        print(f"The output file is available at {path}")


def _draw(text: str, kind: str) -> bytes:
    drawers = picture_drawers()
    if not drawers:
        raise PictureError(
            format_error(
                f"pydotprint: a picture in the format {kind!r} needs the library pydot or graphviz; none is there",
                hint="install one of them and the programs of Graphviz, or pass format='dot' for text",
            )
        )
    failures: list[str] = []
    for drawer in drawers:
        try:
            return drawer(text, kind)
        # The libraries have errors of their own; each says why Graphviz did not draw.
        except Exception as error:  # noqa: BLE001
            failures.append(f"{type(error).__name__}: {error}")
    raise PictureError(
        format_error(
            f"pydotprint: Graphviz did not draw the picture in the format {kind!r}",
            context=failures,
            hint="install the programs of Graphviz (`dot` must be on the path), or pass format='dot' for text",
        )
    )


def _order(fct: Any) -> list[Apply]:
    graph = printable_graph(fct)
    return list(graph.order) or applys_between((), graph.outputs)


def _inner_graphs(fct: Any) -> Iterator[tuple[int, Apply, FunctionGraph]]:
    for position, node in enumerate(_order(fct)):
        inner = getattr(node.op, "fgraph", None)
        if isinstance(inner, FunctionGraph):
            yield position, node, inner


def _borders(fct: Any, cond_highlight: Apply | bool | None) -> dict[Apply, str]:
    if not cond_highlight:
        return {}
    node = cond_highlight if isinstance(cond_highlight, Apply) else None
    if node is None:
        node = next((node for node in _order(fct) if "IfElse" in type(node.op).__name__), None)
        if node is None:
            _logger.warning("pydotprint: cond_highlight is set but there is no IfElse node in the graph")
            return {}
    count = len(node.outputs)
    branches: list[list[Variable]] = [node.inputs[1 : 1 + count], node.inputs[1 + count : 1 + 2 * count]]
    left, right = (dict.fromkeys(applys_between((), branch)) for branch in branches)
    return {
        n: _BOTH if n in left and n in right else _LEFT if n in left else _RIGHT for n in dict.fromkeys([*left, *right])
    }


__all__ = [
    "VALID_ASSOC",
    "IgnorePrinter",
    "LeafPrinter",
    "default_colorCodes",
    "greek",
    "hex_digest",
    "leaf_printer",
    "position_independent_str",
    "special",
    "use_ascii",
]
