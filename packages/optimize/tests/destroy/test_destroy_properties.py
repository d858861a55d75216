"""Random graphs and random replacements: the incremental handler agrees with a checker that walks the whole graph."""

from __future__ import annotations

import unittest
from random import Random
from typing import Any

from hypothesis import given, settings, strategies as st

from theano_graph import FunctionGraph, InconsistencyError, ReplaceValidate, Variable
from theano_optimize import DestroyHandler, MergeRewriter, Supervisor
from theano_testing.tiers import examples

from .memory_language import Memory, is_legal, overwrite, overwrite_tolerant, pure, variables, view

OPS = (pure, pure, view, overwrite, overwrite_tolerant, Memory("second", destroys=((0, (1,)),)))
FORMS = (pure, view, overwrite, overwrite_tolerant)

Plan = list[tuple[int, list[int]]]

steps = st.tuples(st.integers(0, 5), st.lists(st.integers(0, 40), min_size=1, max_size=3))
plans = st.lists(steps, min_size=1, max_size=14)
edits = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), st.integers(0, 40)), max_size=12)


def build(plan: Plan, n_inputs: int, legal_only: bool) -> tuple[list[Variable], list[Variable]]:
    inputs = variables(n_inputs)
    result = list(inputs)
    for kind, places in plan:
        op = pure if legal_only else OPS[kind]
        operands = [result[p % len(result)] for p in places]
        if op.kind == "second" and len(operands) < 2:
            operands *= 2
        result.append(op(*operands))
    return inputs, result


def new_graph(plan: Plan, n_outputs: int, legal_only: bool = False) -> Any:
    inputs, result = build(plan, 2, legal_only)
    return FunctionGraph(inputs, result[-n_outputs:], clone=False)


def accepts(fgraph: Any) -> bool:
    try:
        fgraph.validate()
    except InconsistencyError:
        return False
    return True


class TestAgainstFullWalks(unittest.TestCase):
    @settings(deadline=None, max_examples=examples(600))
    @given(plans, st.integers(1, 2), st.booleans())
    def test_whole_graphs(self, plan: Plan, n_outputs: int, supervised: bool) -> None:
        fgraph = new_graph(plan, n_outputs)
        protected = fgraph.inputs[:1] if supervised else []
        features = [Supervisor(protected), DestroyHandler(), ReplaceValidate()]
        for feature in features:
            fgraph.attach_feature(feature)
        self.assertEqual(accepts(fgraph), is_legal(fgraph, protected))
        if is_legal(fgraph, protected):
            self.assertEqual(set(fgraph.toposort()), set(fgraph.apply_nodes))

    @settings(deadline=None, max_examples=examples(1500))
    @given(plans, st.integers(1, 2), edits)
    def test_replacements(self, plan: Plan, n_outputs: int, changes: list[tuple[int, int, int]]) -> None:
        """Each try has the verdict of the full walk, and after a refusal the state is that of a new handler."""
        fgraph = new_graph(plan, n_outputs, legal_only=True)
        handler = DestroyHandler()
        for feature in (Supervisor(fgraph.inputs[:1]), handler, ReplaceValidate()):
            fgraph.attach_feature(feature)
        for position, form, extra in changes:
            nodes = fgraph.toposort()
            if not nodes:
                return
            node = nodes[position % len(nodes)]
            result = [v for v in fgraph.variables if v.owner is None] + [
                n.outputs[0] for n in nodes[: position % len(nodes)]
            ]
            operands = list(node.inputs)
            if extra % 3 == 0:
                operands[extra % len(operands)] = result[extra % len(result)]
            before = str(fgraph)
            try:
                fgraph.replace_validate(node.outputs[0], FORMS[form](*operands))
                accepted = True
            except InconsistencyError:
                accepted = False
            if accepted:
                self.assertTrue(is_legal(fgraph, fgraph.inputs[:1]))
            else:
                self.assertEqual(str(fgraph), before)
                self.assertFalse(self.would_be_legal(fgraph, node.outputs[0], FORMS[form], operands))
            fgraph.check_integrity()
            self.check_state(fgraph, handler)

    @settings(deadline=None, max_examples=examples(150))
    @given(st.randoms(use_true_random=False), st.integers(3, 50))
    def test_many_replacements_in_larger_graphs(self, random: Random, size: int) -> None:
        """The same on longer graphs, with operands from anywhere and views that change their argument."""
        inputs = variables(2)
        result = list(inputs)
        for _ in range(size):
            span = random.choice((3, 10, 100))
            operands = [
                result[-1 - random.randrange(min(span, len(result)))] for _ in range(random.choice((1, 1, 2, 3)))
            ]
            result.append(random.choice((pure, pure, view))(*operands))
        fgraph: Any = FunctionGraph(inputs, [result[-1], random.choice(result)], clone=False)
        handler = DestroyHandler()
        for feature in (Supervisor(inputs[:1]), handler, ReplaceValidate()):
            fgraph.attach_feature(feature)
        for _ in range(20):
            nodes = fgraph.toposort()
            if not nodes:
                return
            position = random.randrange(len(nodes))
            node = nodes[position]
            operands = list(node.inputs)
            if random.random() < 0.2:
                pool = [*inputs, *(n.outputs[0] for n in nodes[:position])]
                operands[random.randrange(len(operands))] = random.choice(pool)
            op = random.choice((pure, view, overwrite, overwrite, overwrite_tolerant))
            expected = self.would_be_legal(fgraph, node.outputs[0], op, operands)
            try:
                fgraph.replace_validate(node.outputs[0], op(*operands))
                accepted = True
            except InconsistencyError:
                accepted = False
            self.assertEqual(accepted, expected)
            self.check_state(fgraph, handler)

    @settings(deadline=None, max_examples=examples(300))
    @given(plans, st.integers(1, 2), st.booleans())
    def test_merging_keeps_graphs_legal(self, plan: Plan, n_outputs: int, with_handler: bool) -> None:
        fgraph = new_graph(plan, n_outputs)
        if not is_legal(fgraph):
            return
        if with_handler:
            fgraph.attach_feature(DestroyHandler())
        MergeRewriter().rewrite(fgraph)
        self.assertTrue(is_legal(fgraph))
        fgraph.check_integrity()

    def would_be_legal(self, fgraph: Any, old: Variable, op: Memory, operands: list[Variable]) -> bool:
        copy, equiv = fgraph.clone_get_equiv()
        copy.replace(equiv[old], op(*(equiv[v] for v in operands)))
        return is_legal(copy, copy.inputs[:1])

    def check_state(self, fgraph: Any, handler: DestroyHandler) -> None:
        # A handler that is not attached works everything out from the graph as it is.
        self.assertEqual(handler.logical_state(fgraph), DestroyHandler().logical_state(fgraph))
