"""Tests of kernels, fusions and regions once more, on the stand-in for CUDA, which executes kernels."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from theano_testing.cuda import needs_compilers, run_on_cuda

TESTS = Path(__file__).parents[1]


@needs_compilers
class TestOnCuda(unittest.TestCase):
    def check(self, *modules: str, seed: int = 1) -> None:
        """Run test modules in a process whose devices are those of the stand-in."""
        command = ["-X", "faulthandler", "-m", "nose2", "-s", str(TESTS), *modules]
        done = run_on_cuda(command, THEANO_FAKE_SEED=str(seed))
        self.assertEqual(done.returncode, 0, done.stderr)
        count = re.search(r"Ran (\d+) tests", done.stderr)
        assert count is not None
        self.assertGreater(int(count[1]), 5 * len(modules))

    def test_elementwise_kernels_and_reductions(self) -> None:
        self.check("codegen.test_elementwise_form", "codegen.test_reduction_form")

    def test_indexing_and_sorting(self) -> None:
        self.check("codegen.test_index_writes", "codegen.test_sorting", seed=2)

    def test_random_numbers_and_pooling(self) -> None:
        self.check("codegen.test_random_form", "codegen.test_pooling", seed=3)

    def test_regions_and_fusions(self) -> None:
        self.check("region.test_regions", "lowering.test_fusion", seed=4)


if __name__ == "__main__":
    unittest.main()
