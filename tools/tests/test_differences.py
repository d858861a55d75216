from __future__ import annotations

import ast
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import check_differences

PAGE = """# Page

## Tensors

| id | old | here | why | in a program |
| --- | --- | --- | --- | --- |
| `bool-masks` | int8 | bool | masks | cast |

## Names that are not there

| group | what it was | why it is not there |
| --- | --- | --- |
| `old-compilers` | tools | not needed |
"""
TEST = "class TestMasks:\n    difference = 'bool-masks'\n"


class TestDifferences(unittest.TestCase):
    """A page with one row and one group, and a run of three tests."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.lists = self.folder / "lists"
        self.lists.mkdir()
        self.write("page.md", PAGE)
        self.write("test_masks.py", TEST)
        self.write("lists/tensors.tsv", "bool-masks\ta.py\tTest_x::test_gt[*]\n")
        self.write("lists/names.tsv", "old-compilers\ttheano.gof.cc.*\n")
        for name, value in (
            ("PAGE", self.folder / "page.md"),
            ("LISTS", self.lists),
            ("TESTS", self.folder),
            ("TABLE", self.lists / "tests.md"),
        ):
            patch = mock.patch.object(check_differences, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def check(self, *arguments: str) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = check_differences.main(list(arguments))
        return status, said.getvalue()

    def results(self, *outcomes: str) -> str:
        tests = ("Test_x::test_gt[0]", "Test_x::test_gt[1]", "test_sum")
        rows = [f"a.py\t{test}\t{outcome}\t0.1" for test, outcome in zip(tests, outcomes, strict=True)]
        return self.write(f"{'-'.join(outcomes)}.tsv", "\n".join(["file\ttestid\toutcome\tseconds", *rows]) + "\n")

    def test_what_fits_together(self) -> None:
        self.assertEqual(self.check(), (0, "1 differences, 1 groups of names, 0 problems\n"))

    def test_a_row_without_a_test_and_a_test_without_a_row(self) -> None:
        self.write("test_masks.py", TEST.replace("bool-masks", "other"))
        status, said = self.check()
        self.assertEqual(status, 1)
        self.assertIn("bool-masks: no test has `difference = 'bool-masks'`", said)
        self.assertIn("other: a test names it, and there is no such row", said)

    def test_failing_tests_are_explained_and_listed(self) -> None:
        baseline = self.results("passed", "passed", "passed")
        results = self.results("failed", "passed", "passed")
        status, said = self.check("--results", results, "--baseline", baseline, "--write")
        self.assertEqual(status, 0, said)
        self.assertIn("2 of 3 pass, 1 more stand under 1 rows", said)
        self.assertIn("| `bool-masks` | 1 | a.py: `Test_x::test_gt[0]` |", (self.lists / "tests.md").read_text())

    def test_failing_tests_without_a_row_and_rows_for_nothing(self) -> None:
        baseline = self.results("passed", "passed", "passed")
        results = self.results("passed", "passed", "error")
        status, said = self.check("--results", results, "--baseline", baseline)
        self.assertEqual(status, 1)
        self.assertIn("a.py::test_sum error, and no row explains it", said)
        self.assertIn("bool-masks: a.py::Test_x::test_gt[*] explains no failing test", said)

    def test_missing_names(self) -> None:
        missing = self.write("missing.txt", "theano.gof.cc.run  function  ()\ntheano.f  function ()\ntheano.x  value\n")
        status, said = self.check("--names", missing)
        self.assertEqual(status, 1)
        self.assertIn("function theano.f is missing and stands in no group", said)
        self.assertNotIn("gof.cc", said)
        self.assertNotIn("theano.x", said)

    def test_the_attribute_is_read_from_classes_alone(self) -> None:
        self.assertEqual(check_differences.asserted_rows(ast.parse("difference = 'a'")), set())
