"""The pages of docs/recipes, and the first page, are true."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

from theano_testing.tiers import slow

PAGES = Path(__file__).resolve().parents[3] / "docs" / "recipes"


class TestRecipes(unittest.TestCase):
    def run_page(self, name: str) -> None:
        text = (PAGES / name).read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 2)
        # In a process of its own: registrations of a page stay.
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", "\n".join(blocks)], capture_output=True, text=True, check=False
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @slow
    def test_five_minutes(self) -> None:
        self.run_page("../start.md")

    @slow
    def test_elementwise_function(self) -> None:
        self.run_page("elementwise_function.md")

    @slow
    def test_op(self) -> None:
        self.run_page("op.md")

    @slow
    def test_native_kernel(self) -> None:
        self.run_page("native_kernel.md")

    @slow
    def test_target(self) -> None:
        self.run_page("target.md")

    @slow
    def test_rewrite(self) -> None:
        self.run_page("rewrite.md")

    def test_every_page_is_run(self) -> None:
        pages = {path.name for path in PAGES.glob("*.md")} - {"README.md"}
        self.assertEqual(pages, {"elementwise_function.md", "native_kernel.md", "op.md", "rewrite.md", "target.md"})


if __name__ == "__main__":
    unittest.main()
