"""The real compiler of CUDA kernels, where it is installed; it needs no GPU."""

from __future__ import annotations

import unittest

from theano_gpuarray._libraries import find_library
from theano_gpuarray.contexts import LibraryNotFound

from ._fake import fake_library, run


class TestNvrtc(unittest.TestCase):
    def test_code_for_each_generation_of_devices(self) -> None:
        try:
            nvrtc = find_library("nvrtc").path
        except LibraryNotFound as error:
            self.assertIn("pip install nvidia-cuda-nvrtc", str(error))
            return
        for major in (8, 9, 10):
            with self.subTest(major):
                done = run(["nvrtc_program.py", nvrtc, str(major)], THEANO_TEST_FAKE=fake_library("-DANY_CODE"))
                self.assertEqual(done.returncode, 0, done.stderr)
                arch, *compiled, message = done.stdout.splitlines()
                self.assertEqual((arch, compiled), (f"sm_{major}0", ["True True"] * 4))
                self.assertIn('kernel.cu(2): error: identifier "nothing_of_the_kind" is undefined', message)


if __name__ == "__main__":
    unittest.main()
