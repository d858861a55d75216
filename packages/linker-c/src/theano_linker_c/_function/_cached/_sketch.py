"""A short digest of a graph, made at once: where no file on disk begins with it, there is no need for the key."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, Variable

from ...runtime._native_machine import HAS_RUNTIME, runtime

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
    parts = [sys.version, np.__version__, str(len(outputs))]
    parts += [f"{v.name} {type(v.type).__qualname__} {getattr(v.type, 'dtype', '')}" for v in inputs]
    names: dict[str, int] = {}

    def number_of(op: Any) -> int:
        # Classes only: how an op is written may depend on where it lies in memory.
        name = f"{type(op).__qualname__} {type(getattr(op, 'scalar_op', None)).__qualname__}"
        return names.setdefault(name, len(names))

    tell = runtime.sketch_rows if HAS_RUNTIME else sketch_rows
    rows = tell(list(nodes), number_of, Constant)
    text = "\n".join([*parts, *names]).encode("utf-8", "surrogatepass")
    return blake2b(text + rows, digest_size=SKETCH_DIGITS // 2).hexdigest()


def sketch_rows(nodes: Iterable[Apply], number_of: Callable[[Any], int], constant: type[Any]) -> bytes:
    """Do as the runtime's function: return the number of each op, whether inputs are computed, small constants."""
    parts: list[bytes] = []
    numbers: dict[int, bytes] = {}
    for node in nodes:
        op = node.op
        if id(op) not in numbers:
            numbers[id(op)] = number_of(op).to_bytes(4, sys.byteorder)
        parts.append(numbers[id(op)])
        for variable in node.inputs:
            parts.append(b"-" if variable.owner is not None else b".")
            if variable.owner is None and isinstance(variable, constant):
                data = variable.data
                if isinstance(data, np.ndarray) and data.nbytes < _SMALL and not data.dtype.hasobject:
                    parts.append(data.tobytes())
    return b"".join(parts)
