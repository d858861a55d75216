from __future__ import annotations

import os
import threading
import unittest
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

from theano_gpuarray._runtime import DeviceError
from theano_gpuarray.codegen import KernelText
from theano_gpuarray.contexts import GpuContext, _context as kernels, open_context
from theano_graph import config
from theano_linker_c.compiler import CompilerWarning
from theano_testing.gpuarray import needs_opencl


def text(factor: float = 2.0) -> KernelText:
    """Return a kernel that multiplies an array."""
    body = "const int64_t i = (int64_t)GID_0 * LDIM_0 + LID_0; if (i < n) x[i] *= "
    return KernelText("scale", f"KERNEL void scale(GLOBAL_MEM float *x, const int64_t n) {{ {body}{factor}f; }}", "Pq")


@needs_opencl
class TestKept(unittest.TestCase):
    """Compiled kernels on disk; each context stands for a process, since it remembers only its own loads."""

    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "kernels"
        change = config.change_flags(gpuarray__cache_path=str(self.folder))
        change.__enter__()
        self.addCleanup(change.__exit__, None, None, None)
        self.addCleanup(kernels._cache.cache_clear)

    def scaled(self, kernel: KernelText, context: GpuContext | None = None) -> tuple[list[float], int]:
        """Run a kernel on [1, 3]; return the result, and how many texts were compiled for it."""
        context = open_context("opencl0:0") if context is None else context
        memory = context.allocate(8)
        memory.write(0, np.array([1, 3], "float32"))
        before = context.statistics()["compilations"]
        context.launch(context.kernel(kernel), [1], [2], [memory, 2])
        result = np.empty(2, "float32")
        memory.read(0, result)
        return list(result.tolist()), context.statistics()["compilations"] - before

    def files(self) -> list[Path]:
        return sorted((self.folder / "functions").iterdir())

    def test_a_text_is_compiled_once(self) -> None:
        context = open_context("opencl0:0")
        self.assertEqual(self.scaled(text(), context), ([2, 6], 1))
        self.assertEqual(self.scaled(text(), context), ([2, 6], 0))
        self.assertEqual(self.scaled(text()), ([2, 6], 0), "it is on disk")
        self.assertEqual(self.scaled(text(3.0)), ([3, 9], 1))
        self.assertEqual(len(self.files()), 2)

    def test_threads_compile_a_text_once(self) -> None:
        context, expected = open_context("opencl0:0"), text(5.0)
        threads = [threading.Thread(target=context.kernel, args=(expected,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(context.statistics()["compilations"], 1)

    def test_texts_of_cuda_are_compiled_together(self) -> None:
        context = open_context("opencl0:0")
        texts = [text(6.0), text(7.0), text(6.0)]
        context.prepare(texts)
        self.assertEqual(context.statistics()["compilations"], 0, "OpenCL compiles a text where it is asked for")
        meet, names = threading.Barrier(2, timeout=600), list[str]()
        reference: dict[KernelText, Any] = context._kernels

        def kernel(argument: KernelText) -> None:
            meet.wait()  # passes where both are under way
            names.append(threading.current_thread().name)
            reference[argument] = "a kernel"

        context.kind = "cuda"
        with patch.object(context, "kernel", kernel):
            context.prepare(texts)
            context.prepare(texts)
        self.assertEqual(len(set(names)), 2)

    def test_a_wrong_text_is_told_where_it_is_asked_for(self) -> None:
        context = open_context("opencl0:0")
        context.kind = "cuda"  # its texts are none of OpenCL
        context.prepare([text(8.0), text(9.0)])
        with self.assertRaises(DeviceError):
            context.kernel(text(8.0))

    def test_options_and_devices_are_part_of_the_key(self) -> None:
        context = open_context("opencl0:0")
        full = "__kernel void f(__global float *x) { *x = X; }"
        for options in ("-DX=1", "-DX=2"):
            context.load(full, options)
        self.assertEqual(len(self.files()), 2)
        identity = kernels.device_identity("opencl", {"name": "a", "version": "1"})
        self.assertTrue(kernels.store_binary("text", "", identity, b"code"))
        self.assertEqual(kernels.find_binary("text", "", identity), b"code")
        newer = kernels.device_identity("opencl", {"name": "a", "version": "2"})
        self.assertIsNone(kernels.find_binary("text", "", newer))
        self.assertIsNone(kernels.find_binary("text", "-x", identity))

    def test_planted_code_is_not_run(self) -> None:
        self.scaled(text(2.0))
        (first,) = self.files()
        self.scaled(text(3.0))
        (second,) = (path for path in self.files() if path != first)
        full = first.read_bytes()
        for planted in (
            second.read_bytes(),  # right code of another key
            full.replace(b"clbinary", b"clbinarx") + b" ",  # other code
            b"0" * 40 + b"\n" + full.partition(b"\n")[2],  # a digest that anybody can write
            b"",
        ):
            first.write_bytes(planted)
            self.assertEqual(self.scaled(text(2.0)), ([2, 6], 1))
            # Compilers need not write the same bytes again: the file is right if it is found under its key.
            self.assertNotEqual(first.read_bytes(), planted, "it is made again")
            kernels._cache.cache_clear()
            self.assertEqual(self.scaled(text(2.0)), ([2, 6], 0))

    def test_a_folder_that_others_can_write_to_is_not_used(self) -> None:
        self.scaled(text())
        os.chmod(self.folder, 0o777)
        kernels._cache.cache_clear()
        with warnings.catch_warnings(record=True) as message:
            warnings.simplefilter("always")
            self.assertEqual(self.scaled(text()), ([2, 6], 1))
        self.assertEqual([warning.category for warning in message], [CompilerWarning])
        self.assertIn("others can write to it", str(message[0].message))

    def test_code_that_the_driver_refuses_is_compiled_again(self) -> None:
        context = open_context("opencl0:0")
        context.kernel(text())
        with patch.object(kernels, "find_binary", return_value=b"of another driver"):
            result = open_context("opencl0:0")
            with patch("theano_gpuarray.contexts._context.find_binary", return_value=b"of another driver"):
                self.assertEqual(self.scaled(text(), result), ([2, 6], 1))

    def test_a_full_disk_is_no_error(self) -> None:
        with patch("theano_linker_c.compiler.CompileDirectory.write_signed", side_effect=OSError(28, "no space")):
            self.assertEqual(self.scaled(text()), ([2, 6], 1))
            self.assertFalse(kernels.store_binary("text", "", (), b"code"))

    def test_what_the_compiler_refuses_is_not_kept(self) -> None:
        context = open_context("opencl0:0")
        for _ in range(2):
            with self.assertRaisesRegex(DeviceError, "nothing_of_the_kind"):
                context.load("__kernel void f() { nothing_of_the_kind; }")
        self.assertFalse((self.folder / "functions").exists())
        with self.assertRaises(DeviceError):
            context.load("__kernel void f() {}").kernel("g", "")


if __name__ == "__main__":
    unittest.main()
