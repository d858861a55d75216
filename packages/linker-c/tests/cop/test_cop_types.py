"""Types in C: the manual's double, objects, numbers and arrays; conversions, failures, references."""

from __future__ import annotations

import gc
import sys
import unittest
from typing import Any

import numpy as np

from cop.cop_support import (
    COPY,
    LINKERS,
    ArrayType,
    BinaryDoubleOp,
    COnly,
    Double,
    add,
    div,
    double,
    mul,
    node_of,
    references,
    sub,
    vector,
)
from theano_graph import Apply, Op, Type, config, generic, get_test_value
from theano_linker_c import Mode, function
from theano_linker_c.cop import CLinkerType, NoCompilerError, c_thunk
from theano_linker_c.scalar import ScalarType
from theano_testing.tiers import slow


def run(op: Op, variables: list[Any], values: list[Any]) -> Any:
    thunk = c_thunk(node_of(op(*variables)))
    assert thunk is not None, "the op has C code"
    return thunk(values)


class TestDouble(unittest.TestCase):
    def test_arithmetic_agrees_with_python(self) -> None:
        x, y, z = double("x"), double("y"), double("z")
        expression = div(sub(mul(add(x, y), z), y), x)
        for linker in LINKERS:
            f = function([x, y, z], expression, mode=Mode(linker=linker, optimizer=None))
            self.assertEqual(f(1.5, 2.0, 3.0), ((1.5 + 2.0) * 3.0 - 2.0) / 1.5)

    def test_constants_become_doubles(self) -> None:
        x = double("x")
        self.assertEqual(function([x], mul(x, 4))(2.5), 10.0)

    def test_failure_in_extract_is_the_user_s_exception(self) -> None:
        with self.assertRaisesRegex(TypeError, "expected a float"):
            run(add, [double("x"), double("y")], [1.0, 2])

    def test_error_names_the_node_and_where_it_was_made(self) -> None:
        x = double("x")
        broken = COnly('PyErr_SetString(PyExc_ValueError, "no luck"); %(fail)s')
        f = function([x], broken(x))
        with self.assertRaisesRegex(ValueError, r"(?s)no luck.*COnly.*test_cop_types\.py:\d+.*`x`: double"):
            f(1.0)

    def test_one_variable_twice(self) -> None:
        x = double("x")
        self.assertEqual(function([x], mul(x, x))(3.0), 9.0)

    def test_instance_attributes_may_define_type_and_op(self) -> None:
        kind: Any = Type()
        source = Double()
        for name in ("filter", "c_declare", "c_init", "c_extract", "c_sync", "c_cleanup"):
            setattr(kind, name, getattr(source, name))
        twice: Any = Op()
        twice.make_node = lambda x: Apply(twice, [x], [kind()])
        twice.c_code = lambda node, name, inp, out, sub: f"{out[0]} = 2 * {inp[0]};"
        self.assertEqual(function([x := kind("x")], twice(x))(2.0), 4.0)


class Counted(Type):
    """Floats whose C side counts its allocations and frees, in a list of Python."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        return value

    def c_declare(self, name: str, sub: Any, check_input: bool = True) -> str:
        return f"double *{name};"

    def c_init(self, name: str, sub: Any) -> str:
        return f"{name} = (double *)malloc(sizeof(double)); ++living; *{name} = 0;"

    def c_extract(self, name: str, sub: Any, check_input: bool = True) -> str:
        check = f'if (!PyFloat_Check(py_{name})) {{ PyErr_SetString(PyExc_TypeError, "no float"); {sub["fail"]} }}'
        return f"""
        {name} = NULL;
        {check if check_input else ""}
        {name} = (double *)malloc(sizeof(double));
        ++living;
        *{name} = PyFloat_AsDouble(py_{name});
        """

    def c_sync(self, name: str, sub: Any) -> str:
        return f'Py_XDECREF(py_{name}); py_{name} = Py_BuildValue("(di)", *{name}, living);'

    def c_cleanup(self, name: str, sub: Any) -> str:
        return f"if ({name} != NULL) {{ free({name}); --living; }}"

    def c_support_code(self) -> str:
        return "static int living;"


class TestLifetimes(unittest.TestCase):
    def test_what_was_allocated_is_freed_after_success_and_failure(self) -> None:
        counted = Counted()
        op = COnly(
            """*%(z)s = *%(x)s + *%(y)s;
            if (*%(z)s > 100) { PyErr_SetString(PyExc_OverflowError, "too much"); %(fail)s }"""
        )
        thunk = c_thunk(node_of(op(counted("x"), counted("y"))))
        assert thunk is not None, "the op has C code"
        self.assertEqual(thunk([1.0, 2.0]), ((3.0, 3),))
        with self.assertRaisesRegex(OverflowError, "too much"):
            thunk([99.0, 2.0])
        with self.assertRaisesRegex(TypeError, "no float"):
            thunk([99.0, "2"])
        # The second operand refused, the first had been allocated: three live variables again, none left over.
        self.assertEqual(thunk([2.0, 2.0]), ((4.0, 3),))

    def test_check_input_false_reaches_the_type(self) -> None:
        counted = Counted()
        op = COnly("*%(z)s = *%(x)s;", check_input=False)
        with self.assertRaisesRegex(TypeError, "must be real number, not str"):
            run(op, [counted("x")], ["2"])

    def test_no_reference_is_lost(self) -> None:
        x = vector("x")
        fine, broken = COnly(COPY), COnly(COPY + 'PyErr_SetString(PyExc_ValueError, "after"); %(fail)s')
        value = np.arange(4.0)
        works, fails = function([x], fine(x)), function([x], broken(x))
        before = references(value)
        for _ in range(50):
            works(value)
            with self.assertRaisesRegex(ValueError, "after"):
                fails(value)
        # A machine keeps the operands of its last failure, to be looked at.
        del fails
        gc.collect()
        self.assertEqual(references(value), before)

    def test_results_of_failed_calls_are_freed(self) -> None:
        """The output exists when the code fails: its memory must not stay."""
        op = COnly(
            """%(z)s = PyTuple_Pack(1, %(x)s);
            if (PyObject_IsTrue(%(x)s)) { PyErr_SetString(PyExc_ValueError, "true"); %(fail)s }"""
        )
        thunk = c_thunk(node_of(op(generic("x"))))
        assert thunk is not None, "the op has C code"
        value = ["something"]
        before = references(value, generic)
        for _ in range(50):
            with self.assertRaisesRegex(ValueError, "true"):
                thunk([value])
        self.assertEqual(references(value, generic), before)


class TestGeneric(unittest.TestCase):
    def test_objects_pass_through(self) -> None:
        value = object()
        op = COnly("%(z)s = PyTuple_Pack(2, %(x)s, %(x)s);")
        f = function([x := generic("x")], op(x))
        before = sys.getrefcount(value)
        self.assertEqual(f(value), (value, value))
        self.assertEqual(sys.getrefcount(value), before)

    def test_an_output_that_was_not_set_is_none(self) -> None:
        self.assertEqual(run(COnly(";"), [generic("x")], [1]), (None,))

    def test_an_exception_without_fail_counts(self) -> None:
        op = COnly('%(z)s = PyObject_GetAttrString(%(x)s, "missing");')
        with self.assertRaisesRegex(AttributeError, "missing"):
            run(op, [generic("x")], [1])

    def test_fail_without_exception_is_explained(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "COnly failed, but set no Python exception"):
            run(COnly("%(fail)s"), [generic("x")], [1])


DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


class TestScalars(unittest.TestCase):
    @slow
    def test_numbers_of_all_dtypes(self) -> None:
        for dtype in (*DTYPES, "complex64", "complex128"):
            with self.subTest(dtype=dtype):
                x = ScalarType(dtype)("x")
                value = np.dtype(dtype).type(1)
                f = function([x], COnly("%(z)s = %(x)s; dtype_%(z)s other = %(x)s; (void)other;")(x))
                result = f(value)
                self.assertEqual((result, type(result)), (value, type(value)))

    def test_wrong_dtype_is_refused_when_inputs_are_checked(self) -> None:
        x = ScalarType("float32")("x")
        with self.assertRaisesRegex(TypeError, "scalar of type float32 is needed here, got numpy.float64"):
            run(COnly("%(z)s = %(x)s;"), [x], [np.float64(1)])
        self.assertEqual(run(COnly("%(z)s = %(x)s;", check_input=False), [x], [np.float64(1)]), (np.float32(1),))

    def test_what_is_no_number_is_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, "NumPy scalar of type int64 is needed here, got str"):
            run(COnly("%(z)s = %(x)s;"), [ScalarType("int64")("x")], ["1"])

    @slow
    def test_literals_are_c(self) -> None:
        cases = [
            ("int64", -(2**63)), ("uint64", 2**64 - 1), ("int8", -5), ("bool", True),
            ("float32", 0.1), ("float64", 0.1), ("float64", np.inf), ("float64", -np.inf),
        ]  # fmt: skip
        for dtype, value in cases:
            with self.subTest(dtype=dtype, value=value):
                kind = ScalarType(dtype)
                operand = np.dtype(dtype).type(value)
                literal = kind.c_literal(operand)
                self.assertEqual(run(COnly(f"%(z)s = {literal};"), [kind("x")], [operand]), (operand,))
        nan = run(
            COnly(f"%(z)s = {ScalarType('float64').c_literal(np.nan)};"), [ScalarType("float64")("x")], [np.float64()]
        )
        self.assertTrue(np.isnan(nan[0]))
        with self.assertRaisesRegex(NotImplementedError, "c_literal"):
            ScalarType("complex64").c_literal(1j)

    def test_what_types_say_of_themselves(self) -> None:
        kind = ScalarType("int16")
        self.assertEqual(
            (kind.c_element_type(), kind.c_is_simple(), kind.c_headers()), ("npy_int16", True, ["<math.h>"])
        )
        array = ArrayType("float32", 2)
        self.assertEqual((array.c_element_type(), array.c_is_simple()), ("npy_float32", False))
        with self.assertRaisesRegex(NotImplementedError, "CLinkerType does not define c_declare"):
            CLinkerType().c_declare("x", {})


class TestArrays(unittest.TestCase):
    @slow
    def test_elements_through_the_typedef(self) -> None:
        for dtype in DTYPES:
            with self.subTest(dtype=dtype):
                x = vector("x", dtype)
                op = COnly(COPY + "((dtype_%(z)s *)PyArray_DATA(%(z)s))[0] = ((dtype_%(x)s *)PyArray_DATA(%(x)s))[1];")
                value = np.array([0, 1, 1], dtype)
                np.testing.assert_array_equal(function([x], op(x))(value), np.array([1, 1, 1], dtype))

    def test_checks_of_inputs(self) -> None:
        swapped = np.arange(3.0).astype(">f8")
        unaligned = np.frombuffer(b"\0" * 25, dtype=np.uint8)[1:].view("f8")
        cases = [
            ([1.0], TypeError, "expected an ndarray of type float64 with 1 dimensions, got list"),
            (np.arange(3), TypeError, r"expected type_num 12 \(float64\) got 7"),
            (np.zeros((2, 2)), ValueError, "expected an array of type float64 with 1 dimensions, got 2"),
            (swapped, NotImplementedError, "a byte-swapped array"),
            (unaligned, NotImplementedError, "expected an aligned array of type float64 .* a non-aligned array"),
        ]
        thunk = c_thunk(node_of(COnly(COPY)(vector("x"))))
        assert thunk is not None, "the op has C code"
        for value, error, text in cases:
            with self.subTest(text=text), self.assertRaisesRegex(error, text):
                thunk([value])

    def test_an_op_may_do_without_checks(self) -> None:
        (result,) = run(COnly(COPY, check_input=False), [vector("x")], [np.arange(3)])
        self.assertEqual(result.dtype, np.int64)

    def test_outputs_are_null_at_each_call(self) -> None:
        """Code that takes old contents for its own zeros would add to the numbers of the last call."""
        code = "if (%(z)s == NULL) {" + COPY + "} else ((npy_float64 *)PyArray_DATA(%(z)s))[0] += 1;"
        x = vector("x")
        f = function([x], COnly(code)(COnly(code)(x)))
        for _ in range(3):
            self.assertEqual(f(np.zeros(2))[0], 0.0)

    def test_storage_may_be_given(self) -> None:
        thunk = c_thunk(node_of(COnly("if (%(z)s == NULL) {" + COPY + "}")(vector("x"))))
        assert thunk is not None, "the op has C code"
        mine = np.full(5, 7.0)
        before = references(mine)
        self.assertIs(thunk([np.zeros(2)], [mine])[0], mine)
        self.assertEqual(thunk([np.zeros(2)], [None])[0].shape, (2,))
        self.assertEqual(references(mine), before)


class TestHalf(unittest.TestCase):
    def test_float16_needs_an_op_that_knows_it(self) -> None:
        x = vector("x", "float16")
        with self.assertRaisesRegex(NoCompilerError, "no C code for float16"):
            function([x], COnly(COPY)(x))
        value = np.arange(3, dtype="float16")
        np.testing.assert_array_equal(function([x], COnly(COPY, _f16_ok=True)(x))(value), value)


class TestPythonFirst(unittest.TestCase):
    def test_without_code_for_the_types_perform_runs(self) -> None:
        class Choosy(BinaryDoubleOp):
            def c_code(self, *args: Any) -> str:
                raise NotImplementedError("not today")

        x = double("x")
        op = Choosy("choosy", lambda a, b: a + 10 * b, "")
        self.assertEqual(function([x], op(x, x))(2.0), 22.0)

    def test_an_incomplete_type_is_named(self) -> None:
        x = Type()("x")
        with self.assertRaisesRegex(NoCompilerError, r"(?s)Type \(Type\) does not define c_\w+.*Hint"):
            function([x], COnly("%(z)s = %(x)s;")(x))


class Source(Op):
    """Nothing in, three results out."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, [], [double(), generic(), ArrayType("int32", 0)()])

    def c_code(self, node: Apply, name: str, inp: Any, out: Any, sub: Any) -> str:
        a, b, c = out
        return f"""
        {a} = 1.5;
        Py_XDECREF({b});
        {b} = PyUnicode_FromString("two");
        Py_XDECREF({c});
        {c} = (PyArrayObject *)PyArray_ZEROS(0, NULL, NPY_INT32, 0);
        if (!{c})
            {sub["fail"]}
        *(npy_int32 *)PyArray_DATA({c}) = 3;
        """


class TestShapesOfNodes(unittest.TestCase):
    def test_no_input_and_several_outputs(self) -> None:
        a, b, c = function([], Source()())()
        self.assertEqual((a, b, c.dtype, int(c)), (1.5, "two", np.int32, 3))

    def test_outputs_that_nobody_uses(self) -> None:
        self.assertEqual(function([], Source()()[1])(), "two")

    def test_many_inputs(self) -> None:
        variables = [double(f"x{i}") for i in range(60)]

        class Total(Op):
            __props__ = ()

            def make_node(self, *inputs: Any) -> Apply:
                return Apply(self, list(inputs), [double()])

            def c_code(self, node: Apply, name: str, inp: Any, out: Any, sub: Any) -> str:
                return f"{out[0]} = {' + '.join(inp)};"

        self.assertEqual(function(variables, Total()(*variables))(*map(float, range(60))), sum(range(60)))


class TestWhileBuilding(unittest.TestCase):
    def test_test_values_run_c_code(self) -> None:
        x = double("x")
        x.tag.test_value = 4.0
        with config.change_flags(compute_test_value="raise"):
            y = COnly("%(z)s = 3 * %(x)s;")(x)
            self.assertEqual(get_test_value(y), 12.0)
            with self.assertRaisesRegex(ValueError, "(?s)failed on test values: .*no.*`x`"):
                COnly('PyErr_SetString(PyExc_ValueError, "no"); %(fail)s')(x)

    def test_constants_are_folded_by_c_code(self) -> None:
        y = COnly("%(z)s = 3 * %(x)s;")(double.make_constant(2.0))
        f = function([], y, mode="FAST_RUN")
        self.assertEqual(f(), 6.0)
        self.assertNotIn(COnly, [type(node.op) for node in f.maker.fgraph.toposort()])
