"""The modules of `theano.gpuarray` that the manual does not index, by the names that programs use."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import unittest
from functools import cache
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import gpuarray
from theano.gof.opt import check_stack_trace
from theano.gpuarray import (
    basic_ops,
    blas,
    blocksparse,
    extra_ops,
    multinomial,
    pool,
    reduction,
    rng_mrg,
    sort,
    subtensor,
    type as device_types,
)
from theano.misc.may_share_memory import may_share_memory
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.nnet.neighbours import images2neibs
from theano_gpuarray.contexts import DeviceUnavailable, open_context
from theano_gpuarray.types import is_host_array
from theano_testing.tiers import slow

NAME = "modules"
RNG = np.random.default_rng(3)


@cache
def computes() -> bool:
    """Register a context, and tell whether it computes."""
    try:
        context = open_context("opencl")
    except DeviceUnavailable:
        context = open_context("null0")
    gpuarray.reg_context(NAME, context)
    return context.kind != "null"


class ModulesCase(unittest.TestCase):
    def setUp(self) -> None:
        computes()

    def check(self, result: Any, expected: Any, rtol: float = 1e-5) -> Any:
        """Compare the value of an expression on the device with that of one of the host; return the function."""
        f = theano.function([], result)
        on_host = [
            str(node.op)
            for node in f.maker.fgraph.toposort()
            if any(is_host_array(v) and v.ndim and "float" in v.dtype for v in node.outputs)
            and node.op != basic_ops.host_from_gpu
        ]
        self.assertEqual(on_host, [])
        values = f(), expected.eval() if hasattr(expected, "eval") else expected
        for a, b in zip(*(v if isinstance(v, list) else [v] for v in values), strict=True):
            a, b = np.asarray(a), np.asarray(b)
            self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
            if computes():
                np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-6)
        return f


class TestModules(ModulesCase):
    def setUp(self) -> None:
        super().setUp()
        self.value = RNG.uniform(0.1, 1, (5, 6)).astype("float32")
        self.x = theano.shared(self.value, target=NAME)

    def test_classes_that_are_constructed_by_hand(self) -> None:
        cases = [
            (extra_ops.GpuCumOp(axis=0)(self.x), self.value.cumsum(0)),
            (subtensor.GpuAdvancedSubtensor1()(self.x, [1, 3, 1]), self.value[[1, 3, 1]]),
            (subtensor.GpuExtractDiag(1)(self.x), np.diagonal(self.value, 1)),
            (subtensor.GpuAllocDiag()(self.x[0]), np.diag(self.value[0])),
            (basic_ops.GpuTri("float32", NAME)(5, 6, 1), np.tri(5, 6, 1, dtype="float32")),
            (basic_ops.gpu_join(1, self.x, self.x), np.concatenate([self.value, self.value], axis=1)),
            (sort.GpuTopKOp(return_indices=False)(self.x, 6), np.sort(self.value, 1)[:, ::-1]),
            (extra_ops.GpuCumsumOp(1)(self.x), self.value.cumsum(1)),
        ]
        for item, expected in cases:
            with self.subTest(op=str(item.owner.op)):
                self.assertEqual(item.type.context_name, NAME)
                self.check(item, expected)

    def test_arrays_of_the_same_shape(self) -> None:
        result = basic_ops.empty_like(self.x)
        self.assertEqual(result.type, self.x.type)
        self.assertEqual(np.asarray(result.eval()).shape, (5, 6))

    def test_largest_elements_and_positions(self) -> None:
        expected = [self.value.max(1), self.value.argmax(1)]
        op = reduction.GpuMaxAndArgmax([1])
        self.assertEqual(op.axis, (1,))
        self.check(list(op(self.x)), expected)
        self.check(list(T.max_and_argmax(self.x, axis=1)), expected)

    def test_draws(self) -> None:
        states = theano.shared(np.asarray(MRG_RandomStreams(3).get_substream_rstates(4, "float32")), target=NAME)
        drawn = rng_mrg.GPUA_mrg_uniform.new(states, None, "float32", (4, 5))[1]
        again = theano.sandbox.rng_mrg.mrg_uniform.new(T.constant(states.get_value()), None, "float32", (4, 5))[1]
        self.check(drawn, again, rtol=0)
        counts = multinomial.GPUAMultinomialFromUniform("int64")(self.x, self.x[:, 0], 1)
        self.assertEqual(counts.type.context_name, NAME)
        self.assertIs(multinomial.GPUAMultinomialWOReplacementFromUniform, multinomial.GPUAChoiceFromUniform)

    @slow
    def test_neighbourhoods(self) -> None:
        images = RNG.uniform(size=(2, 3, 6, 8)).astype("float32")
        for mode in ("valid", "ignore_borders", "wrap_centered"):
            shape = (3, 3) if mode == "wrap_centered" else (2, 2)
            on_device = theano.shared(images, target=NAME)
            self.check(images2neibs(on_device, shape, mode=mode), images2neibs(T.constant(images), shape, mode=mode))

    def test_pooling_of_a_direction(self) -> None:
        images, direction = (RNG.uniform(size=(2, 3, 6, 8)).astype("float32") for _ in range(2))
        for mode in ("max", "sum"):
            result = pool.GpuMaxPoolRop(True, mode)(
                theano.shared(images, target=NAME), theano.shared(direction, target=NAME), (2, 2)
            )
            expected = theano.tensor.signal.pool.MaxPoolRop(True, mode)(images, direction, (2, 2))
            self.check(result, expected)

    def test_products_of_stacks_and_blocks(self) -> None:
        a, b, c = (RNG.normal(size=(4, 3, 3)).astype("float32") for _ in range(3))
        on_device = [theano.shared(v, target=NAME) for v in (c, a, b)]
        result = blas.gpugemmbatch_no_inplace(on_device[0], 2.0, *on_device[1:], 0.5)
        self.check(result, 0.5 * c + 2 * (a @ b), rtol=1e-4)
        with self.assertRaisesRegex(TypeError, "GpuGemmBatch takes stacks of matrices"):
            blas.gpugemmbatch_inplace(self.x, 1.0, self.x, self.x, 0.0)

        W, h = RNG.normal(size=(4, 5, 2, 3)).astype("float32"), RNG.normal(size=(3, 2, 2)).astype("float32")
        o = RNG.normal(size=(3, 4, 3)).astype("float32")
        first, second = RNG.integers(0, 4, (3, 2)), RNG.integers(0, 5, (3, 4))
        parts = [theano.shared(v, target=NAME) for v in (o, W, h)]
        expected = theano.tensor.nnet.blocksparse.sparse_block_gemv(o, W, h, first, second)
        self.check(blocksparse.gpu_sparse_block_gemv(*parts, first, second), expected, rtol=1e-4)
        outer = blocksparse.gpu_sparse_block_outer(parts[1], parts[2], parts[0], first, second)
        self.check(outer, theano.tensor.nnet.blocksparse.sparse_block_outer(W, h, o, first, second), rtol=1e-4)

    def test_equality_of_arrays(self) -> None:
        a = gpuarray.pygpu.array(np.array([1.0, np.inf]), context=gpuarray.get_context(NAME))
        b = gpuarray.pygpu.array(np.array([1.0, 2.0]), context=gpuarray.get_context(NAME))
        if computes():
            self.assertTrue(device_types.GpuArrayType.values_eq(a, a))
            self.assertFalse(device_types.values_eq_approx(a, b))
            self.assertTrue(device_types.values_eq_approx_remove_inf(a, b))
            self.assertTrue(device_types.values_eq_approx_remove_inf_nan(a, b))
            self.assertFalse(device_types.values_eq_approx_remove_nan(a, b))
        self.assertTrue(may_share_memory(a, a[1:]))
        self.assertFalse(may_share_memory(a, b))
        self.assertFalse(may_share_memory(a, np.zeros(2)))

    def test_arrays_in_pickles_of_former_versions(self) -> None:
        host = np.arange(3.0)
        result = device_types.GpuArray_unpickler(host, NAME)
        self.assertIsInstance(result, gpuarray.pygpu.GpuArray)
        # Pickles name the function by its module.
        self.assertIs(pickle.loads(b"ctheano.gpuarray.type\nGpuArray_unpickler\n."), device_types.GpuArray_unpickler)
        with theano.config.change_flags(**{"experimental.unpickle_gpu_on_cpu": True}):
            self.assertIs(device_types.GpuArray_unpickler(host, "not here"), host)
        with self.assertRaises(gpuarray.ContextNotDefined):
            device_types.GpuArray_unpickler(host, "not here")

    def test_constructors_are_taken_back(self) -> None:
        def refuses(value: Any, **kwargs: Any) -> Any:
            raise TypeError("mine")

        theano.compile.shared_constructor(refuses)
        theano.compile.shared_constructor(refuses, remove=True)
        with self.assertRaises(ValueError):
            theano.compile.shared_constructor(refuses, remove=True)

    @slow
    def test_programs_of_the_host_import_nothing_of_devices(self) -> None:
        script = (
            "import sys, theano, theano.tensor as T; x = T.vector('x'); theano.function([x], T.exp(x).sum()); "
            "print([m for m in sys.modules if m.startswith(('theano_gpuarray.arrays', 'theano_gpuarray.contexts', "
            "'theano_gpuarray.codegen', 'theano_gpuarray._device', 'theano_tensor.device.'))])"
        )
        environment = {**os.environ, "THEANO_FLAGS": "device=cpu"}
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
        self.assertEqual(done.stdout.strip(), "[]", done.stderr)

    def test_origins_of_chosen_nodes(self) -> None:
        f = theano.function([], T.exp(self.x))
        self.assertTrue(check_stack_trace(f, ops_to_check=lambda op: "Gpu" in type(op).__name__))


if __name__ == "__main__":
    unittest.main()
