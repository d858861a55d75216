"""The shapes that rules tell for given values: DebugMode compares them with those of the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, Variable, call_with_graph, shape_rule as shape_rules
from theano_linker_c import function
from theano_linker_c.debugmode import set_shapes_of

from .._core._convert import constant


def told_shapes(node: Apply, operands: Sequence[Any], results: Sequence[Any]) -> Sequence[tuple[int, ...] | None]:
    """Return for each output the shape that the op tells from the shapes of its inputs, None where it tells none.

    Parameters
    ----------
    node : Apply
    operands, results : sequence of object
        Values of the inputs and outputs of the node.
    """
    rule: Any = shape_rules.get(node.op) or getattr(node.op, "infer_shape", None)
    nothing: list[tuple[int, ...] | None] = [None] * len(results)
    if rule is None:
        return nothing
    shapes = [_lengths(value) for value in operands]
    try:
        told = call_with_graph(rule, node.fgraph, node, shapes)
        return [_known(node, operands, shape, result) for shape, result in zip(told, results, strict=True)]
    except Exception:  # noqa: BLE001  # rules of users raise anything; one that fails tells nothing
        return nothing


def _lengths(value: Any) -> tuple[Variable, ...] | None:
    shape = getattr(value, "shape", None)
    return None if shape is None else tuple(constant(np.asarray(n, dtype="int64")) for n in shape)


def _known(node: Apply, operands: Sequence[Any], shape: Any, result: Any) -> tuple[int, ...] | None:
    """Return lengths as numbers; those that a rule reads off the result are the result's."""
    if shape is None:
        return None
    lengths = [n if isinstance(n, Variable) else constant(np.asarray(m if n is None else n, dtype="int64"))
               for n, m in zip(shape, result.shape, strict=True)]  # fmt: skip
    given = {v: value for v, value in zip(node.inputs, operands, strict=True) if not isinstance(v, Constant)}
    f = function(list(given), lengths, mode="FAST_COMPILE", on_unused_input="ignore")
    return tuple(int(n) for n in f(*given.values()))


set_shapes_of(told_shapes)
