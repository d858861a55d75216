"""The rules that are equations: how many there are, how they read, and that both sides are the same numbers."""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import threading
import unittest
from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import given as drawn, note, settings, strategies as st

import theano_tensor as T
from theano_graph import FunctionGraph, Op
from theano_graph.hashing import StructuralHasher
from theano_linker_c import scalar
from theano_optimize import (
    Applied,
    Equation,
    EquationRewriter,
    Exactness,
    Part,
    PatternError,
    RewriteTrace,
    Term,
    Unknown,
    WalkRewriter,
)
from theano_tensor.rewrites.equations import (
    Anything,
    Elementwise,
    Equations,
    Real,
    applied,
    equation_rewriter,
    equations,
    exp,
    log,
    sigmoid,
    softplus,
)
from theano_testing.optimize import apply_rewrite
from theano_testing.tiers import slow

from .rule_cases import CASES
from .rule_inputs import given, values
from .test_every_rule import RULE_OF, Close, alone, results, run

RULES = {name: rule for name, rule in sorted(RULE_OF.items()) if isinstance(rule, EquationRewriter)}


class TestEquations(unittest.TestCase):
    def test_how_many(self) -> None:
        self.assertGreaterEqual(len(RULES), 76)

    def test_each_has_an_expression_on_which_it_fires(self) -> None:
        """The table of all rules tells for each where it fires, which is tested there, values included."""
        self.assertLessEqual(set(RULES), set(CASES))

    def test_each_says_what_it_does(self) -> None:
        for name, rule in RULES.items():
            with self.subTest(rule=name):
                self.assertTrue(rule.equations)
                for equation in rule.equations:
                    self.assertIn(" -> ", str(equation))
                    self.assertIn(str(equation), "\n".join(rule.summary_lines()))
                    for condition in equation.conditions:
                        self.assertTrue(inspect.getdoc(condition), "a condition states itself in words")

    def test_text_is_what_the_source_says(self) -> None:
        text = [str(equation) for rule in RULES.values() for equation in rule.equations]
        for expected in (
            "log(exp(x)) -> x",
            "-x + -y -> -(x + y)",
            "a * 1 -> a",
            "sqrt(sqr(x)) -> abs(x)",
            "inv(a.T) -> inv(a).T",
            "sum(-x) -> -sum(x) where nothing else uses its parts",
        ):
            self.assertIn(expected, text)
        # A left-hand side that is plain is Python: it reads as it prints.
        for line in text:
            before = line.split(" -> ")[0]
            with self.subTest(text=before):
                ast.parse(before, mode="eval")

    def test_the_trace_names_the_equation(self) -> None:
        x = T.vector("x")
        graph = FunctionGraph([x], [T.log(1 - T.nnet.sigmoid(x))])
        trace = RewriteTrace()
        WalkRewriter(RULE_OF["log_of_sigmoid"]).rewrite(graph, trace=trace)
        (event,) = trace.events
        self.assertRegex(str(event.equation), r"^log\(1 - sigmoid\(x\)\) -> -softplus\(x\) where")
        self.assertIn(str(event.equation), str(event))
        self.assertEqual(trace.as_dicts()[0]["equation"], event.equation)

    def test_unknown_wildcard(self) -> None:
        @equations(T.log.scalar_op, phases=())
        def wrong(a: Anything, b: Anything) -> Equations:
            return [log(exp(a)) >> softplus(b)]

        x: Any = T.vector("x")
        node = T.log(T.exp(x)).owner
        assert node is not None
        with self.assertRaisesRegex(PatternError, "wrong: the right-hand side of .* has the wildcard b"):
            wrong.transform(FunctionGraph([x], [node.outputs[0]], clone=False), node)

    def test_parameters_that_nothing_explains(self) -> None:
        x: Any = T.vector("x")
        node = T.log(T.exp(x)).owner
        assert node is not None
        fgraph = FunctionGraph([x], [node.outputs[0]], clone=False)

        @equations(T.log.scalar_op, phases=())
        def strange(a: Anything) -> Equations:
            return [(log(exp(a)) >> a).when(lambda b: b is not None)]

        with self.assertRaisesRegex(PatternError, "strange: a condition of .* has the parameter b"):
            strange.transform(fgraph, node)
        for annotation in ("Unheard", "T.Unheard", int, None):

            def bare(a):  # type: ignore[no-untyped-def]
                return [log(exp(a)) >> a]

            bare.__annotations__["a"] = annotation
            with self.subTest(annotation), self.assertRaisesRegex(PatternError, "the wildcard a has no annotation"):
                equations(T.log.scalar_op, phases=())(bare).transform(fgraph, node)
        bare.__annotations__["a"] = "T.rewrites.equations.Anything"
        self.assertEqual(equations(T.log.scalar_op, phases=())(bare).transform(fgraph, node), [x])

    def test_one_factor_among_many(self) -> None:
        factors = [T.dvector(f"x{i}") for i in range(9)]
        special = {
            "switch_outside_product": (T.switch(factors[0] > 0, factors[1], 0), scalar.switch),
            "minus_one_in_product": (T.constant(-1.0), scalar.neg),
            "one_in_product": (T.constant(1.0), scalar.mul),
            "zero_in_product": (T.constant(0.0), None),
        }
        for (name, (factor, op)), position in itertools.product(special.items(), (0, 4, 9)):
            with self.subTest(name, place=position):
                fgraph = FunctionGraph(factors, [T.mul(*factors[:position], factor, *factors[position:])])
                self.assertEqual(WalkRewriter(RULES[name]).rewrite(fgraph).changes, 1)
                result = fgraph.outputs[0].owner.op
                self.assertEqual(getattr(result, "scalar_op", None) == op, op is not None)

    def test_equal_terms_are_made_once(self) -> None:
        @equations(T.log.scalar_op, phases=())
        def doubled(a: Anything) -> Equations:
            inner = exp(a)
            outer = sigmoid(a)
            return [log(inner) >> inner + (outer * outer)]

        x: Any = T.vector("x")
        node = T.log(T.exp(x)).owner
        assert node is not None
        result: Any = doubled.transform(FunctionGraph([x], [node.outputs[0]], clone=False), node)
        reference, square = result[0].owner.inputs
        self.assertIs(reference, node.inputs[0])
        self.assertIs(*square.owner.inputs)


SIZE = 5
#: Wildcards: dtypes of vectors, and names of wildcards that are constants.
KINDS: tuple[tuple[str, str], ...] = (("float64", ""), ("int64", ""), ("bool", ""), ("float64", "ad"), ("scalar", ""))
NUMBERS = (2.5, 0, 1, True, -3, -1)


#: Asked for by their names, since they hold for some numbers only; the table of cases has those.
PARTIAL = ("function_of_its_inverse_somewhere",)


class Expression:
    """The left-hand side of an equation, with tensors in place of the wildcards."""

    def __init__(self, term: Term, kind: str, constants: str, numbers: tuple[float, ...]) -> None:
        self.kind, self.constants = kind, constants
        self.numbers = dict(zip("km", numbers, strict=True))
        self.inputs: dict[str, Any] = {}
        self.output = self.built(term)

    def built(self, part: Part) -> Any:
        if isinstance(part, Applied):
            op = part.operation.op
            if not isinstance(op, Elementwise):
                raise LookupError("not elementwise")
            return op.result()(*map(self.built, part.parts))
        if isinstance(part, Unknown):
            return self.wildcard(part)
        return self.input("rest", "float64") if part is ... else T.constant(part)

    def wildcard(self, part: Unknown) -> Any:
        if part.is_number:
            return T.constant(self.numbers[part.name])
        if type(part).__name__ == "Length":
            return self.input("x", "float64").shape[0]
        if part.name in self.constants:
            return T.constant(0.5)
        kind = {"Real": "float64", "Whole": "int64"}.get(type(part).__name__, self.kind)
        return self.input(part.name, "int64" if part.name == "c" else kind)

    def input(self, name: str, kind: str) -> Any:
        if name not in self.inputs:
            self.inputs[name] = T.dscalar(name) if kind == "scalar" else T.TensorType(kind, (False,))(name)
        return self.inputs[name]

    def values(self, rng: np.random.RandomState) -> list[Any]:
        """Return numbers for the inputs; choices are 0 or 1."""
        result = []
        for name, variable in self.inputs.items():
            number = rng.uniform(-2, 2, (SIZE,) * variable.ndim)
            number = rng.randint(0, 2, SIZE) if name == "c" else number * (1 if "float" in variable.dtype else 3)
            result.append(np.asarray(number).astype(variable.dtype))
        return result


def expressions(equation: Equation) -> Iterator[Expression]:
    """Yield expressions that the left-hand side of an equation may fit."""
    for kind, constants in KINDS:
        for numbers in itertools.product(NUMBERS, repeat=2):
            with contextlib.suppress(LookupError, TypeError, ValueError):
                yield Expression(equation.before, kind, constants, numbers)


def fitting(rule: EquationRewriter, equation: Equation) -> tuple[Expression, Any] | None:
    """Return an expression that an equation is the first to fit, and its rewritten form."""
    for expression in expressions(equation):
        graph = FunctionGraph(list(expression.inputs.values()), [expression.output], clone=False)
        result = rule.transform(graph, expression.output.owner)
        if result and rule.last is equation:
            return expression, result[0]
    return None


class TestEachEquation(unittest.TestCase):
    """Each equation about elementwise functions, on the expression that it is written with."""

    @slow
    def test_values(self) -> None:
        rng = np.random.RandomState(11)
        checked, left = 0, []
        for name, rule in RULES.items():
            if rule.info.exactness is Exactness.FAST or name in PARTIAL:
                continue
            for equation in rule.equations:
                if not any(True for _ in itertools.islice(expressions(equation), 1)):
                    continue  # Not elementwise: the table of cases has it.
                with self.subTest(rule=name, equation=str(equation)), np.errstate(all="ignore"):
                    result = fitting(rule, equation)
                    if result is None:
                        left.append(str(equation))
                        continue
                    expression, after = result
                    self.compare(expression, after, rng)
                    checked += 1
        self.assertGreaterEqual(checked, 130)
        self.assertLessEqual(len(left), 8, left)

    def compare(self, expression: Expression, after: Any, rng: np.random.RandomState) -> None:
        """Where the left-hand side is a finite number, the right-hand side is that number."""
        self.assertEqual(after.dtype, expression.output.dtype)
        self.assertEqual(after.ndim, expression.output.ndim)
        inputs = list(expression.inputs.values())
        for _ in range(3):
            before, now = run((inputs, [expression.output, after]), expression.values(rng))
            before, now = np.broadcast_arrays(before, now)
            reference = np.isfinite(before)
            np.testing.assert_allclose(now[reference], before[reference], 1e-9, 1e-12)


class Pair(Op):
    """Two vectors of one, of which the first is the default."""

    __props__ = ()
    itypes = (T.dvector,)
    otypes = (T.dvector, T.dvector)
    default_output = 0

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        """Double and negate."""
        output_storage[0][0], output_storage[1][0] = 2 * inputs[0], -inputs[0]


class Power(Op):
    """An op of a class with many."""

    __props__ = ("number",)
    itypes = otypes = (T.dvector,)

    def __init__(self, number: int) -> None:
        self.number = number

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        """Raise to the power."""
        output_storage[0][0] = inputs[0] ** self.number


pair, power, other_power = applied("pair", Pair()), applied("power", Power), applied("other_power", Power)


@equation_rewriter(T.exp)
def exp_of_pair(x: Anything) -> Equations:
    """Not part of the library."""
    return [(exp(pair(x)) >> exp(x + x)).alone()]


@equation_rewriter(T.mul, Power)
def product_of_powers(x: Anything, y: Anything) -> Equations:
    """One class twice, and two names of it."""
    return [power(x) * power(y) >> power(x * y), power(other_power(x)) >> other_power(power(x))]


@equation_rewriter(Power)
def twice_a_power(x: Anything) -> Equations:
    """One class twice, and not on the right."""
    return [power(power(x)) >> x]


class TestOpsOfEquations(unittest.TestCase):
    def changes(self, rule: Any, *outputs: Any) -> int:
        return apply_rewrite(rule, [self.x, self.y], list(outputs)).profile.changes

    def setUp(self) -> None:
        self.x, self.y = T.dvectors("x", "y")

    def test_what_wildcards_fit_counts(self) -> None:
        text = "from __future__ import annotations\ndef rule(x: Kind): return [log(exp(x)) >> x]"
        results = []
        for kind in (Real, Anything, Real):
            space: dict[str, Any] = {"Kind": kind, "log": log, "exp": exp, "__name__": __name__}
            exec(text, space)
            results.append(StructuralHasher().of(equation_rewriter(T.log)(space["rule"])))
        self.assertEqual([results[0] == one for one in results], [True, False, True])

    def test_other_outputs_of_a_node_are_uses_of_it(self) -> None:
        first, second = Pair()(self.x, return_list=True)
        self.assertEqual(self.changes(exp_of_pair, T.exp(first)), 1)
        self.assertEqual(self.changes(exp_of_pair, T.exp(first), first), 0)
        self.assertEqual(self.changes(exp_of_pair, T.exp(first), second + 1), 0)
        self.assertEqual(self.changes(exp_of_pair, T.exp(first), second), 0)

    def test_a_class_that_is_used_twice_is_one_op(self) -> None:
        x, y = self.x, self.y
        result = apply_rewrite(product_of_powers, [x, y], [Power(2)(x) * Power(2)(y)])
        self.assertEqual(result.after.outputs[0].owner.op, Power(2))
        self.assertEqual(self.changes(product_of_powers, Power(2)(x) * Power(3)(y)), 0)
        # Where the right-hand side does not use it, nothing has to tell which one it is.
        self.assertEqual(self.changes(twice_a_power, Power(2)(Power(3)(x))), 1)

    def test_two_names_may_be_two_ops(self) -> None:
        outer = Power(2)(Power(3)(self.x))
        graph = FunctionGraph([self.x], [outer], clone=False)
        result: Any = (product_of_powers(graph, outer.owner) or [outer])[0]
        self.assertEqual((result.owner.op, result.owner.inputs[0].owner.op), (Power(3), Power(2)))

    def test_threads_have_answers_of_their_own(self) -> None:
        self.changes(twice_a_power, Power(2)(Power(2)(self.x)))
        seen: list[Any] = []
        thread = threading.Thread(target=lambda: seen.append(twice_a_power.last))
        thread.start()
        thread.join()
        self.assertEqual((seen, str(twice_a_power.last)), ([None], "power(power(x)) -> x"))


class TestBothSides(unittest.TestCase):
    """Each equation on random numbers: the value before, and the value after."""

    @settings(max_examples=3, deadline=None, derandomize=True)
    @drawn(st.integers(0, 2**32 - 1), st.sampled_from(["float64", "float32"]))
    def test_values(self, seed: int, dtype: str) -> None:
        rng = np.random.RandomState(seed)
        for name, rule in RULES.items():
            case = CASES[name]
            if name == "zeros_for_empty" or (dtype == "float32" and case.rtol > 1e-9):
                continue
            special = case.reason is None and dtype == "float64"
            for k, build in enumerate(case.builds):
                with np.errstate(all="ignore"):
                    inputs, outputs = results(build, dtype)
                    row = values(rng, special, dtype)
                    after = apply_rewrite(alone(name, case), inputs, outputs).after
                    for a, b in zip(run((inputs, outputs), row), run(after, row), strict=True):
                        note(f"{name}, expression {k}, equations {rule.equations}")
                        Close(case, dtype)(a, b)

    def test_guards_are_asked(self) -> None:
        """Where a condition does not hold, the node stays as it is."""
        v = given()
        full, truth = T.lvector("whole"), v.x > 0
        quiet: dict[str, list[Any]] = {
            "one_as_divisor": [v.x // 1],
            "zero_in_difference": [T.sub(0, truth)],
            "square_of_equal_factors": [truth * truth],
            "log_of_exp": [T.log(T.exp(full))],
            "square_root_of_square": [T.sqrt(T.sqr(full))],
            "comparison_with_itself": [T.eq(v.x, v.x), T.ge(v.x, v.x)],
            "logic_known": [T.and_(v.n, 1), T.or_(v.n, 3)],
            "sum_of_multiple": [(np.inf * v.A).sum()],
            "product_of_sizes": [abs(full) * abs(full[::-1])],
            "switch_outside_product": [T.switch(v.p, full, 0) * full],
        }
        for name, outputs in quiet.items():
            for k, output in enumerate(outputs):
                with self.subTest(rule=name, expression=k):
                    after = apply_rewrite(RULES[name], [*v.variables(), full], [output])
                    self.assertEqual(after.profile.changes, 0)

    def test_exactness(self) -> None:
        """An equation that is less exact than before runs only where it is asked for."""
        for name, rule in RULES.items():
            with self.subTest(rule=name):
                self.assertEqual(rule.info.exactness is Exactness.FAST, name.endswith(("hard_sigmoid", "fast_sigmoid")))
