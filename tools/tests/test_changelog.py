"""The names of changelog fragments."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import check_changelog
from _house import RELEASED, layer


class TestNames(unittest.TestCase):
    def test_underscores_and_unknown_kinds_are_reported(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "changelog.d").mkdir()
            for fragment in (".gitkeep", "+good-word.added.md", "12.fixed.md", "+bad_word.added.md", "+word.better.md"):
                (folder / "changelog.d" / fragment).write_text("Text.")
            lines = [line.split()[1] for line in check_changelog.name_problems(folder)]
        self.assertEqual(lines, ["+bad_word.added.md", "+word.better.md"])

    def test_fragments_of_the_repository(self) -> None:
        problems_found = [p for name in RELEASED for p in check_changelog.name_problems(layer(name).folder)]
        self.assertEqual(problems_found, [])
