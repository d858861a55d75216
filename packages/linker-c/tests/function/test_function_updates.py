"""Shared variables, updates, default updates, givens; a failed call changes nothing."""

from __future__ import annotations

import unittest

import numpy as np

from theano_graph import Variable, generic
from theano_linker_c import (
    Container,
    In,
    OrderedUpdates,
    SharedVariable,
    constructors,
    function,
    register_shared_constructor,
)

from .function_support import (
    ArrayType,
    add,
    constant,
    fail_if_negative,
    matrix,
    mul,
    scalar,
    shared,
    sub,
    to_float32,
    vector,
)


class TestShared(unittest.TestCase):
    def test_get_and_set_copy_unless_borrowed(self) -> None:
        array = np.ones(2)
        s_default, s_true = shared(array), shared(array, borrow=True)
        array += 1
        self.assertEqual(s_default.get_value().tolist(), [1, 1])
        self.assertEqual(s_true.get_value().tolist(), [2, 2])
        self.assertIsNot(s_default.get_value(), s_default.get_value(borrow=True))
        self.assertIs(s_default.get_value(borrow=True), s_default.get_value(borrow=True, return_internal_type=True))
        s_default.set_value(array, borrow=True)
        self.assertIs(s_default.get_value(borrow=True), array)
        s_default.set_value(array)
        self.assertIsNot(s_default.get_value(borrow=True), array)

    def test_any_object_can_be_shared(self) -> None:
        state = {"a": [1]}
        s = shared(state, name="state")
        state["a"].append(2)
        self.assertEqual(s.get_value(), {"a": [1]})
        self.assertEqual(s.type, generic)
        self.assertEqual(str(s), "state")

    def test_a_bad_value_leaves_the_old_one(self) -> None:
        s = shared(np.ones(2), name="s")
        with self.assertRaisesRegex(TypeError, "wrong number of dimensions") as caught:
            s.set_value(np.ones((2, 2)))
        self.assertIn("meant for `s`", "".join(caught.exception.__notes__))
        self.assertEqual(s.get_value().tolist(), [1, 1])

    def test_constructors_are_tried_last_first_and_keywords_restrict_them(self) -> None:
        class Mine(SharedVariable):
            __slots__ = ()

        @register_shared_constructor
        def mine(
            value: object,
            name: str | None = None,
            strict: bool = False,
            allow_downcast: bool | None = None,
            pet: int = 0,
        ) -> SharedVariable:
            if not isinstance(value, str):
                raise TypeError("not a string")
            return Mine(generic, value, name)

        self.addCleanup(constructors.remove, mine)
        self.assertIsInstance(shared("x", pet=1), Mine)
        self.assertNotIsInstance(shared(b"x"), Mine)
        with self.assertRaisesRegex(TypeError, "no constructor accepts a value of type bytes and keywords pet"):
            shared(b"x", pet=1)
        with self.assertRaisesRegex(TypeError, "symbolic variable"):
            shared(scalar("x"))

    def test_container_excludes_value(self) -> None:
        s = shared(1.0)
        twin = SharedVariable(s.type, name="twin", container=s.container)
        twin.set_value(4.0)
        self.assertEqual(s.get_value(), 4.0)
        with self.assertRaisesRegex(TypeError, "both given"):
            SharedVariable(s.type, 1.0, container=Container(s.type, [np.asarray(1.0)]))

    def test_both_orders_of_arguments(self) -> None:
        kind = shared(1.0).type
        for name in ("s", None):
            for result in (
                SharedVariable(name, kind, np.asarray(2.0), False),
                SharedVariable(kind, np.asarray(2.0), name, False),
                SharedVariable(name=name, type=kind, value=np.asarray(2.0), strict=False),
            ):
                self.assertEqual((result.name, result.type, result.get_value()), (name, kind, 2.0))

    def test_zeros(self) -> None:
        s = shared(np.array([1.0, np.nan]))
        stored = s.get_value(borrow=True)
        s.zero()
        self.assertEqual(s.get_value().tolist(), [0, 0])
        self.assertIsNot(s.get_value(borrow=True), stored)
        stored = s.get_value(borrow=True)
        stored += 1
        s.zero(borrow=True)
        self.assertEqual(stored.tolist(), [0, 0])
        with self.assertRaises(TypeError):
            shared({"a": 1}.keys).zero()

    def test_clone_shares_the_container(self) -> None:
        s = shared(1.0, name="s")
        s.clone().set_value(3.0)
        self.assertEqual(s.get_value(), 3.0)


class TestUpdates(unittest.TestCase):
    def test_accumulator_returns_the_old_state(self) -> None:
        state, inc = shared(0, name="state"), scalar("inc", "int64")
        accumulator = function([inc], state, updates=[(state, add(state, inc))])
        self.assertEqual(accumulator(1), 0)
        self.assertEqual(accumulator(300), 1)
        self.assertEqual(state.get_value(), 301)
        state.set_value(-1)
        self.assertEqual(accumulator(3), -1)
        decrementor = function([inc], state, updates={state: sub(state, inc)})
        self.assertEqual(decrementor(2), 2)
        self.assertEqual(state.get_value(), 0)

    def test_all_forms_of_updates(self) -> None:
        s = shared(0.0)
        new = add(s, 1.0)
        for updates in ([(s, new)], ((s, new),), {s: new}, OrderedUpdates({s: new}), [[s, new]], iter([(s, new)])):
            function([], [], updates=updates)()
        self.assertEqual(s.get_value(), 6.0)

    def test_updates_see_the_old_values(self) -> None:
        a, b = shared(1.0), shared(2.0)
        swap = function([], [], updates=[(a, b), (b, a)])
        swap()
        self.assertEqual((a.get_value(), b.get_value()), (2.0, 1.0))
        self.assertIsNot(a.get_value(borrow=True), b.get_value(borrow=True))

    def test_plain_values_are_constants(self) -> None:
        s = shared(1.0)
        reset = function([], s, updates={s: 0.0})
        self.assertEqual(reset(), 1.0)
        s.get_value(borrow=True)[...] = 7
        reset()
        self.assertEqual(s.get_value(), 0.0)

    def test_failed_instruction_changes_nothing(self) -> None:
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            with self.subTest(mode):
                self.check_failure(mode)

    def check_failure(self, mode: str) -> None:
        x, a, b = scalar("x"), shared(1.0), shared(2.0)
        updates = [(a, add(a, x)), (b, fail_if_negative(sub(b, 5.0)))]
        f = function([x], fail_if_negative(x), updates=updates, mode=mode)
        with self.assertRaisesRegex(ZeroDivisionError, "called at test_function_updates.py"):
            f(-1)
        with self.assertRaises(ZeroDivisionError):
            f(1)
        self.assertEqual((a.get_value(), b.get_value()), (1.0, 2.0))
        b.set_value(10)
        f(1)
        self.assertEqual((a.get_value(), b.get_value()), (2.0, 5.0))

    def test_failed_call_keeps_the_state_of_inputs(self) -> None:
        x, s = scalar("x"), scalar("s")
        f = function([x, In(s, value=1.0, update=add(s, x))], fail_if_negative(x))
        with self.assertRaises(ZeroDivisionError):
            f(-1)
        with self.assertRaises(TypeError):
            f("a")
        self.assertEqual(f[s], 1.0)

    def test_type_difference_tells_where_the_dtype_entered(self) -> None:
        w = shared(np.ones(2, "float32"), name="w")
        lr = scalar("lr")
        with self.assertRaises(TypeError) as caught:
            function([lr], [], updates=[(w, sub(w, mul(lr, w)))], name="train")
        text = str(caught.exception)
        self.assertIn("function `train`: the update of `w` has another type", text)
        self.assertIn("`w`: float32[None] made at function_support.py:", text)
        self.assertIn("float64 comes from the variable `lr`: float64[] made at function_support.py:", text)
        self.assertIn("new_value.astype('float32')", text)
        i = vector("i", "int64")
        with self.assertRaisesRegex(
            TypeError, r"float64 comes from add of `w`: float32\[None\], `i`: int64\[None\] made at"
        ):
            function([i], [], updates=[(w, add(w, i))])
        rates = vector("rates", "float64")
        function([rates], [], updates=[(w, to_float32(sub(w, mul(rates, w))))])(np.full(2, 0.5))
        self.assertEqual(w.get_value().tolist(), [0.5, 0.5])

    def test_wrong_number_of_axes(self) -> None:
        w = shared(np.ones(2), name="w")
        with self.assertRaisesRegex(TypeError, "(?s)another type.*shape"):
            function([], [], updates={w: add(w, matrix("m"))})

    def test_update_may_be_of_a_more_precise_type(self) -> None:
        w = shared(np.ones(2), name="w")
        function([], [], updates={w: constant([1.0, 2.0, 3.0])})()
        self.assertEqual(w.get_value().tolist(), [1, 2, 3])

    def test_bad_targets_and_duplicates(self) -> None:
        s, x = shared(1.0, name="s"), scalar("x")
        with self.assertRaisesRegex(TypeError, "must be a shared variable"):
            function([x], x, updates=[(x, add(x, x))])
        with self.assertRaisesRegex(ValueError, "`s` has two update expressions"):
            function([], s, updates=[(s, add(s, 1.0)), (s, add(s, 2.0))])
        with self.assertRaisesRegex(TypeError, "neither a dictionary nor a list of pairs"):
            function([], s, updates=[s])
        with self.assertRaisesRegex(TypeError, "neither a dictionary nor a list of pairs"):
            function([], s, updates=3)

    def test_ordered_updates_validate(self) -> None:
        s, t, x = shared(1.0), shared(2.0), scalar("x")
        both = OrderedUpdates({s: x}) + {t: x}
        self.assertEqual(list(both), [s, t])
        self.assertIsInstance({t: x} + both, OrderedUpdates)
        with self.assertRaisesRegex(KeyError, "two different updates"):
            both.update({s: t})
        with self.assertRaisesRegex(TypeError, "must be a shared variable"):
            both[x] = x


class TestDefaultUpdates(unittest.TestCase):
    def setUp(self) -> None:
        self.s, self.t = shared(0.0, name="s"), shared(0.0, name="t")
        self.s.default_update = add(self.s, 1.0)
        self.t.default_update = add(self.t, self.s)

    def values(self) -> tuple[float, float]:
        return float(self.s.get_value()), float(self.t.get_value())

    def test_applied_when_the_variable_is_used_also_indirectly(self) -> None:
        f = function([], mul(self.t, 1.0))
        f()
        f()
        self.assertEqual(self.values(), (2.0, 1.0))

    def test_left_out_by_bool_and_by_list(self) -> None:
        function([], self.t, no_default_updates=True)()
        self.assertEqual(self.values(), (0.0, 0.0))
        function([], [self.t, self.s], no_default_updates=[self.t])()
        self.assertEqual(self.values(), (1.0, 0.0))
        with self.assertRaisesRegex(TypeError, "no_default_updates is 's'"):
            function([], self.s, no_default_updates="s")  # type: ignore[arg-type]

    def test_explicit_update_wins(self) -> None:
        function([], self.s, updates={self.s: constant(7.0)})()
        self.assertEqual(self.values(), (7.0, 0.0))

    def test_not_applied_when_replaced(self) -> None:
        x = scalar("x")
        self.assertEqual(function([x], mul(self.s, 2.0), givens={self.s: x})(4), 8.0)
        self.assertEqual(self.values(), (0.0, 0.0))

    def test_wrong_type(self) -> None:
        self.s.default_update = vector("v")
        with self.assertRaisesRegex(TypeError, "default update: the update of `s` has another type"):
            function([], self.s)


class TestGivens(unittest.TestCase):
    def test_shared_variable_is_skipped(self) -> None:
        state, inc, foo = shared(0, name="state"), scalar("inc", "int64"), scalar("foo", "int64")
        f = function([inc, foo], add(mul(state, 2), inc), givens=[(state, foo)])
        self.assertEqual(f(1, 3), 7)
        self.assertEqual(state.get_value(), 0)

    def test_all_forms_and_kinds(self) -> None:
        x, y, s = scalar("x"), scalar("y"), shared(5.0)
        middle = add(x, 1.0)
        z = mul(middle, middle)
        for givens in ({x: y}, [(x, y)], ((x, y),)):
            self.assertEqual(function([y], z, givens=givens)(2), 9.0)
        self.assertEqual(function([], z, givens={middle: s})(), 25.0)
        self.assertEqual(function([], z, givens={x: 3})(), 16.0)
        self.assertEqual(function([y], z, givens={x: add(y, s)})(1), 49.0)
        two = constant(2.0)
        self.assertEqual(function([x], mul(x, two), givens={two: constant(3.0)})(5), 15.0)
        self.assertEqual(function([y], z, givens={x: y, scalar("elsewhere"): y})(2), 9.0)

    def test_substitution_is_simultaneous(self) -> None:
        a, b = scalar("a"), scalar("b")
        s, t = shared(1.0), shared(10.0)
        f = function([], sub(s, t), givens={s: t, t: s})
        self.assertEqual(f(), 9.0)
        g = function([a, b], add(a, b), givens={})
        self.assertEqual(g(1, 2), 3.0)
        self.assertEqual(function([], mul(s, 1.0), givens={s: add(s, 1.0)})(), 2.0)

    def test_in_updates_too(self) -> None:
        s, t, x = shared(1.0), shared(2.0), scalar("x")
        function([x], [], updates={s: add(t, s)}, givens={t: x})(10)
        self.assertEqual(s.get_value(), 11.0)

    def test_type_must_fit_unless_rebuilt(self) -> None:
        x, m = vector("x"), matrix("m")
        with self.assertRaisesRegex(TypeError, r"(?s)another type.*`x`: float64\[None\].*by `m`.*rebuild_strict=False"):
            function([m], add(x, x), givens={x: m})
        f = function([m], add(x, x), givens={x: m}, rebuild_strict=False)
        self.assertEqual(f([[1.0]]).tolist(), [[2.0]])

    def test_rebuilding_with_a_refined_type(self) -> None:
        x = vector("x")
        y = ArrayType("float64", (2,))("y")
        self.assertEqual(function([y], add(x, x), givens={x: y})([1, 2]).tolist(), [2, 4])

    def test_refused(self) -> None:
        x, y = scalar("x"), scalar("y")
        with self.assertRaisesRegex(TypeError, "`x`, which is also an input"):
            function([x, y], add(x, y), givens={x: y})
        with self.assertRaisesRegex(TypeError, "two substitutes for `x`"):
            function([y], x, givens=[(x, y), (x, y)])
        with self.assertRaisesRegex(TypeError, "only replace variables"):
            function([x], x, givens={"x": y})

    def test_the_users_graph_is_untouched(self) -> None:
        x, y = scalar("x"), scalar("y")
        z: Variable = add(x, x)
        function([y], z, givens={x: y})
        self.assertIsNotNone(z.owner)
        assert z.owner is not None, "z was made by add"
        self.assertIs(z.owner.inputs[0], x)
