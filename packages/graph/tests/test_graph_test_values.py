"""Test values, traces and the flags behind them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import unittest
from collections.abc import Sequence
from typing import Any

from support import NUMBER, POSITIVE, Join, names

from theano_graph import Apply, MissingTestValueError, Op, Type, Variable, config, get_test_value
from theano_graph.utils import add_tag_trace


class Divide(Op):
    """Exact division."""

    __props__ = ()
    itypes = (NUMBER, NUMBER)
    otypes = (NUMBER,)

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        quotient, others = divmod(inputs[0], inputs[1])
        output_storage[0][0] = "rest" if others else quotient


class Scaled(Op):
    """Multiplies by its parameter."""

    __props__ = ()
    itypes = (NUMBER,)
    otypes = (NUMBER,)
    params_type = NUMBER

    def get_params(self, node: Apply) -> int:
        return 7

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = inputs[0] * params


divide = Divide()


class Odd(Exception):
    """An exception that wants two arguments."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


class Held(Variable):
    """A variable that holds its value."""

    __slots__ = ()

    def get_value(self) -> int:
        return 21


def valued(**values: int) -> list[Variable]:
    """Return a variable for each name, with its test value."""
    results = []
    for name, value in values.items():
        variable: Variable = NUMBER.make_variable(name)
        variable.tag.test_value = value
        results.append(variable)
    return results


class TestComputing(unittest.TestCase):
    def test_off_by_default(self) -> None:
        x, y = valued(x=6, y=0)
        self.assertFalse(hasattr(divide(x, y).tag, "test_value"))

    def test_derived_values(self) -> None:
        x, y = valued(x=12, y=2)
        with config.change_flags(compute_test_value="raise"):
            self.assertEqual(divide(divide(x, y), 3).tag.test_value, 2)
            self.assertEqual(divide(Held(NUMBER), y.type.make_constant(3)).tag.test_value, 7)
            self.assertEqual(Scaled()(x).tag.test_value, 84)
            result = divide.make_node(x, y).outputs[0]
            self.assertEqual(divide(result, y).tag.test_value, 3)
            self.assertEqual(result.tag.test_value, 6)

    def test_deep_graph_without_values(self) -> None:
        (x,) = valued(x=5)
        out = x
        for _ in range(3000):
            out = divide(out, 1)
        with config.change_flags(compute_test_value="raise"):
            self.assertEqual(divide(out, 5).tag.test_value, 1)

    def test_error_names_op_operands_and_line(self) -> None:
        x, y = valued(x=6, y=0)
        with config.change_flags(compute_test_value="ignore"), self.assertRaises(ZeroDivisionError) as caught:
            divide(x, y)
        text = str(caught.exception)
        self.assertIn("Divide failed on test values", text)
        self.assertIn("`y`: number", text)
        self.assertRegex(text, rf"applied at {os.path.basename(__file__)}:\d+")
        self.assertIn("Hint:", text)

    def test_results_are_checked(self) -> None:
        x, y = valued(x=7, y=2)
        with (
            config.change_flags(compute_test_value="raise"),
            self.assertRaisesRegex(TypeError, "not an integer: 'rest'"),
        ):
            divide(x, y)

    def test_exception_that_cannot_carry_the_text(self) -> None:
        class Fails(Divide):
            def perform(self, *args: Any, **kwargs: Any) -> None:
                raise Odd(1, 2)

        x, y = valued(x=7, y=2)
        with config.change_flags(compute_test_value="raise"), self.assertRaises(Exception) as caught:
            Fails()(x, y)
        self.assertEqual(type(caught.exception).__name__, "TestComputationError")
        self.assertIsInstance(caught.exception.__cause__, Odd)

    def test_overwritten_operands_are_copied(self) -> None:
        class Append(Op):
            itypes = (POSITIVE,)
            destroy_map = {0: [0]}

            def make_node(self, *inputs: Any) -> Apply:
                return Apply(self, inputs, [inputs[0].type.make_variable()])

            def perform(
                self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
            ) -> None:
                inputs[0].append(1)
                output_storage[0][0] = inputs[0]

        x = Variable(AnyList())
        x.tag.test_value = []
        with config.change_flags(compute_test_value="raise"):
            self.assertEqual(Append()(x).tag.test_value, [1])
        self.assertEqual(x.tag.test_value, [])


class AnyList(Type):
    """Any value."""


class TestMissing(unittest.TestCase):
    def test_raise(self) -> None:
        x, y = names("xy")
        with (
            config.change_flags(compute_test_value="raise"),
            self.assertRaisesRegex(MissingTestValueError, r"`x` has no test value\n.*made at .*\n.*x.tag.test_value"),
        ):
            divide(x, y)

    def test_warn_names_the_line(self) -> None:
        x, y = names("xy")
        with config.change_flags(compute_test_value="warn"), self.assertWarns(UserWarning) as caught:
            out = divide(x, y)
        self.assertEqual(caught.filename, __file__)
        self.assertIn("`x` has no test value", str(caught.warning))
        self.assertFalse(hasattr(out.tag, "test_value"))

    def test_ignore(self) -> None:
        x, y = names("xy")
        with config.change_flags(compute_test_value="ignore"):
            self.assertFalse(hasattr(divide(x, y).tag, "test_value"))

    def test_value_that_does_not_fit(self) -> None:
        x = POSITIVE.make_variable("x")
        x.tag.test_value = -1
        with self.assertRaisesRegex(AttributeError, "test value of `x` does not fit its type: not positive: -1"):
            get_test_value(x)

    def test_pdb_enters_the_debugger(self) -> None:
        x, y = names("xy")
        entered: list[str] = []
        before = sys.breakpointhook
        sys.breakpointhook = lambda *a, **k: entered.append("here")
        try:
            with config.change_flags(compute_test_value="pdb"), self.assertRaises(MissingTestValueError):
                divide(x, y)
        finally:
            sys.breakpointhook = before
        self.assertEqual(entered, ["here"])


class TestFlags(unittest.TestCase):
    def test_from_the_environment(self) -> None:
        program = (
            "from theano_graph import generic, Op, config\n"
            "class Twice(Op):\n"
            "    itypes = otypes = (generic,)\n"
            "    def perform(self, node, inputs, output_storage, params=None):\n"
            "        output_storage[0][0] = inputs[0] * 2\n"
            "x = generic('x'); x.tag.test_value = 4\n"
            "print(Twice()(x).tag.test_value, len(x.origin.frames))\n"
        )
        environment = {**os.environ, "THEANO_FLAGS": "compute_test_value=raise,traceback.limit=1"}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=600
        )
        self.assertEqual(done.stdout.split(), ["8", "1"])

    def test_repr_shows_the_value(self) -> None:
        (x,) = valued(x=6)
        self.assertEqual(repr(x), "x")
        with config.change_flags(print_test_value=True):
            self.assertEqual(repr(x), "x\n6")
            self.assertEqual(str(x), "x")
            self.assertEqual(repr(names("y")[0]), "y")


class TestTrace(unittest.TestCase):
    def test_trace_is_the_users_stack(self) -> None:
        def inner() -> Variable:
            x: Variable = NUMBER.make_variable("x")
            return x

        x = inner()
        ((*_, outer, call),) = x.tag.trace
        self.assertEqual((outer[0], outer[2], outer[3]), (__file__, "test_trace_is_the_users_stack", "x = inner()"))
        self.assertEqual((call[1], call[2]), (outer[1] - 3, "inner"))

    def test_limit(self) -> None:
        for limit in (1, 2):
            with config.change_flags({"traceback.limit": limit}):
                self.assertEqual(len(Join()(names("x")[0]).tag.trace[0]), limit)
        with config.change_flags({"traceback.limit": 0}):
            x = names("x")[0]
        self.assertIsNone(x.origin)
        self.assertEqual(x.tag.trace, [])
        with self.assertRaisesRegex(ValueError, "traceback.limit"):
            config.traceback.limit = -1

    def test_copies_keep_their_trace(self) -> None:
        x = names("x")[0]
        x.tag.mark = 1
        for copy in (x.clone(), pickle.loads(pickle.dumps(NUMBER.make_constant(1)))):
            self.assertEqual(copy.tag.trace[0][-1][0][-3:], ".py")
        self.assertEqual(x.clone().tag.trace, x.tag.trace)

    def test_trace_can_be_set(self) -> None:
        x = names("x")[0]
        self.assertIs(add_tag_trace(x, 1), x)
        self.assertEqual([entry[2] for entry in x.tag.trace[0]], ["test_trace_can_be_set"])
