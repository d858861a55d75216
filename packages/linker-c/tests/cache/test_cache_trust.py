"""Code is taken from the cache only where nobody else can have put it there."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

from theano_linker_c import scalar as sc
from theano_linker_c.compiler import CompileDirectory, CompilerWarning, check_room, digest
from theano_linker_c.compiler._directory import abandoned, process_mark
from theano_linker_c.compiler._trust import Place, refusal
from theano_linker_c.kernels import KernelLibrary

from .cache_support import CacheTestCase, kernel


class TestPlantedCode(CacheTestCase):
    """Files that another user wrote into the directory, before or while it was ours, are not run."""

    def planted(self) -> KernelLibrary:
        """Compile a kernel, and give its entry the digest that anybody can make."""
        self.build(sc.exp)
        (entry,) = self.names("index")
        path = os.path.join(self.path, "index", entry)
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        data["mark"] = digest(entry.removesuffix(".json"), data["object"])
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file)
        return KernelLibrary()

    def test_an_entry_needs_the_secret(self) -> None:
        library = self.planted()
        library.build([kernel(sc.exp)], self.options)
        self.assertEqual(library.compiler_runs, 1)

    def test_a_secret_that_others_can_read_is_replaced(self) -> None:
        self.build(sc.exp)
        secret = os.path.join(self.path, "secret")
        self.assertEqual(stat.S_IMODE(os.stat(secret).st_mode), 0o600)
        os.chmod(secret, 0o644)
        before = Path(secret).read_bytes()
        library = KernelLibrary()
        library.build([kernel(sc.exp)], self.options)
        self.assertEqual(library.compiler_runs, 1)
        self.assertNotEqual(Path(secret).read_bytes(), before)
        self.assertEqual(stat.S_IMODE(os.stat(secret).st_mode), 0o600)

    def test_a_record_of_the_compiler_needs_the_secret(self) -> None:
        self.build(sc.exp)
        (record,) = self.names("toolchains")
        path = os.path.join(self.path, "toolchains", record)
        with open(path, "rb") as file:
            text = file.read().partition(b"\n")[2]
        with open(path, "wb") as file:
            file.write(digest(text).encode() + b"\n" + text)
        library = KernelLibrary()
        library.build([kernel(sc.exp)], self.options)
        with open(path, "rb") as file:
            self.assertNotEqual(file.read().partition(b"\n")[0], digest(text).encode())

    def test_folders_inside_that_are_open_or_links_are_refused(self) -> None:
        for name in ("objects", "index", "toolchains", "tmp"):
            with self.subTest(name=name):
                shutil.rmtree(self.path, ignore_errors=True)
                folder = os.path.join(self.path, name)
                os.makedirs(folder, mode=0o700)
                os.chmod(folder, 0o777)
                self.assertIn("others can write", (refusal(self.path) or ("",))[0])
                os.rmdir(folder)
                os.symlink(os.path.dirname(self.path), folder)
                self.assertIn("is no directory", (refusal(self.path) or ("",))[0])

    def test_the_whole_chain_of_parents_counts(self) -> None:
        top = os.path.join(os.path.dirname(self.path), "top")
        inner = os.path.join(top, "middle", "cache")
        os.makedirs(inner, mode=0o700)
        self.assertIsNone(refusal(inner))
        os.chmod(top, 0o770)
        self.assertEqual((refusal(inner) or ("", ""))[0], f"its group can write to {top} and so exchange it")
        os.chmod(top, 0o777)
        self.assertIn("everybody can write", (refusal(inner) or ("",))[0])
        link = os.path.join(os.path.dirname(self.path), "link")
        os.symlink(inner, link)
        self.assertIn(f"write to {top}", (refusal(link) or ("",))[0])
        os.chmod(top, 0o1777)
        self.assertIsNone(refusal(link))

    def test_a_directory_that_is_exchanged_after_the_check_is_not_used(self) -> None:
        os.makedirs(self.path, mode=0o700)
        position = Place(self.path)
        with open(position.file("mine"), "w") as file:
            file.write("mine")
        os.rename(self.path, self.path + ".away")
        os.makedirs(self.path)
        with open(os.path.join(self.path, "mine"), "w") as file:
            file.write("planted")
        if sys.platform == "linux":
            with open(position.file("mine")) as file:
                self.assertEqual(file.read(), "mine")
        self.assertFalse(position.current)

    def test_descriptors_that_a_program_closes_are_opened_again(self) -> None:
        folder = CompileDirectory(self.path)
        folder.write(b"data", "index", "a")
        old = folder.place
        os.close(old._handle)
        self.assertEqual(folder.read("index", "a"), b"data")
        # A file that the program opened between, perhaps under the same number, is left alone.
        del old
        self.assertEqual(folder.read("index", "a"), b"data")


class TestRemovedDirectories(CacheTestCase):
    def test_a_directory_that_another_process_has_just_removed_is_made_again(self) -> None:
        original = __import__("tempfile").mkstemp
        refused: list[bool] = []

        def mkstemp(*args: object, **kwargs: object) -> object:
            if len(refused) < 3:
                refused.append(os.path.isdir(self.path))
                os.rmdir(self.path)
            return original(*args, **kwargs)

        with mock.patch("tempfile.mkstemp", side_effect=mkstemp), warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertFalse(CompileDirectory(self.path).temporary)
        self.assertEqual(refused, [True] * 3)


class TestReadOnlyCaches(CacheTestCase):
    """A warm cache that cannot be written to is read."""

    def test_a_warm_cache_is_used(self) -> None:
        self.build(sc.exp)
        with (
            mock.patch("tempfile.mkstemp", side_effect=self.refuse(self.path)),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            library = KernelLibrary()
            library.build([kernel(sc.exp)], self.options)
            self.assertEqual(library.compiler_runs, 0)
            library.build([kernel(sc.neg)], self.options)
            self.assertEqual(library.compiler_runs, 1)
        (warning,) = [w for w in caught if issubclass(w.category, CompilerWarning)]
        self.assertIn("missing code is compiled again", str(warning.message))
        self.assertEqual(len(self.names("objects")), 1)

    @staticmethod
    def refuse(path: str) -> object:
        """Return a `mkstemp` that cannot write below a path: as on a file system without the right to write."""
        original = __import__("tempfile").mkstemp

        def mkstemp(*args: object, **kwargs: object) -> object:
            if str(kwargs.get("dir", "")).startswith(path):
                raise OSError(30, "Read-only file system")
            return original(*args, **kwargs)

        return mkstemp


class TestWhatIsLeftBehind(CacheTestCase):
    """Temporary files of killed processes, and the reasons why files cannot be written."""

    def test_temporary_files_of_killed_processes_go(self) -> None:
        folder = CompileDirectory(self.path)
        program = (
            "import sys; from theano_linker_c.compiler import CompileDirectory\n"
            "CompileDirectory(sys.argv[1]).temporary_file('.so')"
        )
        subprocess.run([sys.executable, "-c", program, self.path], check=True)
        private = folder.temporary_file(".so")
        self.assertEqual(len(self.names("tmp")), 2)
        self.assertEqual(folder.sweep(), 1)
        self.assertEqual(self.names("tmp"), [os.path.basename(private)])

    def test_whose_process_is_gone(self) -> None:
        self.assertFalse(abandoned(process_mark() + "-x.so"))
        self.assertFalse(abandoned("0123456789ab-1-x.so"))
        self.assertFalse(abandoned(process_mark().partition("-")[0] + "-many-x.so"))
        self.assertFalse(abandoned("x.so"))

    def test_a_limit_on_sizes_of_files_is_named(self) -> None:
        output = os.path.join(os.path.dirname(self.path), "x.so")
        for message, reason in (
            ("gcc: internal compiler error: File size limit exceeded signal terminated program as", "File too large"),
            ("ld: final link failed: File too large", "File too large"),
            ("as: Disk quota exceeded", "Disk quota exceeded"),
        ):
            with self.assertRaisesRegex(OSError, reason):
                check_room(message, output)
        check_room("error: expected ';'", output)

    def test_a_process_with_a_limit_on_sizes_says_so(self) -> None:
        program = (
            "import resource, warnings; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
            "from theano_linker_c import scalar as sc\n"
            "from theano_linker_c.kernels import KernelLibrary\n"
            "from theano_linker_c.compiler import CompilerOptions\n"
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "from cache.cache_support import kernel\n"
            "try: KernelLibrary().build([kernel(sc.exp)], CompilerOptions.from_config())\n"
            "except Exception as error: print(type(error).__name__, error)\n"
        )
        tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        environment = {**os.environ, "THEANO_FLAGS": f"compiledir={self.path}"}
        done = subprocess.run(
            [sys.executable, "-c", program, tests], capture_output=True, text=True, env=environment, check=False
        )
        self.assertRegex(done.stdout + done.stderr, "File too large|File size limit")
