"""No graph gets a check of lengths that an op, put in by a rule, makes itself.

An op that takes the place of others compares the lengths that they compared. Where it does not say so to
:data:`~theano_tensor.rewrites.length_checks.COMPARED`, a check is put in front of it, for nothing.
"""

from __future__ import annotations

import unittest
from collections.abc import Iterator, Sequence
from typing import Any

import theano_tensor as T
from theano_graph import FunctionGraph, Variable, clone_graph
from theano_linker_c import get_mode
from theano_tensor import nnet
from theano_tensor.nnet.convolution import conv2d
from theano_tensor.rewrites.length_checks import COMPARED
from theano_tensor.shape import SameLengths, ShapeI, ShapeOf
from theano_testing.tiers import slow

from .rule_cases import CASES
from .rule_inputs import given

_ABOUT_LENGTHS = (SameLengths, ShapeI, ShapeOf, T.CheckAndRaise)


def rewritten(inputs: Sequence[Variable], outputs: Any) -> FunctionGraph:
    results = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    graph = FunctionGraph(*clone_graph(list(inputs), results))
    get_mode("FAST_RUN").rewrite(graph)
    return graph


def operand(variable: Any) -> Any:
    """Return the variable that checks stand around."""
    while variable.owner is not None and isinstance(variable.owner.op, (SameLengths, T.CheckAndRaise)):
        variable = variable.owner.inputs[0]
    return variable


def compared_by_checks(graph: FunctionGraph) -> Iterator[set[Any]]:
    """Yield the pairs of variables whose lengths nothing but a check compares."""
    for node in graph.apply_nodes:
        if isinstance(node.op, SameLengths):
            for length in node.inputs[1:]:
                if length.owner is not None and isinstance(length.owner.op, ShapeI):
                    yield {operand(node.inputs[0]), operand(length.owner.inputs[0])}


def silent_ops(graph: FunctionGraph) -> set[str]:
    """Return the classes of the ops that take both operands of a check, and do not say which lengths they compare."""
    pairs = list(compared_by_checks(graph))
    nodes = [node for node in graph.apply_nodes if pairs and not isinstance(node.op, _ABOUT_LENGTHS)]
    return {
        type(node.op).__name__
        for node in nodes
        if COMPARED.get(node.op) is None and any(pair <= set(map(operand, node.inputs)) for pair in pairs)
    }


def _network() -> tuple[list[Any], Any]:
    x, y = T.dmatrix("x"), T.lvector("y")
    weights: list[Any] = [T.dmatrix(), T.dvector(), T.dmatrix(), T.dvector()]
    hidden = T.tanh(T.dot(x, weights[0]) + weights[1])
    scores = nnet.softmax(T.dot(hidden, weights[2]) + weights[3])
    cost = T.mean(nnet.categorical_crossentropy(scores, y))
    return [x, y, *weights], [cost, *T.grad(cost, weights)]


def _regression() -> tuple[list[Any], Any]:
    x, y, w, b = T.dmatrix("x"), T.dvector("y"), T.dvector("w"), T.dscalar("b")
    p = nnet.sigmoid(T.dot(x, w) + b)
    cost = T.mean(nnet.binary_crossentropy(p, y)) + 0.1 * T.sum(w**2)
    return [x, y, w, b], [cost, *T.grad(cost, [w, b])]


def _squares() -> tuple[list[Any], Any]:
    x, y, w = T.dmatrix("x"), T.dmatrix("y"), T.dmatrix("w")
    cost = T.sum((T.dot(x, w) - y) ** 2)
    return [x, y, w], [cost, T.grad(cost, w)]


def _convolution() -> tuple[list[Any], Any]:
    images, filters, bias = T.dtensor4("images"), T.dtensor4("filters"), T.dvector("bias")
    maps = nnet.relu(conv2d(images, filters) + bias.dimshuffle("x", 0, "x", "x"))
    cost = T.mean(maps**2)
    return [images, filters, bias], [cost, *T.grad(cost, [filters, bias])]


def _cell() -> tuple[list[Any], Any]:
    x, h, c, w, u, b = T.dmatrix("x"), T.dmatrix("h"), T.dmatrix("c"), T.dmatrix("w"), T.dmatrix("u"), T.dvector("b")
    gates = T.dot(x, w) + T.dot(h, u) + b
    n = h.shape[1]
    i, f, o, g = (gates[:, k * n : (k + 1) * n] for k in range(4))
    state = nnet.sigmoid(f) * c + nnet.sigmoid(i) * T.tanh(g)
    cost = T.sum(nnet.sigmoid(o) * T.tanh(state))
    return [x, h, c, w, u, b], [cost, *T.grad(cost, [w, u, b])]


class TestNeedlessChecks(unittest.TestCase):
    def test_ordinary_programs_have_none(self) -> None:
        for build in (_network, _regression, _squares, _convolution, _cell):
            with self.subTest(build.__name__):
                self.assertEqual(list(compared_by_checks(rewritten(*build()))), [])

    def test_an_op_that_is_silent_is_found(self) -> None:
        x, y = T.dvector("x"), T.dvector("y")
        x_again = SameLengths([0])(x, ShapeI(0)(y))
        searched = T.searchsorted(x_again, y)
        self.assertEqual(silent_ops(FunctionGraph([x, y], [searched], clone=False)), {"SearchsortedOp"})

    @slow
    def test_no_rule_puts_in_a_silent_op(self) -> None:
        silent_by_rule = {}
        for name, case in CASES.items():
            for build in case.builds:
                inputs = given()
                silent = silent_ops(rewritten(inputs.variables(), build(inputs)))
                if silent:
                    silent_by_rule[name] = silent
        self.assertEqual(silent_by_rule, {})


if __name__ == "__main__":
    unittest.main()
