"""Graphs as ops, inlined or not, and choices between several results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_tensor.builders import OpFromGraph
from theano_tensor.control import ifelse

from .._programs._draw import ALL, FLOATS, Draw
from .._programs._expressions import called, expression, fitting, in_graphs, in_numpy
from .._programs._program import Operation, Options

Drawn = tuple[Sequence[int], Options]
_DTYPES = (*FLOATS, "float64", "int64", "int8", "uint8", "bool", "complex128", "complex64")


def inner_operations() -> list[Operation]:
    """Return the operations of this module."""
    imports = "from theano_testing_workshop.fuzz import"
    return [
        Operation(
            "graph_op", graph_op, _graph_reference, _drawn, called("graph_op"), 1, imports=f"{imports} graph_op", ulp=64
        ),
        Operation(
            "chosen_pair",
            chosen_pair,
            _chosen_reference,
            _drawn_choice,
            called("chosen_pair"),
            0.5,
            imports=f"{imports} chosen_pair",
            ulp=64,
        ),
    ]


def graph_op(*operands: Any, results: tuple[str, ...], joined: str, inline: bool = False, twice: bool = False) -> Any:
    """Return an expression in the results of an op that is made of expressions.

    Parameters
    ----------
    *operands : variables
        All of one type.
    results : tuple of str
        Expressions in `a`, the inputs of the op.
    joined : str
        In `o`, its results.
    inline : bool
    twice : bool
        Whether it is applied once more, with the operands the other way round.
    """
    inputs = [x.type() for x in operands]
    op = OpFromGraph(inputs, [in_graphs(text, a=inputs) for text in results], inline=inline)
    calls = [operands, operands[::-1]] if twice else [operands]
    found = [op(*x) for x in calls]
    return in_graphs(joined, o=[y for ys in found for y in (ys if isinstance(ys, list) else [ys])])


def _graph_reference(
    *operands: Any, results: tuple[str, ...], joined: str, inline: bool = False, twice: bool = False
) -> Any:
    calls = [operands, operands[::-1]] if twice else [operands]
    return in_numpy(joined, o=[np.asarray(in_numpy(text, a=a)) for a in calls for text in results])


def _drawn(d: Draw) -> Drawn:
    first = d.pick(_DTYPES)
    dtype = d.dtype(first)
    kind = np.dtype(dtype).kind
    like = [i for i in range(len(d.items)) if d.variables[i].type == d.variables[first].type]
    like = [i for i in like if d.shape(i) == d.shape(first)]
    operands = [first, *(int(d.one_of(like)) for _ in range(d.between(0, 2)))]
    names = [f"a[{k}]" for k in range(len(operands))]
    rows = bool(d.shape(first)[:1] > (0,))
    used = ([n for n in names if d.chance(0.8)] or names for _ in "xy")
    results = tuple(expression(d, some, kind, d.between(0, 3), rows=rows) for some in used)
    results = results[: d.between(1, 2)]
    twice = d.chance(0.3)
    outer = [f"o[{k}]" for k in range(len(results) * (2 if twice else 1))]
    joined = expression(d, [n for n in outer if d.chance(0.7)] or outer[:1], kind, d.between(0, 1))
    return operands, {"results": results, "joined": joined, "inline": d.chance(0.4), "twice": twice}


def chosen_pair(which: Any, *operands: Any, first: tuple[str, str], second: tuple[str, str], joined: str) -> Any:
    """Return an expression in two results of `ifelse`, each side of which computes only where it is chosen."""
    then, otherwise = ([in_graphs(text, a=operands) for text in texts] for texts in (first, second))
    return in_graphs(joined, o=ifelse(which, then, otherwise))


def _chosen_reference(which: Any, *operands: Any, first: Any, second: Any, joined: str) -> Any:
    return in_numpy(joined, o=[np.asarray(in_numpy(text, a=operands)) for text in (first if which else second)])


def _drawn_choice(d: Draw) -> Drawn:
    dtype = d.any_dtype(_DTYPES)
    kind = np.dtype(dtype).kind
    shape = d.any_shape((0, 1, 2))
    operands = [fitting(d, dtype, shape) for _ in range(d.between(1, 2))]
    names = [f"a[{k}]" for k in range(len(operands))]
    which = d.pick(("int64", "int8", "bool", "float64"), 0) if d.chance(0.5) else d.leaf(d.one_of(ALL[:4]), ())

    def side() -> tuple[str, str]:
        # Without operations at times: the result is the operand itself.
        texts = [expression(d, [str(d.one_of(names))], kind, d.between(0, 1), rows=shape[:1] > (0,)) for _ in "xy"]
        return texts[0], texts[1]

    joined = expression(d, ["o[0]", "o[1]"], kind, 0)
    return [which, *operands], {"first": side(), "second": side(), "joined": joined}
