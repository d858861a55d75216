"""Losses of neural networks: cross-entropy computed from scores, softmax written out, cheaper sigmoids on request.

Losses are recognised as users and gradients make them, before other rules look at the graph; right after that, softmax
becomes exponentials and sums, which all other rules know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_linker_c.modes import optdb
from theano_optimize import Context, EquilibriumDatabase, Exactness, NodeRewriter, Phase, node_rewriter

from .._core._type import Tensor
from ..creation import ARange, zeros
from ..elemwise import Elemwise
from ..indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor, inc_subtensor
from ..indexing.entries import SYMBOL
from ..nnet import LogSoftmax, Softmax, hard_sigmoid, ultra_fast_sigmoid
from ..nnet._activations import log_of_sum
from ..reduce import Sum
from ..shape import shape_i
from ._language import RULES, Entry, fitted, lift, number, operands, remade, rule
from .equations import Anything, Equations, built, equations, sigmoid
from .indexing import is_zeros, same_shape

Found = list[Variable] | None
_TAGS = ("fast_run", "fast_compile", "stabilize", "Stabilization", "o1", "o2", "o3", "o4", "unsafe")
#: An index by two vectors, which picks single elements of a matrix.
_PAIRS = (SYMBOL, SYMBOL)

losses = EquilibriumDatabase("losses")
softmax_written_out = EquilibriumDatabase("softmax_written_out")
optdb.register("losses", losses, *_TAGS, position=0.6)
optdb.register("softmax_written_out", softmax_written_out, *_TAGS, position=0.7)


def _early(
    database: EquilibriumDatabase, *tracks: Elemwise | type, key: str, reach: int, names: Iterable[str] = ()
) -> Callable[[Callable[[FunctionGraph, Apply], Found]], NodeRewriter]:
    """Return a decorator that makes a rule of a function, lists it and registers it with a database."""

    def decorate(function: Callable[[FunctionGraph, Apply], Found]) -> NodeRewriter:
        make = node_rewriter(list(tracks), phase=Phase.STABILIZE, exactness=Exactness.STABILIZING, reach=reach)
        rewriter = make(function)
        rewriter.label = key
        RULES.append(Entry(rewriter, (), (*_TAGS, rewriter.name), key, tuple(names)))
        database.register(key, rewriter, *_TAGS, rewriter.name, aliases=tuple(names))
        return rewriter

    return decorate


@_early(losses, lift(scalar.log), key="crossentropy_to_crossentropy_with_softmax_with_bias", reach=3)
def log_of_chosen_share(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> Found:
    """``log(softmax(x)[index]) -> logsoftmax(x)[index]``: the loss of :func:`crossentropy_categorical_1hot`."""
    chosen = node.inputs[0].owner
    if chosen is None or not isinstance(chosen.op, (Subtensor, AdvancedSubtensor)):
        return None
    shares = chosen.inputs[0].owner
    if shares is None or not isinstance(shares.op, Softmax):
        return None
    logarithms = remade(fgraph, LogSoftmax(shares.op.axis), shares.inputs[0])
    return fitted(node, chosen.op(logarithms, *chosen.inputs[1:]))


def _scores_of_logarithms(variable: Tensor) -> Tensor | None:
    """Return x if a variable is the log-softmax of the rows of a matrix x."""
    inside = operands(variable, scalar.log)
    node, kind = (variable.owner, LogSoftmax) if inside is None else (inside[0].owner, Softmax)
    if node is None or not isinstance(node.op, kind) or node.op.axis not in (-1, 1):
        return None
    scores = node.inputs[0]
    return scores if scores.type.ndim == 2 else None


@_early(losses, AdvancedSubtensor, key="local_advanced_indexing_crossentropy_onehot", reach=3)
def chosen_logarithm_of_share(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> Found:
    """``logsoftmax(x)[rows, classes] -> x[rows, classes] - logsumexp(x, axis=1)[rows]``, with no matrix in between.

    The largest of a row, which the logarithm of the sum has in it, is subtracted first: near it no digits are lost.
    """
    if node.op.entries != _PAIRS:
        return None
    scores = _scores_of_logarithms(node.inputs[0])
    _, rows, classes = node.inputs
    if scores is None or any(v.type.ndim != 1 or v.type.dtype == "bool" for v in (rows, classes)):
        return None
    stop = _counted(rows)
    shift, total = (v[:, 0][rows] if stop is None else v[:stop, 0] for v in log_of_sum(scores, 1))
    return fitted(node, (node.op(scores, rows, classes) - shift) - total)


def _counted(index: Tensor) -> Tensor | None:
    """Return n if an index is ``arange(n)``."""
    node = index.owner
    if node is None or not isinstance(node.op, ARange):
        return None
    start, stop, step = node.inputs
    return stop if number(start) == 0 and number(step) == 1 else None


@_early(softmax_written_out, Softmax, LogSoftmax, key="local_softmax_written_out", reach=0)
def softmax_as_exponentials(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> Found:
    """Softmax and its logarithm as exponentials and sums, which run in fused loops."""
    result = node.op.written_out(node.inputs[0])
    return [result] if node.outputs[0].type.is_super(result.type) else None


@rule(Sum, key="local_advanced_indexing_crossentropy_onehot_grad", reach=2)
def sum_of_placed_elements(fgraph: FunctionGraph, node: Apply[Sum, Tensor]) -> Found:
    """Sum over the rows of zeros in which single elements were incremented: a vector, with no matrix in between."""
    placed = node.inputs[0].owner
    if placed is None or node.op.axis != (1,) or not isinstance(placed.op, AdvancedIncSubtensor):
        return None
    op, (base, part, *index) = placed.op, placed.inputs
    if op.entries != _PAIRS or op.set_instead_of_inc or op.ignore_duplicates or not is_zeros(base):
        return None
    rows, columns = index
    if any(v.type.ndim != 1 or v.type.dtype == "bool" for v in (rows, columns)) or base.type.ndim != 2:
        return None
    vector = zeros((shape_i(base, 0),), dtype=base.type.dtype)
    stop = _counted(rows)
    return fitted(node, inc_subtensor(vector[rows] if stop is None else vector[:stop], part))


@rule(
    scalar.add,
    scalar.sub,
    phases=(Phase.SPECIALIZE,),
    tags=("fast_run",),
    reach=2,
    key="local_placed_elements_added",
)
def placed_elements_added(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``zeros.with(increment) - x -> (-x).with(increment)``: no zeros, and no second matrix."""
    for k, variable in enumerate(node.inputs):
        placed = variable.owner
        if placed is None or not isinstance(placed.op, (IncSubtensor, AdvancedIncSubtensor)):
            continue
        if placed.op.set_instead_of_inc or not is_zeros(placed.inputs[0]) or len(fgraph.clients(variable)) != 1:
            continue
        if placed.op.__class__ is AdvancedIncSubtensor and placed.op.ignore_duplicates:
            continue
        others = [v for i, v in enumerate(node.inputs) if i != k]
        part = placed.inputs[1]
        base = others[0] if len(others) == 1 else lift(scalar.add)(*others)
        if node.op.scalar_op == scalar.sub:
            base, part = (lift(scalar.neg)(base), part) if k == 0 else (base, lift(scalar.neg)(part))
        if base.type.exact != node.outputs[0].type.exact or base.type.broadcastable != variable.type.broadcastable:
            continue
        # Only the zeros say that shapes differ, where they do.
        if not all(same_shape(other, variable) for other in others):
            continue
        return fitted(node, placed.op(base, part, *placed.inputs[2:]))
    return None


# Rules that are not exact are included by their own names only, so these have the documented ones.
@equations(scalar.sigmoid, phases=(Phase.UNCANONICALIZE,), exactness=Exactness.FAST, tags=())
def local_hard_sigmoid(a: Anything) -> Equations:
    """An approximation, where a mode includes it; late, so that losses have become stable before."""
    return [sigmoid(a) >> piecewise_sigmoid(a)]


@built("hard_sigmoid")
def piecewise_sigmoid(context: Context, a: Tensor) -> Tensor:
    """Return the sigmoid of three straight lines."""
    return hard_sigmoid(a)


@equations(scalar.sigmoid, phases=(Phase.UNCANONICALIZE,), exactness=Exactness.FAST, tags=())
def local_ultra_fast_sigmoid(a: Anything) -> Equations:
    """An approximation, where a mode includes it."""
    return [sigmoid(a) >> approximate_sigmoid(a)]


@built("ultra_fast_sigmoid")
def approximate_sigmoid(context: Context, a: Tensor) -> Tensor:
    """Return an approximation of the sigmoid by a rational function."""
    return ultra_fast_sigmoid(a)
