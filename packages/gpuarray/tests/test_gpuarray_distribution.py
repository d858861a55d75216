from __future__ import annotations

import importlib.resources
import subprocess
import sys
import unittest
from importlib import metadata

import theano_gpuarray


class TestGpuarrayDistribution(unittest.TestCase):
    def test_version_is_that_of_the_metadata(self) -> None:
        self.assertEqual(theano_gpuarray.__version__, metadata.version("theano-gpuarray"))

    def test_requires_the_layers_below(self) -> None:
        required = {text.split("~=")[0] for text in metadata.requires("theano-gpuarray") or () if "~=" in text}
        self.assertEqual(required, {"theano-graph", "theano-optimize", "theano-linker-c"})

    def test_ships_its_type_marker(self) -> None:
        self.assertTrue(importlib.resources.files(theano_gpuarray).joinpath("py.typed").is_file())

    def test_public_names_exist(self) -> None:
        self.assertEqual(["__version__", "dnn_flags", "get_include"], theano_gpuarray.__all__)
        self.assertTrue(all(hasattr(theano_gpuarray, name) for name in theano_gpuarray.__all__))

    def test_import_loads_neither_the_runtime_nor_layers_above(self) -> None:
        program = "import sys, theano_gpuarray; print(*(name for name in sys.modules if name.startswith('theano')))"
        output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
        loaded = set(output.split())
        self.assertEqual({"theano_gpuarray", "theano_graph"}, {name.partition(".")[0] for name in loaded})
        self.assertNotIn("theano_gpuarray._device", loaded)


if __name__ == "__main__":
    unittest.main()
