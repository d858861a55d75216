"""All methods by which an op gives C code: where the code goes, how often it runs, which names it may use."""

from __future__ import annotations

import gc
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np

from cop.cop_support import COPY, BuildTestCase, COnly, node_of, vector
from theano_graph import Op, generic
from theano_linker_c import function
from theano_linker_c.compiler import CompilerOptions, run_compiler
from theano_linker_c.cop import ThunkLibrary, c_thunk
from theano_testing.tiers import slow


def call(op: Op, *values: Any) -> Any:
    thunk = c_thunk(node_of(op(*(generic(f"x{i}") for i in range(len(values))))))
    assert thunk is not None, "the op has C code"
    return thunk(values)[0]


class TestScopes(unittest.TestCase):
    def test_support_code_is_shared_and_apply_code_is_not(self) -> None:
        op = COnly(
            "%(z)s = PyLong_FromLong(twice(base_%(name)s));",
            c_support_code="static long twice(long n) { return 2 * n; }",
            c_support_code_apply="static long base_@ = 21;",
        )
        self.assertEqual(call(op, None), 42)

    def test_support_code_may_be_a_list(self) -> None:
        op = COnly("%(z)s = PyLong_FromLong(one + two);", c_support_code=["static int one = 1;", "static int two = 2;"])
        self.assertEqual(call(op, None), 3)

    def test_two_nodes_of_one_op(self) -> None:
        op = COnly(
            "%(z)s = PyLong_FromLong(helper_%(name)s(%(x)s));",
            c_support_code="static long plus(long n, long m) { return n + m; }",
            c_support_code_apply="static long helper_@(PyObject *x) { return plus(PyLong_AsLong(x), 1); }",
        )
        x, y = generic("x"), generic("y")
        pair = COnly("%(z)s = PyTuple_Pack(2, %(x)s, %(y)s);")
        self.assertEqual(function([x, y], pair(op(x), op(op(y))))(1, 10), (2, 12))

    def test_variables_of_code_are_seen_by_its_cleanup(self) -> None:
        op = COnly(
            """void *scratch; scratch = malloc(16); held++;
            if (PyLong_AsLong(%(x)s) < 0) { PyErr_SetString(PyExc_ValueError, "negative"); %(fail)s }
            %(z)s = PyLong_FromLong(held);""",
            c_support_code="static int held;",
            c_code_cleanup="free(scratch); held--;",
        )
        thunk = c_thunk(node_of(op(generic("x"))))
        assert thunk is not None, "the op has C code"
        for _ in range(3):
            with self.assertRaisesRegex(ValueError, "negative"):
                thunk([-1])
        self.assertEqual(thunk([1]), (1,))

    def test_init_code_runs_once_before_all(self) -> None:
        op = COnly(
            "%(z)s = PyLong_FromLong(10 * loaded + loaded_%(name)s);",
            c_support_code="static int loaded;",
            c_support_code_apply="static int loaded_@;",
            c_init_code=["loaded++;"],
            c_init_code_apply="loaded_@ += loaded;",
        )
        x = generic("x")
        thunks = [c_thunk(node_of(op(x))) for _ in range(3)]
        self.assertEqual([thunk([0]) for thunk in thunks if thunk is not None], [(11,)] * 3)

    def test_init_code_that_fails_is_an_error_of_building(self) -> None:
        op = COnly("%(z)s = NULL;", c_init_code='PyErr_SetString(PyExc_OSError, "no device"); return NULL;')
        with self.assertRaisesRegex(OSError, "no device"):
            c_thunk(node_of(op(generic("x"))))


class TestStruct(unittest.TestCase):
    def counter(self) -> COnly:
        return COnly(
            "%(z)s = PyLong_FromLong(next_%(name)s()); Py_XDECREF(last); Py_INCREF(%(x)s); last = %(x)s;",
            c_support_code_struct="long count; PyObject *last; long next_@() { return ++count; }",
            c_init_code_struct="count = 100; last = NULL;",
            c_cleanup_code_struct="Py_XDECREF(last);",
        )

    def test_each_thunk_has_its_own_state(self) -> None:
        x = generic("x")
        op = self.counter()
        f, g = function([x], op(x)), function([x], op(x))
        self.assertEqual([f(0), f(0), g(0), f(0)], [101, 102, 101, 103])

    def test_the_state_is_freed_with_the_function(self) -> None:
        freed: list[int] = []

        class Told:
            def __del__(self) -> None:
                freed.append(1)

        x = generic("x")
        f = function([x], self.counter()(x))
        f(Told())
        self.assertEqual(freed, [])
        f(Told())
        self.assertEqual(len(freed), 1)
        del f
        gc.collect()
        self.assertEqual(len(freed), 2)

    def test_init_code_that_fails(self) -> None:
        op = COnly(
            "%(z)s = NULL;",
            c_support_code_struct="int unused_@;",
            c_init_code_struct='PyErr_SetString(PyExc_MemoryError, "no room"); FAIL;',
        )
        with self.assertRaisesRegex(MemoryError, "no room"):
            c_thunk(node_of(op(generic("x"))))


class TestLanguages(unittest.TestCase):
    def test_cpp_that_says_so(self) -> None:
        op = COnly(
            "std::vector<long> found(3, PyLong_AsLong(%(x)s)); %(z)s = PyLong_FromLong(found[0] + found[2]);",
            c_headers=["<vector>"],
        )
        self.assertEqual(call(op, 4), 8)

    def test_cpp_that_is_noticed_when_it_does_not_compile_as_c(self) -> None:
        op = COnly(
            "auto value = PyLong_AsLong(%(x)s); %(z)s = PyLong_FromLong(bump(value));",
            c_support_code="static long bump(long &n) { return ++n; }",
        )
        self.assertEqual(call(op, 4), 5)

    def test_c_that_is_no_cpp(self) -> None:
        op = COnly("int new = 3; char *text = malloc(new); free(text); %(z)s = PyLong_FromLong(new);")
        self.assertEqual(call(op, None), 3)

    def test_c_with_a_word_of_cpp(self) -> None:
        op = COnly("int new = 3; /* namespace std; */ %(z)s = PyLong_FromLong(new);")
        self.assertEqual(call(op, None), 3)

    def test_names_may_begin_with_that_of_the_node(self) -> None:
        op = COnly("%(z)s = PyLong_FromLong(%(name)s_value);", c_support_code_apply="static long @_value = 8;")
        self.assertEqual(call(op, None), 8)

    def test_streams_are_there_for_cpp(self) -> None:
        op = COnly("std::clog.flush(); %(z)s = PyLong_FromLong(3);")
        self.assertEqual(call(op, None), 3)

    def test_cpp_exceptions_become_python_s(self) -> None:
        op = COnly('std::string("abc").at(7); %(z)s = NULL;', c_headers=["<string>"], c_code_cleanup="")
        with self.assertRaisesRegex(RuntimeError, "at|range"):
            call(op, 1)

    def test_old_names_of_numpy_and_python(self) -> None:
        op = COnly(
            """if (PyArray_CHKFLAGS(%(x)s, NPY_ARRAY_UPDATEIFCOPY)) { %(fail)s }
            Py_XDECREF(%(z)s);
            %(z)s = (PyArrayObject *)PyArray_FromArray(%(x)s, 0, NPY_ENSURECOPY | NPY_C_CONTIGUOUS);
            if (!%(z)s) %(fail)s;
            { PyObject *n = PyInt_FromLong(3), *s = PyString_FromString("three");
              numpy_float64 *data = (numpy_float64 *)PyArray_DATA(%(z)s);
              if (PyInt_Check(n) && PyString_Check(s)) data[0] = PyInt_AsLong(n) + (PyString_AsString(s)[0] == 't');
              Py_DECREF(n); Py_DECREF(s); }"""
        )
        x = vector("x")
        value = np.zeros(3)
        np.testing.assert_array_equal(function([x], op(x))(value), [4.0, 0.0, 0.0])
        np.testing.assert_array_equal(value, np.zeros(3))


class TestArguments(BuildTestCase):
    def test_headers_of_one_s_own(self) -> None:
        with tempfile.TemporaryDirectory(prefix="a b é") as folder:
            Path(folder, "answer.h").write_text("#define ANSWER 42\n")
            op = COnly("%(z)s = PyLong_FromLong(ANSWER);", c_headers=['"answer.h"'], c_header_dirs=[folder])
            self.assertEqual(call(op, None), 42)
            plain = COnly(
                "%(z)s = PyLong_FromLong(ANSWER);", c_headers=["answer.h"], c_header_dirs=lambda compiler: [folder]
            )
            self.assertEqual(call(plain, None), 42)

    def test_compile_args_and_those_that_are_forbidden(self) -> None:
        code = """
        #ifdef __OPTIMIZE__
        %(z)s = PyLong_FromLong(WANTED);
        #else
        %(z)s = PyLong_FromLong(-WANTED);
        #endif
        """
        self.assertEqual(call(COnly(code, c_compile_args=["-DWANTED=5"]), None), 5)
        slow = COnly(code, c_compile_args=lambda c_compiler: ["-DWANTED=5"], c_no_compile_args=["-O2"])
        self.assertEqual(call(slow, None), -5)

    @slow
    def test_what_the_user_says_counts(self) -> None:
        code = """
        #ifdef __OPTIMIZE__
        %(z)s = PyLong_FromLong(1);
        #else
        %(z)s = PyLong_FromLong(0);
        #endif
        """
        cases = {(): 1, ("-O0",): 0, ("-O1",): 1}
        for extra, expected in cases.items():
            with self.subTest(extra=extra):
                options = CompilerOptions(command="gcc", directory=self.path, extra=extra)
                thunk = c_thunk(node_of(COnly(code)(generic("x"))), options)
                assert thunk is not None, "the op has C code"
                self.assertEqual(thunk([0]), (expected,))
        slow = CompilerOptions(command="gcc", directory=self.path, optimize=False)
        thunk = c_thunk(node_of(COnly(code)(generic("x"))), slow)
        assert thunk is not None, "the op has C code"
        self.assertEqual(thunk([0]), (0,))

    def test_libraries(self) -> None:
        library = self.shared_library("int theano_test_value(void) { return 17; }")
        op = COnly(
            "%(z)s = PyLong_FromLong(theano_test_value());",
            c_support_code="int theano_test_value(void);",
            c_libraries=["theano_test_library"],
            c_lib_dirs=[library],
        )
        self.assertEqual(call(op, None), 17)

    def shared_library(self, text: str) -> str:
        os.makedirs(self.path)
        result = run_compiler("gcc", [], text, os.path.join(self.path, "libtheano_test_library.so"))
        self.assertTrue(result.ok, result.message)
        return self.path

    def test_the_compiler_is_told(self) -> None:
        seen: list[str] = []

        def headers(c_compiler: str) -> list[str]:
            seen.append(c_compiler)
            return []

        c_thunk(node_of(COnly("%(z)s = NULL;", c_headers=headers)(generic("x"))), self.options)
        self.assertEqual(seen, ["gcc"])

    def test_what_is_no_list_is_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, r"c_headers of .*COnly.* gives 3"):
            call(COnly("%(z)s = NULL;", c_headers=3), None)


class TestMemory(unittest.TestCase):
    def test_views_and_results_in_place(self) -> None:
        x = vector("x")
        view = COnly("Py_XDECREF(%(z)s); Py_INCREF(%(x)s); %(z)s = %(x)s;", view_map={0: [0]})
        bump = COnly(
            "((npy_float64 *)PyArray_DATA(%(x)s))[0] += 1; Py_XDECREF(%(z)s); Py_INCREF(%(x)s); %(z)s = %(x)s;",
            destroy_map={0: [0]},
        )
        value = np.zeros(2)
        seen = function([x], view(x))(value)
        self.assertFalse(np.shares_memory(seen, value))
        f = function([x], [bump(x), view(x)], accept_inplace=True)
        bumped, same = f(value)
        np.testing.assert_array_equal(value, [0.0, 0.0])
        np.testing.assert_array_equal((bumped, same), [[1.0, 0.0], [0.0, 0.0]])

    def test_destroyed_results_of_kernels_are_theirs_alone(self) -> None:
        x = vector("x")
        copy, bump = (
            COnly(COPY),
            COnly(
                "((npy_float64 *)PyArray_DATA(%(x)s))[0] += 1; Py_XDECREF(%(z)s); Py_INCREF(%(x)s); %(z)s = %(x)s;",
                destroy_map={0: [0]},
            ),
        )
        f = function([x], bump(copy(x)), accept_inplace=True)
        results = [f(np.zeros(2)) for _ in range(3)]
        self.assertEqual([r[0] for r in results], [1.0, 1.0, 1.0])
        self.assertEqual(len({r.ctypes.data for r in results}), 3)


class TestOneLibrary(BuildTestCase):
    def test_thunks_outlive_the_library_s_table(self) -> None:
        library = ThunkLibrary()
        thunk = c_thunk(node_of(COnly("%(z)s = PyLong_FromLong(1);")(generic("x"))), self.options)
        library.clear()
        assert thunk is not None, "the op has C code"
        self.assertEqual(thunk([0]), (1,))
