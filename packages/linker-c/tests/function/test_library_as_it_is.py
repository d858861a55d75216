"""The library's part in the key of a cached function: its files, and whether its modules hold other code."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import types
import unittest
import weakref
from collections import OrderedDict
from pathlib import Path
from typing import Any
from unittest import mock

from theano_linker_c._function import _disk_key, _disk_lookup
from theano_linker_c.runtime._native_machine import HAS_RUNTIME, runtime

NAME = "theano_linker_c._made_for_a_test"
SOURCE = """
from collections import OrderedDict, namedtuple
from functools import lru_cache
from os.path import join

Point = namedtuple("Point", "x y")
number = 3

def own(x):
    return x

class Own(OrderedDict):
    def method(self):
        return 1

    @staticmethod
    def static():
        return 2

    @classmethod
    def of(cls):
        return cls

    @property
    def value(self):
        return 3

    class Inner:
        def deep(self):
            return 4
"""


def foreign(*args: Any) -> Any:
    return args


class Foreign:
    pass


class Value:
    """Something of the user's."""


foreign_value = Value()


class TestExchangedCode(unittest.TestCase):
    def setUp(self) -> None:
        self.module: Any = types.ModuleType(NAME)
        exec(SOURCE, self.module.__dict__)
        sys.modules[NAME] = self.module
        self.addCleanup(sys.modules.pop, NAME)

    def found(self) -> str | None:
        """Return the result of the runtime, which agrees with the one without."""
        answers = {_disk_key.exchanged_code(), _disk_key.exchanged_code()}  # the second one knows where to look
        _disk_key._found.clear()
        with mock.patch.object(_disk_key, "HAS_RUNTIME", False):
            answers.add(_disk_key.exchanged_code())
        _disk_key._found.clear()
        self.assertEqual(len(answers), 1)
        return answers.pop()

    def test_the_library_is_as_it_is(self) -> None:
        self.assertIsNone(self.found())

    def test_what_stands_in_a_module(self) -> None:
        for value in (foreign, lambda: 1, Foreign, mock.MagicMock(), mock.Mock(spec=foreign), mock.sentinel.x):
            for name in ("own", "Own", "number", "added"):
                with mock.patch.object(self.module, name, value, create=True):
                    self.assertEqual(self.found(), f"{NAME}.{name}")
        for harmless in (4, "text", OrderedDict, len, os.path.join, self.module.own, None):
            with mock.patch.object(self.module, "own", harmless):
                self.assertIsNone(self.found())

    def test_what_stands_in_a_class(self) -> None:
        for value in (foreign, Foreign, staticmethod(foreign), classmethod(foreign), mock.MagicMock()):
            for cls, name in (
                (self.module.Own, "method"),
                (self.module.Own, "static"),
                (self.module.Own.Inner, "deep"),
            ):
                with mock.patch.object(cls, name, value):
                    self.assertEqual(self.found(), f"{NAME}.{cls.__qualname__}.{name}")
        for saved in (property(foreign), property(self.module.own, foreign), property(None, None, foreign)):
            with mock.patch.object(self.module.Own, "value", saved):
                self.assertEqual(self.found(), f"{NAME}.Own.value")
        with mock.patch.object(self.module.Own, "value", property(self.module.own)):
            self.assertIsNone(self.found())

    def test_functions_whose_namespace_is_another(self) -> None:
        copied = types.FunctionType(self.module.own.__code__, {"__name__": "elsewhere"})
        with mock.patch.object(self.module, "own", copied):
            self.assertEqual(self.found(), f"{NAME}.own")

    def test_modules_of_users_that_are_called_like_the_library(self) -> None:
        module: Any = types.ModuleType("theano_of_a_user")
        exec("def function(x):\n    return x", module.__dict__)
        with mock.patch.dict(sys.modules, {module.__name__: module}):
            self.assertIsNone(self.found())
            with mock.patch.object(self.module, "own", module.function):
                self.assertEqual(self.found(), f"{NAME}.own")

    def test_what_is_exchanged_between_two_looks(self) -> None:
        private = self.module.own
        for _ in range(2):
            self.assertIsNone(self.found())
            self.module.own = foreign
            self.assertEqual(self.found(), f"{NAME}.own")
            self.module.own = private
            self.assertIsNone(self.found())
            with mock.patch.object(self.module.Own.Inner, "deep", foreign):
                self.assertEqual(self.found(), f"{NAME}.Own.Inner.deep")
        self.assertIsNone(self.found())

    def test_another_one_is_found_where_the_first_is_gone(self) -> None:
        with mock.patch.object(self.module, "own", foreign):
            self.assertEqual(_disk_key.exchanged_code(), f"{NAME}.own")
            with mock.patch.object(self.module.Own, "method", foreign):
                self.assertEqual(_disk_key.exchanged_code(), f"{NAME}.own")
                with mock.patch.object(self.module, "own", len):
                    self.assertEqual(_disk_key.exchanged_code(), f"{NAME}.Own.method")
            self.assertEqual(_disk_key.exchanged_code(), f"{NAME}.own")
        self.assertIsNone(_disk_key.exchanged_code())

    def test_classes_and_modules_that_come_between_two_looks(self) -> None:
        self.assertIsNone(self.found())
        exec("class Later:\n    def method(self): return 1", self.module.__dict__)
        self.assertIsNone(self.found())
        self.module.Later.method = foreign
        self.assertEqual(self.found(), f"{NAME}.Later.method")
        del self.module.Later
        self.assertIsNone(self.found())
        for content in ("def own(x):\n    return x", SOURCE):
            another: Any = types.ModuleType(NAME)
            exec(content, another.__dict__)
            with mock.patch.dict(sys.modules, {NAME: another}):
                self.assertIsNone(self.found())
                another.own = foreign
                self.assertEqual(self.found(), f"{NAME}.own")
            self.assertIsNone(self.found())

    def test_a_value_in_whose_place_code_comes(self) -> None:
        values: tuple[Any, ...] = (3, 10**30, "text", None, (1,), {}, foreign_value)
        for value in values:
            self.module.number = value
            self.assertIsNone(self.found())
            self.module.number = foreign
            self.assertEqual(self.found(), f"{NAME}.number")
            self.module.number = value
        # A type that has been seen as a value says nothing of its objects.
        self.module.number = types.FunctionType
        self.assertIsNone(self.found())
        self.module.number = foreign
        self.assertEqual(self.found(), f"{NAME}.number")

    def test_values_are_not_kept(self) -> None:
        value = Value()
        self.module.number = value
        saved = weakref.ref(value)
        del value
        self.assertIsNone(_disk_key.exchanged_code())
        self.module.number = 4
        self.assertIsNone(saved())

    @unittest.skipUnless(HAS_RUNTIME, "the runtime was not built")
    def test_the_runtime_looks_again_at_what_has_changed_alone(self) -> None:
        content: Any = {}
        exec(SOURCE, content)
        content["__name__"], content["other"] = NAME, foreign
        look, contents = runtime.first_look(), {NAME: content}
        self.assertIn(foreign, runtime.uncommon(look, contents))
        self.assertEqual(runtime.uncommon(look, {}), [])
        content["another"] = Foreign
        self.assertEqual(runtime.uncommon(look, {}), [Foreign])
        self.assertEqual(runtime.uncommon(look, {}), [])
        content["other"] = changed = staticmethod(foreign)
        self.assertEqual(runtime.uncommon(look, contents), [changed])
        with self.assertRaises(ValueError):
            runtime.uncommon(3, contents)

    @unittest.skipUnless(HAS_RUNTIME, "the runtime was not built")
    def test_the_runtime_is_given_dictionaries(self) -> None:
        wrong: Any
        for wrong in ([], {"name": 3}, {"name": OrderedDict()}):
            with self.assertRaisesRegex(TypeError, "dictionary of the contents of modules"):
                runtime.uncommon(runtime.first_look(), wrong)


class TestFiles(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in ("a.py", "deep/er/b.py", "deep/c.so", "__pycache__/a.pyc", "text.txt", "deep.d/d.py"):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)

    def marks(self) -> str:
        _disk_key._files.cache_clear()
        return _disk_key._files(str(self.folder))[0]

    def test_files_with_code_are_told(self) -> None:
        messages = [line.split(" ")[:2] for line in self.marks().splitlines()]
        expected = [line.split(" ")[:2] for line in _disk_key._files_in_python(str(self.folder))[0]]
        self.assertEqual(messages, expected)
        self.assertEqual([Path(path).name for path, _ in messages], ["a.py", "c.so", "b.py"])

    def test_changes_are_noticed(self) -> None:
        seen = {self.marks()}
        (self.folder / "a.py").write_text("longer text")
        seen.add(self.marks())
        os.utime(self.folder / "a.py", ns=(1, 1_000_000_001))
        seen.add(self.marks())
        os.utime(self.folder / "a.py", ns=(1, 1_000_000_002))
        seen.add(self.marks())
        (self.folder / "deep" / "new.py").write_text("")
        seen.add(self.marks())
        (self.folder / "deep" / "c.so").unlink()
        self.assertEqual(len({*seen, self.marks()}), 6)

    def test_the_last_change_is_told(self) -> None:
        # The time of a file may be set, as installers do, but not that at which it was put there.
        os.utime(self.folder / "a.py", ns=(1, 1))
        paths = [path for path in self.folder.rglob("*.*") if path.suffix in (".py", ".so")]
        last = max(path.stat().st_ctime_ns for path in paths)
        _disk_key._files.cache_clear()
        self.assertEqual(_disk_key._files(str(self.folder))[1], last)
        self.assertEqual(_disk_key._files_in_python(str(self.folder))[1], last)

    def last_change(self) -> int:
        _disk_key._files.cache_clear()
        latest = _disk_key._files(str(self.folder))[1]
        self.assertEqual(_disk_key._files_in_python(str(self.folder))[1], latest)
        return latest

    def test_links_elsewhere_are_no_change(self) -> None:
        # Installers share files between environments by hard links. The folder was filled before the files' last links.
        elsewhere = Path(self.enterContext(tempfile.TemporaryDirectory(dir=self.folder.parent)))
        os.link(self.folder / "a.py", elsewhere / "a.py")
        time.sleep(0.02)
        before = time.time_ns()
        time.sleep(0.02)
        os.link(self.folder / "a.py", elsewhere / "again.py")
        self.assertGreater((self.folder / "a.py").stat().st_ctime_ns, before)
        self.assertLess(self.last_change(), before)
        with self.subTest("another file takes its place"):
            other = elsewhere / "other.py"
            other.write_text("other")
            os.utime(other, ns=(1, 1))
            (self.folder / "a.py").unlink()
            os.link(other, self.folder / "a.py")
            self.assertGreater(self.last_change(), before)
        with self.subTest("the file that is shared is written"):
            os.utime(self.folder, ns=(1, 1))
            self.assertLess(self.last_change(), before)
            other.write_text("written")
            self.assertGreater(self.last_change(), before)

    def test_the_folder_is_another_one(self) -> None:
        release = self.folder / "release"
        release.symlink_to(self.folder / "deep")
        package = types.ModuleType("theano_scan")
        package.__path__ = [str(release)]
        with (
            mock.patch.dict(sys.modules, {package.__name__: package}),
            mock.patch.object(_disk_lookup, "_noted", set()),
            mock.patch.object(_disk_lookup, "_folders", {}),
        ):
            _disk_lookup.note_library()
            self.assertFalse(_disk_lookup.folders_replaced())
            release.unlink()
            self.assertTrue(_disk_lookup.folders_replaced())
            release.symlink_to(self.folder / "deep.d")
            self.assertTrue(_disk_lookup.folders_replaced())
            self.assertIsNone(_disk_key._versions([package.__name__]))

    def test_names_that_are_no_text(self) -> None:
        (Path(os.fsdecode(os.fsencode(self.folder) + b"/\xff.py"))).write_text("")
        self.assertIn("\udcff.py", self.marks())

    def test_a_folder_that_is_not_there(self) -> None:
        with self.assertRaises(FileNotFoundError):
            _disk_key._files(str(self.folder / "missing"))


if __name__ == "__main__":
    unittest.main()
