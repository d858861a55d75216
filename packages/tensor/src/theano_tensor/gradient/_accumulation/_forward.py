"""Forward accumulation over a graph: tangents of results from given tangents. Linear in its size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from theano_graph import (
    Apply,
    Op,
    PureOp,
    Variable,
    connection_pattern,
    format_error,
    origin_from,
    pullback,
    pushforward,
    toposort,
)

from .._rules._arrays import is_continuous, total, zeros_for
from .._rules._errors import PullbackError
from .._rules._methods import add_method, written_method
from .._rules._node import pull_back
from .._rules._types import is_disconnected, is_null
from ._backward import backward


def forward(
    outputs: Sequence[Variable], tangents: Mapping[Variable, Variable], unanswered: set[Variable] | None = None
) -> list[Variable | None]:
    """Return the tangents of `outputs`, None for one that depends on nothing that has a tangent.

    Parameters
    ----------
    outputs : sequence of Variable
    tangents : mapping
        Variable -> its tangent. Contributions to such a variable from others are left out.
    unanswered : set of Variable, optional
        Filled with variables for which an op of a program answered None, though one of its inputs has a tangent.
    """
    tangent_of = dict(tangents)
    for node in toposort(list(tangents), outputs):
        _push(node, tangent_of, set() if unanswered is None else unanswered)
    return [tangent_of.get(output) for output in outputs]


def _push(node: Apply, tangents: dict[Variable, Variable], unanswered: set[Variable]) -> None:
    tangents_of_inputs: list[Variable | None] = [tangents.get(v) for v in node.inputs]
    if all(t is None for t in tangents_of_inputs):
        return
    null = next((t for t in tangents_of_inputs if is_null(t)), None)
    with origin_from(node):
        results = _pushed(node, tangents_of_inputs) if null is None else [null] * len(node.outputs)
    if len(results) != len(node.outputs):
        raise PullbackError(
            format_error(
                f"the R-op of {node.op} returned {len(results)} items for {len(node.outputs)} outputs",
                hint="return one each",
            )
        )
    for output, tangent in zip(node.outputs, results, strict=True):
        if tangent is not None and not is_disconnected(tangent):
            tangents.setdefault(output, tangent)
        elif pushforward.get(node.op, "R_op") is None and written_method(node.op, "R_op") is not None:
            unanswered.add(output)


def _pushed(node: Apply, tangents_of_inputs: list[Variable | None]) -> Sequence[Variable | None]:
    rule = pushforward.get(node.op, "R_op")
    if rule is not None:
        return rule(node, tangents_of_inputs)
    method = written_method(node.op, "R_op")
    if method is not None:
        results: Sequence[Variable | None] = method(list(node.inputs), tangents_of_inputs)
        return results
    return derived_pushforward(node, tangents_of_inputs)


def derived_pushforward(node: Apply, tangents: Sequence[Variable | None]) -> list[Variable | None]:
    """Return the tangents of the outputs of `node` by applying its pullback twice.

    The pullback is linear in its cotangent ``u``; its transpose, by ``d/du``, is the pushforward.
    """
    pattern = connection_pattern(node)
    results: list[Variable | None] = []
    for o, output in enumerate(node.outputs):
        depends = [i for i, t in enumerate(tangents) if t is not None and pattern[i][o]]
        if not depends:
            results.append(None)
            continue
        if not is_continuous(output):
            results.append(zeros_for(output))
            continue
        # Any value serves for u. A computed zero, not a free variable, keeps a result valid that still mentions u.
        u = zeros_for(output)
        cotangents: list[Variable | None] = [None] * len(node.outputs)
        cotangents[o] = u
        back = pull_back(node, cotangents, pattern)
        null = next((back[i] for i in depends if is_null(back[i])), None)
        if null is not None:
            results.append(null)
            continue
        seeds: dict[Variable, Variable] = {}
        for i in depends:
            b, t = back[i], tangents[i]
            if b is not None and t is not None:
                seeds[b] = t if b not in seeds else total([seeds[b], t])
        results.append(backward(seeds, [u], additive=True)[0])
    return results


def r_op_by_gradient(
    self: Op, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]
) -> list[Variable | None]:
    """Return the derivatives of the outputs along directions of the inputs, from the gradient of the op."""
    if pullback.get(self, "grad", "L_op") is None and not any(written_method(self, m) for m in ("grad", "L_op")):
        raise NotImplementedError(
            format_error(
                f"{self} ({type(self).__name__}) has neither an R-op nor a gradient", hint="define `R_op` or `grad`"
            )
        )
    node = self.make_node(*inputs)
    with origin_from(node):
        return derived_pushforward(node, list(eval_points))


add_method(PureOp, "R_op", r_op_by_gradient)
