"""Compiling C code of ops: how often, from which cache, shared files, errors, and no compiler at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unittest
import warnings
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from cop.cop_support import COPY, BinaryDoubleOp, BuildTestCase, COnly, double, mul, node_of, vector
from theano_graph import config, generic
from theano_linker_c import Mode, ModeError, function
from theano_linker_c.compiler import CompileError, CompilerOptions, CompilerWarning
from theano_linker_c.cop import NoCompilerError, ThunkLibrary, c_thunk, c_thunks, library
from theano_testing.tiers import slow

NUMBER = "%(z)s = PyLong_FromLong({});"


class TestRuns(BuildTestCase):
    def thunks(self, *ops: COnly) -> list[Any]:
        x = generic("x")
        return [t([0])[0] if t is not None else None for t in c_thunks([node_of(op(x)) for op in ops], self.options)]

    def runs(self, *ops: COnly) -> int:
        before = library.compiler_runs
        self.thunks(*ops)
        return library.compiler_runs - before

    @slow
    def test_one_run_for_many_ops(self) -> None:
        ops = [COnly(NUMBER.format(i)) for i in range(20)]
        self.assertEqual(self.runs(*ops), 1)
        self.assertEqual((self.thunks(*ops), self.kept_objects()), (list(range(20)), 1))

    def test_what_was_compiled_is_loaded_by_others(self) -> None:
        op = COnly(NUMBER.format(505))
        self.assertEqual(self.runs(op), 1)
        library.clear()
        self.assertEqual(self.runs(op), 0)

    def test_without_version_nothing_is_kept(self) -> None:
        op = COnly(NUMBER.format(6), c_code_cache_version=())
        self.assertEqual((self.runs(op), self.kept_objects()), (1, 0))
        self.assertEqual(self.runs(op), 0)
        library.clear()
        self.assertEqual(self.runs(op), 1)

    def test_the_version_of_types_counts(self) -> None:
        x = double("x")
        c_thunk(node_of(mul(x, x)), self.options)
        self.assertEqual(self.kept_objects(), 0)

    def test_another_version_is_another_key(self) -> None:
        first, second = (COnly(NUMBER.format(7), c_code_cache_version=(n,)) for n in (1, 2))
        self.assertEqual((self.runs(first), self.runs(second)), (1, 1))
        by_node = COnly(NUMBER.format(7), c_code_cache_version_apply=lambda node: (1, len(node.inputs)))
        self.assertEqual(self.runs(by_node), 1)

    def test_missing_versions_are_told_on_request(self) -> None:
        op = COnly(NUMBER.format(8), c_code_cache_version=())
        with (
            config.change_flags(**{"cmodule.warn_no_version": True}),
            self.assertWarnsRegex(CompilerWarning, "COnly.* is compiled in every process: it has no version") as caught,
        ):
            self.runs(op)
        self.assertEqual(caught.filename, __file__)

    def test_damaged_files_are_made_again(self) -> None:
        op = COnly(NUMBER.format(9))
        self.runs(op)
        folder = os.path.join(self.path, "objects")
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                data = file.read()
            # A new file: the old one is loaded here, and cutting it would take code away from this process.
            os.unlink(path)
            with open(path, "wb") as file:
                file.write(data[: len(data) // 2])
        library.clear()
        self.assertEqual((self.runs(op), self.thunks(op)), (1, [9]))

    @slow
    def test_another_process_finds_it(self) -> None:
        code = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "from cop.cop_support import COnly, node_of\n"
            "from theano_graph import generic\n"
            "from theano_linker_c.compiler import CompilerOptions\n"
            "from theano_linker_c.cop import c_thunk, library\n"
            "options = CompilerOptions(command='gcc', directory=sys.argv[2])\n"
            f"thunk = c_thunk(node_of(COnly({NUMBER.format(11)!r})(generic('x'))), options)\n"
            "print(thunk([0])[0], library.compiler_runs)\n"
        )
        tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        results = [
            subprocess.run([sys.executable, "-c", code, tests, self.path], capture_output=True, text=True, check=True)
            for _ in range(2)
        ]
        self.assertEqual([run.stdout.split() for run in results], [["11", "1"], ["11", "0"]])


class TestSharing(BuildTestCase):
    """Ops that would change each other's meaning in one file get files of their own."""

    def values(self, *ops: COnly) -> list[Any]:
        x = generic("x")
        return [t([0])[0] if t is not None else None for t in c_thunks([node_of(op(x)) for op in ops], self.options)]

    @slow
    def test_macros_that_stay(self) -> None:
        code = "#ifndef N\n#define N {}\n#endif\n"
        ops = [COnly("%(z)s = PyLong_FromLong(N);", c_support_code=code.format(n)) for n in (1, 2)]
        self.assertEqual(self.values(*ops), [1, 2])
        ops = [COnly(f"#define M {n}\n%(z)s = PyLong_FromLong(M);") for n in (1, 2)]
        self.assertEqual(self.values(*ops), [1, 2])

    @slow
    def test_global_variables_of_one_name(self) -> None:
        count = "static int count;"
        ops = [
            COnly("%(z)s = PyLong_FromLong(++count);", c_support_code=f"{count} /* {n} */") for n in ("first", "second")
        ]
        self.assertEqual(self.values(*ops), [1, 1])
        ops = [COnly("%(z)s = PyLong_FromLong(++count);", c_support_code_apply=f"{count} /* {n} */") for n in (1, 2)]
        self.assertEqual(self.values(*ops), [1, 1])

    def test_functions_of_one_name(self) -> None:
        helper = "long helper(void) {{ return {}; }}"
        ops = [COnly("%(z)s = PyLong_FromLong(helper());", c_support_code=helper.format(n)) for n in (1, 2)]
        self.assertEqual(self.values(*ops), [1, 2])

    @slow
    def test_one_bad_op_does_not_spoil_the_names_of_others(self) -> None:
        class Culprit(COnly):
            pass

        x = generic("x")
        nodes = [node_of(op(x)) for op in (COnly(NUMBER.format(1)), Culprit("nonsense;"), COnly(NUMBER.format(2)))]
        with self.assertRaisesRegex(CompileError, "the C code of .*Culprit.* does not compile") as caught:
            c_thunks(nodes, self.options)
        self.assertNotIn("COnly object", str(caught.exception))


class TestErrors(BuildTestCase):
    def test_the_op_its_line_and_the_source_are_named(self) -> None:
        op = BinaryDoubleOp("wrong", lambda x, y: x, "%(z)s = undeclared_thing;")
        node = node_of(op(double("x"), double("y")))
        with self.assertRaisesRegex(
            CompileError, r"(?s)C code of wrong does not compile.*wrong applied at .*test_cop_build\.py:\d+"
        ) as caught:
            c_thunk(node, self.options)
        text = str(caught.exception)
        self.assertRegex(text, "as C: .*undeclared_thing.*")
        self.assertRegex(text, r"as C\+\+: .*undeclared_thing.*")
        saved = next(line.split("source: ")[1] for line in text.splitlines() if "source: " in line)
        with open(saved, encoding="utf-8") as file:
            self.assertIn("= undeclared_thing;", file.read())

    def test_lines_are_those_of_the_method_s_text(self) -> None:
        for op, position in (
            (COnly("int n = 1;\n\n%(z)s = undeclared_thing;"), "COnly.c_code:3"),
            (COnly(NUMBER.format(1), c_support_code="int one;\nint two = undeclared_thing;"), "COnly.c_support_code:2"),
            (COnly(NUMBER.format(1), c_code_cleanup="undeclared_thing;"), "COnly.c_code_cleanup:1"),
        ):
            with self.assertRaisesRegex(CompileError, rf"as C: {position}:.*undeclared_thing"):
                c_thunk(node_of(op(generic("x"))), self.options)

    def test_errors_of_the_op_s_own_methods_name_it(self) -> None:
        cases = [
            (COnly("%(nowhere)s"), KeyError, "when its C code was asked for"),
            (COnly(";", c_support_code_struct=lambda node, name: 1 / 0), ZeroDivisionError, "asked for"),
            (COnly(";", c_init_code_struct="PyErr_NoMemory(); FAIL;"), MemoryError, "when the state of its C code"),
        ]
        for op, error, text in cases:
            with self.subTest(text=text), self.assertRaises(error) as caught:
                c_thunk(node_of(op(generic("x"))), self.options)
            self.assertRegex(
                "\n".join(caught.exception.__notes__), rf"in .*COnly.* applied at .*test_cop_build\.py:\d+, .*{text}"
            )

    def test_missing_symbols_are_found_when_building(self) -> None:
        op = COnly("%(z)s = PyLong_FromLong(theano_nowhere());", c_support_code="long theano_nowhere(void);")
        with self.assertRaisesRegex(CompileError, "theano_nowhere"):
            c_thunk(node_of(op(generic("x"))), self.options)


class TestNoCompiler(unittest.TestCase):
    def setUp(self) -> None:
        flags = config.change_flags(cxx="")
        flags.__enter__()
        self.addCleanup(flags.__exit__, None, None, None)

    def test_perform_runs(self) -> None:
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            x = double("x")
            self.assertEqual(function([x], mul(x, x))(3.0), 9.0)

    def test_c_alone_is_a_clear_error(self) -> None:
        x = vector("x")
        for linker in ("cvm", "vm"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with self.assertRaisesRegex(
                    NoCompilerError, r"(?s)has C code only, and there is no C compiler.*test_cop_build\.py:\d+.*Hint"
                ):
                    function([x], COnly(COPY)(x), mode=Mode(linker=linker, optimizer=None))


LEVEL = "#ifdef __OPTIMIZE__\n#define LEVEL (OWN + 10)\n#else\n#define LEVEL OWN\n#endif\n"


class TestOptimization(BuildTestCase):
    def test_levels_that_ops_ask_for_go_with_the_flag(self) -> None:
        op = COnly(NUMBER.format("LEVEL"), c_compile_args=["-O3", "-DOWN=3"], c_support_code=LEVEL)
        for optimize, expected in ((True, 13), (False, 3)):
            options = replace(self.options, optimize=optimize)
            (thunk,) = c_thunks([node_of(op(generic("x")))], options)
            assert thunk is not None, "there is a compiler"
            self.assertEqual(thunk([0])[0], expected)


class TestNoHeaders(BuildTestCase):
    def test_python_s_headers_are_missing(self) -> None:
        op = BinaryDoubleOp("both", lambda x, y: x + y, "%(z)s = 1.0;")
        x = double("x")
        with mock.patch("theano_linker_c.cop._units.python_include", return_value=None):
            with self.assertWarnsRegex(CompilerWarning, "(?s)Python's headers are not installed.*Hint"):
                self.assertIsNone(c_thunk(node_of(op(x, x)), self.options))
            with self.assertRaisesRegex(NoCompilerError, "no C compiler with Python's headers"):
                c_thunk(node_of(COnly(COPY)(vector("v"))), self.options)


class TestLinkers(unittest.TestCase):
    def op(self) -> BinaryDoubleOp:
        return BinaryDoubleOp("differs", lambda x, y: -1.0, "%(z)s = 1.0;")

    def test_c_where_it_is_wanted(self) -> None:
        x = double("x")
        cases = {"cvm": 1.0, "c|py": 1.0, "c": 1.0, "vm": -1.0, "py": -1.0}
        for linker, expected in cases.items():
            with self.subTest(linker=linker):
                self.assertEqual(
                    function([x], self.op()(x, x), mode=Mode(linker=linker, optimizer=None))(0.0), expected
                )

    def test_the_c_linker_refuses_what_has_none(self) -> None:
        x = double("x")
        op = BinaryDoubleOp("python", lambda a, b: a, "")
        op.c_code = None  # type: ignore[assignment, method-assign]
        with self.assertRaisesRegex(ModeError, "python"):
            function([x], op(x, x), mode=Mode(linker="c", optimizer=None))

    def test_c_alone_runs_on_the_python_machine_too(self) -> None:
        x = vector("x")
        f = function([x], COnly(COPY)(x), mode=Mode(linker="vm", optimizer=None))
        np.testing.assert_array_equal(f(np.arange(3.0)), np.arange(3.0))


class TestOtherCompilers(BuildTestCase):
    def commands(self) -> list[str]:
        return [name for name in ("gcc", "g++", "clang", "clang++", "cc") if shutil.which(name)]

    @slow
    def test_c_and_cpp_with_each_of_them(self) -> None:
        plain = COnly(COPY + "((dtype_%(z)s *)PyArray_DATA(%(z)s))[0] = 5;")
        struct = COnly(COPY + "++count;", c_support_code_struct="int count;", c_init_code_struct="count = 0;")
        vectors = COnly(COPY + "{ std::vector<int> v(3); v[0] = 1; }", c_headers=["<vector>"])
        for command in self.commands():
            with self.subTest(command=command):
                options = CompilerOptions(command=command, directory=os.path.join(self.path, command))
                thunks = ThunkLibrary().toolchain(options)
                self.assertIsNotNone(thunks)
                library.clear()
                for op in (plain, struct, vectors):
                    thunk = c_thunk(node_of(op(vector("x"))), options)
                    assert thunk is not None, "the op has C code"
                    self.assertEqual(thunk([np.zeros(2)])[0].shape, (2,))


class TestManyThunks(unittest.TestCase):
    def test_no_leak_over_compiled_and_dropped_functions(self) -> None:
        x = vector("x")
        op = COnly(COPY)
        value = np.zeros(3)
        before = sys.getrefcount(value)
        for _ in range(50):
            function([x], op(x))(value)
        self.assertEqual(sys.getrefcount(value), before)
