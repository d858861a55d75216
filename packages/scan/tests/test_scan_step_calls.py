"""Functions that take other arguments than a loop passes, or return nothing: the errors."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable
from typing import Any

import theano_tensor as T
from theano_linker_c import function, shared
from theano_scan import map as scan_map, scan


class TestWrongArguments(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.w, self.h = T.dvector("x"), T.dscalar("w"), T.dscalar("h")

    def message(self, fn: Any, **arguments: Any) -> str:
        with self.assertRaises(TypeError) as caught:
            scan(fn, **arguments)
        return str(caught.exception)

    def test_everything_that_is_passed_is_listed_in_order(self) -> None:
        def step(a: Any, b: Any) -> Any:
            return a + b

        text = self.message(
            step,
            sequences=[{"input": self.x, "taps": [-1, 0]}],
            outputs_info=[self.h, None],
            non_sequences=[self.w, T.dscalar()],
        )
        lines = text.splitlines()
        self.assertRegex(lines[0], r"^scan passes 5 arguments to the function, which takes \(a: .*b: .*\)")
        self.assertRegex(lines[1], r"function `step` at test_scan_step_calls\.py:\d+$")
        self.assertEqual(
            [line.strip() for line in lines[2:7]],
            [
                "argument 1: sequence `x` at t-1",
                "argument 2: sequence `x` at t",
                "argument 3: output 0 at t-1, which starts from `h`",
                "argument 4: non-sequence `w`, as it is",
                "argument 5: non-sequence 1, as it is",
            ],
        )
        self.assertIn("Hint: let it take what is passed, in this order: (x_tm1, x_t, h_tm1, w, w1)", lines[7])

    def test_single_steps_methods_and_partial_functions(self) -> None:
        class Model:
            def step(self, a: Any) -> Any:
                return a

        for fn in (Model().step, functools.partial(lambda a, b: a, 1)):
            text = self.message(fn, sequences=[self.x, self.x])
            self.assertIn("scan passes 2 arguments", text)
        self.assertIn("which takes ()", self.message(lambda: self.h, outputs_info=self.h, n_steps=1))

    def test_error_within_the_function_stays(self) -> None:
        def inner(a: Any) -> Any:
            return a

        def step(a: Any) -> Any:
            bad: Any = inner
            return bad(a, a)

        self.assertIn("inner() takes 1 positional argument", self.message(step, sequences=self.x))


class TestNoReturnValue(unittest.TestCase):
    def test_nothing_returned(self) -> None:
        x = T.dvector("x")

        def step(a: Any) -> Any:
            a + 1

        makes: tuple[Callable[[], Any], ...] = (
            lambda: scan(step, sequences=x),
            lambda: scan(step, outputs_info=T.dscalar(), n_steps=1),
            lambda: scan_map(lambda a: [None], x),
        )
        for make in makes:
            with self.assertRaisesRegex(
                ValueError, r"(?s)returns no value.*test_scan_step_calls\.py:\d+.*Hint: return"
            ):
                make()

    def test_updates_alone_are_a_result(self) -> None:
        count = shared(0.0, "count")
        _, updates = scan(lambda: {count: count + 1.0}, n_steps=3)
        function([], [], updates=updates)()
        self.assertEqual(float(count.get_value()), 3.0)
