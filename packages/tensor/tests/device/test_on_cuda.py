"""Tests of expressions and training steps once more, on the stand-in for CUDA, which executes kernels on the processor.

Graphs are captured and replayed there, and work runs as late as streams and events allow.
"""

from __future__ import annotations

import unittest
from pathlib import Path

from theano_testing.tiers import slow
from theano_testing_workshop.cuda import check_on_cuda, needs_compilers, run_on_cuda

TESTS = Path(__file__).parents[1]
#: Two layers and a choice of elements; batches of three lengths in turns, each often enough for a graph.
PROGRAM = """
import ctypes
import numpy as np
import theano_tensor.device
from theano_gpuarray._libraries import find_library
from theano_gpuarray.contexts import open_context, reg_context
from theano_linker_c import function, shared
from theano_tensor import fmatrix, grad, ivector, log, tanh, arange, dot
from theano_tensor.nnet import softmax

reg_context("cuda", open_context("cuda0"))
rng = np.random.default_rng(0)
values = [rng.normal(size=shape).astype("float32") for shape in ((20, 30), (30, 10))]
costs = []
for target in ("cpu", "cuda"):
    parameters = [shared(value, target=target) if target == "cuda" else shared(value) for value in values]
    x, y = fmatrix(), ivector()
    p = softmax(dot(tanh(dot(x, parameters[0])), parameters[1]))
    cost = -log(p[arange(y.shape[0]), y]).mean()
    updates = [(w, w - np.float32(0.5) * g) for w, g in zip(parameters, grad(cost, parameters))]
    step = function([x, y], cost, updates=updates)
    data = np.random.default_rng(1)
    costs.append([
        float(step(data.normal(size=(n, 20)).astype("float32"), data.integers(0, 10, n).astype("int32")))
        for n in (8, 33, 64) * 6
    ])
np.testing.assert_allclose(costs[1], costs[0], rtol=1e-4)
print(ctypes.CDLL(find_library("cuda").path).fake_graphs())
"""


@slow
@needs_compilers
class TestOnCuda(unittest.TestCase):
    def test_expressions(self) -> None:
        check_on_cuda(TESTS, "device.test_device_expressions", "device.test_device_kernels", seed=2, at_least=25)

    def test_training(self) -> None:
        check_on_cuda(TESTS, "device.test_device_training", seed=3, at_least=8)

    def test_batches_of_three_lengths(self) -> None:
        done = run_on_cuda(["-X", "faulthandler", "-c", PROGRAM], THEANO_FAKE_SEED="4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(int(done.stdout), 3, "there is a graph for each length")


if __name__ == "__main__":
    unittest.main()
