"""Rewrites between the ops of Theano 1.0 around softmax, for programs that apply them themselves.

No mode includes them: compiled functions have expressions in the place of these ops, and other rewrites know those.
"""

from __future__ import annotations

from typing import Any

from theano.gof.opt import copy_stack_trace, local_optimizer, optimizer
from theano_graph import Apply, FunctionGraph, Variable
from theano_tensor import log, sum as sum_over, true_div
from theano_tensor.creation import Alloc
from theano_tensor.elemwise import DimShuffle, Elemwise, add
from theano_tensor.nnet import Softmax
from theano_tensor.reduce import ArgMax, Sum

from ._softmax_ops import (
    CrossentropyCategorical1Hot,
    CrossentropyCategorical1HotGrad,
    CrossentropySoftmax1HotWithBiasDx,
    CrossentropySoftmaxArgmax1HotWithBias,
    SoftmaxGrad,
    SoftmaxWithBias,
    crossentropy_softmax_1hot_with_bias_dx,
    crossentropy_softmax_argmax_1hot_with_bias,
    logsoftmax_op,
    softmax_op,
    softmax_with_bias,
)


def _made_by(variable: Variable, *kinds: type) -> Apply | None:
    """Return the node that makes a variable if its op is of one of some classes."""
    node = variable.owner
    return node if node is not None and isinstance(node.op, kinds) else None


def _traced(node: Apply, *results: Any) -> list[Any]:
    for old, new in zip(node.outputs, results, strict=True):
        copy_stack_trace(old, new)
    return list(results)


@local_optimizer([Softmax])
def local_softmax_with_bias(node: Apply) -> Any:
    """``softmax(x + b)``, where a vector is added to each row, as one op."""
    total = _made_by(node.inputs[0], Elemwise)
    if total is None or total.op != add:
        return False
    rows = [v for v in total.inputs if v.type.broadcastable == (True, False) and _made_by(v, DimShuffle)]
    others = [v for v in total.inputs if v not in rows]
    vectors = [v.owner.inputs[0] for v in rows if v.owner.op.new_order == ("x", 0)]
    if not others or not vectors or len(vectors) < len(rows) or any(v.type.ndim != 2 for v in others):
        return False
    matrix, bias = (v[0] if len(v) == 1 else add(*v) for v in (others, vectors))
    if matrix.type.dtype != node.outputs[0].type.dtype or any(matrix.type.broadcastable):
        return False
    return _traced(node, softmax_with_bias(matrix, bias))


@local_optimizer([Elemwise])
def local_logsoftmax(node: Apply) -> Any:
    """``log(softmax(x))`` as one op."""
    inside = _made_by(node.inputs[0], Softmax) if node.op == log else None
    return False if inside is None else _traced(node, logsoftmax_op(inside.inputs[0]))


@local_optimizer([SoftmaxGrad])
def local_logsoftmax_grad(node: Apply) -> Any:
    """Write the gradient of ``log(softmax(x))`` as ``dy - sum(dy) * softmax(x)``, which divides by nothing."""
    dy, sm = node.inputs
    quotient = _made_by(dy, Elemwise)
    if quotient is None or quotient.op != true_div or quotient.inputs[1] is not sm or _made_by(sm, Softmax) is None:
        return False
    g = quotient.inputs[0]
    return _traced(node, g - sum_over(g, axis=1, keepdims=True) * sm)


@local_optimizer([ArgMax])
def local_argmax_pushdown(node: Apply) -> Any:
    """The position of the largest element of a softmax is that of the largest score."""
    inside = _made_by(node.inputs[0], Softmax, SoftmaxWithBias)
    if inside is None or tuple(node.op.axis or ()) != (1,):
        return False
    scores = inside.inputs[0] if isinstance(inside.op, Softmax) else inside.inputs[0] + inside.inputs[1]
    return _traced(node, node.op(scores))


@local_optimizer([SoftmaxGrad])
def local_softmax_grad_to_crossentropy_with_softmax_grad(node: Apply) -> Any:  # the name of Theano 1.0
    """The gradient of a loss of one class by the scores as one op."""
    dy, sm = node.inputs
    inside = _made_by(dy, CrossentropyCategorical1HotGrad)
    if inside is None or inside.inputs[1] is not sm:
        return False
    return _traced(node, crossentropy_softmax_1hot_with_bias_dx(inside.inputs[0], sm, inside.inputs[2]))


@local_optimizer([CrossentropySoftmax1HotWithBiasDx])
def local_useless_crossentropy_softmax_1hot_with_bias_dx_alloc(node: Apply) -> Any:  # the name of Theano 1.0
    """One cotangent for all rows need not be repeated."""
    dy, sm, y = node.inputs
    inside = _made_by(dy, Alloc)
    if inside is None or inside.inputs[0].type.ndim:
        return False
    return _traced(node, crossentropy_softmax_1hot_with_bias_dx(inside.inputs[0], sm, y))


@local_optimizer([SoftmaxWithBias])
def graph_merge_softmax_with_crossentropy_softmax(node: Apply) -> Any:
    """A softmax that a loss of the same scores computes as well is taken from there."""
    x, b = node.inputs
    for client, _ in x.clients:
        if isinstance(client, Apply) and isinstance(client.op, CrossentropySoftmaxArgmax1HotWithBias):
            if client.inputs[0] is x and client.inputs[1] is b:
                return _traced(node, client.outputs[1])
    return False


def _join_losses(fgraph: FunctionGraph, kinds: tuple[type, ...]) -> None:
    """Put one op in the place of a softmax and the loss of one class of it."""
    for node in fgraph.toposort():
        if not isinstance(node.op, CrossentropyCategorical1Hot):
            continue
        inside = _made_by(node.inputs[0], *kinds)
        if inside is None:
            continue
        x, *bias = inside.inputs
        joined = crossentropy_softmax_argmax_1hot_with_bias(x, *(bias or [x[0].zeros_like()]), node.inputs[1])
        pairs = zip((node.outputs[0], inside.outputs[0]), joined[:2], strict=True)
        fgraph.replace_all(list(pairs), reason="loss_of_softmax")


@optimizer
def crossentropy_to_crossentropy_with_softmax_with_bias(fgraph: FunctionGraph) -> None:
    """Put one op in the place of a softmax of scores with a bias and the loss of one class."""
    _join_losses(fgraph, (SoftmaxWithBias,))


@optimizer
def crossentropy_to_crossentropy_with_softmax(fgraph: FunctionGraph) -> None:
    """Put one op in the place of a softmax, with or without a bias, and the loss of one class."""
    _join_losses(fgraph, (SoftmaxWithBias, Softmax))


def softmax_simplifier(numerators: list[Any], denominators: list[Any]) -> tuple[list[Any], list[Any]]:
    """Find exponentials divided by their sums over rows, for a canonizer of products; the lists are changed.

    Parameters
    ----------
    numerators, denominators : list of Tensor

    Returns
    -------
    numerators, denominators : list of Tensor
        With a softmax in place of its formula.
    """
    for numerator in list(numerators):
        exponential = _made_by(numerator, Elemwise)
        if exponential is None or exponential.op.scalar_op.name != "exp" or numerator.type.ndim != 2:
            continue
        for denominator in denominators:
            column = _made_by(denominator, DimShuffle)
            total = None if column is None or column.op.new_order != (0, "x") else _made_by(column.inputs[0], Sum)
            if total is not None and total.op.axis == (1,) and total.inputs[0] is numerator:
                numerators.remove(numerator)
                denominators.remove(denominator)
                numerators.append(softmax_op(exponential.inputs[0]))
                break
    return numerators, denominators
