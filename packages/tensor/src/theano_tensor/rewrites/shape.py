"""Shapes computed without the tensors they belong to, and views that do nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_graph import (
    Apply,
    FunctionGraph,
    Variable,
    call_with_graph,
    config,
    describe,
    format_error,
    shape_rule,
    warn_user,
)
from theano_optimize import Fit, Phase, RewriteWarning, count_report

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import TensorLike
from .._core._type import Tensor, TensorType
from ..elemwise import DimShuffle, dimshuffle
from ..gradient import GradientGate
from ..shape import MakeVector, ShapeI, ShapeOf, shape_i
from ._equations import Anything, Equations, equations
from ._known_lengths import KnownLengths, known_lengths
from ._registry import rule
from ._terms import applied

Found = list[Variable] | None
gate = applied("gradient_gate", GradientGate)
#: Not in FAST_COMPILE: reading a length off the inputs skips the computation, and with it the errors that it would
#: raise.
ONLY_RUN = ("fast_run",)


@rule(
    DimShuffle,
    key="local_dimshuffle_merge",
    names=("local_dimshuffle_lift", "local_useless_dimshuffle", "local_dimshuffle_no_inplace_at_canonicalize"),
)
def views_joined(fgraph: FunctionGraph, node: Apply[DimShuffle, Tensor]) -> Found:
    """Two dimshuffles are one, and one that changes nothing is none."""
    (x,) = node.inputs
    order: list[int | str] = list(node.op.order)
    inner = x.owner
    if inner is not None and isinstance(inner.op, DimShuffle):
        below = inner.op.order
        return [dimshuffle(inner.inputs[0], [e if isinstance(e, str) else below[e] for e in order])]
    return [x] if order == list(range(x.type.ndim)) else None


@rule(ShapeOf, tags=ONLY_RUN, reach=0, key="local_shape_to_shape_i")
def shape_as_lengths(fgraph: FunctionGraph, node: Apply[ShapeOf]) -> Found:
    """``shape(x)`` as a vector of the lengths of its dimensions."""
    (x,) = node.inputs
    if not _tells_lengths(x):
        return None
    return [MakeVector("int64")(*(shape_i(x, i) for i in range(x.type.ndim)))]


def _tells_lengths(x: Variable) -> bool:
    """Tell whether `x` is a tensor, or an array on a device, the shape of which is worked out in the same way."""
    return isinstance(x.type, TensorType) or hasattr(x.type, "context_name")


@rule(
    ShapeI,
    phases=(Phase.CANONICALIZE, Phase.SPECIALIZE),  # fills become allocations late
    tags=(*ONLY_RUN, "local_shape_to_shape_i"),
    key="local_track_shape_i",
)
def length_from_inputs(fgraph: FunctionGraph, node: Apply[ShapeI]) -> Found:
    """The length of a result, from the lengths of its inputs."""
    if not _tells_lengths(node.inputs[0]):
        return None
    x: Tensor = node.inputs[0]
    i = node.op.i
    known = x.type.shape[i]
    if known is not None:
        return [_length(known)]
    table = known_lengths(fgraph)
    shape = computed_shape(fgraph, table, x)
    if shape is None or shape[i] is None:  # None stands for a length that only the value knows
        table.note(x, i, node.outputs[0])
        return None
    length = _length(shape[i])
    table.note(x, i, length)
    return [length]


def computed_shape(fgraph: FunctionGraph, table: KnownLengths, x: Variable) -> Any:
    """Return the lengths of a result, from those of its inputs; None where they are not known."""
    owner = x.owner
    if owner is None:
        return None
    rule_of_op = shape_rule.get(owner.op, "infer_shape")
    if rule_of_op is None:
        rule_of_op = getattr(owner.op, "infer_shape", None)
    if rule_of_op is None:
        return None
    lengths = [_input_shape(fgraph, table, v) for v in owner.inputs]
    try:
        return call_with_graph(rule_of_op, fgraph, owner, lengths)[x.index or 0]
    except Exception as error:  # rules are written by anybody
        if config.on_shape_error == "raise":
            raise
        text = format_error(
            f"the shape rule of {owner.op} failed ({type(error).__name__}: {error}); the shape is taken from the value",
            context=[describe(x)],
            hint="correct the rule; on_shape_error=raise shows where it failed",
        )
        count_report()
        warn_user(text, RewriteWarning)
        return None


def _input_shape(fgraph: FunctionGraph, table: KnownLengths, v: Variable) -> Any:
    """Return the lengths of an input, or None for one that has no shape, such as a random state."""
    shape = getattr(v.type, "shape", None)
    return None if shape is None else tuple(table.length(fgraph, v, i) for i in range(len(shape)))


def _length(value: TensorLike) -> Variable:
    if isinstance(value, Variable):
        return as_tensor_variable(value).astype("int64")
    return constant(np.asarray(value, dtype="int64"))


@equations(GradientGate, phases=(Phase.CANONICALIZE,), reach=0, fit=Fit.UNCHECKED)
def gradient_gate_removed(a: Anything) -> Equations:
    """Ops that only change the propagated cotangent have done their work when a graph is compiled."""
    return [gate(a, ...) >> a]
