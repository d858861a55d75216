"""Parameters of ops: Python objects, types of one's own, and ParamsType as a structure."""

# ruff: noqa: UP031  (C code is written with the templates that the contract speaks of)

from __future__ import annotations

import pickle
import sys
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

from cop.cop_support import LINKERS, ArrayType, COnly, Double, node_of
from theano_graph import Apply, Op, Type, generic
from theano_linker_c import Mode, function
from theano_linker_c.cop import EnumList, EnumType, Params, ParamsType, c_thunk
from theano_linker_c.scalar import ScalarType, as_scalar


class MulOp(Op):
    """The manual's first example: a Python float as parameter."""

    params_type = generic
    __props__ = ("mul",)

    def __init__(self, mul: float) -> None:
        self.mul = float(mul)

    def get_params(self, node: Apply) -> float:
        return self.mul

    def make_node(self, *inputs: Any) -> Apply:
        x = as_scalar(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0] * params

    def c_code(self, node: Apply, name: str, inputs: Any, outputs: Any, sub: dict[str, str]) -> str:
        names = {"z": outputs[0], "x": inputs[0], "p": sub["params"]}
        return "%(z)s = %(x)s * PyFloat_AsDouble(%(p)s);" % names


class Weights:
    """The object of the manual's second example."""

    def __init__(self, alpha: Any, beta: Any) -> None:
        self.alpha = alpha
        self.beta = beta

    def __hash__(self) -> int:
        return hash((type(self), self.alpha, self.beta))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Weights) and (self.alpha, self.beta) == (other.alpha, other.beta)


class Mix(Op):
    """The manual's second example: attributes of an object, read once for each thunk."""

    params_type = generic
    __props__ = ("alpha", "beta")

    def __init__(self, alpha: Any, beta: Any) -> None:
        self.alpha = alpha
        self.beta = beta

    def get_params(self, node: Apply) -> Weights:
        return Weights(alpha=self.alpha, beta=self.beta)

    def make_node(self, *inputs: Any) -> Apply:
        x, y = map(as_scalar, inputs)
        return Apply(self, [x, y], [x.type()])

    def c_support_code_struct(self, node: Apply, name: str) -> str:
        return f"""
        double alpha_{name};
        double beta_{name};
        """

    def c_init_code_struct(self, node: Apply, name: str, sub: dict[str, str]) -> str:
        return """{
        PyObject *tmp;
        tmp = PyObject_GetAttrString(%(p)s, "alpha");
        if (tmp == NULL)
            %(fail)s
        alpha_%(name)s = PyFloat_AsDouble(tmp);
        Py_DECREF(tmp);
        if (PyErr_Occurred())
            %(fail)s
        tmp = PyObject_GetAttrString(%(p)s, "beta");
        if (tmp == NULL)
            %(fail)s
        beta_%(name)s = PyFloat_AsDouble(tmp);
        Py_DECREF(tmp);
        if (PyErr_Occurred())
            %(fail)s
        }""" % {"name": name, "p": sub["params"], "fail": sub["fail"]}

    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Any) -> str:
        names = {"name": name, "z": outputs[0], "x": inputs[0], "y": inputs[1]}
        return "%(z)s = alpha_%(name)s * %(x)s + beta_%(name)s * %(y)s;" % names


class TestGenericParams(unittest.TestCase):
    def test_a_python_float(self) -> None:
        x = ScalarType("float64")("x")
        for linker in LINKERS:
            f = function([x], MulOp(3)(MulOp(2.5)(x)), mode=Mode(linker=linker, optimizer=None))
            self.assertEqual(f(2.0), 15.0)

    def test_errors_of_reading_them(self) -> None:
        op = MulOp(1)
        op.get_params = lambda node: "text"  # type: ignore[assignment, method-assign, return-value]
        x = ScalarType("float64")("x")
        with self.assertRaisesRegex(TypeError, "must be real number, not str"):
            function([x], op(x))(2.0)

    def test_an_object_with_attributes(self) -> None:
        x, y = ScalarType("float64")("x"), ScalarType("float64")("y")
        f = function([x, y], [Mix(2.0, 3.0)(x, y), Mix(-1.0, 0.5)(x, y)])
        self.assertEqual(f(10.0, 100.0), [320.0, 40.0])

    def test_an_object_with_wrong_attributes(self) -> None:
        x = ScalarType("float64")("x")
        with self.assertRaisesRegex(TypeError, "must be real number, not str"):
            function([x], Mix("two", 3.0)(x, x))

    def test_none_means_no_parameters(self) -> None:
        op = COnly('%(z)s = PyUnicode_FromString("none");', params_type=generic)
        op.get_params = lambda node: None  # type: ignore[method-assign]
        self.assertEqual(function([x := generic("x")], op(x))(0), "none")

    def test_parameters_may_depend_on_the_node(self) -> None:
        op = COnly("Py_INCREF(%(params)s); %(z)s = %(params)s;", params_type=generic)
        op.get_params = lambda node: len(node.inputs)  # type: ignore[method-assign]
        x = generic("x")
        self.assertEqual(function([x], [op(x), op(x, x)])(0), [1, 2])

    def test_the_object_lives_as_long_as_the_thunk(self) -> None:
        marker = object()
        op = COnly("Py_INCREF(%(params)s); %(z)s = %(params)s;", params_type=generic)
        op.get_params = lambda node: marker  # type: ignore[method-assign]
        node = node_of(op(generic("x")))
        before = sys.getrefcount(marker)
        thunk = c_thunk(node)
        assert thunk is not None, "the op has C code"
        for _ in range(10):
            self.assertIs(thunk([0])[0], marker)
        self.assertEqual(sys.getrefcount(marker), before + 1)
        del thunk
        self.assertEqual(sys.getrefcount(marker), before)


class OwnParams:
    """A type of parameters with the least number of methods."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: Any = None) -> Any:
        return float(value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def values_eq(self, a: Any, b: Any) -> bool:
        return bool(a == b)

    c_declare = Double.c_declare
    c_init = Double.c_init
    c_extract = Double.c_extract
    c_cleanup = Double.c_cleanup


class TestOwnType(unittest.TestCase):
    def test_four_methods_are_enough(self) -> None:
        op = COnly("%(z)s = PyFloat_FromDouble(2 * %(params)s);", params_type=OwnParams())
        op.get_params = lambda node: 21  # type: ignore[method-assign]
        self.assertEqual(function([x := generic("x")], op(x))(0), 42.0)


class TestPlainTypes(unittest.TestCase):
    """Types of values serve as types of parameters."""

    def result(self, kind: Any, value: Any, code: str) -> Any:
        op = COnly(code, params_type=kind)
        op.get_params = lambda node: value  # type: ignore[method-assign]
        return function([x := generic("x")], op(x))(0)

    def test_arrays(self) -> None:
        code = "%(z)s = PyFloat_FromDouble(((dtype_%(params)s *)PyArray_DATA(%(params)s))[2]);"
        self.assertEqual(self.result(ArrayType("float64", 1), [1, 2, 3], code), 3.0)

    def test_numbers(self) -> None:
        code = "%(z)s = PyLong_FromLongLong(%(params)s + 1);"
        self.assertEqual(self.result(ScalarType("int16"), 41, code), 42)
        with self.assertRaisesRegex(TypeError, "is no value of"):
            self.result(ScalarType("int16"), 4.5, code)


class Quadratic(Op):
    """``a x^2 + b x + c`` with an array, a number and an enumeration as parameters."""

    __props__ = ("a", "b", "mode")
    params_type = ParamsType(
        a=ArrayType("float64", 1), b=ScalarType("float64"), mode=EnumList(("PLAIN", "plain"), ("NEGATED", "negated"))
    )

    def __init__(self, a: Any, b: float, mode: str) -> None:
        self.a = tuple(a)
        self.b = b
        self.mode = mode

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        sign = -1 if params.mode == self.params_type.NEGATED else 1
        output_storage[0][0] = sign * (params.a[0] * inputs[0] ** 2 + params.b * inputs[0])

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)

    def c_code(self, node: Apply, name: str, inputs: Any, outputs: Any, sub: dict[str, str]) -> str:
        return """
        PyArrayObject *a = %(p)s->a;
        npy_float64 first = ((npy_float64 *)PyArray_DATA(a))[0];
        double sign = %(p)s->mode == NEGATED ? -1 : 1;
        %(z)s = sign * (first * %(x)s * %(x)s + %(p)s->b * %(x)s);
        """ % {"z": outputs[0], "x": inputs[0], "p": sub["params"]}


class TestParamsType(unittest.TestCase):
    def wrapper(self) -> ParamsType:
        return ParamsType(
            scalar=ScalarType("int32"),
            letters=EnumType(A=("alpha", 1), B=(2, "beta"), C=3),
            digits=EnumList(("ZERO", "nothing"), ("ONE", "unit"), ("TWO", "couple")),
        )

    def test_both_machines(self) -> None:
        x = ScalarType("float64")("x")
        for linker in LINKERS:
            for mode, sign in (("plain", 1), ("negated", -1)):
                f = function([x], Quadratic([2.0, 9.0], 0.5, mode)(x), mode=Mode(linker=linker, optimizer=None))
                self.assertEqual(f(3.0), sign * 19.5)

    def test_references_of_fields(self) -> None:
        x = ScalarType("float64")("x")
        node = node_of(Quadratic([2.0], 0.5, "plain")(x))
        thunk = c_thunk(node)
        assert thunk is not None, "the op has C code"
        array = np.zeros(1)
        before = sys.getrefcount(array)
        op = COnly("if (PyArray_NDIM(%(params)s->a) != 1) { %(fail)s } %(z)s = PyLong_FromLong(1);")
        op.params_type = ParamsType(a=ArrayType("float64", 1), b=generic)
        params = Params(op.params_type, a=array, b=array)
        op.get_params = lambda node: params  # type: ignore[method-assign]
        private = c_thunk(node_of(op(generic("x"))))
        assert private is not None, "the op has C code"
        for _ in range(20):
            private([0])
        self.assertEqual(sys.getrefcount(array), before + 2)

    def test_a_field_that_cannot_be_read(self) -> None:
        kind = ParamsType(a=generic, b=Double(), c=generic)
        params = Params(kind, a=[], b=1, c=[])
        op = COnly("%(z)s = NULL;", params_type=kind)
        kind_any: Any = kind
        kind_any.filter = lambda value, **how: value
        op.get_params = lambda node: params  # type: ignore[method-assign]
        thunk = c_thunk(node_of(op(generic("x"))))
        assert thunk is not None, "the op has C code"
        before = sys.getrefcount(params.a)
        for _ in range(20):
            with self.assertRaisesRegex(TypeError, "expected a float"):
                thunk([0])
        self.assertEqual(sys.getrefcount(params.a), before)

    def test_constants(self) -> None:
        wrapper = self.wrapper()
        self.assertEqual((wrapper.C, wrapper.TWO, wrapper.get_enum("C"), wrapper.get_enum("TWO")), (3, 2, 3, 2))
        aliases = ("alpha", "beta", "nothing", "unit", "couple", "C")
        self.assertEqual([wrapper.enum_from_alias(a) for a in aliases], [1, 2, 0, 1, 2, 3])
        for name in ("alpha", "X"):
            with self.subTest(name=name):
                with self.assertRaises(AttributeError):
                    getattr(wrapper, name)
                with self.assertRaisesRegex(ValueError, "no enumeration of .* has a constant"):
                    wrapper.get_enum(name)
        with self.assertRaisesRegex(ValueError, "has no enumeration"):
            ParamsType(a=generic).get_enum("A")
        with self.assertRaisesRegex(ValueError, "has no enumeration"):
            ParamsType(a=generic).enum_from_alias("A")

    def test_types_by_field_and_fields_by_type(self) -> None:
        kind = ParamsType(z=ScalarType("int32"), m=generic, b=ScalarType("int32"))
        self.assertEqual((kind.fields, kind.length), (("b", "m", "z"), 3))
        self.assertEqual((kind.get_field(ScalarType("int32")), kind.get_field(generic)), ("b", "m"))
        self.assertEqual((kind.has_type(generic), kind.has_type(Double())), (True, False))
        self.assertEqual(kind.get_type("z"), ScalarType("int32"))
        with self.assertRaisesRegex(KeyError, "no field 'y'"):
            kind.get_type("y")
        with self.assertRaisesRegex(ValueError, "no field of .* has the type"):
            kind.get_field(Double())

    def test_extended(self) -> None:
        kind = ParamsType(a=generic).extended(b=ScalarType("int32"))
        self.assertEqual(kind, ParamsType(a=generic, b=ScalarType("int32")))
        self.assertEqual(kind.extended(a=ScalarType("int8")).get_type("a"), ScalarType("int8"))

    def test_get_params_keeps_the_last_value_and_converts(self) -> None:
        class First:
            a, b = 10, [[1, 2, 3], [4, 5, 6]]

        class Second:
            a = 3.7

        kind = ParamsType(a=ScalarType("int32"), b=ArrayType("float64", 2), c=ScalarType("bool"))
        params = kind.get_params(First(), Second(), c=False)
        self.assertEqual((params.a, params.c, type(params.a)), (3, False, np.int32))
        np.testing.assert_array_equal(params.b, [[1, 2, 3], [4, 5, 6]])
        with self.assertRaisesRegex(TypeError, "no value for c"):
            kind.get_params(First())
        with self.assertRaises(TypeError):
            kind.get_params(First(), c="text")

    def test_params(self) -> None:
        kind = ParamsType(attr1=ScalarType("int32"), key2=ScalarType("float32"))
        params = Params(kind, attr1=1, key2=2.5)
        same = Params(kind, key2=2.5, attr1=1)
        self.assertEqual((params.attr1, params.key2, hash(params)), (1, 2.5, hash(same)))
        self.assertEqual((params, pickle.loads(pickle.dumps(params))), (same, same))
        self.assertNotEqual(params, Params(kind, attr1=1, key2=3.5))
        self.assertEqual(repr(params), "Params(attr1=1, key2=2.5)")
        with self.assertRaisesRegex(AttributeError, r"changed \(attr1\)"):
            params.attr1 = 2
        with self.assertRaisesRegex(AttributeError, r"deleted \(attr1\)"):
            del params.attr1
        for values in ({"attr1": 1}, {"attr1": 1, "key2": 2, "key3": 3}):
            with self.subTest(values=values), self.assertRaisesRegex(TypeError, "key[23]"):
                Params(kind, **values)
        arrays = ParamsType(a=ArrayType())
        self.assertEqual(hash(Params(arrays, a=np.ones(2))), hash(Params(arrays, a=np.ones(2))))
        self.assertEqual(Params(arrays, a=np.ones(2)), Params(arrays, a=np.ones(2)))

    def test_filter(self) -> None:
        kind = ParamsType(a=ScalarType("int32"))
        good = kind.get_params(a=1)
        self.assertIs(kind.filter(good, strict=True), good)
        for wrong in (None, {"a": 1}, ParamsType(b=generic).get_params(b=1), Params(kind, a="text")):
            with self.subTest(wrong=wrong), self.assertRaises(TypeError):
                kind.filter(wrong)
        with self.assertRaises(TypeError):
            kind.filter(Params(kind, a=1), strict=True)

    def test_what_is_refused(self) -> None:
        cases: list[tuple[dict[str, Any], type[Exception], str]] = [
            ({}, TypeError, "at least one field"),
            ({"a": 3}, TypeError, "no type"),
            ({"for": generic}, ValueError, "'for' cannot be the name"),
            ({"struct": generic}, ValueError, "'struct' cannot be the name"),
            ({"a": EnumList("A"), "b": EnumType(A=1)}, ValueError, "same constant A"),
            ({"a": EnumList(("A", "x")), "b": EnumType(B=("x", 1))}, ValueError, "same alias x"),
        ]
        for fields, error, text in cases:
            with self.subTest(fields=fields), self.assertRaisesRegex(error, text):
                ParamsType(**fields)

    def test_value_semantics(self) -> None:
        self.assertEqual(self.wrapper(), self.wrapper())
        self.assertEqual(hash(self.wrapper()), hash(pickle.loads(pickle.dumps(self.wrapper()))))
        self.assertNotEqual(self.wrapper(), ParamsType(scalar=ScalarType("int32")))

    def test_nested(self) -> None:
        inner = ParamsType(n=ScalarType("int64"))
        outer = ParamsType(inner=inner, m=ScalarType("int64"))
        op = COnly("%(z)s = PyLong_FromLongLong(%(params)s->inner->n * 10 + %(params)s->m);", params_type=outer)
        op.get_params = lambda node: outer.get_params(inner=inner.get_params(n=4), m=2)  # type: ignore[method-assign]
        self.assertEqual(function([x := generic("x")], op(x))(0), 42)

    def test_types_without_c_form(self) -> None:
        kind = ParamsType(a=Type())
        self.assertEqual(kind.get_params(a=3).a, 3)
