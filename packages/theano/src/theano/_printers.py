"""Printers of `theano.printing` besides those of the graph layer."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np

from theano_graph import Constant, Variable, letters

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
