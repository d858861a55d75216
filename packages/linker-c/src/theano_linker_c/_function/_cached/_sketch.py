"""A short digest of a graph, made at once: where no file on disk begins with it, there is no need for the key."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, Variable

#: Digits of a sketch.
SKETCH_DIGITS = 12
_SMALL = 64


def sketch_of(nodes: Iterable[Apply], inputs: Sequence[Variable], outputs: Sequence[Variable]) -> str:
    """Return a text that is equal for equal functions in all processes, and differs for most that are not equal.

    Parameters
    ----------
    nodes : iterable of Apply
        In an order that depends on the graph alone.
    inputs, outputs : sequence of Variable
    """
    # Classes only: how an op is written may depend on where it lies in memory.
    names: dict[Any, str] = {}
    parts = [sys.version, np.__version__, str(len(outputs))]
    parts += [f"{v.name} {type(v.type).__qualname__} {getattr(v.type, 'dtype', '')}" for v in inputs]
    for node in nodes:
        op = node.op
        name = names.get(id(op))
        if name is None:
            scalar = getattr(op, "scalar_op", None)
            name = names[id(op)] = f"{type(op).__qualname__} {type(scalar).__qualname__}"
        parts.append(name)
        for variable in node.inputs:
            parts.append("." if variable.owner is None else "-")
            if isinstance(variable, Constant) and getattr(variable.data, "nbytes", _SMALL) < _SMALL:
                parts.append(variable.data.tobytes().hex())
    digest = blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=SKETCH_DIGITS // 2)
    return digest.hexdigest()
