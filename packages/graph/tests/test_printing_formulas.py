from __future__ import annotations

import unittest
from collections.abc import Iterable
from typing import Any

from support import NUMBER, Join, chain, halves, join, names, other

from theano_graph import (
    Constant,
    Fragment,
    FunctionGraph,
    FunctionPrinter,
    OperatorPrinter,
    PatternPrinter,
    Place,
    PrettyPrinter,
    TransparentPrinter,
    Variable,
    min_informative_str,
    pp,
    var_descriptor,
)

plus, times, power, minus = Join("plus"), Join("times"), Join("power"), Join("minus")


def table() -> PrettyPrinter:
    new = PrettyPrinter()
    new.assign(plus, OperatorPrinter("+", 1, "both"))
    new.assign(minus, OperatorPrinter("-", 1))
    new.assign(times, OperatorPrinter("*", 2))
    new.assign(power, OperatorPrinter("**", 3, "right"))
    return new


class Loud:
    """Writes the op's name in capitals."""

    def fragments(self, variable: Variable, position: Place) -> Iterable[Fragment]:
        return ["LOUD"]


class TestFormulas(unittest.TestCase):
    def test_each_operator_has_parentheses(self) -> None:
        x, y = names("xy")
        self.assertEqual(table()(times(plus(x, y), power(x, minus(y)))), "((x + y) * (x ** (-y)))")

    def test_minimal_parentheses_follow_precedence_and_side(self) -> None:
        x, y, z = names("xyz")
        cases = [
            (minus(minus(x, y), z), "x - y - z"),
            (minus(x, minus(y, z)), "x - (y - z)"),
            (plus(x, plus(y, z)), "x + y + z"),
            (minus(x, plus(y, z)), "x - (y + z)"),
            (times(plus(x, y), z), "(x + y) * z"),
            (plus(times(x, y), z), "x * y + z"),
            (power(x, power(y, z)), "x ** y ** z"),
            (power(power(x, y), z), "(x ** y) ** z"),
            (join(plus(x, y), z), "join(x + y, z)"),
        ]
        for expression, text in cases:
            with self.subTest(text):
                self.assertEqual(table()(expression, minimal=True), text)

    def test_without_a_printer_the_op_is_a_function(self) -> None:
        x, y = names("xy")
        first, second = halves(x)
        self.assertEqual(pp(join(x, other(y))), "join(x, other(y))")
        self.assertEqual(pp(second), f"{halves}.1(x)")
        self.assertEqual(pp(join(first, NUMBER.make_constant(3))), f"join({halves}.0(x), Constant{{3}})")
        self.assertEqual(pp(NUMBER.make_variable()), "<number>")

    def test_printers_of_ops_classes_and_predicates(self) -> None:
        x, y = names("xy")
        pretty = PrettyPrinter()
        pretty.assign(Join, FunctionPrinter("any"))
        self.assertEqual(pretty(join(x, other(y))), "any(x, any(y))")
        pretty.assign(other, TransparentPrinter())
        self.assertEqual(pretty(join(x, other(y))), "any(x, y)")
        pretty.assign(join, PatternPrinter("{{{1}|{0:2}}}.T"))
        self.assertEqual(pretty(join(x, other(y))), "{y|x}.T")
        apart = pretty.copy()
        apart.assign(lambda v: v.name == "special", Loud())
        self.assertEqual(apart(join(x, other(y, name="special"))), "{LOUD|x}.T")
        self.assertEqual(pretty(join(x, other(y, name="special"))), "{y|x}.T")

    def test_a_pattern_that_binds_loosely_gets_parentheses(self) -> None:
        x, y = names("xy")
        pretty = table()
        pretty.assign(join, PatternPrinter("{0} if {1}", 0))
        self.assertEqual(pretty(times(join(x, y), y), minimal=True), "(x if y) * y")
        self.assertEqual(pretty(join(x, y)), "x if y")

    def test_function_printer_with_a_name_for_each_output(self) -> None:
        pretty = PrettyPrinter()
        pretty.assign(type(halves), FunctionPrinter("low", "high"))
        self.assertEqual(pretty(halves(names("x")[0])), "low(x)\nhigh(x)")

    def test_what_is_no_assignment_is_refused(self) -> None:
        wrong: list[tuple[Any, Any, str]] = [
            (join, "join", "is no printer"),
            (int, Loud(), "is no class of ops"),
            ("join", Loud(), "is no condition"),
        ]
        for condition, printer, text in wrong:
            with self.subTest(text), self.assertRaisesRegex(TypeError, text):
                PrettyPrinter().assign(condition, printer)
        with self.assertRaisesRegex(ValueError, "is no input"):
            PatternPrinter("{x}")
        with self.assertRaisesRegex(ValueError, "needs a name"):
            FunctionPrinter()
        with self.assertRaisesRegex(TypeError, "cannot show"):
            pp(3)

    def test_several_outputs_are_several_lines(self) -> None:
        x, y = names("xy")
        self.assertEqual(table()([plus(x, y), x]), "(x + y)\nx")
        self.assertEqual(pp(join(x), y), "join(x)\ny")
        self.assertEqual(pp(FunctionGraph([x], [join(x), other(x)])), "join(x)\nother(x)")

    def test_names_end_formulas_on_request(self) -> None:
        x, y = names("xy")
        expression = plus(times(x, y, name="product"), x, name="sum")
        self.assertEqual(table()(expression, stop_on_name=True), "(product + x)")

    def test_a_deep_chain(self) -> None:
        (x,) = names("x")
        text = table()(chain(x, 20000))
        self.assertEqual(text.count("join("), 20000)
        self.assertTrue(table()(chain(x, 20000), max_length=50).endswith("..."))

    def test_a_deep_chain_of_parts_that_are_used_twice(self) -> None:
        (x,) = names("x")
        out = x
        for _ in range(20000):
            out = plus(out, out)
        lines = table()(out).splitlines()
        self.assertEqual(len(lines), 20000)
        self.assertEqual(lines[:2], ["t0 = (x + x)", "t1 = (t0 + t0)"])
        self.assertEqual(lines[-1], "(t19998 + t19998)")
        bounded = table()(out, max_lines=3)
        self.assertEqual(bounded.splitlines()[2:], ["t2 = (t1 + t1)", "... (19997 more lines)"])

    def test_names_of_parts_are_not_those_of_the_user(self) -> None:
        out = NUMBER.make_variable("t7")
        for _ in range(12):
            out = plus(out, out)
        self.assertEqual(table()(out).splitlines()[0], "t_0 = (t7 + t7)")


class TestDescriptions(unittest.TestCase):
    def test_min_informative_str_stops_at_names(self) -> None:
        x, y = names("xy")
        named = other(y, name="named")
        self.assertEqual(
            min_informative_str(join(named, join(x, named))),
            "A. join\n B. named\n C. join\n  D. x\n  <B>",
        )
        self.assertEqual(min_informative_str(join(x), indent_level=1), "\tA. join\n\t B. x")

    def test_var_descriptor_is_one_line(self) -> None:
        x, y = names("xy")
        shared = other(x, y)
        self.assertEqual(var_descriptor(join(shared, shared, x)), "join(<1>=other(x, y), <1>, x)")
        unnamed = NUMBER.make_variable()
        self.assertEqual(var_descriptor(join(unnamed, unnamed).owner), "join(<1>=<number>, <1>)")
        different = NUMBER.make_variable()
        self.assertNotEqual(var_descriptor(join(unnamed, different)), var_descriptor(join(unnamed, unnamed)))

    def test_deep_chains(self) -> None:
        (x,) = names("x")
        self.assertEqual(var_descriptor(chain(x, 20000)).count("join("), 20000)
        self.assertEqual(min_informative_str(chain(x, 3000)).count("join"), 3000)

    def test_what_is_no_variable_is_refused(self) -> None:
        for describer in (min_informative_str, var_descriptor):
            with self.subTest(describer.__name__), self.assertRaisesRegex(TypeError, "is no variable"):
                describer("x")

    def test_constants_are_values(self) -> None:
        self.assertEqual(var_descriptor(Constant(NUMBER, 4)), "Constant{4}")
