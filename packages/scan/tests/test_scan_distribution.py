from __future__ import annotations

import importlib.resources
import subprocess
import sys
import unittest
from importlib import metadata

import theano_scan
from theano_testing.tiers import slow


class TestScanDistribution(unittest.TestCase):
    def test_version_is_that_of_the_metadata(self) -> None:
        self.assertEqual(theano_scan.__version__, metadata.version("theano-scan"))

    def test_requires_the_layers_below(self) -> None:
        required = {text.split("~=")[0] for text in metadata.requires("theano-scan") or () if "~=" in text}
        layers = {"theano-graph", "theano-optimize", "theano-linker-c", "theano-gpuarray", "theano-tensor"}
        self.assertEqual(required, layers)

    def test_ships_its_type_marker(self) -> None:
        self.assertTrue(importlib.resources.files(theano_scan).joinpath("py.typed").is_file())

    def test_public_names_exist(self) -> None:
        for name in theano_scan.__all__:
            self.assertTrue(hasattr(theano_scan, name), name)

    @slow
    def test_import_loads_no_sibling(self) -> None:
        program = "import sys, theano_scan; print(sorted(m for m in sys.modules if m.startswith('theano')))"
        output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
        for name in ("theano_sparse", "theano_testing"):
            self.assertNotIn(f"'{name}'", output)


if __name__ == "__main__":
    unittest.main()
