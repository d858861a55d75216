"""The sources of the site's pages are true: they cannot go stale without a test that fails."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import unittest
from pathlib import Path
from typing import Any

import numpy as np

from theano_linker_c.program import HAS_RUNTIME

DOCS = Path(__file__).resolve().parents[3] / "docs"
EXAMPLES = DOCS.parent / "examples"


def page_module(name: str) -> Any:
    """Import a module of the folder of the site; some run scripts of the repository."""
    for folder in (DOCS, DOCS.parent / "tools"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    return importlib.import_module(name)


@unittest.skipUnless(HAS_RUNTIME, "the page shows programs that the runtime in C runs")
class TestHowAFunctionIsMade(unittest.TestCase):
    def setUp(self) -> None:
        self.made = page_module("_made")
        self.step, followed = self.made.follow()
        self.phases, self.written = followed.found, followed.written

    def test_the_phases_are_those_of_the_default_mode(self) -> None:
        plain = self.made.training_step("FAST_RUN")
        shown = [(label, profile.changes) for label, profile, _, _ in self.phases]
        self.assertEqual(shown, [(part.name, part.changes) for part in plain.maker.profile.parts])
        self.assertEqual(self.made.graph_text(self.step.maker.fgraph), self.made.graph_text(plain.maker.fgraph))

    def test_what_the_sentences_say(self) -> None:
        events = {label: item for label, _, item, _ in self.phases}
        after = {label: text for label, _, _, text in self.phases}
        equations = [event.equation or "" for event in events["stabilize"]]
        self.assertTrue(any(text.startswith("log(1 + exp(x)) -> softplus(x)") for text in equations), equations)
        self.assertIn("second", self.written)
        self.assertNotIn("second", after["canonicalize"])
        self.assertIn("Elemwise{sigmoid}", after["stabilize"])
        self.assertEqual(after["BlasOpt"].count("Gemv"), 1)
        self.assertIn("TensorConstant{0.999}", after["BlasOpt"])
        self.assertEqual(after["elemwise_fusion"].count("-> (kept, Sum{acc_dtype=float64}).0"), 1)
        waiting = [i.node.op for i in self.step.fn.program.instructions if i.waits is not None]
        self.assertEqual([str(op) for op in waiting], ["Gemv{inplace}"])
        self.assertIn("theano_softplus_float64(x0)", "".join(text for _, text in self.made.kernels(self.step)))

    def test_the_function_computes_what_is_written(self) -> None:
        rng = np.random.default_rng(1)
        x, y = rng.normal(size=(20, 3)), rng.integers(0, 2, size=20).astype(float)
        (w,) = self.step.get_shared()
        w.set_value([0.5, -1.0, 2.0])
        z = x @ w.get_value()
        slope = x.T @ (1 / (1 + np.exp(-z)) - y) + w.get_value()
        expected = w.get_value() - 0.001 * slope
        self.assertAlmostEqual(float(self.step(x, y)), (np.logaddexp(0, z) - y * z).sum() + 0.5 * (0.25 + 1 + 4))
        np.testing.assert_allclose(w.get_value(), expected)

    def test_the_page_has_every_part(self) -> None:
        page = self.made.made_page()
        titles = re.findall(r"^## (.*)$", page, flags=re.MULTILINE)
        expected = "The expression as it is written/Rewriting/Decisions about memory/The program"
        self.assertEqual("/".join(titles), f"{expected}/The C that comes out/Time and size")
        self.assertIn("its result is put where its input 0 was", page)
        self.assertIn("`MatrixProductKernel`, at the end of the call", page)
        self.assertEqual(page.count("<details>"), page.count("</details>"))


class TestGallery(unittest.TestCase):
    def setUp(self) -> None:
        self.gallery = page_module("_gallery")

    def test_every_program_that_draws_is_shown(self) -> None:
        shown = {name for names in self.gallery.PROGRAMS.values() for name in names}
        drawing = {
            path.stem
            for path in EXAMPLES.glob("*.py")
            if "run(main, __doc__)" in path.read_text(encoding="utf-8") or path.stem == "logistic_regression"
        }
        self.assertEqual(shown, drawing)

    def test_the_index_of_examples_says_what_each_program_says(self) -> None:
        index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
        listed = dict(re.findall(r"^- \[`(\w+)\.py`\]\(\1\.py\):\n  (.*)$", index, flags=re.MULTILINE))
        self.assertEqual(listed, {path.stem: self.gallery.about(path.stem)[0] for path in EXAMPLES.glob("*.py")})


class TestReference(unittest.TestCase):
    def test_names_of_groups_exist_and_stand_once(self) -> None:
        entries = list(page_module("_documented").documented())
        self.assertEqual(len({entry.full for entry in entries}), len(entries))
        self.assertGreater(len(entries), 500)

    def test_old_names_are_listed_apart(self) -> None:
        documented = page_module("_documented")
        grouped = {entry.full for entry in documented.documented()}
        old = {entry.full for entries in documented.historical().values() for entry in entries}
        self.assertFalse(grouped & old)
        self.assertIn("theano.tensor.advanced_subtensor1", old)
        self.assertNotIn("theano.tensor.dmatrix", old)

    def test_signatures_are_short(self) -> None:
        signature = page_module("_documented").signature
        self.assertEqual(signature(lambda x, y=object, *, name=None: x), "(x, y=..., *, name=None)")


class TestDocstrings(unittest.TestCase):
    def test_examples_of_public_names_import_theano(self) -> None:
        """A user who has imported theano alone can type the examples of `help(theano.tensor.dot)`."""
        wrong = re.compile(r"(from|import) theano_(tensor|scan|sparse)\b")
        seen, result = 0, []
        for area in page_module("_documented").historical():
            module = importlib.import_module(area)
            for name in dir(module):
                about = inspect.getdoc(getattr(module, name, None)) or ""
                if ">>> " in about:
                    seen += 1
                    if wrong.search(about):
                        result.append(f"{area}.{name}")
        self.assertEqual(result, [])
        self.assertGreater(seen, 150)


if __name__ == "__main__":
    unittest.main()
