"""Tests of kernels, fusions and regions once more, on the stand-in for CUDA, which executes kernels."""

from __future__ import annotations

import unittest
from pathlib import Path

from theano_testing_workshop.cuda import check_on_cuda, needs_compilers

TESTS = Path(__file__).parents[1]


@needs_compilers
class TestOnCuda(unittest.TestCase):
    def test_elementwise_kernels_and_reductions(self) -> None:
        check_on_cuda(TESTS, "codegen.test_elementwise_form", "codegen.test_reduction_form", at_least=40)

    def test_indexing_and_sorting(self) -> None:
        check_on_cuda(TESTS, "codegen.test_index_writes", "codegen.test_sorting", seed=2, at_least=20)

    def test_random_numbers_and_pooling(self) -> None:
        check_on_cuda(TESTS, "codegen.test_random_form", "codegen.test_pooling", seed=3, at_least=15)

    def test_regions_and_fusions(self) -> None:
        check_on_cuda(TESTS, "region.test_regions", "lowering.test_fusion", seed=4, at_least=40)


if __name__ == "__main__":
    unittest.main()
