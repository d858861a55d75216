"""Options of the compiler that come from flags, and its environment."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path
from unittest import mock

from cache.cache_support import CacheTestCase, kernel, start

from theano_graph import Config, ConfigError, config
from theano_linker_c import scalar as sc
from theano_linker_c._flags import (
    DIRECTORY_KEYS,
    DirectoryFormatFlag,
    compiler_version,
    default_base_directory,
    default_compile_directory,
    find_compiler,
)
from theano_linker_c.compiler import (
    CompileError,
    CompilerOptions,
    CompilerWarning,
    available_vector_functions,
    run_compiler,
)
from theano_linker_c.kernels import ElementwiseKernel, KernelLibrary
from theano_linker_c.scalar import Composite, ScalarType
from theano_testing.tiers import slow


class TestPlacesForCode(unittest.TestCase):
    """Where compiled code goes, where there is no home, no working directory, or a name with wrong keys."""

    def test_without_a_home_it_goes_where_temporary_files_go(self) -> None:
        with mock.patch("os.path.expanduser", lambda path: path), mock.patch.dict(os.environ):
            os.environ.pop("LOCALAPPDATA", None)
            result = default_base_directory()
        self.assertEqual(os.path.dirname(result), tempfile.gettempdir())

    def test_keys_of_the_format(self) -> None:
        flag = DirectoryFormatFlag("")
        text = "_".join(f"%({key})s" for key in DIRECTORY_KEYS)
        self.assertEqual(flag.checked(text), text)
        for wrong in ("%(nothing)s", "100%", "%s", "%(platform)"):
            with self.assertRaises(ValueError):
                flag.checked(wrong)
        private = Config({"THEANO_FLAGS": "compiledir_format=%(nothing)s"})
        private.add_flag("compiledir_format", "", DirectoryFormatFlag("plain"))
        with self.assertRaisesRegex(ConfigError, r"%\(short_platform\)s"):
            _ = private.compiledir_format

    def test_versions_of_compilers(self) -> None:
        self.assertRegex(compiler_version(find_compiler()), r"^\d+")
        self.assertEqual(compiler_version("/nonexistent/g++"), "")
        self.assertEqual(compiler_version(""), "")

    @slow
    def test_a_relative_directory_where_the_working_directory_is_gone(self) -> None:
        program = textwrap.dedent(
            """
            import os, tempfile
            import numpy  # which Python 3.13.0 cannot import where the working directory is gone
            folder = tempfile.mkdtemp()
            os.chdir(folder)
            os.rmdir(folder)
            from theano_graph import config
            import theano_linker_c
            try:
                config.compiledir
            except Exception as error:
                print(type(error).__name__, error)
            """
        )
        environment = {**os.environ, "THEANO_FLAGS": "base_compiledir=relative"}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True
        )
        self.assertIn("ConfigError base_compiledir=relative is relative", done.stdout)
        self.assertIn("absolute path", done.stdout)


class TestFlags(unittest.TestCase):
    def test_each_flag_has_its_place(self) -> None:
        with config.change_flags(
            **{
                "cxx": "/some/where/clang++",
                "gcc.cxxflags": "-I'a folder' -DX=1 -lm",
                "cmodule.remove_gxx_opt": True,
                "cmodule.debug": True,
                "cmodule.compilation_warning": True,
                "cmodule.age_thresh_use": 77,
                "cmodule.max_cache_size": 3,
                "cmodule.preload_cache": True,
                "nocleanup": True,
                "compile.wait": 2,
                "compile.timeout": 9,
            }
        ):
            options = CompilerOptions.from_config()
        self.assertEqual((options.command, options.extra), ("/some/where/clang++", ("-Ia folder", "-DX=1", "-lm")))
        self.assertEqual((options.optimize, options.debug, options.warnings), (False, True, True))
        self.assertEqual((options.max_age, options.max_bytes, options.wait, options.timeout), (77, 3 << 20, 2, 9))
        self.assertEqual((options.keep_sources, options.preload), (True, True))

    def test_defaults(self) -> None:
        script = (
            "from theano_linker_c.compiler import CompilerOptions\n"
            "o = CompilerOptions.from_config()\n"
            "print(o.extra, o.optimize, o.debug, o.keep_sources, o.preload, o.max_age, o.wait, o.timeout)\n"
        )
        out, _ = start(script).communicate(timeout=600)
        self.assertEqual(out.decode().strip(), "() True False False False 2073600 5 120")

    @slow
    def test_the_timeout_follows_the_pause(self) -> None:
        script = "from theano_graph import config; import theano_linker_c; print(config.compile.timeout)"
        out, _ = start(script, flags="compile.wait=7").communicate(timeout=600)
        self.assertEqual(int(out), 168)

    def test_wrong_values_are_refused(self) -> None:
        for name in ("compile.wait", "compile.timeout", "cmodule.max_cache_size"):
            with self.subTest(flag=name), self.assertRaises(ValueError), config.change_flags(**{name: 0}):
                self.fail("the flag was set")


class TestDirectories(unittest.TestCase):
    def test_name_of_the_platforms_directory(self) -> None:
        folder = default_compile_directory()
        self.assertEqual(os.path.dirname(folder), os.path.expanduser(str(config.base_compiledir)))
        script = "from theano_graph import config; import theano_linker_c; print(config.compiledir)"
        out, err = start(script).communicate(timeout=600)
        for part in (platform.system(), platform.machine(), platform.python_version(), "64"):
            self.assertIn(part, os.path.basename(out.decode().strip()), err.decode())

    def test_own_format(self) -> None:
        script = "from theano_graph import config; import theano_linker_c; print(config.compiledir)"
        keys = ("platform", "processor", "hostname", "python_version", "python_bitwidth", "python_int_bitwidth")
        text = "_".join(f"%({key})s" for key in keys)
        out, err = start(script, flags=f"base_compiledir=/a/b,compiledir_format={text}").communicate(timeout=600)
        folder = out.decode().strip()
        self.assertTrue(folder.startswith("/a/b/"), err.decode())
        self.assertEqual(folder.count("_"), len(keys) + platform.machine().count("_") * 2 - 1)

    def test_home(self) -> None:
        with mock.patch.dict(os.environ, {"HOME": "/home/somebody"}):
            self.assertEqual(default_base_directory(), "/home/somebody/.theano")

    def test_finding_a_compiler(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with mock.patch.dict(os.environ, {"PATH": folder}):
                self.assertEqual(find_compiler(), "")
            for name in ("clang", "gcc") if sys.platform != "darwin" else ("gcc", "clang"):
                path = Path(folder, name)
                path.write_text("#!/bin/sh\n")
                path.chmod(0o755)
                with mock.patch.dict(os.environ, {"PATH": folder}):
                    self.assertEqual(find_compiler(), str(path))


class TestArguments(CacheTestCase):
    def build_library(self, name: str, text: str) -> str:
        """Make a small library in a folder with a space and accents; gives the folder."""
        folder = os.path.join(os.path.dirname(self.path), "un été à côté")
        os.makedirs(folder)
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", os.path.join(folder, f"lib{name}.so")],
            input=text.encode(),
            check=True,
        )
        return folder

    def test_libraries_of_the_user(self) -> None:
        folder = self.build_library("helper", "int helper(void) { return 42; }")
        output = os.path.join(folder, "out.so")
        source = "int helper(void); int value(void) { return helper(); }"
        arguments = [f"-L{folder}", "-lhelper", f"-Wl,-rpath,{folder}", "-Wl,--no-undefined"]
        run = run_compiler("gcc", arguments, source, output)
        self.assertTrue(run.ok, run.message)

    def test_kernels_with_libraries_and_folders_of_the_user(self) -> None:
        folder = self.build_library("helper", "int helper(void) { return 42; }")
        flags = f"-I'{folder}' -L'{folder}' -lhelper -Wl,-rpath,'{folder}'"
        with config.change_flags(**{"gcc.cxxflags": flags}):
            extra = CompilerOptions.from_config().extra
        library = KernelLibrary()
        options = CompilerOptions(command="gcc", directory=self.path, extra=extra)
        self.assertIsNotNone(library.build([kernel(sc.exp)], options)[0])
        toolchain = library.toolchain(options)[1]
        assert toolchain is not None, "gcc works"
        self.assertIn(f"-L{folder}", toolchain.arguments)

    def test_no_shell_sees_the_arguments(self) -> None:
        left = os.path.join(os.path.dirname(self.path), "left")
        options = CompilerOptions(command="gcc", directory=self.path, extra=(f"-DX=`touch {left}`;touch {left}",))
        KernelLibrary().build([kernel(sc.exp)], options)
        self.assertFalse(os.path.exists(left))

    def test_every_compiler_at_hand(self) -> None:
        results = [name for name in ("gcc", "g++", "clang", "clang++", "cc") if shutil.which(name)]
        self.assertNotEqual(results, [])
        for name in results:
            options = CompilerOptions(command=name, directory=self.path)
            library = KernelLibrary()
            with self.subTest(compiler=name):
                loaded = library.build([kernel(sc.exp), kernel(sc.tanh)], options)
                self.assertNotIn(None, loaded)
                self.assertEqual(library.compiler_runs, 1)

    @unittest.skipUnless(platform.machine() in ("x86_64", "AMD64") and shutil.which("gcc"), "registers of x86, and gcc")
    def test_kernels_leave_vector_registers_clean(self) -> None:
        text = "void f(long n, double *x) {\n#pragma omp simd\nfor (long i = 0; i < n; i++) x[i] *= 3;\n}\n"
        toolchain = KernelLibrary().toolchain(CompilerOptions.from_config())[1]
        if toolchain is None or "-fexpensive-optimizations" not in toolchain.arguments or os.name == "nt":
            self.skipTest("another compiler")
        arguments = [a for a in toolchain.arguments if not a.startswith(("-l", "-march"))]
        command = [toolchain.command, *arguments, "-mavx2", "-x", "c", "-S", "-o", "-", "-"]
        result = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
        self.assertIn("ymm", result)
        self.assertIn("vzeroupper", result)

    def test_vector_functions_are_called_by_every_compiler(self) -> None:
        x = ScalarType("float64")()
        flat = ElementwiseKernel(Composite([x], [sc.sin(x) * sc.cos(x)]), ("float64",), ("float64",), ((False,),), 1)
        for name in ("gcc", "clang"):
            if shutil.which(name) is None or not {"sin", "cos"} <= set(available_vector_functions()):
                continue
            options = CompilerOptions(command=name, directory=os.path.join(self.path, name), keep_sources=True)
            self.assertNotIn(None, KernelLibrary().build([flat], options))
            (folder,) = Path(options.directory).rglob("objects")
            symbols = b"".join(path.read_bytes() for path in folder.iterdir())
            with self.subTest(compiler=name):
                # Joined into one call, sine and cosine would be computed one element at a time.
                self.assertNotIn(b"\0sincos\0", symbols)
                self.assertRegex(symbols, rb"\0_ZGV\w+_sin\0")
                self.assertRegex(symbols, rb"\0_ZGV\w+_cos\0")

    def test_a_compiler_with_a_space_in_its_path(self) -> None:
        folder = os.path.join(os.path.dirname(self.path), "mes outils é")
        os.makedirs(folder)
        result = shutil.which("gcc")
        assert result is not None, "the tests of this folder need gcc"
        command = os.path.join(folder, "gcc")
        Path(command).write_text(f'#!/bin/sh\nexec {result} "$@"\n')
        os.chmod(command, 0o755)
        options = CompilerOptions(command=command, directory=self.path)
        self.assertIsNotNone(KernelLibrary().build([kernel(sc.exp)], options)[0])

    def test_the_compilers_warnings_are_shown_on_demand(self) -> None:
        fake = os.path.join(os.path.dirname(self.path), "gcc")
        Path(fake).write_text('#!/bin/sh\necho "input: warning: this is noise" >&2\nexec gcc "$@"\n')
        os.chmod(fake, 0o755)
        loud = CompilerOptions(command=fake, directory=self.path, warnings=True)
        with self.assertWarnsRegex(CompilerWarning, "this is noise"):
            KernelLibrary().build([kernel(sc.exp)], loud)

    def test_a_compiler_that_something_else_has_ended(self) -> None:
        real = shutil.which("gcc")
        alone = ("kill -9 $$", r"was ended while it compiled kernels: ended by signal 9 \(Killed\)")
        inner = (
            'echo "gcc: fatal error: Killed signal terminated program cc1" >&2; exit 1',
            "was ended while .*: gcc: fa",
        )
        for i, (action, expected) in enumerate((alone, inner)):
            fake, text = f"{self.path} gcc {i}", f"{self.path} text {i}"
            os.makedirs(os.path.dirname(fake), exist_ok=True)
            # Kernels have names of forty digits; trials of the compiler have not.
            names = 'grep -q "k[0-9a-f]\\{40\\}"'
            Path(fake).write_text(
                f'#!/bin/sh\ncat > "{text}"\nif {names} "{text}"; then {action}; fi\nexec {real} "$@" < "{text}"\n'
            )
            os.chmod(fake, 0o755)
            options = CompilerOptions(command=fake, directory=f"{self.path} {i}")
            with (
                self.subTest(action),
                self.assertRaisesRegex(CompileError, expected + r"(.|\n)*make the function again"),
            ):
                KernelLibrary().build([kernel(sc.exp)], options)

    def test_the_message_names_the_command_and_the_first_error(self) -> None:
        options = CompilerOptions(command="gcc", directory=self.path, extra=("-std=no-such-standard",))
        message = r"gcc refused code(.|\n)*no-such-standard(.|\n)*arguments: .*-std=(.|\n)*Hint: check the flags cxx"
        with self.assertRaisesRegex(CompileError, message):
            KernelLibrary().build([kernel(sc.exp)], options)
