from __future__ import annotations

import os
import subprocess
import sys
import unittest
from unittest import mock

from theano_graph import Apply, ConfigError, FunctionGraph, Variable, config
from theano_optimize import MergeRewriter, node_rewriter
from theano_testing import DEFAULT_SEED, fetch_seed
from theano_testing.graph import GraphTestCase, ToyOp, chain, interpret, random_graph, toy
from theano_testing.optimize import apply_rewrite, check_rewrite


@node_rewriter([ToyOp("outer")])
def wrong(fgraph: FunctionGraph, node: Apply) -> list[Variable | None]:
    """Change the value."""
    return [ToyOp("other")(*node.inputs)]


class TestSeeds(unittest.TestCase):
    def test_default_and_given(self) -> None:
        with mock.patch.dict(os.environ, clear=False):
            os.environ.pop("THEANO_TEST_SEED", None)
            self.assertEqual(fetch_seed(), 666)
        self.assertEqual(fetch_seed(1231), 1231)

    def test_environment(self) -> None:
        self.assertEqual(str(DEFAULT_SEED), config.unittests.rseed)
        with mock.patch.dict(os.environ), config.change_flags({"unittests.rseed": 31}):
            os.environ.pop("THEANO_TEST_SEED", None)
            self.assertEqual(fetch_seed(), 31)
            with config.change_flags({"unittests.rseed": "random"}):
                self.assertEqual(len({fetch_seed() for _ in range(4)}), 4)
            os.environ["THEANO_TEST_SEED"] = "12"
            self.assertEqual(fetch_seed(), 12)
        for bad in (-1, "often", None):
            with self.assertRaises(ConfigError), config.change_flags({"unittests.rseed": bad}):
                self.fail("the block must not run")
        with mock.patch.dict(os.environ, {"THEANO_TEST_SEED": "12"}):
            self.assertEqual(fetch_seed(), 12)
        with mock.patch.dict(os.environ, {"THEANO_TEST_SEED": "random"}):
            self.assertIsInstance(fetch_seed(), int)
        with mock.patch.dict(os.environ, {"THEANO_TEST_SEED": "soon"}), self.assertRaisesRegex(ValueError, "Hint"):
            fetch_seed()


class TestLayers(unittest.TestCase):
    def test_each_module_imports_no_layer_above_its_own(self) -> None:
        above = {"graph": ["theano_optimize", "numpy"], "optimize": ["theano_linker_c"], "linker_c": ["theano_tensor"]}
        for module, forbidden in above.items():
            code = f"import sys, theano_testing.{module}; print([m for m in {forbidden!r} if m in sys.modules])"
            result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            self.assertEqual(result.stdout.strip(), "[]", module)


class TestGraphs(GraphTestCase):
    def test_interpreter(self) -> None:
        x = toy("x")
        self.assertEqual(interpret([ToyOp("a")(x, 2)], {x: 3}), [97 * 3 + 98 * 2])

    def test_random_graphs_are_the_same_for_a_seed(self) -> None:
        first, second = random_graph(seed=4), random_graph(seed=4)
        values = [dict(zip(inputs, (5, 6, 7), strict=True)) for inputs, _ in (first, second)]
        self.assertEqual(interpret(first[1], values[0]), interpret(second[1], values[1]))
        self.assertNotEqual(str(FunctionGraph(*first)), str(FunctionGraph(*random_graph(seed=5))))

    def test_chain_is_deep(self) -> None:
        start, end = chain(5000)
        graph = FunctionGraph([start], [end])
        self.assertEqual(len(graph.apply_nodes), 5000)
        self.assert_sound(graph)

    def test_assertions(self) -> None:
        x = toy("x")
        y = ToyOp("a")(x)
        self.assert_text(FunctionGraph([x], [y]), "a(x)")
        self.assert_same_graph([y], [ToyOp("a")(x)])
        with self.assertRaises(AssertionError):
            self.assert_same_graph([y], [ToyOp("b")(x)])
        self.assert_made_at(y, __file__)
        with self.assertRaises(AssertionError):
            self.assert_made_at(y, __file__, 1)

    def test_toy_values(self) -> None:
        for value in (1.5, "a", True):
            with self.assertRaises(TypeError):
                toy.filter(value)


class TestRewrites(unittest.TestCase):
    def test_merging_keeps_values(self) -> None:
        for seed in range(5):
            inputs, outputs = random_graph(n_nodes=40, seed=seed)
            result = apply_rewrite(MergeRewriter(), inputs, outputs)
            values = [1, 2, 3]
            before = interpret(result.before.outputs, dict(zip(result.before.inputs, values, strict=True)))
            after = interpret(result.after.outputs, dict(zip(result.after.inputs, values, strict=True)))
            self.assertEqual(before, after)

    def test_a_wrong_rule_is_found(self) -> None:
        x = toy("x")
        with self.assertRaisesRegex(AssertionError, r"(?s)wrong changed a value.*before: .*after: "):
            check_rewrite(wrong, [x], [ToyOp("outer")(x)], [[3]])

    def test_a_rule_that_does_not_fire_is_found(self) -> None:
        x = toy("x")
        with self.assertRaisesRegex(AssertionError, "did not fire"):
            check_rewrite(wrong, [x], [ToyOp("inner")(x)])
        check_rewrite(wrong, [x], [ToyOp("inner")(x)], fires=False)
        with self.assertRaisesRegex(AssertionError, "fired 1 times"):
            check_rewrite(wrong, [x], [ToyOp("outer")(x)], fires=False)
        self.assertEqual(check_rewrite(wrong, [x], [ToyOp("outer")(x)]).ops(), ["other"])
