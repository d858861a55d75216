from __future__ import annotations

import os
import subprocess
import sys
import unittest
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from theano_gpuarray._libraries import LIBRARIES, candidates, cuda_of_driver, find_library, opened
from theano_gpuarray.contexts import LibraryNotFound
from theano_graph import config

_EMPTY = "int there(void) { return 1; }\n"


def build(path: Path, text: str = _EMPTY) -> str:
    """Compile a library of one function."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)], input=text.encode(), check=True)
    return str(path)


class TestPlaces(unittest.TestCase):
    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # Neither installed libraries nor the tester's settings are visible.
        cleared = dict.fromkeys(("CUDA_HOME", "CUDA_ROOT", "CUDA_PATH"), "")
        stack = ExitStack()
        self.addCleanup(stack.close)
        stack.enter_context(patch.dict(os.environ, cleared))
        stack.enter_context(patch.object(sys, "path", []))
        stack.enter_context(patch("theano_gpuarray._libraries._USUAL_ROOTS", ()))

    def test_folders_that_are_named(self) -> None:
        path = build(self.folder / "libnvrtc.so.12")
        with config.change_flags(gpuarray__library_path=f"/none{os.pathsep}{self.folder}"):
            result = find_library("nvrtc")
        self.assertEqual((result.path, result.how), (path, "the flag gpuarray.library_path"))

    def test_installations_of_cuda(self) -> None:
        for part, name in (("lib64", "CUDA_HOME"), ("lib", "CUDA_ROOT"), ("targets/x86_64-linux/lib", "CUDA_PATH")):
            root = self.folder / name
            path = build(root / part / "libnvrtc.so.13")
            with self.subTest(name), patch.dict(os.environ, {name: str(root)}):
                result = find_library("nvrtc")
                self.assertEqual((result.path, result.how), (path, f"the variable {name}"))
            with config.change_flags(cuda__root=str(root)):
                self.assertEqual(find_library("nvrtc").how, "the flag cuda.root")

    def test_wheels(self) -> None:
        for part in ("cu13", "cublas"):
            site = self.folder / part
            path = build(site / "nvidia" / part / "lib" / "libcublas.so.13")
            with self.subTest(part), patch.object(sys, "path", ["", str(site)]):
                self.assertEqual((find_library("cublas").path, find_library("cublas").how), (path, "a wheel of nvidia"))

    def test_cudnn(self) -> None:
        path = build(self.folder / "lib64" / "libcudnn.so.9")
        for flags, how in (
            ({"dnn__library_path": str(self.folder / "lib64")}, "the flag dnn.library_path"),
            ({"dnn__base_path": str(self.folder)}, "the flag dnn.base_path"),
            ({"dnn__bin_path": str(self.folder / "lib64")}, "the flag dnn.bin_path"),
        ):
            with config.change_flags(**flags):
                self.assertEqual((find_library("cudnn").path, find_library("cudnn").how), (path, how))

    def test_the_loader_is_asked(self) -> None:
        result = find_library("opencl")
        self.assertIn("libOpenCL", result.path)
        self.assertIsNotNone(opened(result.path).clGetPlatformIDs)

    def test_versions_that_the_driver_does_not_have_are_left_out(self) -> None:
        build(self.folder / "libnvrtc.so.13")
        older = build(self.folder / "libnvrtc.so.12")
        with config.change_flags(gpuarray__library_path=str(self.folder)):
            self.assertTrue(find_library("nvrtc").path.endswith(".13"))
            self.assertEqual(find_library("nvrtc", at_most=12).path, older)
            with self.assertRaises(LibraryNotFound) as caught:
                find_library("nvrtc", at_most=11)
        text = str(caught.exception)
        self.assertIn("it is one of libnvrtc.so.11.2\n", text)
        self.assertIn("libnvrtc.so.13: there, but for CUDA 13; the driver has CUDA 11", text)

    def test_files_that_cannot_be_loaded_are_told(self) -> None:
        (self.folder / "libnvrtc.so.13").write_text("no library")
        good = build(self.folder / "libnvrtc.so.12")
        with config.change_flags(gpuarray__library_path=str(self.folder)):
            self.assertEqual(find_library("nvrtc").path, good)
            os.unlink(good)
            with self.assertRaises(LibraryNotFound) as caught:
                find_library("nvrtc")
        lines = str(caught.exception).splitlines()
        self.assertIn("NVRTC, the compiler of CUDA kernels is not found or cannot be loaded", lines[0])
        self.assertRegex(
            lines[1], r"libnvrtc.so.13 \(the flag gpuarray.library_path\): (file too short|invalid ELF header)"
        )
        self.assertIn("asked the loader of the system", lines[2])
        self.assertIn("Hint: pip install nvidia-cuda-nvrtc (nvidia-cuda-nvrtc-cu12 for CUDA 12)", lines[-1])

    def test_each_library_has_names_and_a_remedy(self) -> None:
        self.assertEqual({*LIBRARIES}, {"opencl", "cuda", "nvrtc", "cublas", "cublaslt", "cudnn", "cufft", "cusolver"})
        for key, library in LIBRARIES.items():
            with self.subTest(key):
                self.assertTrue(library.names and library.hint and library.title)
                asked = [item.path for item in candidates(library) if item.how == "asked the loader of the system"]
                self.assertEqual(asked, [*library.names])
        with self.assertRaises(KeyError):
            find_library("nothing")

    def test_versions_of_drivers(self) -> None:
        text = "int cuDriverGetVersion(int *v) {{ *v = 12040; return {status}; }}\n"
        self.assertEqual(cuda_of_driver(build(self.folder / "a.so", text.format(status=0))), (12, 4))
        self.assertEqual(cuda_of_driver(build(self.folder / "b.so", text.format(status=3))), (0, 0))
        self.assertEqual(cuda_of_driver(build(self.folder / "c.so")), (0, 0))


if __name__ == "__main__":
    unittest.main()
