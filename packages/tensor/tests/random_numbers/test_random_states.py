"""States of generators: their types, copies, pickles, and shared variables that hold them."""

from __future__ import annotations

import copy
import pickle
import unittest
from typing import Any

import numpy as np

from theano_linker_c import Mode, deep_copy_op, function, shared
from theano_tensor.random import (
    GeneratorType,
    RandomStateSharedVariable,
    RandomStateType,
    copy_state,
    generator_type,
    random_state_type,
)

KINDS = ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")


def states() -> list[Any]:
    result: list[Any] = [np.random.RandomState(5)]
    result += [np.random.Generator(getattr(np.random, kind)(5)) for kind in KINDS]
    result.append(np.random.RandomState(np.random.Philox(5)))
    return result


def type_of(state: Any) -> Any:
    return random_state_type if isinstance(state, np.random.RandomState) else generator_type


class TestCopies(unittest.TestCase):
    def test_a_copy_draws_the_same_and_goes_on_for_itself(self) -> None:
        for state in states():
            with self.subTest(state=str(state)):
                state.normal()  # the legacy generator keeps a number of the pair
                twin = copy_state(state)
                expected = twin.normal(size=7)
                self.assertFalse(type_of(state).may_share_memory(state, twin))
                np.testing.assert_array_equal(state.normal(size=7), expected)

    def test_copying_does_not_move_the_state(self) -> None:
        for state in states():
            before = copy_state(state)
            copy_state(state).uniform(size=3)
            self.assertTrue(type_of(state).values_eq(state, before))


class TestTypes(unittest.TestCase):
    def test_types_are_equal_by_class_and_different_from_each_other(self) -> None:
        self.assertEqual(RandomStateType(), random_state_type)
        self.assertEqual(hash(RandomStateType()), hash(random_state_type))
        self.assertNotEqual(GeneratorType(), random_state_type)
        self.assertEqual(pickle.loads(pickle.dumps(random_state_type)), random_state_type)

    def test_calling_the_type_makes_a_named_variable(self) -> None:
        variable = random_state_type("r")
        self.assertEqual(variable.name, "r")
        self.assertIs(variable.type, random_state_type)
        self.assertEqual(str(random_state_type), "RandomStateType")
        self.assertEqual(str(generator_type), "GeneratorType")

    def test_filter_takes_states_as_they_are(self) -> None:
        for state in states():
            self.assertIs(type_of(state).filter(state, strict=True), state)
            self.assertTrue(type_of(state).is_valid_value(state))

    def test_filter_refuses_everything_else_in_three_parts(self) -> None:
        for kind, value in ((random_state_type, 5), (random_state_type, np.random.default_rng(1)), (generator_type, 5)):
            with self.subTest(kind=str(kind)), self.assertRaises(TypeError) as caught:
                kind.filter(value)
            self.assertIn("is no numpy.random.", str(caught.exception))
            self.assertIn("value: ", str(caught.exception))
            self.assertIn("Hint: ", str(caught.exception))
            self.assertFalse(kind.is_valid_value(value))

    def test_equal_values_draw_the_same(self) -> None:
        for state, other in zip(states(), states(), strict=True):
            kind = type_of(state)
            self.assertTrue(kind.values_eq(state, other))
            self.assertTrue(kind.values_eq_approx(state, other))
            other.uniform()
            self.assertFalse(kind.values_eq(state, other))

    def test_the_kept_half_of_a_pair_of_normal_numbers_counts(self) -> None:
        first, second = np.random.RandomState(1), np.random.RandomState(1)
        first.normal()
        second.normal(size=2)
        self.assertFalse(random_state_type.values_eq(first, second))

    def test_different_bit_generators_are_different(self) -> None:
        first, second = (np.random.Generator(getattr(np.random, kind)(5)) for kind in ("PCG64", "Philox"))
        self.assertFalse(generator_type.values_eq(first, second))

    def test_sharing_memory_means_one_bit_generator(self) -> None:
        for state in states():
            kind = type_of(state)
            self.assertTrue(kind.may_share_memory(state, state))
            self.assertFalse(kind.may_share_memory(state, copy.deepcopy(state)))
            self.assertFalse(kind.may_share_memory(state, 5))
        bits = np.random.PCG64(1)
        self.assertTrue(generator_type.may_share_memory(np.random.Generator(bits), np.random.Generator(bits)))

    def test_a_state_has_a_size_in_bytes(self) -> None:
        self.assertGreaterEqual(random_state_type.get_size(None), 624 * 4)


class TestSharedStates(unittest.TestCase):
    def test_shared_copies_unless_borrowed(self) -> None:
        for state in states():
            for borrow in (False, True):
                variable = shared(state, name="rng", borrow=borrow)
                self.assertIsInstance(variable, RandomStateSharedVariable)
                self.assertEqual((variable.type, variable.name), (type_of(state), "rng"))
                self.assertEqual(variable.get_value(borrow=True) is state, borrow)
                self.assertIsNot(variable.get_value(), state)

    def test_set_value_copies_unless_borrowed(self) -> None:
        variable, new = shared(np.random.RandomState(1)), np.random.RandomState(2)
        variable.set_value(new)
        self.assertIsNot(variable.get_value(borrow=True), new)
        new.uniform()
        self.assertTrue(random_state_type.values_eq(variable.get_value(), np.random.RandomState(2)))
        variable.set_value(new, borrow=True)
        self.assertIs(variable.get_value(borrow=True), new)

    def test_a_wrong_value_leaves_the_old_one(self) -> None:
        variable = shared(np.random.RandomState(1), name="rng")
        for wrong in (7, None, np.random.default_rng(1)):
            with self.assertRaises(TypeError) as caught:
                variable.set_value(wrong)
            self.assertIn("`rng`", "".join(caught.exception.__notes__))
        self.assertTrue(random_state_type.values_eq(variable.get_value(), np.random.RandomState(1)))

    def test_unknown_keywords_are_refused(self) -> None:
        with self.assertRaises(TypeError):
            shared(np.random.RandomState(1), broadcastable=(True,))

    def test_a_variable_of_a_pickle_goes_on_for_itself(self) -> None:
        variable = shared(np.random.RandomState(1), name="rng")
        twin = pickle.loads(pickle.dumps(variable))
        variable.get_value(borrow=True).uniform()
        self.assertTrue(random_state_type.values_eq(twin.get_value(), np.random.RandomState(1)))


class TestDeepCopies(unittest.TestCase):
    def test_the_op_that_copies_values_copies_states(self) -> None:
        for mode in (None, Mode("vm", "fast_compile")):
            for state in states():
                kind = type_of(state)
                variable = kind("r")
                result = function([variable], deep_copy_op(variable), mode=mode)(state)
                self.assertFalse(kind.may_share_memory(state, result))
                self.assertTrue(kind.values_eq(state, result))

    def test_an_input_that_is_an_output_comes_back_as_a_copy(self) -> None:
        variable, state = random_state_type("r"), np.random.RandomState(3)
        result = function([variable], variable)(state)
        self.assertFalse(random_state_type.may_share_memory(state, result))
        self.assertTrue(random_state_type.values_eq(state, result))
