"""Connectionist temporal classification: a loss for labels whose positions in a sequence are not known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import (
    Apply,
    FunctionGraph,
    Op,
    Variable,
    batch_rule,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c.modes import optdb
from theano_optimize import Phase, node_rewriter

from .._core._convert import as_tensor_variable
from .._core._dtypes import INTEGER_DTYPES, Array, TensorLike
from .._core._ops import run_in_a_loop
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError, ShapeError
from ..elemwise import dimshuffle
from ..gradient import grad_not_implemented
from ..reduce import sum as sum_over
from ._alignments import BLANK, Alignments

__all__ = ["ConnectionistTemporalClassification", "ctc"]

_NAMES = ("activations", "labels", "input_lengths")
_TWICE = "the loss is differentiated once only"


class ConnectionistTemporalClassification(Op):
    """The loss of each example, and with `compute_grad` its gradient by the activations; see :func:`ctc`.

    Nothing outside of this package is needed. The gradient is left out of functions that do not use it.

    Parameters
    ----------
    compute_grad : bool
        Whether there is a second result, the gradient.
    openmp : optional
        Accepted for old programs; the examples of a batch are treated together.
    """

    __props__ = ("compute_grad",)

    def __init__(self, compute_grad: bool = True, openmp: object = None) -> None:
        self.compute_grad = bool(compute_grad)

    def make_node(self, activations: TensorLike, labels: TensorLike, input_lengths: TensorLike) -> Apply[Self, Tensor]:
        """Apply to scores (time, batch, symbols), labels (batch, any) and numbers of time steps (batch,).

        Raises
        ------
        ShapeError
            If numbers of dimensions are wrong.
        DTypeError
            If activations are no real floats, or the others no integers.
        """
        inputs = [as_tensor_variable(v) for v in (activations, labels, input_lengths)]
        for name, value, ndim in zip(_NAMES, inputs, (3, 2, 1), strict=True):
            if value.type.ndim != ndim:
                raise ShapeError(
                    format_error(
                        f"ctc: {name} has {value.type.ndim} dimensions, expected {ndim}",
                        context=[describe(v) for v in inputs],
                        hint="activations are (time, batch, symbols), labels (batch, any), input_lengths (batch,)",
                    )
                )
            if name == "activations":
                if value.type.dtype not in ("float16", "float32", "float64"):
                    raise DTypeError(
                        format_error("ctc: activations are floats", context=[describe(value)], hint="cast them")
                    )
            elif value.type.dtype not in INTEGER_DTYPES:
                raise DTypeError(format_error(f"ctc: {name} are integers", context=[describe(value)], hint="cast them"))
        scores = inputs[0]
        outputs = [tensor_type(scores.type.dtype, scores.type.shape[1:2]).make_variable()]
        if self.compute_grad:
            outputs.append(tensor_type(scores.type.dtype, scores.type.shape).make_variable())
        return Apply(self, list(inputs), list(outputs))

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Sum over alignments with NumPy; ValueError if shapes, labels or lengths do not fit."""
        scores, labels, lengths = inputs
        _check(node, scores, labels, lengths)
        wide = scores.astype("float64")
        with np.errstate(all="ignore"):
            shifted = wide - wide.max(axis=2, keepdims=True, initial=-np.inf)
            logarithms = shifted - np.log(np.exp(shifted).sum(axis=2, keepdims=True))
            alignments = Alignments(logarithms, labels, lengths.astype("int64"))
            sums, totals = alignments.forward()
            results = [-totals]
            if self.compute_grad:
                change = np.exp(logarithms) - alignments.occupied(sums, totals)
                steps = np.arange(len(scores))[:, None] < lengths
                results.append(np.where((steps & np.isfinite(totals))[:, :, None], change, 0))
        for storage, output, result in zip(output_storage, node.outputs, results, strict=True):
            storage[0] = np.asarray(result, dtype=output.type.dtype)

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """Nothing depends differentiably on labels and lengths."""
        count = len(node.outputs)
        return [[True] * count, [False] * count, [False] * count]


def _check(node: Apply, scores: Array, labels: Array, lengths: Array) -> None:
    steps, batch, symbols = scores.shape
    problem = None
    if labels.shape[0] != batch or lengths.shape[0] != batch:
        problem = f"there are {batch} examples, {labels.shape[0]} rows of labels and {lengths.shape[0]} lengths"
    elif ((lengths < 0) | (lengths > steps)).any():
        problem = f"input_lengths must be from 0 to {steps}"
    elif (labels >= symbols).any():
        problem = f"labels must be smaller than {symbols}, the number of symbols"
    elif (labels == BLANK).any():
        problem = f"{BLANK} is the blank, which is no label; padding is negative"
    if problem is not None:
        raise ValueError(
            format_error(f"ctc: {problem}", context=[describe(v) for v in node.inputs], hint="change the inputs")
        )


@pullback.register(ConnectionistTemporalClassification)
def _pullback(
    node: Apply[ConnectionistTemporalClassification, Tensor], cotangents: list[Variable]
) -> list[Variable | None]:
    x = node.inputs[0]
    if len(cotangents) == 2 and isinstance(cotangents[1], Tensor):
        return [grad_not_implemented(node.op, 0, x, _TWICE), None, None]
    by_scores = _gradient(node)
    return [by_scores * dimshuffle(as_tensor_variable(cotangents[0]), ["x", 0, "x"]), None, None]


def _gradient(node: Apply) -> Tensor:
    if node.op.compute_grad:
        return as_tensor_variable(node.outputs[1])
    return as_tensor_variable(ConnectionistTemporalClassification(True)(*node.inputs)[1])


@pushforward.register(ConnectionistTemporalClassification)
def _pushforward(
    node: Apply[ConnectionistTemporalClassification, Tensor], tangents: list[Variable | None]
) -> list[Variable | None]:
    gradients: list[Variable | None] = (
        [grad_not_implemented(node.op, 0, node.inputs[0], _TWICE)] if (node.op.compute_grad) else []
    )
    if tangents[0] is None:
        return [None] * len(node.outputs)
    return [sum_over(_gradient(node) * as_tensor_variable(tangents[0]), axis=(0, 2)), *gradients]


@shape_rule.register(ConnectionistTemporalClassification)
def _shape(node: Apply[ConnectionistTemporalClassification, Tensor], input_shapes: list[Any]) -> list[Any]:
    shape = input_shapes[0]
    return [(shape[1],), shape][: len(node.outputs)]


@node_rewriter([ConnectionistTemporalClassification], phase=Phase.CANONICALIZE)
def local_ctc_no_grad(
    fgraph: FunctionGraph, node: Apply[ConnectionistTemporalClassification, Tensor]
) -> list[Variable] | dict[Variable, Variable] | None:
    """Where nobody uses the gradient, it is not computed."""
    if not node.op.compute_grad or fgraph.has_clients(node.outputs[1]):
        return None
    return {node.outputs[0]: ConnectionistTemporalClassification(False)(*node.inputs)}


_databases: Any = optdb
_databases["canonicalize"].register(
    "local_ctc_no_grad", local_ctc_no_grad, "fast_run", "fast_compile", "o1", "o2", "o3", "o4", "unsafe"
)


def ctc(activations: TensorLike, labels: TensorLike, input_lengths: TensorLike) -> Tensor:
    """Loss of sequences of scores for labels whose positions are not known: minus the logarithm of their probability.

    At each time step one symbol is emitted, with the probabilities of a softmax of the scores. Symbols that repeat
    count once, and blanks, symbol 0, are left out then.

    Parameters
    ----------
    activations : tensor_like
        Scores, of shape (time, batch, symbols).
    labels : tensor_like of int
        The labels of each example in a row; negative numbers are padding.
    input_lengths : tensor_like of int
        How many time steps each example has.

    Returns
    -------
    Tensor
        A vector with the loss of each example; infinite where its labels need more time, and without gradient then.

    Raises
    ------
    ShapeError, DTypeError
        If an operand is something else.
    ValueError
        At run time, if shapes, labels or lengths do not fit.

    Examples
    --------
    >>> from theano.tensor.nnet import ctc as nnet_ctc
    >>> import numpy as np
    >>> nnet_ctc.ctc(np.zeros((2, 1, 2)), [[1]], [2]).eval().round(4)
    array([0.2877])
    """
    result: Tensor = ConnectionistTemporalClassification()(activations, labels, input_lengths)[0]
    return result


batch_rule.register(ConnectionistTemporalClassification)(run_in_a_loop)
