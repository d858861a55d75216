"""Ops through which nothing is differentiated: their results are whole numbers, or jump."""

from __future__ import annotations

from theano_graph import Apply, Op, Variable, pullback, pushforward

from ._core._variable import Tensor


class DiscreteOp(Op):
    """An op whose results are step functions of its inputs: no result depends differentiably on any input."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """No output is connected with an input."""
        return [[False] * len(node.outputs) for _ in node.inputs]


@pullback.register(DiscreteOp)
def _pullback(node: Apply[DiscreteOp, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [None] * len(node.inputs)


@pushforward.register(DiscreteOp)
def _pushforward(node: Apply[DiscreteOp, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None] * len(node.outputs)
