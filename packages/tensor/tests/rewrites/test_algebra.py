from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as tt
from theano_graph import FunctionGraph
from theano_linker_c import FAST_RUN, Mode, function
from theano_optimize import EquilibriumRewriter, Exactness
from theano_tensor.gradient import grad
from theano_tensor.indexing import Subtensor
from theano_tensor.reduce import Reduce
from theano_tensor.rewrites import RULES
from theano_testing.graph import interpret
from theano_testing.optimize import check_rewrite
from theano_testing.tensor import assert_allclose
from theano_testing.tiers import examples, slow

RNG = np.random.RandomState(7)
Build = Callable[..., Any]


def close(a: Any, b: Any) -> bool:
    assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    return True


def rule(name: str) -> EquilibriumRewriter:
    """Return one rule, applied until it has nothing to do."""
    (result,) = [entry.rewriter for entry in RULES if entry.rewriter.name == name]
    return EquilibriumRewriter([result], name)


def full(inputs: list[Any], outputs: list[Any]) -> FunctionGraph:
    """Rewrite a copy of a graph as FAST_RUN does, but for fusion."""
    graph = FunctionGraph(inputs, outputs)
    FAST_RUN.excluding("fusion").rewrite(graph)
    return graph


def names(graph: FunctionGraph) -> list[str]:
    return sorted(str(node.op).removeprefix("Elemwise{").removesuffix(",no_inplace}") for node in graph.toposort())


#: Rule -> expressions of x and y (vectors) on which it fires.
FIRES: dict[str, list[Build]] = {
    "zero_in_sum": [lambda x, y: x + 0, lambda x, y: 0.0 + x],
    "zero_in_difference": [lambda x, y: x - 0, lambda x, y: 0 - x],
    "one_in_product": [lambda x, y: x * 1, lambda x, y: 1.0 * x],
    "zero_in_product": [lambda x, y: x * 0],
    "one_as_divisor": [lambda x, y: x / 1],
    "zero_as_dividend": [lambda x, y: 0 / x],
    "sign_of_sign": [lambda x, y: tt.neg(-x), lambda x, y: -(x - y)],
    "signs_in_sum": [lambda x, y: x + (-y), lambda x, y: -x + y, lambda x, y: -x + (-y)],
    "signs_in_difference": [lambda x, y: x - (-y), lambda x, y: -x - y, lambda x, y: -x - (-y)],
    "sign_in_product": [lambda x, y: (-x) * y, lambda x, y: x / (-y), lambda x, y: (-x) * (-y)],
    "factors_gathered": [
        lambda x, y: x * y / x,
        lambda x, y: 2 * (3 * x),
        lambda x, y: -(2 * x),
        lambda x, y: (x * 2) / (y * 4) * y,
        lambda x, y: (x / y) * (y / x),
    ],
    "constants_in_sum": [
        lambda x, y: (x + 1) + 2,
        lambda x, y: 3 - (x - 2),
        lambda x, y: (1 - x) + 4,
        lambda x, y: (2 + x) - 5,
        lambda x, y: 2.5 - (0.5 - x),
    ],
    "power_with_constant_exponent": [lambda x, y, n=n: x**n for n in (0, 1, 2, 0.5, -0.5, -1, -2)],
    "square_of_equal_factors": [lambda x, y: x * x],
    "sign_under_even_function": [lambda x, y: tt.sqr(-x), lambda x, y: abs(-x), lambda x, y: abs(abs(x))],
    "square_root_of_square": [lambda x, y: tt.sqrt(tt.sqr(x))],
    "log_of_exp": [lambda x, y: tt.log(tt.exp(x))],
    "useless_cast": [lambda x, y: tt.cast(tt.cast(tt.cast(x, "float32"), "float64"), "float32")],
    "switch_on_constant": [lambda x, y: tt.switch(1, x, y), lambda x, y: tt.switch(0, x, y)],
    "fill_of_equal_shape": [lambda x, y: tt.fill(x, y)],
    "fill_inside_elementwise": [lambda x, y: tt.fill(x, 3.0) * y],
    "fill_like_fill": [lambda x, y: tt.fill(tt.fill(x, 1.0), 2.0)],
    "fill_with_itself": [lambda x, y: tt.fill(x, x)],
}

#: How random expressions grow.
STEPS: dict[str, Build] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / (1.25 + tt.sqr(b)),
    "n": lambda a, b: -a,
    "1": lambda a, b: 1 / (1 + tt.exp(-a)),
    "c": lambda a, b: a + 1,
    "2": lambda a, b: tt.clip(a, -3, 3) ** 2,
}


class TestEachRule(unittest.TestCase):
    def test_fires_and_keeps_values(self) -> None:
        for name, builds in FIRES.items():
            for k, build in enumerate(builds):
                with self.subTest(rule=name, expression=k):
                    x, y = tt.dvector("x"), tt.dvector("y")
                    values = [[RNG.rand(5) + 0.5, RNG.rand(5) + 0.5], [np.zeros(0), np.zeros(0)]]
                    check_rewrite(rule(name), [x, y], [build(x, y)], values, same=close)

    def test_result_is_the_same_in_the_full_pipeline(self) -> None:
        x, y = tt.dvector("x"), tt.dvector("y")
        outputs = [build(x, y) for builds in FIRES.values() for build in builds]
        graph = full([x, y], outputs)
        a, b = RNG.rand(6) + 0.5, RNG.rand(6) + 0.5
        expected = interpret(outputs, {x: a, y: b})
        got = interpret(graph.outputs, dict(zip(graph.inputs, (a, b), strict=True)))
        for before, after in zip(expected, got, strict=True):
            self.assertEqual(np.asarray(before).dtype, np.asarray(after).dtype)
            close(after, before)
        graph.check_integrity()

    def test_rules_of_elementwise_algebra_fire_in_the_full_pipeline(self) -> None:
        for name in ("sign_of_sign", "factors_gathered", "constants_in_sum", "log_of_exp", "fill_inside_elementwise"):
            for build in FIRES[name]:
                with self.subTest(name):
                    x, y = tt.dvector("x"), tt.dvector("y")
                    graph = FunctionGraph([x, y], [build(x, y)])
                    profile = FAST_RUN.rewrite(graph)
                    self.assertIn(name, profile.total_rules())

    def test_every_rule_has_a_name_and_a_description(self) -> None:
        self.assertEqual(len({entry.rewriter.name for entry in RULES}), len(RULES))
        for entry in RULES:
            self.assertTrue(entry.rewriter.__doc__, entry.rewriter.name)
            if entry.rewriter.info.exactness is not Exactness.FAST:  # those are asked for by their documented names
                self.assertNotIn("local_", entry.rewriter.name)


class TestGuards(unittest.TestCase):
    def assert_quiet(self, name: str, inputs: list[Any], output: Any) -> None:
        check_rewrite(rule(name), inputs, [output], fires=False)

    def test_integers_keep_their_arithmetic(self) -> None:
        n, m = tt.ivector("n"), tt.ivector("m")
        self.assert_quiet("factors_gathered", [n, m], n * m / n)
        self.assert_quiet("signs_in_sum", [n, m], n + (-m))

    def test_floor_division_of_floats_by_one_stays(self) -> None:
        x = tt.dvector("x")
        self.assert_quiet("one_as_divisor", [x], x // 1)

    def test_shared_products_are_not_computed_twice(self) -> None:
        x, y = tt.dvector("x"), tt.dvector("y")
        product = 2 * x
        check_rewrite(rule("factors_gathered"), [x, y], [product, 3 * product], fires=False)

    def test_narrowing_cast_stays(self) -> None:
        x = tt.dvector("x")
        self.assert_quiet("useless_cast", [x], tt.cast(tt.cast(x, "float32"), "float64"))

    def test_a_broadcast_value_is_not_taken_for_the_whole(self) -> None:
        x, row = tt.dmatrix("x"), tt.drow("r")
        self.assert_quiet("fill_of_equal_shape", [x, row], tt.fill(x, row))
        graph = full([x, row], [tt.fill(x, row), (x * 0) + row, x - x * 0 - x / x * row])
        values = {graph.inputs[0]: RNG.rand(3, 4) + 1, graph.inputs[1]: RNG.rand(1, 4)}
        for result in interpret(graph.outputs, values):
            self.assertEqual(result.shape, (3, 4))

    def test_cancelled_factor_still_gives_the_shape(self) -> None:
        x, row = tt.dmatrix("x"), tt.drow("r")
        graph = full([x, row], [x * row / x])
        (result,) = interpret(graph.outputs, dict(zip(graph.inputs, (RNG.rand(3, 4), RNG.rand(1, 4)), strict=True)))
        self.assertEqual(result.shape, (3, 4))

    def test_x_times_y_over_y_is_x_where_y_is_zero(self) -> None:
        x, y = tt.dvector("x"), tt.dvector("y")
        (result,) = interpret(
            (g := full([x, y], [x * y / y])).outputs, dict(zip(g.inputs, (np.ones(2), np.zeros(2)), strict=True))
        )
        assert_allclose(result, np.ones(2))

    def test_no_optimizer_means_no_rewrite(self) -> None:
        x, y = tt.dvector("x"), tt.dvector("y")
        graph = FunctionGraph([x, y], [x * y / y])
        Mode("py", None).rewrite(graph)
        self.assertEqual(len(graph.apply_nodes), 2)


class TestFullPipeline(unittest.TestCase):
    def test_gradient_of_square_is_one_node(self) -> None:
        x = tt.dscalar("x")
        self.assertEqual(names(full([x], [grad(x**2, x)])), ["mul"])

    def test_gradient_of_a_sum_of_squares(self) -> None:
        w = tt.dvector("w")
        self.assertEqual(names(full([w], [grad(0.01 * (w**2).sum(), w)])), ["mul"])

    def test_equal_parts_are_computed_once(self) -> None:
        x = tt.dvector("x")
        self.assertEqual(names(full([x], [tt.exp(x) + tt.exp(x + 0) * 2])).count("exp"), 1)

    @slow
    def test_deep_chain_is_rewritten_in_linear_time(self) -> None:
        x = tt.dvector("x")
        y = x
        for _ in range(1500):
            y = tt.sin(tt.neg(-y) * 1.0) + 0
        graph = full([x], [y])
        self.assertEqual(set(names(graph)), {"sin"})
        self.assertEqual(len(graph.apply_nodes), 1500)

    @settings(max_examples=examples(60), deadline=None)
    @given(st.lists(st.tuples(st.sampled_from("+-*/n1c2"), st.integers(0, 9), st.integers(0, 9)), max_size=14))
    def test_random_expressions_keep_their_values(self, steps: list[tuple[str, int, int]]) -> None:
        x, y = tt.dvector("x"), tt.drow("y")
        # Of float64 alone: stable forms are nearer to the truth by a rounding of 1, as in 1 - sigmoid(2).
        pool: list[Any] = [x, y, tt.constant(np.float64(2)), tt.fill(x, np.float64(1.5))]
        for kind, i, j in steps:
            a, b = pool[i % len(pool)], pool[j % len(pool)]
            pool.append(STEPS[kind](a, b))
        outputs = pool[4:] or [x]
        values: dict[Any, Any] = {x: np.array([0.3, -1.2, 2.0]), y: np.array([[0.7, 1.1, -0.4]])}
        expected = interpret(outputs, values)
        graph = FunctionGraph([x, y], outputs)
        FAST_RUN.rewrite(graph)
        graph.check_integrity()
        got = interpret(graph.outputs, dict(zip(graph.inputs, values.values(), strict=True)))
        for before, after in zip(expected, got, strict=True):
            assert_allclose(after, before, rtol=1e-7, atol=1e-9)


def _ops(graph: FunctionGraph) -> list[str]:
    return [type(node.op).__name__ for node in graph.toposort()]


class TestIntegers(unittest.TestCase):
    """Integers that wrap around do so in any order."""

    def test_minus_one(self) -> None:
        for dtype in ("int8", "int32", "int64", "uint8"):
            x = tt.vector("x", dtype=dtype)
            y = x * tt.constant(np.int8(-1))
            value = np.array([0, 1, 7, np.iinfo(dtype).min], dtype)
            self.assertEqual(function([x], y)(value).tolist(), (value * np.int8(-1)).tolist(), dtype)
            if dtype[0] == "i":
                (node,) = full([x], [y]).toposort()
                self.assertEqual(node.op, tt.neg)

    def test_reductions_of_reductions(self) -> None:
        value = np.random.RandomState(0).randint(-100, 100, (3, 4, 5))
        for dtype in ("int8", "int32", "uint16", "bool"):
            x = tt.tensor3("x", dtype=dtype)
            v = value.astype(dtype)
            builds: list[Build] = [
                lambda a: a.sum(axis=1).sum(axis=0),
                lambda a: a.prod(axis=0).prod(),
                lambda a: a.max(axis=2).max(axis=1),
                lambda a: a.min(axis=0).min(axis=0),
                lambda a: a.any(axis=0).any(axis=1),
                lambda a: a.all(axis=1).all(),
            ]
            for build in builds:
                y = build(x)
                result, expected = function([x], y)(v), build(v)
                self.assertEqual((result.dtype.kind, result.tolist()), (expected.dtype.kind, expected.tolist()))
                reductions = [n for n in full([x], [y]).toposort() if isinstance(n.op, Reduce)]
                self.assertEqual(len(reductions), 1, str(y.owner.op))

    def test_products_of_floats_stay_apart(self) -> None:
        x = tt.dmatrix("x")
        value = np.array([[1e200, 1e200], [1e-200, 1e-200]])
        assert_allclose(function([x], x.prod(axis=0).prod())(value), 1.0)


class TestPowers(unittest.TestCase):
    def test_quotients_of_powers(self) -> None:
        value = np.array([-2.0, 0.5, 3.0, 0.0])
        forms: list[tuple[Build, Build, int]] = [
            (lambda x: x**3 / x**2, lambda v: v, 0),
            (lambda x: x**3.0 * x**-2.0, lambda v: v, 0),
            (lambda x: x**4 / x, lambda v: v**3, 2),
            (lambda x: 2 * x**5 / (4 * x**4), lambda v: v / 2, 1),
            (lambda x: x**2 * x**3, lambda v: v**5, 4),
        ]
        for dtype in ("float64", "float32"):
            x = tt.vector("x", dtype=dtype)
            for build, expected, most in forms:
                self.assertLessEqual(len(full([x], [build(x)]).toposort()), most)
                result = function([x], build(x))(value.astype(dtype))
                assert_allclose(result, expected(value).astype(dtype))

    def test_powers_that_others_use_stay(self) -> None:
        x = tt.dvector("x")
        cube = x**3
        first, second = function([x], [cube / x**2, cube])(np.array([2.0, -3.0]))
        assert_allclose(first, [2.0, -3.0])
        assert_allclose(second, [8.0, -27.0])


class TestPartsOfRows(unittest.TestCase):
    """Parts of elementwise results are computed alone where all else is broadcast there."""

    def test_a_bias(self) -> None:
        x, b = tt.dmatrix("x"), tt.dvector("b")
        value, bias = np.arange(12.0).reshape(4, 3), np.array([1.0, 2.0, 3.0])
        parts: list[Build] = [lambda y: y[1], lambda y: y[1:3], lambda y: y[::-2], lambda y: y[-1]]
        for part in parts:
            graph = full([x, b], [part(tt.exp(x / 9) + b)])
            self.assertEqual(_ops(graph)[-1], "Elemwise")
            assert_allclose(function([x, b], part(tt.exp(x / 9) + b))(value, bias), part(np.exp(value / 9) + bias))

    def test_where_both_have_elements_it_stays(self) -> None:
        x, b = tt.dmatrix("x"), tt.dvector("b")
        parts: list[Build] = [lambda y: y[:, 1], lambda y: y[1, 1:]]
        for part in parts:
            self.assertEqual(_ops(full([x, b], [part(x + b)]))[-1], "Subtensor")
        with self.assertRaisesRegex(ValueError, "mis-match"):
            function([x, b], (x + b)[1])(np.ones((2, 3)), np.ones(2))

    def test_chains_of_parts(self) -> None:
        x, b = tt.dmatrix("x"), tt.dvector("b")
        y, expected = x, np.arange(300.0).reshape(100, 3)
        value = expected
        for _ in range(60):
            y, expected = tt.tanh(y + b)[1:], np.tanh(expected + 0.25)[1:]
        graph = full([x, b], [y])
        self.assertEqual(sum(isinstance(n.op, Subtensor) for n in graph.toposort()), 1)
        assert_allclose(function([x, b], y)(value, np.full(3, 0.25)), expected)


class TestReductions(unittest.TestCase):
    CASES: dict[str, Build] = {
        "sum_of_negative": lambda x, c: (-x).sum(axis=0),
        "sum_of_multiple": lambda x, c: (c.dimshuffle("x", "x") * x).sum(axis=1) + (x / 4.0).sum(axis=1).sum(),
        "sum_of_sum": lambda x, c: x.sum(axis=0).sum(),
        "sum_of_fill": lambda x, c: tt.fill(x, 2.5).sum(),
        "reduction_of_permuted": lambda x, c: x.T.max() + x.T.sum() + x.dimshuffle(0, "x", 1).min(),
        "reduction_over_single_elements": lambda x, c: (
            x.dimshuffle(0, "x", 1).sum(axis=1) + x.dimshuffle(0, 1, "x").max(axis=(1, 2)).sum()
        ),
    }

    def test_each_fires_and_keeps_values(self) -> None:
        for name, build in self.CASES.items():
            with self.subTest(name):
                x, c = tt.dmatrix("x"), tt.dscalar("c")
                values = [[RNG.rand(3, 4), np.asarray(2.0)]]
                check_rewrite(rule(name), [x, c], [build(x, c)], values, same=close)
                graph = full([x, c], [build(x, c)])
                (got,) = interpret(graph.outputs, dict(zip(graph.inputs, values[0], strict=True)))
                (expected,) = interpret([build(x, c)], {x: values[0][0], c: values[0][1]})
                close(got, expected)

    def test_lengths_come_from_the_inputs(self) -> None:
        x, y = tt.dmatrix("x"), tt.dmatrix("y")
        graph = full([x, y], [tt.dot(tt.exp(x), y).shape, tt.tanh(x).mean()])
        self.assertNotIn("exp", names(graph))
        self.assertNotIn("dot", names(graph))
        values = dict(zip(graph.inputs, (RNG.rand(3, 4), RNG.rand(4, 5)), strict=True))
        shape, mean = interpret(graph.outputs, values)
        self.assertEqual(shape.tolist(), [3, 5])
        close(mean, np.tanh(values[graph.inputs[0]]).mean())

    def test_errors_of_shapes_stay_in_fast_compile(self) -> None:
        x, y = tt.dvector("x"), tt.dvector("y")
        compiled: Any = function([x, y], (x + y).shape, mode="FAST_COMPILE")
        with self.assertRaises(ValueError):
            compiled(np.ones(2), np.ones(3))
