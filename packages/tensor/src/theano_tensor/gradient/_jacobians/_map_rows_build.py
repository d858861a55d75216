"""Loops over rows are made of ordinary expressions, and differentiated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, Variable, clone_replace, pullback, pushforward, toposort

from ..._core._convert import as_tensor_variable
from ..._core._type import TensorType, tensor_type
from .._accumulation._backward import backward
from .._accumulation._forward import forward
from .._rules._arrays import cast_to, cotangent_dtype, is_continuous
from .._rules._types import is_disconnected, is_null
from ._map_rows import STACK, SUM, MapRows


def map_rows(
    n: Any,
    index: Variable,
    rows: Mapping[Variable, Variable],
    outputs: Sequence[Variable],
    kinds: Sequence[str],
    likes: Sequence[Variable],
) -> list[Variable]:
    """Return the loop over ``index = 0 ... n - 1`` of some expressions.

    Work that does not depend on `index` and `rows` is done once, before the loop.

    Parameters
    ----------
    n : int or integer scalar variable
    index : int64 scalar variable
    rows : mapping
        Variable -> the sequence that it is a row of.
    outputs : sequence of Variable
        Expressions of `index`, `rows` and any other variables.
    kinds : sequence of {'stack', 'sum'}
    likes : sequence of Variable
        For each output, one of `rows`, or any variable outside of the loop, that has its shape.
    """
    changing: set[Variable] = {index, *rows}
    inner: list[Apply] = []
    for node in toposort([index, *rows], outputs):
        if any(v in changing for v in node.inputs):
            inner.append(node)
            changing.update(node.outputs)
    outside = dict.fromkeys(v for node in inner for v in node.inputs if v not in changing)
    outside.update(dict.fromkeys(v for v in (*outputs, *likes) if v not in changing))
    fixed = [v for v in outside if not isinstance(v, Constant) or v in likes]
    stand_ins = {v: v.type.make_variable(v.name) for v in fixed}
    bodies = clone_replace(list(outputs), stand_ins)
    inputs = [index, *rows, *stand_ins.values()]
    places = {v: k for k, v in enumerate([index, *rows, *stand_ins])}
    op = MapRows(inputs, bodies, len(rows), kinds, [places[v] for v in likes])
    results: list[Variable] = op(as_tensor_variable(n), *rows.values(), *fixed, return_list=True)
    return results


def row_number() -> Variable:
    """Return a variable for the number of a row; its test value is that of the first."""
    index: Variable = tensor_type("int64", ()).make_variable("i")
    index.tag.test_value = np.zeros((), "int64")
    return index


def _row_type(sequence: TensorType) -> TensorType:
    return tensor_type(sequence.dtype, sequence.shape[1:])


def stand_in(kind: Any, outer: Variable, is_row: bool, name: str | None = None) -> Variable:
    """Return a variable that stands for `outer`, or a row of it, inside of the loop; test values go along."""
    inner: Variable = kind.make_variable(name)
    test_value = getattr(outer.tag, "test_value", None) if outer.has_tag() else getattr(outer, "data", None)
    if test_value is not None and (not is_row or len(test_value)):
        inner.tag.test_value = test_value[0, ...] if is_row else test_value
    return inner


class Opened:
    """The inner graph of a loop on variables of its own, and how they belong to the node."""

    def __init__(self, node: Apply) -> None:
        self.op: MapRows = node.op
        graph = self.op.fgraph
        fresh: dict[Variable, Variable] = {graph.inputs[0]: row_number()}
        for k, (v, outer) in enumerate(zip(graph.inputs[1:], node.inputs[1:], strict=True)):
            fresh[v] = stand_in(v.type, outer, k < self.op.sequences, v.name)
        self.inputs = [fresh[v] for v in graph.inputs]
        self.outputs: list[Variable] = clone_replace(list(graph.outputs), fresh)
        self.n = node.inputs[0]
        self.sequences = dict(zip(self.rows, node.inputs[1:], strict=False))
        self.outside = dict(zip(self.constants, node.inputs[1 + len(self.rows) :], strict=True))

    @property
    def rows(self) -> list[Variable]:
        return self.inputs[1 : 1 + self.op.sequences]

    @property
    def constants(self) -> list[Variable]:
        return self.inputs[1 + self.op.sequences :]

    def loop(
        self,
        more: Mapping[Variable, Variable],
        outputs: Sequence[Variable],
        kinds: Sequence[str],
        likes: Sequence[Variable],
    ) -> list[Variable]:
        """Return the loop of expressions of the inner inputs, with `more` sequences."""
        bodies = clone_replace(list(outputs), self.outside)
        shapes = [self.outside.get(v, v) for v in likes]
        return map_rows(self.n, self.inputs[0], {**self.sequences, **more}, bodies, kinds, shapes)


@pullback.register(MapRows)
def _pullback(node: Apply[MapRows], cotangents: list[Variable]) -> list[Variable | None]:
    opened = Opened(node)
    seeds: dict[Variable, Variable] = {}
    more: dict[Variable, Variable] = {}
    for kind, output, cotangent in zip(opened.op.kinds, opened.outputs, cotangents, strict=True):
        if is_disconnected(cotangent):
            continue
        g: Any = cotangent
        if kind == STACK:
            row = stand_in(_row_type(g.type), g, True)
            more[row] = g
        else:
            # A variable of its own, since the sum's gradient may be computed from the constants themselves.
            row = stand_in(g.type, g, False)
            opened.outside[row] = g
        # Two outputs may be one variable inside; then their gradients add up.
        seeds[output] = row if output not in seeds else _sum_of(seeds[output], row)
    wrt = opened.inputs[1:]
    gradients = backward(seeds, wrt)
    positions = [k for k, g in enumerate(gradients) if g is not None and not is_null(g)]
    results: list[Variable | None] = [None, *(g if g is not None and is_null(g) else None for g in gradients)]
    terms = [_as_cotangent(wrt[k], gradients[k]) for k in positions]
    kinds = [STACK if k < opened.op.sequences else SUM for k in positions]
    if positions:
        looped = opened.loop(more, terms, kinds, [wrt[k] for k in positions])
        for k, result in zip(positions, looped, strict=True):
            results[1 + k] = result
    return results


def _sum_of(a: Any, b: Any) -> Variable:
    total: Variable = a + b
    return total


def _as_cotangent(variable: Variable, gradient: Variable | None) -> Variable:
    assert gradient is not None
    return cast_to(gradient, cotangent_dtype(variable))


@pushforward.register(MapRows)
def _pushforward(node: Apply[MapRows], tangents: list[Variable | None]) -> list[Variable | None]:
    opened = Opened(node)
    tangents_of_inputs: dict[Variable, Variable] = {}
    more: dict[Variable, Variable] = {}
    for k, (inner, tangent) in enumerate(zip(opened.inputs[1:], tangents[1:], strict=True)):
        if tangent is None:
            continue
        t: Any = tangent
        if k < opened.op.sequences:
            row = stand_in(_row_type(t.type), t, True)
            more[row] = t
        else:
            row = stand_in(t.type, t, False)
            opened.outside[row] = t
        tangents_of_inputs[inner] = row
    tangents_of_outputs = forward(opened.outputs, tangents_of_inputs)
    results: list[Variable | None] = [t if t is not None and is_null(t) else None for t in tangents_of_outputs]
    positions = [
        k
        for k, t in enumerate(tangents_of_outputs)
        if t is not None and not is_null(t) and is_continuous(opened.outputs[k])
    ]
    if positions:
        likes = [opened.inputs[opened.op.likes[k]] for k in positions]
        terms = [_as_cotangent(opened.outputs[k], tangents_of_outputs[k]) for k in positions]
        looped = opened.loop(more, terms, [opened.op.kinds[k] for k in positions], likes)
        for k, result in zip(positions, looped, strict=True):
            results[k] = result
    return results
