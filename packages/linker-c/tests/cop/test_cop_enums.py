"""Enumerations: constants, aliases, refused ones, and their C side."""

from __future__ import annotations

import copy
import pickle
import unittest
from typing import Any

from hypothesis import given, settings, strategies as st

from cop.cop_support import COnly, node_of
from theano_graph import config, generic
from theano_linker_c.cop import CEnumType, EnumList, EnumType, c_thunk
from theano_testing.tiers import slow


def value_in_c(enum: EnumType, value: Any, code: str = "%(z)s = PyFloat_FromDouble((double)%(params)s);") -> Any:
    op = COnly(code, params_type=enum)
    op.get_params = lambda node: enum.filter(value)  # type: ignore[method-assign]
    thunk = c_thunk(node_of(op(generic("x"))))
    assert thunk is not None, "the op has C code"
    return thunk([0])[0]


class TestEnumType(unittest.TestCase):
    def test_constants_are_attributes(self) -> None:
        enum = EnumType(CONSTANT_1=1, CONSTANT_2=2.5, CONSTANT_3=False, CONSTANT_4=True)
        values = (enum.CONSTANT_1, enum.CONSTANT_2, enum.CONSTANT_3, enum.CONSTANT_4)
        self.assertEqual(values, (1, 2.5, 0, 1))
        self.assertEqual([type(v) for v in values], [int, float, int, int])

    def test_aliases(self) -> None:
        enum = EnumType(A=("alpha", 1), B=("beta", 2), C=3, D=("delta", 4))
        self.assertEqual([enum.fromalias(a) for a in ("alpha", "beta", "delta", "C")], [1, 2, 4, 3])
        self.assertEqual(enum.get_aliases(), ("alpha", "beta", "delta"))
        self.assertEqual((enum.has_alias("alpha"), enum.has_alias("A")), (True, False))
        with self.assertRaisesRegex(ValueError, r"neither an alias nor a constant 'gamma'\n  Hint: use one of alpha"):
            enum.fromalias("gamma")

    def test_an_alias_may_stand_after_the_value(self) -> None:
        self.assertEqual(EnumType(A=(1, "alpha")).fromalias("alpha"), 1)

    def test_filter(self) -> None:
        enum = EnumType(A=("alpha", 1), B=2.5)
        self.assertEqual([enum.filter(v) for v in ("alpha", "B", 1, 1.0, 2.5, True)], [1, 2.5, 1, 1, 2.5, 1])
        self.assertEqual(enum.filter(2.5, strict=True), 2.5)
        for value, error in (("alpha", TypeError), (None, TypeError), (True, TypeError), (3, ValueError)):
            with self.subTest(value=value), self.assertRaises(error):
                enum.filter(value, strict=True)
        self.assertTrue(enum.is_valid_value(1))
        self.assertFalse(enum.is_valid_value("alpha"))

    def test_what_is_refused(self) -> None:
        cases: list[tuple[Any, type[Exception], str]] = [
            ({"a": 1}, ValueError, "'a' is no name"),
            ({"A": "text"}, TypeError, "value of type str"),
            ({"A": 1j}, TypeError, "value of type complex"),
            ({"A": ("x", "y")}, TypeError, r"write A=\('alias', value\)"),
            ({"A": ("x", 1), "B": ("x", 2)}, ValueError, "A and B have the same alias 'x'"),
            ({"A": ("B", 1), "B": 2}, ValueError, "the alias 'B' of A is the name of another constant"),
            ({"A": 1, "cname": "no name"}, ValueError, "'no name' is no C name"),
        ]
        for arguments, error, text in cases:
            with self.subTest(arguments=arguments), self.assertRaisesRegex(error, text):
                EnumType(**arguments)
        with self.assertRaisesRegex(AttributeError, "EnumType has no constant Z; it has A"):
            _ = EnumType(A=1).Z

    def test_value_semantics(self) -> None:
        enum = EnumType(A=("alpha", 1), B=2.5, ctype="float", cname="Mine")
        for other in (copy.copy(enum), copy.deepcopy(enum), pickle.loads(pickle.dumps(enum))):
            self.assertEqual((enum, hash(enum)), (other, hash(other)))
        different: list[EnumType] = [
            EnumType(A=1, B=2.5, ctype="float", cname="Mine"),
            EnumType(A=("alpha", 1), B=2.5, cname="Mine"),
            EnumType(A=("alpha", 1), B=2.0, ctype="float", cname="Mine"),
            EnumList("A", "B"),
        ]
        self.assertTrue(all(enum != other for other in different))

    def test_names_in_c(self) -> None:
        self.assertEqual((EnumType(A=1).ctype, EnumType(A=1, ctype="unsigned  int").cname), ("double", "unsigned_int"))
        self.assertEqual(EnumList("A").ctype, "int")

    def test_constants_in_c(self) -> None:
        enum = EnumType(ONE=1, HALF=0.5, BIG=2**40, NEGATIVE=-3)
        code = "%(z)s = PyFloat_FromDouble(%(params)s == HALF ? (double)BIG + NEGATIVE + ONE : -1.0);"
        self.assertEqual(value_in_c(enum, 0.5, code), 2**40 - 2)

    @slow
    @settings(deadline=None, max_examples=5)
    @given(st.integers(-(2**52), 2**52))
    def test_integers_keep_their_value(self, value: int) -> None:
        self.assertEqual(value_in_c(EnumType(A=value, ctype="long long"), value), value)


class TestEnumList(unittest.TestCase):
    def test_numbers_from_zero(self) -> None:
        enum = EnumList(("A", "alpha"), ("B", "beta"), "C", "D", ("G", "gamma"))
        self.assertEqual([enum.A, enum.B, enum.C, enum.D, enum.G, enum.fromalias("gamma")], [0, 1, 2, 3, 4, 4])

    def test_what_is_refused(self) -> None:
        for constants, error in ((("A", "A"), ValueError), ((3,), TypeError), ((("A", 1),), TypeError)):
            with self.subTest(constants=constants), self.assertRaises(error):
                EnumList(*constants)

    def test_in_c(self) -> None:
        enum = EnumList("ZERO", "ONE", "TWO", ctype="unsigned int")
        self.assertEqual(value_in_c(enum, "TWO"), 2.0)


class TestCEnumType(unittest.TestCase):
    def test_values_come_from_c(self) -> None:
        enum = CEnumType("FLT_RADIX", ("DBL_MANT_DIG", "digits"), ctype="long")
        self.assertEqual((enum.FLT_RADIX, enum.DBL_MANT_DIG), (0, 1))
        for value, expected in (("digits", 53.0), ("FLT_RADIX", 2.0)):
            op = COnly("%(z)s = PyFloat_FromDouble((double)%(params)s);", params_type=enum, c_headers=["<float.h>"])
            op.get_params = lambda node, value=value: enum.filter(value)  # type: ignore[method-assign, misc]
            thunk = c_thunk(node_of(op(generic("x"))))
            assert thunk is not None, "the op has C code"
            self.assertEqual(thunk([0]), (expected,))


class TestToString(unittest.TestCase):
    CODE = """char text[32];
    if (theano_enum_to_string_double(PyFloat_AsDouble(%(x)s), text) != 0)
        %(fail)s
    %(z)s = PyUnicode_FromString(text);"""

    def test_names_of_values_while_debugging(self) -> None:
        enum = EnumType(HALF=0.5, WHOLE=1)
        op = COnly(self.CODE, params_type=enum)
        op.get_params = lambda node: enum.HALF  # type: ignore[method-assign]
        with config.change_flags(**{"cmodule.debug": True}):
            thunk = c_thunk(node_of(op(generic("x"))))
        assert thunk is not None, "the op has C code"
        self.assertEqual([thunk([0.5]), thunk([1.0])], [("HALF",), ("WHOLE",)])
        with self.assertRaisesRegex(ValueError, "a value that no constant"):
            thunk([3.0])

    def test_prototype(self) -> None:
        text = EnumList("A", "B", ctype="long", cname="Letters").c_to_string()
        self.assertIn("int theano_enum_to_string_Letters(long value, char *output_string)", text)
