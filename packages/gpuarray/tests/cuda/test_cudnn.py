"""cuDNN on a stand-in: its arguments, and the effects of the flags ``dnn.*``."""

from __future__ import annotations

import os
import re
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from theano_testing.tiers import slow

from ._fake import fake_library, run

HEADER = "#define CUDNN_MAJOR {}\n#define CUDNN_MINOR {}\n#define CUDNN_PATCHLEVEL {}\n"


@slow
class TestCudnn(unittest.TestCase):
    def check_all(self, module: str) -> None:
        folder = Path(__file__).parent
        command = ["-X", "faulthandler", "-m", "unittest", "-b", f"{folder.name}.{module}"]
        done = run(command, PYTHONPATH=str(folder.parent))
        self.assertEqual(done.returncode, 0, done.stderr)
        count = re.search(r"Ran (\d+) tests", done.stderr)
        assert count is not None
        written = (folder / f"{module}.py").read_text()
        self.assertEqual(int(count[1]), written.count("    def test_"))

    def test_convolutions(self) -> None:
        self.check_all("cudnn_cases")

    def test_layers(self) -> None:
        self.check_all("layer_cases")

    def test_normalization(self) -> None:
        self.check_all("norm_cases")

    def test_recurrent_networks(self) -> None:
        self.check_all("rnn_cases")

    def test_spatial_transformers(self) -> None:
        self.check_all("transformer_cases")


@slow
class TestFlags(unittest.TestCase):
    """Where the library is looked for, and whether it is used."""

    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in ("libcuda.so.1", "libnvrtc.so.12"):
            os.symlink(fake_library(), self.folder / name)

    def put(self, folder: str, name: str = "libcudnn.so.9") -> Path:
        position = self.folder / folder
        position.mkdir(parents=True, exist_ok=True)
        os.symlink(fake_library(), position / name)
        return position

    def header(self, folder: str, *numbers: int, name: str = "cudnn_version.h") -> Path:
        position = self.folder / folder
        position.mkdir(parents=True, exist_ok=True)
        (position / name).write_text(HEADER.format(*numbers))
        return position

    def opened(self, flags: str) -> str:
        """Return the version in use, or why there is none, or the error."""
        code = """
import theano_linker_c
from theano_gpuarray import contexts as c
c.activate()
context = c.get_context(None)
print(c.cudnn_problem(context) or c.cudnn_version(context))
"""
        flags = f"device=cuda,force_device=True,gpuarray.library_path={self.folder},{flags}"
        done = run(["-c", code], THEANO_FLAGS=flags.rstrip(","))
        return done.stdout.strip() or done.stderr

    def test_it_is_found_where_the_flags_say(self) -> None:
        self.assertIn("cuDNN, operations of neural networks is not found", self.opened(""))
        position = self.put("lib")
        self.assertEqual(self.opened(f"dnn.library_path={position}"), "90100")
        self.assertEqual(self.opened(f"dnn.bin_path={position}"), "90100")
        self.assertEqual(self.opened(f"dnn.base_path={self.folder}"), "90100")

    def test_it_is_not_looked_for(self) -> None:
        self.put(".")
        self.assertEqual(self.opened("dnn.enabled=auto"), "90100")
        self.assertEqual(self.opened("dnn.enabled=False"), "the flag dnn.enabled is False")

    def test_it_is_required(self) -> None:
        for value in ("True", "no_check"):
            with self.subTest(value):
                self.assertIn("cuDNN, operations of neural networks is not found", self.opened(f"dnn.enabled={value}"))
        self.put(".")
        for value in ("True", "no_check"):
            with self.subTest(value):
                self.assertEqual(self.opened(f"dnn.enabled={value}"), "90100")

    def test_files_that_are_no_such_library(self) -> None:
        os.symlink(fake_library("-DWITHOUT_CUDNN"), self.folder / "libcudnn.so.9")
        self.assertIn("has no function cudnnGetVersion", self.opened("dnn.enabled=auto"))
        message = self.opened("dnn.enabled=True")
        self.assertIn("dnn.enabled=True, and cuDNN cannot be used", message)
        self.assertIn("has no function cudnnGetVersion", message)

    def test_headers_of_other_versions(self) -> None:
        self.put(".")
        right, wrong = self.header("include", 9, 1, 0), self.header("other", 8, 9, 7, name="cudnn.h")
        self.assertEqual(self.opened(f"dnn.include_path={right}"), "90100")
        self.assertEqual(self.opened(f"dnn.base_path={self.folder}"), "90100")
        message = self.opened(f"dnn.include_path={wrong}")
        self.assertIn("RuntimeError: the header of cuDNN is of version 8.9.7, the library of 9.1.0", message)
        self.assertEqual(self.opened(f"dnn.include_path={wrong},dnn.enabled=no_check"), "90100")


if __name__ == "__main__":
    unittest.main()
