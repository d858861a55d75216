"""Colours of nodes and variables in pictures."""

from __future__ import annotations

from collections.abc import Mapping

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
