from __future__ import annotations

import importlib.resources
import subprocess
import sys
import unittest
from importlib import metadata

import theano_sparse
from theano_testing.tiers import slow


class TestSparseDistribution(unittest.TestCase):
    def test_version_is_that_of_the_metadata(self) -> None:
        self.assertEqual(theano_sparse.__version__, metadata.version("theano-sparse"))

    def test_requires_the_layers_below(self) -> None:
        required = {text.split("~=")[0] for text in metadata.requires("theano-sparse") or () if "~=" in text}
        self.assertEqual(required, {"theano-graph", "theano-optimize", "theano-linker-c", "theano-tensor"})

    def test_ships_its_type_marker(self) -> None:
        self.assertTrue(importlib.resources.files(theano_sparse).joinpath("py.typed").is_file())

    def test_public_names_exist(self) -> None:
        for name in theano_sparse.__all__:
            self.assertTrue(hasattr(theano_sparse, name), name)

    @slow
    def test_import_loads_no_sibling(self) -> None:
        program = "import sys, theano_sparse; print(sorted(m for m in sys.modules if m.startswith('theano')))"
        output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
        for name in ("theano_scan", "theano_testing"):
            self.assertNotIn(f"'{name}'", output)


if __name__ == "__main__":
    unittest.main()
