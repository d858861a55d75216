"""The page for users of PyMC: its programs run, and print the texts below them."""

from __future__ import annotations

import contextlib
import io
import re
import unittest
import warnings
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "pymc.md"


class TestPage(unittest.TestCase):
    def test_programs(self) -> None:
        blocks = re.findall(r"^```(python|text)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        printed, names = io.StringIO(), {"__name__": "page"}
        with contextlib.redirect_stdout(printed), warnings.catch_warnings(action="ignore"):
            for language, text in blocks:
                if language == "python":
                    exec(compile(text, str(PAGE), "exec"), names)
        expected = "".join(text for language, text in blocks if language == "text")
        self.assertEqual(expected, printed.getvalue())
