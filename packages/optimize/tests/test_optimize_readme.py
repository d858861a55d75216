from __future__ import annotations

import doctest
import unittest
from pathlib import Path


class TestReadme(unittest.TestCase):
    def test_its_examples_give_what_they_say(self) -> None:
        path = Path(__file__).parents[1] / "README.md"
        result = doctest.testfile(str(path), module_relative=False)
        self.assertEqual(result.failed, 0)
        self.assertGreater(result.attempted, 25)


if __name__ == "__main__":
    unittest.main()
