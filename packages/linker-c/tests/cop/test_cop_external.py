"""Ops with their C code in files: sections, macros, several files, parameters, and faults of files."""

from __future__ import annotations

import os
import unittest
from pathlib import Path
from typing import Any

import numpy as np

from cop.cop_support import ArrayType, BuildTestCase, node_of, vector
from theano_graph import Apply, generic
from theano_linker_c import function
from theano_linker_c.cop import COp, EnumList, ParamsType, c_thunk, library
from theano_linker_c.scalar import ScalarType, upcast
from theano_testing.tiers import slow


class VectorTimesVector(COp):
    """The manual's example."""

    __props__ = ()
    func_file = "./files/vector_times_vector.c"
    func_name = "APPLY_SPECIFIC(vector_times_vector)"

    def __init__(self) -> None:
        super().__init__(self.func_file, self.func_name)

    def make_node(self, *inputs: Any) -> Apply:
        x, y = inputs
        return Apply(self, [x, y], [ArrayType(upcast(x.type.dtype, y.type.dtype), 1)()])


class Stages(COp):
    """Every kind of section, in two files."""

    __props__ = ("parameter",)
    params_type = generic

    def __init__(self, parameter: Any = "p") -> None:
        super().__init__(["files/stages_first.c", "files/stages_second.c"])
        self.parameter = parameter
        self.op_params = [("OFFSET", 0)]

    def get_params(self, node: Apply) -> Any:
        return self.parameter

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [generic(), generic()])


class Unparametrized(Stages):
    """The same with None for parameters, which means: without."""

    def get_params(self, node: Apply) -> Any:
        return None


class Scale(COp):
    """A structure as parameter, and arguments that are missing."""

    __props__ = ("factor", "mode")
    _cop_num_inputs = 2
    _cop_num_outputs = 2
    params_type = ParamsType(factor=ScalarType("float64"), mode=EnumList("ONCE", "TWICE"))

    def __init__(self, factor: float, mode: str) -> None:
        super().__init__(["files/params.c"], "APPLY_SPECIFIC(scale)")
        self.factor = factor
        self.mode = mode

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type()])


class TestFunction(unittest.TestCase):
    @slow
    def test_product_of_vectors(self) -> None:
        for dtypes in (("float64", "float64"), ("float32", "int16"), ("int8", "int64")):
            with self.subTest(dtypes=dtypes):
                x, y = vector("x", dtypes[0]), vector("y", dtypes[1])
                f = function([x, y], VectorTimesVector()(x, y))
                a, b = np.arange(6).astype(dtypes[0])[::2], np.arange(3).astype(dtypes[1])
                result = f(a, b)
                self.assertEqual(result.dtype, upcast(*dtypes))
                np.testing.assert_array_equal(result, a * b)

    def test_error_of_the_function(self) -> None:
        x, y = vector("x"), vector("y")
        f = function([x, y], VectorTimesVector()(x, y))
        with self.assertRaisesRegex(
            ValueError, r"(?s)Shape mismatch : .*\[0\] == 2 and .*\[0\] == 3.*VectorTimesVector.*`x`"
        ):
            f(np.ones(2), np.ones(3))

    def test_several_nodes_in_one_function(self) -> None:
        x, y = vector("x"), vector("y", "float32")
        op = VectorTimesVector()
        f = function([x, y], [op(x, x), op(op(y, y), x)])
        first, second = f(np.full(2, 3.0), np.full(2, 2, "float32"))
        np.testing.assert_array_equal(first, [9.0, 9.0])
        np.testing.assert_array_equal(second, [12.0, 12.0])

    def test_params_and_missing_arguments(self) -> None:
        x = vector("x")
        np.testing.assert_array_equal(function([x], Scale(3, "ONCE")(x))(np.ones(2)), [3.0, 3.0])
        np.testing.assert_array_equal(function([x], Scale(3, "TWICE")(x))(np.ones(2)), [6.0, 6.0])

    def test_a_number_without_exception_is_explained(self) -> None:
        x = vector("x")
        with self.assertRaisesRegex(RuntimeError, "Scale failed, but set no Python exception"):
            function([x], Scale(0, "ONCE")(x))(np.ones(2))


class TestSections(unittest.TestCase):
    def test_all_stages(self) -> None:
        x = vector("x", "float32")
        f = function([x], Stages()(x))
        self.assertEqual(f(np.ones(1, "float32")), [("p",), 400 + 1 + 1001])
        self.assertEqual(f(np.ones(1, "float32")), [("p",), 400 + 1 + 1002 + 100000])
        with self.assertRaisesRegex(ValueError, "empty"):
            f(np.ones(0, "float32"))
        self.assertEqual(f(np.ones(1, "float32")), [("p",), 400 + 1 + 1003 + 300000])

    def test_op_params_are_macros(self) -> None:
        x = vector("x", "float64")
        op = Stages("q")
        op.op_params = [("OFFSET", 7)]
        self.assertEqual(function([x], op(x))(np.ones(1)), [("q",), 800 + 1 + 1001 + 7])

    def test_sections_of_code_without_params(self) -> None:
        x = vector("x")
        with self.assertRaisesRegex(RuntimeError, r"(?s)C code of .*does not compile.*PARAMS"):
            function([x], Unparametrized()(x))

    def test_dtype_macros_are_gone_without_checks(self) -> None:
        op = VectorTimesVector()
        x = vector("x")
        node = node_of(op(x, x))
        self.assertIn("#define DTYPE_INPUT_1 npy_float64", op.c_support_code_apply(node, "n"))
        op.check_input = False
        self.assertNotIn("#define DTYPE", op.c_support_code_apply(node, "n"))
        self.assertIn("#define APPLY_SPECIFIC(str) str##_n", op.c_support_code_apply(node, "n"))

    def test_plain_sections_have_no_macros(self) -> None:
        self.assertNotIn("#define", Stages().c_support_code() + Stages().c_init_code()[0])

    def test_the_version_follows_the_text(self) -> None:
        self.assertEqual(VectorTimesVector().c_code_cache_version(), VectorTimesVector().c_code_cache_version())
        self.assertNotEqual(VectorTimesVector().c_code_cache_version(), Scale(1, "ONCE").c_code_cache_version())


class FileTestCase(BuildTestCase):
    def setUp(self) -> None:
        super().setUp()
        os.makedirs(self.path)

    def file(self, text: str, name: str = "é code.c") -> str:
        path = Path(self.path, name)
        path.write_text(text, encoding="utf-8")
        return str(path)


class TestFiles(FileTestCase):
    def test_absolute_paths_and_joined_sections(self) -> None:
        class Plain(COp):
            def make_node(self, *inputs: Any) -> Apply:
                return Apply(self, list(inputs), [generic()])

        first = self.file("#section support_code\nstatic int one = 1;\n#section code\nint n = one;\n", "a.c")
        second = self.file(
            "#section code\nOUTPUT_0 = PyLong_FromLong(n + two);\n#section support_code\nstatic int two = 2;\n", "b.c"
        )
        thunk = c_thunk(node_of(Plain([first, second])(generic("x"))))
        assert thunk is not None, "the op has C code"
        self.assertEqual(thunk([0]), (3,))

    def test_files_of_a_base_class_are_found(self) -> None:
        class Derived(VectorTimesVector):
            pass

        Derived.__module__ = "nowhere"
        self.assertIn("support_code", Derived().code_sections)

    def test_what_is_wrong_with_files(self) -> None:
        cases = [
            ("int x;", "has no section"),
            ("int x;\n#section code\n", "code before its first section"),
            ("#section nonsense\n", "section 'nonsense', which does not exist"),
        ]
        for text, message in cases:
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, message):
                COp(self.file(text))
        with self.assertRaisesRegex(FileNotFoundError, "(?s)VectorTimesVector: there is no file none.c.*searched in"):
            VectorTimesVector.get_path("none.c")
        with self.assertRaisesRegex(ValueError, "a section `code` and a function f"):
            COp(self.file("#section code\n;\n"), "f")

    def test_equal_code_is_compiled_once(self) -> None:
        x, y = vector("x"), vector("y")
        first = c_thunk(node_of(VectorTimesVector()(x, y)), self.options)
        runs = library.compiler_runs
        second = c_thunk(node_of(VectorTimesVector()(y, x)), self.options)
        self.assertEqual(library.compiler_runs, runs)
        self.assertEqual(self.kept_objects(), 1)
        self.assertIsNot(first, second)
