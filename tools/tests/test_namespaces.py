"""The names that layers take from their modules."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import _namespaces
import generate_names

INIT = f"""{_namespaces.HEAD}#     _sums:all=all_
#     parts
{_namespaces.FOOT}

__all__ = ["by_hand"]

{_namespaces.ALL_HEAD}{_namespaces.ALL_FOOT}
"""


class TestNamespaces(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(_namespaces.exported.cache_clear)
        self.path = Path(folder.name, "__init__.py")
        self.path.write_text(INIT)
        Path(folder.name, "_sums.py").write_text("RECORDS = ()\nall_: int = 1\n\ndef total(): ...\n\nclass _Own: ...\n")
        Path(folder.name, "parts").mkdir()
        Path(folder.name, "parts", "__init__.py").write_text(
            "from .a import b, c\n\n__all__ = ['c']\n__all__ += ['b']\n"
        )

    def test_what_is_defined_and_what_is_listed(self) -> None:
        text = _namespaces.written(self.path)
        self.assertIn("from ._sums import all_ as all, total as total\n", text)
        self.assertIn("from .parts import b as b, c as c\n", text)
        self.assertIn('    "all", "b", "c", "total",\n', text)
        self.assertIn('__all__ = ["by_hand"]', text)

    def test_a_star_is_all_modules_with_a_list(self) -> None:
        self.path.write_text(INIT.replace("_sums:all=all_", "*"))
        self.path.with_name("_kernels.py").write_text("__all__ = ['Kernel']\n\nclass Kernel: ...\n\nWIDTH = 3\n")
        text = _namespaces.written(self.path)
        self.assertIn("from ._kernels import Kernel as Kernel\n", text)
        self.assertNotIn("WIDTH", text)
        self.assertNotIn("total", text)

    def test_a_second_time_nothing_changes(self) -> None:
        self.path.write_text(_namespaces.written(self.path))
        _namespaces.exported.cache_clear()
        self.assertEqual(_namespaces.written(self.path), self.path.read_text())

    def test_a_marker_is_missing(self) -> None:
        self.path.write_text(INIT.replace(_namespaces.FOOT, ""))
        with self.assertRaisesRegex(SystemExit, "Hint: put both"):
            _namespaces.written(self.path)


class TestFunctionsOfScalarOps(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(_namespaces.exported.cache_clear)
        self.package = Path(folder.name, "__init__.py")
        self.package.write_text(INIT)
        Path(folder.name, "_sums.py").write_text("class All: ...\n\nclass Any: ...\n\nall_ = All()\nany = Any()\n")
        Path(folder.name, "parts").mkdir()
        Path(folder.name, "parts", "__init__.py").write_text("__all__ = ['last', 'middle']\n")
        Path(folder.name, "parts", "_a.py").write_text(
            "class Last: ...\n\nlast = Last()\nmiddle = Last()\nother = Last()\nDTYPES = tuple()\n"
        )
        self.functions = Path(folder.name, "functions.py")

    def write(self, words: str) -> str:
        head, foot = _namespaces.FUNCTIONS_HEAD, _namespaces.FUNCTIONS_FOOT
        self.functions.write_text(f"{head}#     {words}\n{foot}\n\nby_hand = any\n")
        return _namespaces.functions_written(self.functions, self.package)

    def test_one_for_each_public_instance(self) -> None:
        text = self.write("ALL=all -middle")
        lines = [line for line in text.splitlines() if "_function(" in line]
        results = ['ALL = _function("ALL", scalar.all)', 'any = _function("any", scalar.any)']
        self.assertEqual(lines, [*results, 'last = _function("last", scalar.last)'])
        self.assertTrue(text.endswith("\n\nby_hand = any\n"))

    def test_a_name_that_no_module_has(self) -> None:
        with self.assertRaisesRegex(SystemExit, "ops that do not exist: first, other\n  Hint"):
            self.write("-other top=first")


class TestAllNamesOfAPackage(unittest.TestCase):
    def test_some_left_out(self) -> None:
        words = generate_names.all_of("theano_tensor.elemwise", "* -conj other=exp").split()
        self.assertIn("log1p", words)
        self.assertNotIn("conj", words)
        self.assertEqual(words[-1], "other=exp")
        self.assertEqual(generate_names.all_of("theano_tensor.elemwise", "exp log"), "exp log")


class TestTheRepository(unittest.TestCase):
    def test_its_namespaces_are_up_to_date(self) -> None:
        paths = list(_namespaces.packages())
        self.assertGreaterEqual(len(paths), 3)
        for path in paths:
            with self.subTest(path.parent.name):
                self.assertEqual(_namespaces.written(path), path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
