"""Pointers as values, C code registered for types, and OpenMP."""

from __future__ import annotations

import ctypes
import gc
import pickle
import sys
import unittest
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from cop.cop_support import COPY, ArrayType, BuildTestCase, COnly, Double, double, node_of, vector
from theano_graph import Apply, config, generic
from theano_linker_c import function
from theano_linker_c.compiler import CompilerOptions, CompilerRun, CompilerWarning
from theano_linker_c.cop import CDataType, OpenMPOp, TypeCodeTable, c_thunk
from theano_linker_c.ops import (
    DeepCopyOp,
    ViewOp,
    deep_copy_op,
    register_deep_copy_op_c_code,
    register_view_op_c_code,
    view_op,
)

#: A structure on the heap, which holds a reference as long as it lives.
SUPPORT = """
typedef struct { double value; PyObject *held; } box;
static box *make_box(PyObject *held) {
    box *b = (box *)malloc(sizeof(box));
    b->value = 2.5;
    b->held = Py_NewRef(held);
    return b;
}
static void free_box(box *b) {
    Py_DECREF(b->held);
    free(b);
}
"""


class TestCData(unittest.TestCase):
    def boxes(self, **more: Any) -> CDataType:
        return CDataType("box *", "free_box", extra_support_code=SUPPORT, version=1, **more)

    def test_data_passes_from_op_to_op_and_is_freed(self) -> None:
        kind = self.boxes()
        x = generic("x")
        make = COnly("%(z)s = make_box(%(x)s);", output=kind)
        read = COnly('%(z)s = Py_BuildValue("(dO)", %(x)s->value, %(x)s->held);', output=generic)
        f = function([x], read(make(x)))
        value = ["held"]
        before = sys.getrefcount(value)
        for _ in range(10):
            self.assertEqual(f(value), (2.5, value))
        gc.collect()
        self.assertEqual(sys.getrefcount(value), before)

    def test_data_of_failed_code_is_freed(self) -> None:
        code = """%(z)s = make_box(%(x)s);
        if (PyList_Check(%(x)s)) { PyErr_SetString(PyExc_ValueError, "a list"); %(fail)s }"""
        thunk = c_thunk(node_of(COnly(code, output=self.boxes())(generic("x"))))
        assert thunk is not None, "the op has C code"
        bad, good = ["held"], {"held": 1}
        before = [sys.getrefcount(bad), sys.getrefcount(good)]
        for _ in range(5):
            with self.assertRaisesRegex(ValueError, "a list"):
                thunk([bad])
        (value,) = thunk([good])
        self.assertEqual([sys.getrefcount(bad), sys.getrefcount(good)], [before[0], before[1] + 1])
        del value
        self.assertEqual(sys.getrefcount(good), before[1])

    def test_null_is_none(self) -> None:
        kind = self.boxes()
        same = COnly("%(z)s = NULL;", output=kind)
        self.assertIsNone(function([x := double("x")], same(x))(1.0))
        test = COnly("%(z)s = PyBool_FromLong(%(x)s == NULL);", output=generic)
        b = kind("b")
        self.assertTrue(function([b], test(b))(None))

    def test_values_from_addresses(self) -> None:
        number = ctypes.c_double(2.5)
        kind = CDataType("double *")
        value = kind.make_value(ctypes.addressof(number))
        b = kind("b")
        self.assertEqual(function([b], COnly("%(z)s = PyFloat_FromDouble(*%(x)s);", output=generic)(b))(value), 2.5)
        with self.assertRaisesRegex(ValueError, "null pointer"):
            kind.make_value(0)

    def test_filter_and_value_semantics(self) -> None:
        kind = CDataType("double *", "free", headers=["<stdlib.h>"], compile_args=["-DX"], version=2)
        with self.assertRaisesRegex(TypeError, "3 of type int is no C data"):
            kind.filter(3)
        same = pickle.loads(pickle.dumps(kind))
        self.assertEqual((kind, hash(kind), str(kind)), (same, hash(same), "CDataType{double *}"))
        self.assertNotEqual(kind, CDataType("double *", "free"))
        self.assertEqual((list(kind.c_headers()), list(kind.c_compile_args())), (["<stdlib.h>"], ["-DX"]))
        self.assertEqual((kind.c_code_cache_version(), CDataType("int *").c_code_cache_version()), ((1, 2), ()))
        with self.assertRaisesRegex(TypeError, "ctype is a C type as a string"):
            CDataType(3)  # type: ignore[arg-type]


class Celsius(Double):
    """A type for registrations."""


class TestRegistered(unittest.TestCase):
    def registered(self, table: TypeCodeTable, register: Callable[..., None], code: str) -> None:
        register(Celsius, code, version=1)
        self.addCleanup(table.remove, Celsius)

    def test_copies(self) -> None:
        self.registered(DeepCopyOp.type_code, register_deep_copy_op_c_code, "%(oname)s = %(iname)s + 1000;")
        x = Celsius()("x")
        self.assertEqual(function([x], deep_copy_op(x))(1.0), 1001.0)

    def test_views(self) -> None:
        code = 'if (%(iname)s < 0) { PyErr_SetString(PyExc_ValueError, "cold"); %(fail)s } %(oname)s = %(iname)s;'
        self.registered(ViewOp.type_code, register_view_op_c_code, code)
        x = Celsius()("x")
        f = function([x], mul_celsius(view_op(x)))
        self.assertEqual(f(4.0), 8.0)
        with self.assertRaisesRegex(ValueError, "cold"):
            f(-1.0)

    def test_without_registration_python_runs(self) -> None:
        x = Celsius()("x")
        self.assertEqual(function([x], mul_celsius(view_op(x)))(4.0), 8.0)

    def test_arrays_may_be_registered_too(self) -> None:
        class Marked(ArrayType):
            pass

        register_deep_copy_op_c_code(
            Marked,
            "Py_XDECREF(%(oname)s); %(oname)s = (PyArrayObject *)PyArray_NewCopy(%(iname)s, NPY_CORDER);"
            "((double *)PyArray_DATA(%(oname)s))[0] = 7;",
        )
        self.addCleanup(DeepCopyOp.type_code.remove, Marked)
        x = Marked()("x")
        np.testing.assert_array_equal(function([x], x)(np.zeros(2)), [7.0, 0.0])

    def test_an_instance_is_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, "registered for a class of types"):
            register_view_op_c_code(Celsius(), "")

    def test_versions(self) -> None:
        self.registered(DeepCopyOp.type_code, register_deep_copy_op_c_code, "%(oname)s = %(iname)s;")
        self.assertEqual(deep_copy_op.c_code_cache_version_apply(node_of(deep_copy_op(Celsius()("x")))), (1,))
        self.assertEqual(deep_copy_op.c_code_cache_version_apply(node_of(deep_copy_op(double("x")))), ())


def mul_celsius(x: Any) -> Any:
    return COnly("%(z)s = 2 * %(x)s;", output=Double())(x)


class Threaded(OpenMPOp):
    """Adds one to a vector, and tells in the first element whether OpenMP is on."""

    __props__ = ("openmp",)

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type()])

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0] + 1

    def c_code(self, node: Apply, name: str, inp: Any, out: Any, sub: dict[str, str]) -> str:
        pragma = "#pragma omp parallel for" if self.openmp else ""
        names = {"x": inp[0], "z": out[0], "pragma": pragma, **sub}
        return (
            COPY
            + """
        {
            npy_float64 *data = (npy_float64 *)PyArray_DATA(%(z)s);
            npy_intp n = PyArray_SIZE(%(z)s), i;
        %(pragma)s
            for (i = 0; i < n; i++)
                data[i] += 1;
        #ifdef _OPENMP
            data[0] = 100;
        #endif
        }
        """
        ) % names


class TestOpenMP(BuildTestCase):
    def setUp(self) -> None:
        super().setUp()
        # clang comes without OpenMP's library in many places; gcc brings its own.
        flags = config.change_flags(cxx="gcc")
        flags.__enter__()
        self.addCleanup(flags.__exit__, None, None, None)

    def first(self, op: OpenMPOp) -> float:
        x = vector("x")
        result = function([x], op(x))(np.zeros(1000))
        np.testing.assert_array_equal(result[1:], np.ones(999))
        return float(result[0])

    def test_on_and_off(self) -> None:
        self.assertEqual((self.first(Threaded(openmp=True)), self.first(Threaded(openmp=False))), (100.0, 1.0))

    def test_the_flag_decides_where_nothing_is_said(self) -> None:
        with config.change_flags(openmp=False):
            self.assertFalse(Threaded().openmp)
        with config.change_flags(openmp=True):
            self.assertTrue(Threaded().openmp)
            self.assertFalse(Threaded(openmp=False).openmp)
            self.assertEqual(self.first(Threaded()), 100.0)

    def test_arguments(self) -> None:
        self.assertEqual(OpenMPOp(openmp=False).c_compile_args(), [])
        self.assertEqual(OpenMPOp(openmp=True).c_compile_args(), ["-fopenmp"])

    def test_a_compiler_without_it(self) -> None:
        op = Threaded(openmp=True)
        options = CompilerOptions(command="gcc", directory=self.path)
        with (
            mock.patch.object(CompilerOptions, "from_config", return_value=options),
            mock.patch("theano_linker_c.cop._openmp.run_compiler", return_value=CompilerRun(False, "no omp.h")),
            self.assertWarnsRegex(CompilerWarning, "gcc cannot use OpenMP: .* runs in one thread"),
        ):
            self.assertEqual(op.c_compile_args(), [])
        self.assertFalse(op.openmp)

    def test_thunks_on_cells(self) -> None:
        x = vector("x")
        op = Threaded(openmp=False)
        node = node_of(op(x))
        for impl in (None, "c", "py"):
            with self.subTest(impl=impl):
                storage: dict[Any, list[Any]] = {x: [np.zeros(2)], node.outputs[0]: [None]}
                computed: dict[Any, list[Any]] = {x: [True], node.outputs[0]: [False]}
                op.make_thunk(node, storage, computed, [], impl=impl)()
                np.testing.assert_array_equal(storage[node.outputs[0]][0], [1.0, 1.0])
                self.assertEqual(computed[node.outputs[0]], [True])

    def test_a_make_thunk_on_top(self) -> None:
        result: list[Any] = []

        class Watched(Threaded):
            def make_thunk(self, *args: Any, **kwargs: Any) -> Any:
                result.append(args[0])
                return super().make_thunk(*args, **kwargs)

        self.assertEqual(self.first(Watched(openmp=False)), 1.0)
        self.assertEqual(len(result), 1)

    def test_pickles(self) -> None:
        for value in (True, False):
            self.assertEqual(pickle.loads(pickle.dumps(Threaded(openmp=value))).openmp, value)

    def test_no_warning_where_it_works(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            OpenMPOp(openmp=True).c_compile_args()
