"""Examples in the docstrings of elementwise functions show the results that the functions have."""

from __future__ import annotations

import inspect
import unittest

import theano_tensor.elemwise
from theano_linker_c import function
from theano_tensor.elemwise._signature import EXAMPLES


class TestExamples(unittest.TestCase):
    def test_results(self) -> None:
        # One function for all, so that the test compiles once.
        outputs = [
            eval(f"{name}({arguments})", {name: getattr(theano_tensor.elemwise, name)})
            for name, (arguments, _) in EXAMPLES.items()
        ]
        results = function([], outputs, mode="FAST_COMPILE")()
        for (name, (_, printed)), result in zip(EXAMPLES.items(), results, strict=True):
            with self.subTest(name):
                self.assertEqual(" ".join(repr(result).split()), " ".join(printed.split()))

    def test_sections(self) -> None:
        for name in ("exp", "add", "clip", "arctan2"):
            lines = (inspect.getdoc(getattr(theano_tensor.elemwise, name)) or "").splitlines()
            titles = [lines[k - 1] for k, line in enumerate(lines) if line.startswith("---")]
            with self.subTest(name):
                self.assertEqual(titles, ["Parameters", "Returns", "Examples"])


if __name__ == "__main__":
    unittest.main()
