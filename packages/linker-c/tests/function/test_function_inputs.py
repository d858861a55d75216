"""Inputs: defaults, names, state, shortcuts, and refused ones."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

import numpy as np

from theano_graph import MissingInputError, config
from theano_linker_c import Container, In, Out, UnusedInputError, function

from .function_support import ArrayType, add, add_one_in_place, constant, matrix, mul, scalar, shared, vector


class TestCalls(unittest.TestCase):
    def test_outputs_come_in_the_form_they_were_asked_for(self) -> None:
        x, y = scalar("x"), scalar("y")
        z = add(x, y)
        self.assertEqual(function([x, y], z)(2, 3), 5.0)
        self.assertEqual(function([x, y], [z, x])(2, 3), [5.0, 2.0])
        self.assertEqual(function([x, y], Out(z))(2, 3), 5.0)
        self.assertEqual(function([x, y], {"b": z, "a": y})(2, 3), {"a": 3.0, "b": 5.0})
        self.assertEqual(function([], None)(), [])
        self.assertEqual(function([], [])(), [])
        self.assertEqual(function([x], (x,))(1), [1.0])

    def test_a_result_is_an_array_also_without_axes(self) -> None:
        x = scalar("x")
        result = function([x], add(x, x))(1.5)
        self.assertIsInstance(result, np.ndarray)
        self.assertEqual(result.dtype, np.dtype("float64"))

    def test_keyword_arguments(self) -> None:
        x, y = scalar("x"), scalar("y")
        f = function([x, y], add(x, mul(y, y)))
        self.assertEqual(f(y=3, x=1), 10.0)
        self.assertEqual(f(1, y=3), 10.0)

    def test_an_intermediate_variable_can_be_an_input(self) -> None:
        x = scalar("x")
        middle = add(x, 1.0)
        self.assertEqual(function([middle], mul(middle, middle))(3), 9.0)

    def test_an_input_and_a_constant_can_be_outputs(self) -> None:
        x = scalar("x")
        self.assertEqual(function([x], [x, constant(2.0), x])(1), [1.0, 2.0, 1.0])

    def test_output_subset_still_updates(self) -> None:
        x, s = scalar("x"), shared(0.0, name="s")
        f = function([x], [add(x, 1.0), add(x, 2.0), x], updates=[(s, add(s, x))])
        self.assertEqual(f(5, output_subset=[1]), [7.0])
        self.assertEqual(f(5, output_subset=[2, 0]), [5.0, 6.0])
        self.assertEqual(f(5, output_subset=[]), [])
        self.assertEqual(s.get_value(), 15.0)
        g = function([x], {"a": add(x, 1.0), "b": x})
        self.assertEqual(g(1, output_subset=["b"]), {"b": 1.0})
        with self.assertRaisesRegex(TypeError, "no output 'c'"):
            g(1, output_subset=["c"])

    def test_repr_names_the_inputs(self) -> None:
        x = scalar("x")
        self.assertIn("train(x)", repr(function([x], add(x, x), name="train")))


class TestDefaults(unittest.TestCase):
    def test_a_default_value_may_be_left_out(self) -> None:
        x, y, w = scalar("x"), scalar("y"), scalar("w")
        f = function([x, In(y, value=1), In(w, value=2, name="w_by_name")], mul(add(x, y), w))
        self.assertEqual(f(33), 68.0)
        self.assertEqual(f(33, 2), 70.0)
        self.assertEqual(f(33, 0, 1), 33.0)
        self.assertEqual(f(33, w_by_name=1), 34.0)
        self.assertEqual(f(33, w_by_name=1, y=0), 33.0)

    def test_state_is_kept_and_an_override_of_a_plain_default_is_not(self) -> None:
        u, x, s = scalar("u"), scalar("x"), scalar("s")
        inc = function([u, In(x, value=3), In(s, update=add(s, mul(x, u)), value=10.0)], [])
        self.assertEqual(inc(5), [])
        self.assertEqual(inc[s], 25.0)
        inc(3, 4)
        self.assertEqual(inc[s], 37.0)
        self.assertEqual(inc[x], 3.0)
        inc(3, 4, 7)
        self.assertEqual(inc[s], 19.0)
        inc[s] = 10
        self.assertEqual(inc[s], 10.0)
        self.assertIsInstance(inc[s], np.ndarray)

    def test_all_tuple_shortcuts(self) -> None:
        x, y, z, w = scalar(), scalar("y"), scalar("z"), scalar("w")
        fn = function([x, y, In(z, value=42), ((w, add(w, x)), 0)], add(add(x, y), z))
        self.assertEqual(fn(1, 2), 45.0)
        self.assertEqual(fn(1, y=2), 45.0)
        self.assertEqual(fn(1, 2, 3), 6.0)
        self.assertEqual(fn(1, z=3, y=2), 6.0)
        self.assertEqual(fn["w"], 4.0)
        fn(1, 2, w=400)
        fn(1, 2)
        self.assertEqual(fn[w], 402.0)
        g = function([("a", x), ("b", y, 2), ("c", (w, add(w, y)), 1)], add(x, add(y, w)))
        self.assertEqual(g(a=1), 4.0)
        self.assertEqual(g(1, b=3), 7.0)
        self.assertEqual(g["c"], 6.0)
        h = function([x, (y, 5)], mul(x, y))
        self.assertEqual(h(2), 10.0)

    def test_access_to_values_and_containers(self) -> None:
        a, b, c = scalar("x"), scalar("y"), scalar("s")
        fn = function([a, b, ((c, add(c, add(a, b))), 10.0)], [])
        self.assertIs(fn["s"], fn.value[c])
        self.assertIs(fn["s"], fn.container[c].value)
        self.assertIs(fn[2], fn["s"])
        fn(1, 2)
        self.assertEqual(fn["s"], 13.0)
        fn["s"] = 99.0
        fn(1, 0)
        self.assertEqual(fn["s"], 100.0)
        fn.value[c] = 99.0
        fn(1, 0)
        self.assertEqual(fn["s"], 100.0)
        self.assertIn("s", fn)
        self.assertNotIn("t", fn)
        with self.assertRaisesRegex(TypeError, "Unknown input or state: t"):
            fn["t"]

    def test_functions_can_share_a_container(self) -> None:
        x, c = scalar("x"), scalar("c")
        inc = function([x, ((c, add(c, x)), 10.0)], [])
        dec = function([x, In(c, value=inc.container[c], update=add(c, mul(x, -1.0)))], [])
        inc(3)
        dec(1)
        self.assertEqual(inc[c], 12.0)
        self.assertIs(dec[c], inc[c])
        with self.assertRaisesRegex(TypeError, "takes 1 argument, got 2"):
            dec(1, 2)

    def test_a_container_that_is_not_implicit_keeps_what_is_passed(self) -> None:
        x = scalar("x")
        box = Container(x, [1.0])
        f = function([In(x, value=box, implicit=False)], add(x, 1.0))
        self.assertEqual(f(), 2.0)
        self.assertEqual(f(5), 6.0)
        self.assertEqual(box.value, 5.0)

    def test_in_is_not_changed_by_function(self) -> None:
        x = scalar("x")
        item = In(x, value=2)
        function([item], x, allow_input_downcast=True)
        self.assertIsNone(item.allow_downcast)

    def test_contradictory_flags(self) -> None:
        x = scalar("x")
        with self.assertRaisesRegex(TypeError, "mutable=True with borrow=False"):
            In(x, mutable=True, borrow=False)
        with self.assertRaisesRegex(TypeError, "implicit=True needs a value"):
            In(x, implicit=True)
        with self.assertRaisesRegex(TypeError, "update's type differs"):
            In(x, value=1.0, update=vector("v"))


class TestBadArguments(unittest.TestCase):
    def check(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *parts: str) -> None:
        with self.assertRaises(TypeError) as caught:
            fn(*args, **kwargs)
        for part in parts:
            self.assertIn(part, str(caught.exception))

    def test_literal_texts_for_missing_and_unknown(self) -> None:
        x, y, z, w = scalar(), scalar("y"), scalar("z"), scalar("w")
        fn = function([x, y, In(z, value=42), ((w, add(w, x)), 0)], add(add(x, y), z))
        self.check(fn, (1,), {}, "Missing required input: y\n", "made at function_support.py:")
        self.check(
            fn,
            (),
            {"x": 1, "y": 2},
            "Unknown input or state: x. The function has 3 named inputs (y, z, w), and 1 unnamed input which thus "
            "cannot be accessed through keyword argument (use 'name=...' in a variable's constructor to give it a"
            " name).",
        )

    def test_too_many_and_doubled(self) -> None:
        x = scalar("x")
        fn = function([x], add(x, x), name="double")
        self.check(fn, (1, 2), {}, "function `double` takes 1 argument, got 2", "Hint")
        self.check(fn, (1,), {"x": 2}, "Multiple values for input: x")
        self.check(fn, (), {}, "Missing required input: x")

    def test_ambiguous_name(self) -> None:
        a, b = scalar("x"), scalar("x")
        fn = function([a, b], add(a, b))
        self.assertEqual(fn(1, 2), 3.0)
        self.check(fn, (), {"x": 2}, "Ambiguous name: x")

    def test_wrong_dtype_names_input_function_line_and_cast(self) -> None:
        x = vector("x", "float32")
        fn = function([x], add(x, x), name="twice")
        self.check(
            fn,
            (np.ones(3),),
            {},
            "Bad input argument to theano function `twice` at index 0 (0-based), `x`",
            "float64 cannot be cast to float32",
            "expected `x`: float32[None] made at function_support.py:",
            "got ndarray of float64 with shape (3,)",
            "value.astype('float32')",
        )
        self.check(fn, (), {"x": np.ones(3)}, "at index 0", "value.astype('float32')")

    def test_wrong_number_of_dimensions_none_and_variables(self) -> None:
        x = vector("x")
        fn = function([x], add(x, x))
        self.check(fn, (np.ones((2, 2)),), {}, "wrong number of dimensions: 2 instead of 1", "shape (2, 2)")
        self.check(fn, (None,), {}, "None", "`x`", "Hint")
        self.check(fn, (vector("v"),), {}, "symbolic variable `v`", "eval()")
        self.check(fn, ("text",), {}, "`x`", "'text' (str)")

    def test_conflict_with_a_static_shape_is_a_value_error(self) -> None:
        x = ArrayType("float64", (3,))("x")
        fn = function([x], add(x, x))
        with self.assertRaisesRegex(ValueError, r"`x`: axis 0 has length 4 instead of 3"):
            fn(np.ones(4))

    def test_downcast_of_inputs(self) -> None:
        x = vector("x", "float32")
        self.assertEqual(function([x], add(x, x), allow_input_downcast=True)(np.ones(2)).dtype, np.float32)
        self.assertEqual(function([In(x, allow_downcast=True)], add(x, x))(np.ones(2)).dtype, np.float32)
        y = scalar("y", "float32")
        self.assertEqual(function([y], add(y, y))(0.1), np.float32(0.1) * 2)
        with self.assertRaisesRegex(TypeError, "cannot be cast"):
            function([y], add(y, y), allow_input_downcast=False)(0.1)

    def test_strict_input(self) -> None:
        x = vector("x")
        fn = function([In(x, strict=True)], add(x, x))
        self.assertTrue(np.array_equal(fn(np.ones(2)), [2, 2]))
        self.check(fn, ([1.0, 2.0],), {}, "strict")


class TestBadDeclarations(unittest.TestCase):
    def test_inputs_of_the_wrong_kind(self) -> None:
        x = scalar("x")
        with self.assertRaisesRegex(TypeError, "not a list"):
            function(x, x)
        with self.assertRaisesRegex(TypeError, "position 1 is not a variable but 3"):
            function([x, 3], x)
        with self.assertRaisesRegex(TypeError, "same variable is the input at positions 0 and 1"):
            function([x, x], x)
        with self.assertRaisesRegex(TypeError, "constant"):
            function([constant(1.0)], x)
        with self.assertRaisesRegex(TypeError, "output at position 0 is not a variable"):
            function([x], [1.0])
        with self.assertRaisesRegex(TypeError, "must be strings"):
            function([x], {1: x})
        with self.assertRaisesRegex(TypeError, "(?s)profile is 3.*ProfileStats"):
            function([x], x, profile=3)

    def test_shared_variable_as_input_advises_givens(self) -> None:
        s = shared(1.0, name="s")
        expected = r"(?s)Cannot use a shared variable \(s\) as explicit input.*`s`: float64.*givens"
        with self.assertRaisesRegex(TypeError, expected):
            function([s], s)

    def test_missing_input_says_where_it_was_made_and_used(self) -> None:
        x, y = scalar("x"), scalar("y")
        with self.assertRaises(MissingInputError) as caught:
            function([x], add(x, y), name="f")
        text = str(caught.exception)
        self.assertIn("function `f`: an input of the graph, `y`, used to compute add(x, y), was not provided", text)
        self.assertIn("`y`: float64[] made at function_support.py:", text)
        self.assertIn("Hint: add `y` to the inputs", text)
        with self.assertRaises(MissingInputError):
            function([], x)

    def test_unused_input(self) -> None:
        x, y = scalar("x"), scalar("y")
        with self.assertRaisesRegex(UnusedInputError, "(?s)1 is not part of the computational graph .*`y`: float64"):
            function([x, y], x)
        with self.assertWarnsRegex(UserWarning, "index 1") as caught:
            function([x, y], x, on_unused_input="warn")
        self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            function([x, y], x, on_unused_input="ignore")
            with config.change_flags(on_unused_input="ignore"):
                function([x, y], x)
        with self.assertRaisesRegex(ValueError, "on_unused_input is 'perhaps'"):
            function([x, y], x, on_unused_input="perhaps")

    def test_destructive_op_needs_accept_inplace(self) -> None:
        x = matrix("x")
        with self.assertRaisesRegex(TypeError, "overwrites its input"):
            function([x], add_one_in_place(x))
