"""Small expressions as text, which the tensor language and NumPy both understand: what loops and inner graphs do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

import theano_tensor as tt

from ._draw import Draw

_UNARY_FLOAT = (
    "m.tanh({})",
    "m.sin({})",
    "m.cos({})",
    "(1 / (1 + m.exp(-{})))",
    "half({})",
    "(1 - {})",
    "(-{})",
    "abs({})",
    "m.exp(-({} ** 2))",
    "m.sqrt(abs({}) + 1)",
)
_UNARY_WHOLE = ("(-{})", "({} + 1)", "abs({})", "(2 * {})")
_UNARY = {
    "f": _UNARY_FLOAT,
    "i": _UNARY_WHOLE,
    "u": ("({0} + {0})", "({0} * {0})"),
    "c": ("half({})", "(-{})", "(1 - {})"),
}
_BINARY = ("({} + {})", "({} - {})", "({} * {})", "(0 * {} + {})")
_ORDERED = ("m.maximum({}, {})", "m.minimum({}, {})", "m.where({0} > {1}, {0}, {1})")
_LOGICAL = ("({} & {})", "({} | {})", "({} ^ {})")


#: In arrays with rows: the order of these, sums, and writes into a part.
_OF_ROWS = ("{}[::-1]", "({0} + 0 * {0}.sum())", "put({0}, {0})", "({0} + {0}[-1])", "({0} - {0}.max(0))")
_WRITES = ("put({}, {})", "added({}, {})", "added({}[::-1], {})[::-1]")


def expression(d: Draw, names: Sequence[str], kind: str, size: int, *, rows: bool = False) -> str:
    """Return the text of a random expression.

    Parameters
    ----------
    d : Draw
    names : sequence of str
        What it is made of; all are used if there is room.
    kind : str
        The kind of NumPy's dtype that all have.
    size : int
        How many more operations there are than it takes to join all names.
    rows : bool
        Whether all have a first dimension, which is not empty.
    """
    parts = [str(name) for name in names]
    d.rng.shuffle(parts)
    while len(parts) > 1 or size > 0:
        if len(parts) > 1 and (size <= 0 or d.chance(0.5)):
            first, second = parts.pop(), parts.pop()
            pattern = str(d.one_of(_WRITES)) if rows and kind != "b" and d.chance(0.15) else _pattern(d, kind)
            parts.insert(0, pattern.format(first, second))
        else:
            size -= 1
            k = d.between(0, len(parts) - 1)
            parts[k] = _unary(d, kind, rows).format(parts[k])
    return parts[0]


def _pattern(d: Draw, kind: str) -> str:
    if kind == "b":
        return str(d.one_of(_LOGICAL))
    if kind == "f" and d.chance(0.4):
        # What grows from step to step says nothing in the end.
        return "m.tanh({} * {})" if d.chance(0.5) else "half({} + {})"
    known = _BINARY[:3] if kind == "u" else _BINARY  # a constant has a sign
    return str(d.one_of(known if kind == "c" else (*known, *_ORDERED)))


def _unary(d: Draw, kind: str, rows: bool) -> str:
    if rows and d.chance(0.25):
        return str(d.one_of(_OF_ROWS[:1] if kind in "bc" else _OF_ROWS))
    return "(~{})" if kind == "b" else str(d.one_of(_UNARY[kind]))


@cache
def _code(text: str) -> Any:
    return compile(text, f"<{text}>", "eval")


def evaluated(module: Any, text: str, **names: Any) -> Any:
    """Return what an expression gives, in the tensor language or in NumPy."""
    return eval(_code(text), {"m": module, "abs": abs, **names})


_IN_GRAPHS: Mapping[str, Any] = MappingProxyType(
    {
        "half": lambda x: 0.5 * x,
        "put": lambda x, y: tt.set_subtensor(x[0], y[-1]),
        "added": lambda x, y: tt.inc_subtensor(x[:1], y[-1:]),
    }
)


def _put(x: Any, y: Any) -> Any:
    return np.concatenate([y[-1:], x[1:]])


def _added(x: Any, y: Any) -> Any:
    return np.concatenate([x[:1] + y[-1:], x[1:]])


def _half(x: Any) -> Any:
    # 0.5 is a constant of float32 beside float16 there; NumPy would stay with float16.
    return np.multiply(x, 0.5, dtype=np.result_type(np.asarray(x).dtype, np.float32))


_IN_NUMPY: Mapping[str, Any] = MappingProxyType({"half": _half, "put": _put, "added": _added})


def in_graphs(text: str, **names: Any) -> Any:
    """Return the variable of an expression."""
    return evaluated(tt, text, **_IN_GRAPHS, **names)


def in_numpy(text: str, **names: Any) -> Any:
    """Return NumPy's value of an expression."""
    return evaluated(np, text, **_IN_NUMPY, **names)


def called(name: str) -> Callable[[Sequence[str], Any], str]:
    """Return what writes the source of a call of a function of the fuzzer."""

    def text(names: Sequence[str], options: Any) -> str:
        return f"{name}({', '.join([*names, *(f'{key}={value!r}' for key, value in options.items())])})"

    return text


def fitting(d: Draw, dtype: str, shape: tuple[int, ...], *, low: float = -2.0, high: float = 2.0) -> int:
    """Return an item of a dtype and lengths none of which broadcasts; a leaf at times, and where there is none."""
    found = [
        i
        for i in range(len(d.items))
        if d.dtype(i) == dtype and d.shape(i) == shape and not any(d.broadcastable(i)) and _is_modest(d.values[i])
    ]
    if found and d.chance(0.6):
        return int(d.one_of(found))
    kind = None if d.chance(0.5) else "input"
    return d.leaf(dtype, shape, low=low, high=high, static=(None,) * len(shape), kind=kind)


def _is_modest(value: Any) -> bool:
    largest = float(np.abs(value).max(initial=0.0)) if value.dtype.kind != "b" else 1.0
    return math.isfinite(largest) and largest < 100
