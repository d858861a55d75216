"""Shape rules that are wrong: a rewrite that used one is not at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from theano_graph import Apply, Variable, describe, format_error

from ._errors import BadOptimization, describe_node

#: Takes a node, the values of its inputs and those of its outputs; returns for each output the shape that the op's rule
#: tells, None where there is none.
ShapesOf = Callable[[Apply, Sequence[Any], Sequence[Any]], Sequence[Any]]


class _Rules:
    """Who can evaluate shape rules: the layer that has lengths as variables sets it."""

    shapes_of: ShapesOf | None = None


_rules = _Rules()


def set_shapes_of(function: ShapesOf) -> None:
    """Say how DebugMode evaluates the shape rules of ops."""
    _rules.shapes_of = function


class BadInferShape(BadOptimization):
    """The `infer_shape` of an op, or its shape rule, told another shape than that of the result.

    Attributes
    ----------
    node : Apply
        The node at fault.
    index : int
        Number of the output.
    shape, inferred : tuple of int
        The shape of the result, and the one that was told.
    """

    def __init__(
        self, error: BadOptimization, node: Apply, index: int, shape: tuple[int, ...], inferred: tuple[int, ...]
    ) -> None:
        vars(self).update(vars(error))
        where = [
            describe_node(node),
            f"output {index}, {describe(node.outputs[index])}: the result has the shape {shape}",
            f"infer_shape told {inferred}",
        ]
        advice = f"correct `infer_shape` of {type(node.op).__name__}, or leave it out."
        text = format_error("the infer_shape of an op is wrong", context=where, hint=advice)
        Exception.__init__(self, text)
        self.node, self.index, self.shape, self.inferred = node, index, shape, inferred


def blame_shape_rule(
    error: BadOptimization, nodes: Iterable[Apply], values: Callable[[Variable], Any]
) -> BadOptimization:
    """Return the error of a wrong shape rule, where one of `nodes` has one, or else `error`."""
    if _rules.shapes_of is None:
        return error
    for node in nodes:
        operands, results = ([values(v) for v in side] for side in (node.inputs, node.outputs))
        if not all(isinstance(getattr(value, "shape", ()), tuple) for value in (*operands, *results)):
            continue
        for i, inferred in enumerate(_rules.shapes_of(node, operands, results)):
            shape = getattr(results[i], "shape", None)
            if inferred is not None and shape is not None and tuple(inferred) != tuple(shape):
                return BadInferShape(error, node, i, tuple(shape), tuple(inferred))
    return error
