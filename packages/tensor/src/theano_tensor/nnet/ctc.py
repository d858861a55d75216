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

# ---- Sums over all alignments of labels with time steps, in logarithms, for a batch at once
#
# Graves, Fernandez, Gomez, Schmidhuber: Connectionist Temporal Classification, 2006, section 4.1.

BLANK = 0


class Alignments:
    """A batch of sequences and labels, ready for sums over alignments.

    A label stands between blanks, so there are ``2 * n + 1`` states for n labels.

    Parameters
    ----------
    logarithms : array (time, batch, symbols)
        Logarithms of probabilities.
    labels : array (batch, any)
        The labels of each example; negative ones do not count.
    lengths : array (batch,)
        Numbers of time steps.
    """

    def __init__(self, logarithms: Any, labels: Any, lengths: Any) -> None:
        self.logarithms, self.lengths = logarithms, lengths
        rows = [row[row >= 0] for row in labels]
        self.counts = np.array([len(row) for row in rows], dtype="int64")
        self.states = np.full((len(rows), 2 * max(self.counts, default=0) + 1), BLANK, dtype="int64")
        for states, row in zip(self.states, rows, strict=True):
            states[1 : 2 * len(row) : 2] = row
        before = np.roll(self.states, 2, axis=1)
        # From a label to the next one without a blank in between, unless they are the same.
        self.skips = (self.states != BLANK) & (self.states != before)
        self.skips[:, :2] = False
        self.inside = np.arange(self.states.shape[1]) <= 2 * self.counts[:, None]

    def emissions(self, t: int) -> Any:
        """Return the logarithm of the probability of each state's symbol at a time."""
        return np.take_along_axis(self.logarithms[t], self.states, axis=1)

    def forward(self) -> tuple[Any, Any]:
        """Return the sums over beginnings of alignments, for each time and state, and over whole alignments."""
        steps, batch, _ = self.logarithms.shape
        sums = np.full((steps, *self.states.shape), -np.inf, self.logarithms.dtype)
        for t in range(steps):
            if t == 0:
                reached = np.full(self.states.shape, -np.inf)
                reached[:, :2] = 0
            else:
                reached = _merged(sums[t - 1], self.skips)
            sums[t] = np.where(self.inside & (t < self.lengths)[:, None], reached + self.emissions(t), -np.inf)
        rows, last = np.arange(batch), 2 * self.counts
        ends = sums[self.lengths - 1, rows] if steps else np.full(self.states.shape, -np.inf)
        by_label = np.where(self.counts > 0, ends[rows, np.maximum(last - 1, 0)], -np.inf)
        both = np.logaddexp(ends[rows, last], by_label)
        return sums, np.where(self.lengths > 0, both, np.where(self.counts == 0, 0.0, -np.inf))

    def occupied(self, sums: Any, whole: Any) -> Any:
        """Return the expected number of times that each symbol is emitted, for each time and example."""
        steps, batch, symbols = self.logarithms.shape
        result = np.zeros((steps, batch, symbols), self.logarithms.dtype)
        rows, possible = np.arange(batch)[:, None], np.isfinite(whole)[:, None]
        probabilities = np.full(self.states.shape, -np.inf)
        for t in reversed(range(steps)):
            if t + 1 < steps:
                later = probabilities + self.emissions(t + 1)
                probabilities = _merged(later[:, ::-1], np.roll(self.skips, -2, axis=1)[:, ::-1])[:, ::-1]
            probabilities = np.where((t == self.lengths - 1)[:, None], self._ends(), probabilities)
            shares = np.exp(sums[t] + probabilities - np.where(possible, whole[:, None], 0))
            np.add.at(result[t], (rows, self.states), np.where(possible, shares, 0))
        return result

    def _ends(self) -> Any:
        """Return zeros for states in which an alignment may end, minus infinity for others."""
        position, last = np.arange(self.states.shape[1]), 2 * self.counts[:, None]
        return np.where((position == last) | (position == last - 1), 0.0, -np.inf)


def _merged(sums: Any, skips: Any) -> Any:
    """Return the sums over the states from which each one may be reached: itself, the one before, the last but one."""
    result = sums.copy()
    result[:, 1:] = np.logaddexp(result[:, 1:], sums[:, :-1])
    result[:, 2:] = np.where(skips[:, 2:], np.logaddexp(result[:, 2:], sums[:, :-2]), result[:, 2:])
    return result


# ---- Connectionist temporal classification: a loss for labels whose positions in a sequence are not known

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

__all__ = ["ConnectionistTemporalClassification", "ctc"]
