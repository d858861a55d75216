"""The compiler driver and the directory of compiled kernels, in good and bad surroundings."""

from __future__ import annotations

import os
import stat
import tempfile
import time
import unittest
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
from kernels.kernel_calls import call

from theano_linker_c import scalar as sc
from theano_linker_c.compiler import (
    CompileDirectory,
    CompileError,
    CompilerOptions,
    CompilerWarning,
    c_compiler,
    machine_identity,
)
from theano_linker_c.kernels import ElementwiseKernel, KernelLibrary, LoadedKernel


def kernel(op: sc.ScalarOp) -> ElementwiseKernel:
    return ElementwiseKernel(op, ("float64",), ("float64",), ((False,),), 1)


def value_of(loaded: LoadedKernel | None, x: float) -> float:
    assert loaded is not None, "the kernel was built"
    result = np.empty(3)
    call(loaded.address, 3, [np.full(3, x), result])
    return float(result[2])


class DirectoryTestCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="cache-tests-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "compiled")
        self.options = CompilerOptions(command="gcc", directory=self.path)

    def objects(self) -> list[Path]:
        return sorted(Path(self.path, "objects").glob("*.so"))


class TestCache(DirectoryTestCase):
    def test_one_run_for_all_kernels(self) -> None:
        library = KernelLibrary()
        loaded = library.build([kernel(sc.exp), kernel(sc.neg), kernel(sc.exp)], self.options)
        self.assertEqual(library.compiler_runs, 1)
        self.assertEqual(loaded[0], loaded[2])
        self.assertEqual([value_of(k, 0.0) for k in loaded], [1.0, 0.0, 1.0])

    def test_nothing_is_compiled_twice_in_a_process(self) -> None:
        library = KernelLibrary()
        library.build([kernel(sc.exp)], self.options)
        library.build([kernel(sc.exp)], self.options)
        self.assertEqual(library.compiler_runs, 1)

    def test_another_process_finds_a_subset(self) -> None:
        KernelLibrary().build([kernel(sc.exp), kernel(sc.neg), kernel(sc.sqr)], self.options)
        later = KernelLibrary()
        self.assertEqual(value_of(later.build([kernel(sc.sqr)], self.options)[0], 3.0), 9.0)
        self.assertEqual(later.compiler_runs, 0)
        later.build([kernel(sc.sqr), kernel(sc.sqrt)], self.options)
        self.assertEqual(later.compiler_runs, 1)

    def test_other_arguments_make_other_kernels(self) -> None:
        KernelLibrary().build([kernel(sc.exp)], self.options)
        other = KernelLibrary()
        options = CompilerOptions(command="gcc", directory=self.path, extra=("-DSOMETHING=1",))
        other.build([kernel(sc.exp)], options)
        self.assertEqual(other.compiler_runs, 1)

    def test_truncated_object_is_made_again(self) -> None:
        KernelLibrary().build([kernel(sc.exp)], self.options)
        (path,) = self.objects()
        copy = path.read_bytes()
        path.unlink()
        path.write_bytes(copy[: len(copy) // 2])
        later = KernelLibrary()
        self.assertEqual(value_of(later.build([kernel(sc.exp)], self.options)[0], 0.0), 1.0)
        self.assertEqual(later.compiler_runs, 1)

    def test_damaged_index_is_made_again(self) -> None:
        KernelLibrary().build([kernel(sc.exp)], self.options)
        for damage in (b"", b'{"object": ', b"[]", b'{"object": "x.so", "mark": "0"}', b'{"object": 3, "mark": 4}'):
            for entry in Path(self.path, "index").iterdir():
                entry.write_bytes(damage)
            later = KernelLibrary()
            with self.subTest(damage=damage):
                self.assertEqual(value_of(later.build([kernel(sc.exp)], self.options)[0], 0.0), 1.0)
                self.assertEqual(later.compiler_runs, 1)

    def test_damaged_record_of_the_compiler(self) -> None:
        KernelLibrary().toolchain(self.options)
        for record in Path(self.path, "toolchains").iterdir():
            record.write_bytes(record.read_bytes()[:40])
        self.assertIsNotNone(KernelLibrary().toolchain(self.options)[1])

    def test_old_objects_are_not_taken(self) -> None:
        KernelLibrary().build([kernel(sc.exp)], self.options)
        (path,) = self.objects()
        before = time.time() - 1000
        os.utime(path, (before, before))
        later = KernelLibrary()
        later.build([kernel(sc.exp)], CompilerOptions(command="gcc", directory=self.path, max_age=100))
        self.assertEqual(later.compiler_runs, 1)

    def test_leftovers_of_a_killed_process(self) -> None:
        KernelLibrary().build([kernel(sc.exp)], self.options)
        left = Path(self.path, "tmp", "half.so")
        left.write_bytes(b"half")
        before = time.time() - 3 * 24 * 3600
        os.utime(left, (before, before))
        KernelLibrary().build([kernel(sc.neg)], self.options)
        self.assertEqual(list(Path(self.path, "tmp").iterdir()), [])

    def test_second_process_starts_no_compiler(self) -> None:
        KernelLibrary().build([kernel(sc.exp)], self.options)
        with mock.patch("subprocess.run", side_effect=AssertionError("a compiler was started")):
            loaded = KernelLibrary().build([kernel(sc.exp)], self.options)
        self.assertEqual(value_of(loaded[0], 0.0), 1.0)


class TestSurroundings(DirectoryTestCase):
    def test_spaces_and_accents(self) -> None:
        path = os.path.join(self.path, "été à la mer; $HOME 'x'", "ñandú")
        library = KernelLibrary()
        options = CompilerOptions(command="gcc", directory=path)
        self.assertEqual(value_of(library.build([kernel(sc.exp)], options)[0], 0.0), 1.0)
        self.assertEqual(value_of(KernelLibrary().build([kernel(sc.exp)], options)[0], 0.0), 1.0)

    def test_directory_is_private(self) -> None:
        KernelLibrary().build([kernel(sc.exp)], self.options)
        for folder in (self.path, *(os.path.join(self.path, name) for name in ("objects", "index", "tmp"))):
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode) & 0o077, 0)

    def test_directory_open_to_others_is_refused(self) -> None:
        os.makedirs(self.path)
        for mode in (0o777, 0o770):
            os.chmod(self.path, mode)
            library = KernelLibrary()
            with self.subTest(mode=mode):
                with self.assertWarnsRegex(CompilerWarning, r"others can write to it(.|\n)*Hint: .*chmod 700"):
                    library.build([kernel(sc.exp)], self.options)
                self.assertTrue(library.toolchain(self.options)[0].temporary)
                self.assertEqual(os.listdir(self.path), [])

    def test_directory_that_others_could_exchange_is_refused(self) -> None:
        folder = os.path.join(os.path.dirname(self.path), "open")
        os.makedirs(folder)
        for mode, refused in ((0o777, True), (0o1777, False)):
            os.chmod(folder, mode)
            with self.subTest(mode=mode), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.assertEqual(CompileDirectory(os.path.join(folder, "mine")).temporary, refused)
                self.assertEqual(["exchange it" in str(w.message) for w in caught], [True] * refused)

    def test_directory_of_somebody_else_is_refused(self) -> None:
        os.makedirs(self.path, mode=0o700)
        user = os.geteuid()
        if not user:
            os.chown(self.path, 4711, -1)
        with (
            mock.patch("os.geteuid", return_value=user + bool(user)),
            self.assertWarnsRegex(CompilerWarning, r"belongs to another user(.|\n)*Hint: "),
        ):
            folder = CompileDirectory(self.path)
        self.assertTrue(folder.temporary)

    def test_unusable_directory(self) -> None:
        Path(self.path).write_text("a file where the directory should be")
        library = KernelLibrary()
        with self.assertWarnsRegex(CompilerWarning, r"cannot be kept in(.|\n)*Hint"):
            loaded = library.build([kernel(sc.exp)], self.options)
        self.assertEqual(value_of(loaded[0], 0.0), 1.0)
        folder = library.toolchain(self.options)[0]
        self.assertTrue(folder.temporary)
        self.assertEqual(stat.S_IMODE(os.stat(folder.path).st_mode), 0o700)

    def test_temporary_directory_goes_away(self) -> None:
        Path(self.path).write_text("a file")
        with self.assertWarns(CompilerWarning):
            folder = CompileDirectory(self.path)
        path = folder.path
        del folder
        self.assertFalse(os.path.exists(path))

    def test_temporary_directory_stays_when_a_fork_ends(self) -> None:
        Path(self.path).write_text("a file")
        with self.assertWarns(CompilerWarning):
            folder = CompileDirectory(self.path)
        child = os.fork()
        if child == 0:
            try:
                del folder
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        self.assertTrue(os.path.isdir(folder.path))

    def test_no_compiler_warns_once(self) -> None:
        for command in ("", "/nowhere/gcc"):
            library = KernelLibrary()
            options = CompilerOptions(command=command, directory=self.path)
            with self.subTest(command=command):
                with self.assertWarnsRegex(CompilerWarning, r"functions run in Python(.|\n)*Hint"):
                    self.assertEqual(library.build([kernel(sc.exp)], options), [None])
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    self.assertEqual(library.build([kernel(sc.neg)], options), [None])

    def test_broken_compiler_counts_as_none(self) -> None:
        fake = os.path.join(os.path.dirname(self.path), "gcc")
        Path(fake).write_text("#!/bin/sh\nexit 1\n")
        os.chmod(fake, 0o755)
        with self.assertWarnsRegex(CompilerWarning, "does not work"):
            loaded = KernelLibrary().build([kernel(sc.exp)], CompilerOptions(command=fake, directory=self.path))
        self.assertEqual(loaded, [None])

    def test_wrong_arguments_of_the_user(self) -> None:
        options = CompilerOptions(command="gcc", directory=self.path, extra=("--no-such-argument",))
        with self.assertRaisesRegex(CompileError, r"no-such-argument(.|\n)*source: (.|\n)*Hint") as caught:
            KernelLibrary().build([kernel(sc.exp)], options)
        (saved,) = Path(self.path, "failed").iterdir()
        self.assertIn(str(saved), str(caught.exception))

    def test_refused_code_is_kept(self) -> None:
        class Wrong(sc.ScalarOp):
            name = "wrong"

            def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
                return dtypes

            def c_expression(self, args: object, result: str) -> str:
                return "no_such_function(1) +"

        with self.assertRaisesRegex(CompileError, r"refused code(.|\n)*source: ") as caught:
            KernelLibrary().build([kernel(Wrong())], self.options)
        (saved,) = Path(self.path, "failed").iterdir()
        self.assertIn("no_such_function", saved.read_text())
        self.assertIn(str(saved), str(caught.exception))

    def test_without_optimisation(self) -> None:
        options = CompilerOptions(command="gcc", directory=self.path, optimize=False, debug=True, warnings=True)
        library = KernelLibrary()
        self.assertEqual(value_of(library.build([kernel(sc.tanh)], options)[0], 0.0), 0.0)
        toolchain = library.toolchain(options)[1]
        assert toolchain is not None, "gcc works"
        self.assertFalse([a for a in toolchain.arguments if a.startswith("-O")])
        self.assertIn("-DDEBUG", toolchain.arguments)


class TestNames(unittest.TestCase):
    def test_c_compiler_beside_the_cpp_compiler(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("gcc", "gcc-12", "clang"):
                path = os.path.join(folder, name)
                Path(path).write_text("#!/bin/sh\n")
                os.chmod(path, 0o755)
            results = {name: os.path.basename(c_compiler(os.path.join(folder, name)))
                     for name in ("g++", "g++-12", "clang++", "g++-99", "icx")}  # fmt: skip
        expected = {"g++": "gcc", "g++-12": "gcc-12", "clang++": "clang", "g++-99": "g++-99", "icx": "icx"}
        self.assertEqual(results, expected)

    def test_machine_identity_is_stable(self) -> None:
        self.assertEqual(machine_identity(), machine_identity())
