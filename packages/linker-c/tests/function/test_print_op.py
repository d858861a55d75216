"""The op that prints values while a function runs."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

from theano_graph import generic, pullback, pushforward, shape_rule
from theano_linker_c import Mode, Print, function

from .function_support import add, constant, mul, scalar, vector

MODES: tuple[Any, ...] = ("FAST_RUN", "FAST_COMPILE", Mode(linker="py"), Mode(linker="cvm", optimizer=None))


def printed(run: Callable[..., Any], *args: Any) -> tuple[Any, str]:
    """Return the result of a call and its standard output."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        result = run(*args)
    return result, stream.getvalue()


def note_type(op: Print, value: Any) -> None:
    """Print another way."""
    print(op.message, type(value).__name__)


class TestPrint(unittest.TestCase):
    def test_every_mode_prints_at_each_call(self) -> None:
        for mode in MODES:
            with self.subTest(mode=str(mode)):
                x = vector("x")
                f = function([x], mul(Print("hello world")(x), x), mode=mode)
                for values in ([1.0, 2.0, 3.0], [4.0]):
                    result, text = printed(f, np.array(values))
                    np.testing.assert_array_equal(result, np.square(values))
                    self.assertEqual(text, f"hello world __str__ = {np.array(values)}\n")

    def test_values_between_elementwise_ops(self) -> None:
        for mode in MODES:
            with self.subTest(mode=str(mode)):
                x = vector("x")
                f = function([x], add(Print("twice")(add(x, x)), x), mode=mode)
                result, text = printed(f, np.array([1.0, 2.0]))
                np.testing.assert_array_equal(result, [3.0, 6.0])
                self.assertEqual(text, "twice __str__ = [2. 4.]\n")

    def test_dependence_orders_prints(self) -> None:
        for mode in MODES:
            x = scalar("x")
            first = Print("first")(x)
            f = function([x], Print("second")(add(first, x)), mode=mode)
            self.assertEqual([line.split()[0] for line in printed(f, 1.0)[1].splitlines()], ["first", "second"])

    def test_constants_are_printed_at_each_call(self) -> None:
        x = scalar("x")
        f = function([x], add(Print("half")(constant(0.5)), x))
        self.assertEqual(printed(f, 1.0), (1.5, "half __str__ = 0.5\n"))
        self.assertEqual(printed(f, 2.0), (2.5, "half __str__ = 0.5\n"))

    def test_equal_prints_are_one_and_different_ones_are_not(self) -> None:
        x = vector("x")
        for messages, count in ((("a", "a"), 1), (("a", "b"), 2)):
            f = function([x], add(*(Print(message)(x) for message in messages)))
            self.assertEqual(printed(f, np.ones(1))[1].count("\n"), count)

    def test_results_are_the_callers(self) -> None:
        for mode in MODES:
            x = vector("x")
            f = function([x], Print()(x), mode=mode)
            value = np.ones(2)
            result, text = printed(f, value)
            result[:] = 7
            self.assertEqual((value.tolist(), text), ([1.0, 1.0], " __str__ = [1. 1.]\n"))

    def test_attributes_and_own_function(self) -> None:
        x = vector("x")
        f = function([x], Print("x", attrs=["shape", "sum"])(x))
        self.assertEqual(printed(f, np.ones(3))[1], "x shape = (3,)\nx sum = 3.0\n")
        self.assertEqual(Print("x", "shape"), Print("x", ("shape",)))
        f = function([x], Print("x", global_fn=note_type)(x))
        self.assertEqual(printed(f, np.ones(3))[1], "x ndarray\n")

    def test_any_type(self) -> None:
        x = generic("x")
        f = function([x], Print("it")(x))
        self.assertEqual(printed(f, {"a": 1}), ({"a": 1}, "it __str__ = {'a': 1}\n"))

    def test_an_attribute_that_is_not_there(self) -> None:
        x = vector("x")
        with self.assertRaisesRegex(AttributeError, "nothing") as caught:
            function([x], Print("x", ["nothing"])(x))(np.ones(1))
        self.assertIn("Print{x}", "".join(caught.exception.__notes__))

    def test_value_semantics(self) -> None:
        op = Print("a", ("shape",))
        self.assertEqual(op, pickle.loads(pickle.dumps(op)))
        self.assertEqual(op, copy.deepcopy(op))
        self.assertEqual(hash(op), hash(Print("a", ["shape"])))
        self.assertNotEqual(op, Print("b", ("shape",)))

    def test_rules_are_those_of_the_identity(self) -> None:
        x, g = vector("x"), vector("g")
        node = Print()(x).owner
        self.assertEqual(list(pullback.lookup(node.op)(node, [g])), [g])
        self.assertEqual(list(pushforward.lookup(node.op)(node, [None])), [None])
        self.assertEqual(list(shape_rule.lookup(node.op)(node, [(3,)])), [(3,)])

    def test_bad_arguments(self) -> None:
        bad: tuple[Callable[[], Any], ...] = (
            lambda: Print(vector("x")),
            lambda: Print("x", [1]),  # type: ignore[list-item]
            lambda: Print("x", global_fn=3),  # type: ignore[arg-type]
            lambda: Print("x")(3),
            lambda: Print("x")(vector("x"), vector("y")),
        )
        for call in bad:
            with self.assertRaisesRegex(TypeError, "(?s)Print.*Hint"):
                call()
