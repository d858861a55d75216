"""Every rule: values before and after, fires in the full pipeline, ends in any order of rules."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_graph import FunctionGraph
from theano_linker_c import FAST_RUN, Mode
from theano_linker_c.modes import optdb
from theano_optimize import EquilibriumRewriter
from theano_tensor.rewrites import RULES
from theano_testing.graph import interpret
from theano_testing.optimize import check_fires, check_rewrite, shuffled_results
from theano_testing.tensor import assert_allclose

from .rule_cases import CASES, Build, Case, given, names_of_rules, values

TRIALS = 3


def close(a: Any, b: Any) -> bool:
    assert np.asarray(a).dtype == np.asarray(b).dtype, f"{np.asarray(a).dtype} became {np.asarray(b).dtype}"
    # Rules compute in the precision of the expression; float32 appears where a case asks for it.
    rtol = 1e-5 if np.asarray(a).dtype == "float32" else 1e-9
    with np.errstate(all="ignore"):
        assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-10)
    return True


def results(build: Build) -> tuple[list[Any], list[Any]]:
    inputs = given()
    found = build(inputs)
    return inputs.variables(), found if isinstance(found, list) else [found]


def mode(case: Case) -> Mode:
    return FAST_RUN.including(*case.tags).excluding("fusion")


class TestEveryRule(unittest.TestCase):
    def test_each_rule_has_an_expression(self) -> None:
        self.assertEqual(names_of_rules(), set(CASES))

    def test_fires_and_keeps_values(self) -> None:
        rules = {entry.rewriter.name: entry.rewriter for entry in RULES}
        rng = np.random.RandomState(3)
        for name, case in CASES.items():
            for k, build in enumerate(case.builds):
                with self.subTest(rule=name, expression=k), np.errstate(all="ignore"):
                    inputs, outputs = results(build)
                    rows = [values(rng, special=case.special and trial == 0) for trial in range(TRIALS)]
                    if name == "zeros_for_empty":
                        rows = []
                    check_rewrite(EquilibriumRewriter([rules[name]], name), inputs, outputs, rows, same=close)

    def test_fires_in_the_full_pipeline(self) -> None:
        for name, case in CASES.items():
            if case.alone:
                continue
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
                    wanted = interpret(outputs, dict(zip(inputs, row, strict=True)))
                    got = interpret(graph.outputs, dict(zip(graph.inputs, row, strict=True)))
                    for before, after in zip(wanted, got, strict=True):
                        close(before, after)

    def test_no_rule_undoes_another_of_its_phase(self) -> None:
        rng = np.random.RandomState(7)
        for phase in ("canonicalize", "stabilize", "specialize"):
            rules = optdb[phase].query("fast_run")
            for name, case in CASES.items():
                with self.subTest(phase=phase, rule=name), np.errstate(all="ignore"):
                    inputs, outputs = results(case.builds[0])
                    if name == "zeros_for_empty":
                        continue
                    row = values(rng, special=False)
                    wanted = interpret(outputs, dict(zip(inputs, row, strict=True)))
                    for result in shuffled_results(rules, inputs, outputs, shuffles=2, seed=1):
                        after = result.after
                        got = interpret(after.outputs, dict(zip(after.inputs, row, strict=True)))
                        for a, b in zip(wanted, got, strict=True):
                            close(a, b)
