from __future__ import annotations

import contextlib
import importlib.util
import io
import math
import unittest
from pathlib import Path
from types import ModuleType

from hypothesis import given, settings, strategies as st

from theano_testing.tiers import examples


def load_example() -> ModuleType:
    """Return the example as a module."""
    path = Path(__file__).parents[1] / "examples" / "expression_simplifier.py"
    spec = importlib.util.spec_from_file_location("expression_simplifier", path)
    assert spec is not None and spec.loader is not None, f"{path} is a Python file"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


example = load_example()


def run(*arguments: str) -> tuple[int, str, str]:
    """Run the example; return status, output and error output."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = example.main(arguments)
    return status, out.getvalue(), err.getvalue()


class TestSimplifying(unittest.TestCase):
    def test_formulas(self) -> None:
        for formula, expected in (
            ("x + 0", "x"),
            ("0 + x * 1", "x"),
            ("log(exp(x) * exp(y)) - (x + 0)", "y"),
            ("(x + y) - (x + y)", "0"),
            ("((x + 1) + y) + 2", "((x + y) + 3)"),
            ("(x + y) * (x + y)", "((x + y) ** 2)"),
            ("exp(x) * exp(x)", "exp((x + x))"),
            ("2 * 3 - 6 + x", "x"),
            ("x + -y", "(x - y)"),
            ("--x", "x"),
            ("log(0)", "log(0)"),
            ("x - 0.25", "(x - 0.25)"),
        ):
            with self.subTest(formula=formula):
                self.assertEqual(example.simplify(formula), expected)

    def test_rules_can_be_added_and_left_out(self) -> None:
        self.assertEqual(example.simplify("x * y / y"), "((x * y) / y)")
        self.assertEqual(example.simplify("x * y / y", "fast"), "x")
        self.assertEqual(example.simplify("x + 0", "-add_of_zero"), "(x + 0)")

    def test_deep_formulas(self) -> None:
        self.assertEqual(example.simplify("-" * 90 + "x"), "x")
        self.assertEqual(example.simplify("x" + "+0" * 2000), "x")

    @settings(max_examples=examples(60), deadline=None)
    @given(
        st.recursive(
            st.sampled_from(["x", "y", "0", "1", "2"]),
            lambda part: st.tuples(part, st.sampled_from("+-*"), part).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            max_leaves=12,
        ),
        st.integers(-3, 3),
        st.integers(-3, 3),
    )
    def test_the_value_stays(self, formula: str, x: int, y: int) -> None:
        names = {"x": float(x), "y": float(y)}
        simpler = example.simplify(formula, "fast")
        self.assertTrue(math.isclose(eval(simpler, {}, names), eval(formula, {}, names)), simpler)


class TestErrors(unittest.TestCase):
    def test_what_is_no_formula(self) -> None:
        for formula, message in (
            ("x +", "'x \\+' is no formula"),
            ("", "is no formula"),
            ("sin(x)", r"'sin\(x\)' is not part of the language"),
            ("exp(x, y)", "exp takes 1 arguments, got 2"),
            ("'text' + x", "not part of the language"),
            ("True", "not part of the language"),
            ("x @ y", "not part of the language"),
            ("+x", "not part of the language"),
            ("x.y", "not part of the language"),
        ):
            with self.subTest(formula=formula), self.assertRaisesRegex(example.FormulaError, message):
                example.simplify(formula)


class TestCommandLine(unittest.TestCase):
    def test_a_formula(self) -> None:
        self.assertEqual(run("x * 1"), (0, "x\n", ""))

    def test_options(self) -> None:
        self.assertEqual(run("x * y / y", "--fast"), (0, "x\n", ""))
        self.assertEqual(run("x * 1", "--without", "mul_of_one"), (0, "(x * 1)\n", ""))

    def test_a_trace(self) -> None:
        status, out, _ = run("x * 1", "--trace")
        self.assertEqual(status, 0)
        self.assertRegex(out, r"formulas/rules/mul_of_one \(\d+ us\)")

    def test_a_profile(self) -> None:
        status, out, _ = run("x * 1", "--profile")
        self.assertEqual(status, 0)
        self.assertRegex(out, r"(?m)^SeqOptimizer  formulas  time \d\.\d{3}s for 1/0 nodes before/after optimization$")
        self.assertRegex(out, r"(?m)^    \d\.\d{3}s - 1 - 0 - mul_of_one$")
        self.assertTrue(out.endswith("\nx\n"))

    def test_an_error(self) -> None:
        status, out, err = run("x *")
        self.assertEqual((status, out), (2, ""))
        self.assertRegex(err, r"^error: 'x \*' is no formula")


if __name__ == "__main__":
    unittest.main()
