"""Every registered rule: values before and after, fires in the full pipeline, ends in any order of rules.

The rules are read from the database of rewrites, so that one without an expression is an error here.
"""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from typing import Any

import numpy as np

import theano_tensor.builders
import theano_tensor.io
import theano_tensor.linalg
import theano_tensor.nnet.blocksparse
import theano_tensor.nnet.ctc
import theano_tensor.typed_list
from theano_graph import FunctionGraph, Variable
from theano_linker_c import FAST_RUN, Mode
from theano_linker_c.modes import optdb
from theano_optimize import (
    EquilibriumRewriter,
    Exactness,
    GraphRewriter,
    NodeRewriter,
    RewriteDatabase,
    SequenceRewriter,
    WalkRewriter,
    constant_folding,
)
from theano_tensor.linalg import HintsOptimizer
from theano_tensor.rewrites import RULES, GemmOptimizer
from theano_testing.graph import interpret
from theano_testing.optimize import apply_rewrite, check_fires, check_rewrite, rules_of, shuffled_results
from theano_testing.tensor import assert_allclose
from theano_testing.tiers import slow

from .rule_cases import CASES
from .rule_inputs import STABLE, Build, Case, given, values

ON_DEMAND = (
    theano_tensor.builders,
    theano_tensor.io,
    theano_tensor.linalg,
    theano_tensor.nnet.blocksparse,
    theano_tensor.nnet.ctc,
    theano_tensor.typed_list,
)
assert all(ON_DEMAND), "modules that are imported on demand register their rules, too"
TRIALS = 3
PHASES = ("canonicalize", "stabilize", "specialize", "uncanonicalize")
#: Rewriters of whole graphs, and the test modules that are about them.
GRAPH_REWRITERS = {
    "merge": "of the layer below",
    "gpuarray_graph_optimization": "device/test_lifting",
    "assert_no_cpu_op": "device/test_lifting",
    "cudnn": "device/test_choosing",
    "conv_gemm_alone": "device/test_choosing",
    "conv_meta": "device/test_choosing",
    "low_memory": "device/test_choosing",
    "conv_dnn": "device/test_choosing",
    "conv_gemm": "device/test_choosing",
    "conv_check": "device/test_choosing",
    "add_destroy_handler": "of the layer below",
    "order_messages": "messages/test_io_messages",
    "ShapeOpt": "test_shape_feature",
    "UnShapeOpt": "test_shape_feature",
    "RecordLengths": "test_lengths_kept",
    "LengthChecks": "test_lengths_kept",
    "HintsOptimizer": "linalg/test_linalg_rewrites",
    "gemm_optimizer": "test_blas_forms",
    "fuse_elementwise": "test_fusion",
    "fuse_multi_output": "test_multi_output_fusion",
    "fuse_reductions": "test_fusion",
    "InplaceBlasOpt": "test_blas_forms",
    "overwrite_elementwise": "test_overwriting",
    "local_inplace_setsubtensor": "test_overwriting",
    "overwrite_products": "test_overwriting",
    "random_make_inplace": "test_overwriting",
    "mrg_random_make_inplace": "random_numbers/test_random_mrg_streams",
    "inplace_elemwise_optimizer": "test_inplace_forms",
    "sparse_block_inplace": "nnet/test_blocksparse",
    "typed_list_inplace_opt": "typed_list",
}


def registered(database: RewriteDatabase[Any]) -> Iterator[NodeRewriter | GraphRewriter]:
    """Yield all rules and graph rewriters of a database, those inside walks as rules."""
    for entry in database.entries():
        if isinstance(entry.item, RewriteDatabase):
            yield from registered(entry.item)
        elif isinstance(entry.item, WalkRewriter):
            yield from rules_of(entry.item)
        else:
            yield entry.item


#: Rules by name; several entries with a common part are one rule.
RULE_OF = {item.name: item for item in registered(optdb) if isinstance(item, NodeRewriter)}
del RULE_OF[constant_folding.name]


class Close:
    """Compares values with the tolerance of a case; dtypes and shapes must agree."""

    def __init__(self, case: Case, dtype: str = "float64") -> None:
        self.rtol = case.rtol if dtype == "float64" else max(case.rtol, 1e-4)
        self.atol = 1e-10 if dtype == "float64" else 1e-5

    def __call__(self, a: Any, b: Any) -> bool:
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype, f"{a.dtype} became {b.dtype}"
        narrow = a.dtype == "float32"
        with np.errstate(all="ignore"):
            assert_allclose(a, b, rtol=max(self.rtol, 1e-5) if narrow else self.rtol, atol=self.atol)
        return True


def results(build: Build, dtype: str = "float64") -> tuple[list[Any], list[Any]]:
    inputs = given(dtype)
    result = build(inputs)
    return inputs.variables(), result if isinstance(result, list) else [result]


def mode(case: Case) -> Mode:
    """Return FAST_RUN with the tags of a case, without the rules that come before its rule."""
    apart = [] if "fusion" in case.tags else ["fusion"]
    return FAST_RUN.including(*case.tags).excluding(*apart, *filter(None, [case.preempted]))


def alone(name: str, case: Case) -> GraphRewriter:
    """Return a query of one rule only, after its prerequisites."""
    before: list[GraphRewriter] = [HintsOptimizer()]
    if case.step is not None:
        before.append(WalkRewriter(RULE_OF["local_dot_to_dot22"]))
        before += [GemmOptimizer()] if case.step == "gemm_optimizer" else []
    return SequenceRewriter([*before, EquilibriumRewriter([RULE_OF[name]], name)])


def run(graph: FunctionGraph | tuple[list[Any], list[Any]], row: list[Any]) -> list[Any]:
    inputs, outputs = (graph.inputs, graph.outputs) if isinstance(graph, FunctionGraph) else graph
    result: list[Any] = interpret(outputs, dict(zip(inputs, row, strict=True)))
    return result


class TestEveryRule(unittest.TestCase):
    def test_each_rule_has_an_expression(self) -> None:
        self.assertEqual(set(RULE_OF), set(CASES))
        self.assertLessEqual({entry.rewriter.name for entry in RULES}, set(RULE_OF))

    def test_each_graph_rewriter_has_tests(self) -> None:
        results = {item.name for item in registered(optdb) if isinstance(item, GraphRewriter)}
        self.assertEqual(results - set(GRAPH_REWRITERS), set())

    def test_what_comes_first_does_so(self) -> None:
        for name, case in CASES.items():
            if case.preempted is None:
                continue
            with self.subTest(rule=name), self.assertRaisesRegex(AssertionError, "did not fire"):
                check_fires(name, FAST_RUN.excluding("fusion").optimizer, *results(case.builds[0]))

    def test_exact_rules_keep_infinities_and_nan(self) -> None:
        """Where numbers are compared for finite values only, the rule makes them right, or the language says why."""
        for name, case in CASES.items():
            if case.reason is STABLE:
                with self.subTest(rule=name):
                    self.assertIs(RULE_OF[name].info.exactness, Exactness.STABILIZING)

    def test_fires_and_keeps_values(self) -> None:
        rng = np.random.RandomState(3)
        for name, case in CASES.items():
            for k, build in enumerate(case.builds):
                with self.subTest(rule=name, expression=k), np.errstate(all="ignore"):
                    inputs, outputs = results(build)
                    rows = [values(rng, special=case.reason is None and trial == 0) for trial in range(TRIALS)]
                    if name == "zeros_for_empty":
                        rows = []
                    result = check_rewrite(alone(name, case), inputs, outputs, rows, same=Close(case))
                    self.assertGreater(result.profile.parts[-1].changes, 0, f"{name} on {result.before}")

    def test_single_precision(self) -> None:
        rng = np.random.RandomState(9)
        for name, case in CASES.items():
            if name == "zeros_for_empty" or case.rtol > 1e-9:
                continue
            for k, build in enumerate(case.builds):
                with self.subTest(rule=name, expression=k), np.errstate(all="ignore"):
                    inputs, outputs = results(build, "float32")
                    row = values(rng, False, "float32")
                    after = apply_rewrite(alone(name, case), inputs, outputs).after
                    for a, b in zip(run((inputs, outputs), row), run(after, row), strict=True):
                        Close(case, "float32")(a, b)

    @slow
    def test_fires_in_the_full_pipeline(self) -> None:
        for name, case in CASES.items():
            with self.subTest(rule=name):
                errors = []
                for build in case.builds:
                    inputs, outputs = results(build)
                    try:
                        check_fires(name, mode(case).optimizer, inputs, outputs)
                        break
                    except AssertionError as error:
                        errors.append(error)
                else:
                    raise errors[0]

    @slow
    def test_values_in_the_full_pipeline(self) -> None:
        rng = np.random.RandomState(5)
        for name, case in CASES.items():
            for k, build in enumerate(case.builds):
                with self.subTest(rule=name, expression=k), np.errstate(all="ignore"):
                    inputs, outputs = results(build)
                    graph = FunctionGraph(inputs, outputs)
                    mode(case).rewrite(graph)
                    graph.check_integrity()
                    if name == "zeros_for_empty":
                        continue
                    row = values(rng, special=False)
                    for before, after in zip(run((inputs, outputs), row), run(graph, row), strict=True):
                        Close(case)(before, after)


class TestNothingIsUndone(unittest.TestCase):
    """Phases come to an end, in any order of their rules, from before a rule and from after it."""

    def check(self, case: Case, inputs: list[Variable], outputs: list[Variable], phase: str, shuffles: int) -> None:
        rng = np.random.RandomState(7)
        row = values(rng, special=False)
        expected = run((inputs, outputs), row)
        rules = optdb[phase].query("fast_run")
        for result in shuffled_results(rules, inputs, outputs, shuffles=shuffles, seed=1):
            for a, b in zip(expected, run(result.after, row), strict=True):
                Close(case)(a, b)

    @slow
    def test_from_before(self) -> None:
        for phase in PHASES:
            for name, case in CASES.items():
                if name == "zeros_for_empty":
                    continue
                for k, build in enumerate(case.builds[:2]):
                    with self.subTest(phase=phase, rule=name, expression=k), np.errstate(all="ignore"):
                        self.check(case, *results(build), phase, 2)

    @slow
    def test_from_after(self) -> None:
        """The phases of a rule neither run in circles from its result, nor find its pattern there again."""
        for entry in RULES:
            name = entry.rewriter.name
            case = CASES[name]
            if name == "zeros_for_empty" or "fast_run" not in entry.tags:
                continue
            for phase in entry.phases:
                with self.subTest(phase=phase, rule=name), np.errstate(all="ignore"):
                    after = apply_rewrite(alone(name, case), *results(case.builds[0])).after
                    self.check(case, after.inputs, after.outputs, phase.tag, 1)
                    end = shuffled_results(optdb[phase.tag].query("fast_run"), after.inputs, after.outputs, shuffles=0)
                    again = apply_rewrite(entry.rewriter, end[0].after.inputs, end[0].after.outputs)
                    self.assertEqual(again.profile.changes, 0, f"{name} fires on {end[0].after}")
