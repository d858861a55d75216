"""The CUDA driver on stand-ins for the libraries of CUDA: every call, and every failure of one."""

from __future__ import annotations

import os
import re
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from theano_testing.tiers import slow

from ._fake import fake_library, run

ASK = """
import sys
from theano_gpuarray import _runtime
try:
    driver = _runtime.open_driver("cuda", {found!r})
except _runtime.DeviceError as error:
    sys.exit(str(error))
"""
ASK_SEVERAL = """
import ctypes
from theano_gpuarray import _runtime
fake = ctypes.CDLL({fake!r})
for found, (call, status) in {questions!r}:
    fake.fake_fail(call, status, 0)
    try:
        print(_runtime.open_driver("cuda", found).count(), "devices")
    except _runtime.DeviceError as error:
        print(repr(str(error)))
"""
NOTHING = b"", 0
"""A call that fails: none."""


@slow
class TestCudaDriver(unittest.TestCase):
    def check(self, module: str, **environment: str) -> None:
        folder = Path(__file__).parent
        command = ["-X", "faulthandler", "-m", "unittest", "-b", f"{folder.name}.{module}"]
        done = run(command, PYTHONPATH=str(folder.parent), **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        count = re.search(r"Ran (\d+) tests", done.stderr)
        assert count is not None
        written = (folder / f"{module}.py").read_text()
        self.assertEqual(int(count[1]), written.count("    def test_"))

    def test_cases(self) -> None:
        self.check("cuda_cases")

    def test_arrays_and_bridges(self) -> None:
        self.check("array_cases")

    def test_lanes(self) -> None:
        for seed in ("", "1"):
            self.check("lane_cases", THEANO_FAKE_SEED=seed)


class TestLibraries(unittest.TestCase):
    def opened(self, result: dict[str, str], more: str = "") -> str:
        done = run(["-c", ASK.format(found=result) + more])
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stderr + done.stdout

    def answers(self, *questions: tuple[dict[str, str], tuple[bytes, int]]) -> list[str]:
        """Return messages on libraries and a failing call; a library that failed to open can be asked for again."""
        done = run(["-c", ASK_SEVERAL.format(fake=fake_library(), questions=questions)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), len(questions))
        return done.stdout.splitlines()

    def test_two_are_needed(self) -> None:
        fake = fake_library()
        for answer in self.answers(*((item, NOTHING) for item in ({}, {"cuda": fake}, {"nvrtc": fake}))):
            self.assertIn('CUDA needs the libraries "cuda" and "nvrtc"', answer)

    def test_products_are_an_extra(self) -> None:
        fake = fake_library()
        more = "context = driver.open(0); x = (context.allocate(4), 0, 1, 1)\n"
        more += "print(context.product('float32', (False, False), (1, 1, 1, 1), 1.0, x, x, 0.0, x))"
        self.assertEqual(self.opened({"cuda": fake, "nvrtc": fake}, more), "False\n")

    def test_files_that_are_no_such_libraries(self) -> None:
        fake, other = fake_library(), "libm.so.6"
        functions = {"cuda": "cuInit", "nvrtc": "nvrtcVersion", "cublas": "cublasCreate_v2"}
        results = [{"cuda": fake, "nvrtc": fake, "cublas": fake, role: other} for role in functions]
        first, *others = self.answers(*((names, NOTHING) for names in ({"cuda": "/none", "nvrtc": fake}, *results)))
        self.assertIn("the library /none could not be opened", first)
        for function, answer in zip(functions.values(), others, strict=True):
            self.assertIn(f"the library {other} has no function {function}", answer)

    @slow
    def test_calls_at_the_start_may_fail(self) -> None:
        fake = fake_library()
        results = {"cuda": fake, "nvrtc": fake, "cublas": fake}
        texts = {
            "cuInit": "cuInit failed: CUDA_ERROR_OF_THE_TEST (5)",
            "cuDriverGetVersion": "cuDriverGetVersion failed",
            "cuDeviceGetCount": "cuDeviceGetCount failed",
            "nvrtcVersion": "does not tell its version and architectures: NVRTC_ERROR_OF_THE_TEST",
            "nvrtcGetNumSupportedArchs": "does not tell its version",
            "nvrtcGetSupportedArchs": "nvrtcGetSupportedArchs failed",
        }
        *answers, none = self.answers(*((results, (name.encode(), 5)) for name in texts), (results, (b"cuInit", 100)))
        for text, answer in zip(texts.values(), answers, strict=True):
            self.assertIn(text, answer)
        self.assertEqual(none, "0 devices")

    @slow
    def test_drivers_without_graphs(self) -> None:
        old = fake_library("-DWITHOUT_GRAPHS")
        more = """
from theano_gpuarray._runtime import LaunchList
import numpy as np
context = driver.open(0)
x = context.allocate(8)
text = 'extern "C" __global__ void scale(float *x, long long n, float y) { for (int i = 0; i < n; i++) x[i] *= y; }'
kernel = context.load(context.compile(text)).kernel("scale", "Pqf")
steps = [("launch", kernel, [1], [1], [(0,), 2, 2.0])] * 4
x.write(0, np.ones(2, "float32"))
replay = LaunchList(context, steps, 1)
for _ in range(5):
    replay.run([x])
found = np.empty(2, "float32")
x.read(0, found)
print(found.tolist())
"""
        self.assertEqual(self.opened({"cuda": old, "nvrtc": old}, more), "[1048576.0, 1048576.0]\n")


@slow
class TestActivation(unittest.TestCase):
    """Effects of ``device=cuda`` where the libraries are found by their names."""

    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def activated(self, flags: str, *names: str) -> tuple[str, str]:
        for name in ("libcuda.so.1", "libnvrtc.so.12", *names):
            os.symlink(fake_library(), self.folder / name)
        code = """
import theano_linker_c
from theano_gpuarray import contexts as c
c.activate()
print([(name, c.get_context(name).devname, c.get_context(name).properties.warp) for name in c.list_contexts()])
print([(found.name, found.value) for found in c.device_report()])
"""
        flags = f"gpuarray.library_path={self.folder},gpuarray.preallocate=0.5,gpuarray.sched=multi,{flags}"
        done = run(["-c", code], THEANO_FLAGS=flags)
        return done.stdout, done.stderr

    def test_the_first_device(self) -> None:
        result, messages = self.activated("device=cuda", "libcublas.so.12")
        self.assertEqual(messages, "Mapped name None to device cuda0: Fake GPU 0 (0000:01:00.0)\n")
        contexts, report = result.splitlines()
        self.assertEqual(contexts, "[(None, 'cuda0', 32)]")
        self.assertIn("libcuda.so.1 for CUDA 12.4')", report)
        self.assertIn("('cuda1', 'Fake GPU 1 (0000:02:00.0), 1.0 GiB')", report)
        self.assertIn(f"'cuBLAS, matrix products', '{self.folder / 'libcublas.so.12'}'", report)
        self.assertIn("('cuDNN, operations of neural networks', 'none')", report)

    def test_several_devices(self) -> None:
        result, messages = self.activated("contexts=dev0->cuda0;dev1->cuda2,force_device=False")
        self.assertEqual(result.splitlines()[0], "[('dev0', 'cuda0', 32), ('dev1', 'cuda2', 32)]")
        self.assertIn("Mapped name dev1 to device cuda2: Fake GPU 2 (0000:03:00.0)\n", messages)

    def test_a_device_that_is_not_there(self) -> None:
        _, messages = self.activated("device=cuda7,force_device=True")
        self.assertIn("there is no device cuda7\n  cuda0: Fake GPU 0\n  cuda1: Fake GPU 1\n", messages)

    def test_cudnn_is_required_where_a_flag_says_so(self) -> None:
        _, messages = self.activated("device=cuda1,dnn.enabled=True,force_device=True")
        self.assertIn("cuDNN, operations of neural networks is not found or cannot be loaded", messages)

    def test_cudnn_is_there(self) -> None:
        result, _ = self.activated("device=cuda1,dnn.enabled=True,force_device=True", "libcudnn.so.9")
        self.assertEqual(result.splitlines()[0], "[(None, 'cuda1', 32)]")


if __name__ == "__main__":
    unittest.main()
