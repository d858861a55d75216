"""Functions of devices that are cached on disk; to be run with the flag `device`, in a process of its own."""

from __future__ import annotations

import os
import tempfile
import unittest
from typing import Any
from unittest import mock

import numpy as np

import theano
import theano.tensor as T
from theano import config
from theano_gpuarray.contexts import get_context, identity_of_contexts, open_context, reg_context
from theano_gpuarray.lowering import DEVICE_CLUSTERS
from theano_linker_c.program import Cluster

from .cached_functions import CachedTestCase, shown

REGION = "theano_gpuarray.region._region"
CONTEXTS = "theano_gpuarray.contexts"
DISK = "theano_gpuarray.lowering"
#: Nodes from which functions of devices are cached by default.
LARGE_COUNT = 50
COMPUTES = get_context(None).kind != "null"
W = np.linspace(-1.0, 1.0, 12).reshape(4, 3).astype("float32")
X = np.arange(20, dtype="float32").reshape(5, 4) / 10


def runner_of(function: Any) -> Any:
    """Return the callable of the nodes of a function that run together."""
    (op,) = [x.node.op for x in function.machine.program.instructions if isinstance(x.node.op, Cluster)]
    return op.run


def never_recorded() -> Any:
    """Return a context in which no region records its steps."""
    return mock.patch(f"{REGION}.make_recording", side_effect=AssertionError("recorded again"))


class DeviceTestCase(CachedTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.x = T.fmatrix(self.name)
        self.w = theano.shared(W)

    def step(self) -> tuple[Any, ...]:
        """Return the arguments of a function: a step of training."""
        cost = T.tanh(T.dot(self.x, self.w)).sum()
        return [self.x], cost, None, [(self.w, self.w - np.float32(0.1) * T.grad(cost, self.w))]

    def check_values(self, function: Any) -> None:
        self.w.set_value(W)
        cost = function(X)
        if COMPUTES:
            inner = np.tanh(X @ W)
            np.testing.assert_allclose(cost, inner.sum(), rtol=1e-5)
            np.testing.assert_allclose(self.w.get_value(), W - 0.1 * X.T @ (1 - inner**2), rtol=1e-5, atol=1e-6)


class AlikeTests(DeviceTestCase):
    def test_training_step(self) -> None:
        built, result = self.twice(*self.step())
        self.assertEqual(shown(built), shown(result))
        self.check_values(built)
        with never_recorded():
            self.check_values(result)
            self.check_values(result)
        self.assertEqual(len(runner_of(result).region.recordings), 1)

    def test_other_shapes_are_recorded_and_kept(self) -> None:
        built, result = self.twice(*self.step())
        self.check_values(built)
        self.w.set_value(W)
        first = result(X[:2])
        _, again = self.build(*self.step())
        with never_recorded():
            self.w.set_value(W)
            second = again(X[:2])
        if COMPUTES:
            self.assertEqual(float(first), float(second))

    def test_views_that_begin_elsewhere(self) -> None:
        data, start = theano.shared(np.arange(40, dtype="float32").reshape(10, 4)), T.lscalar("start")
        out = (data[start : start + 2] * 2).sum(axis=0)
        built, outcome = self.twice([self.x, start], out, on_unused_input="ignore")
        for k in (0, 3, 8):
            for function in (outcome, built):
                result = function(X, k)
                if COMPUTES:
                    np.testing.assert_array_equal(result, 2 * data.get_value()[k : k + 2].sum(axis=0))

    def test_wrong_values_are_told_with_their_line(self) -> None:
        index = T.lvector("index")
        taken = self.w[index]  # here
        built, result = self.twice([self.x, index], taken * 2, on_unused_input="ignore")
        self.assertEqual(built(X, [0, 1]).shape, (2, 3))
        self.assertEqual(result(X, [0, 1]).shape, (2, 3))
        if COMPUTES:
            with self.assertRaisesRegex(IndexError, r"(?s)99.*cached_device_functions.py.*# here"):
                result(X, [0, 99])
        with self.assertRaisesRegex(ValueError, "(?s)dot|Gemm|shape|length"):
            self.twice(*self.step())[1](X[:, :2])

    def test_loops(self) -> None:
        outputs, _ = theano.scan(lambda h: T.tanh(T.dot(h, self.w.T).dot(self.w)), outputs_info=self.x, n_steps=3)
        built, result = self.twice([self.x], outputs[-1])
        first, second = built(X[:, :3]), result(X[:, :3])
        if COMPUTES:
            np.testing.assert_array_equal(first, second)

    def test_copies_pickles_and_subsets(self) -> None:
        _, result = self.twice(*self.step())
        for copied in (result.copy(), result.copy(share_memory=True)):
            self.assertEqual(np.shape(copied(X)), (1,))  # a list, as of every copy
        self.assertEqual(len(result(X, output_subset=[0])), 1)


class KeyTests(DeviceTestCase):
    def test_another_device_is_another_function(self) -> None:
        self.twice(*self.step())
        with mock.patch(f"{CONTEXTS}._identity.identity_of_device", return_value="another model"):
            self.check_missed(*self.step())
        self.assertFalse(self.build(*self.step())[0])

    def test_names_of_contexts(self) -> None:
        self.twice(*self.step())
        with mock.patch.dict(f"{CONTEXTS}._names._registered"):
            reg_context("another", open_context("null0"))
            self.check_missed(*self.step())
            self.assertFalse(self.build(*self.step())[0])
        with mock.patch.dict(f"{CONTEXTS}._names._registered"):
            reg_context(("no", "text"), open_context("null0"))
            self.assertIsNone(identity_of_contexts())
            self.check_missed(*self.step())
            self.check_missed(*self.step())
        self.assertFalse(self.build(*self.step())[0])

    def test_what_is_moved_to_the_device(self) -> None:
        self.twice(*self.step())
        for name in ("computation", "shared"):
            with mock.patch(f"{CONTEXTS}._activation._default.{name}", False):
                self.check_missed(*self.step())

    def test_flags(self) -> None:
        self.twice(*self.step())
        changes: dict[str, Any] = {
            "gpuarray.tf32": True,
            "gpuarray.preallocate": 0.5,
            "deterministic": "more",
            "dnn.enabled": "False",
            "dnn.conv.algo_fwd": "large",
            "dnn.conv.algo_bwd_data": "deterministic",
            "dnn.conv.algo_bwd_filter": "deterministic",
            "dnn.conv.precision": "float32",
            "nvcc.fastmath": True,
            "nvcc.flags": "-G",
            "metaopt.optimizer_excluding": "conv_dnn",
            "gpuarray.cache_path": tempfile.gettempdir() + "/other",
        }
        for flag, value in changes.items():
            with self.subTest(flag), config.change_flags({flag: value}):
                self.check_missed(*self.step())
        self.assertFalse(self.build(*self.step())[0])

    def test_recordings_depend_on_the_flags_of_the_call(self) -> None:
        self.twice(*self.step())[0](X)
        for flag, value in (("gpuarray.tf32", True), ("deterministic", "more"), ("dnn.conv.algo_fwd", "large")):
            with (
                self.subTest(flag),
                config.change_flags({flag: value}),
                never_recorded(),
                self.assertRaisesRegex(AssertionError, "recorded again"),
            ):
                self.build(*self.step())[1](X)

    def test_what_is_told_while_functions_are_built(self) -> None:
        self.twice(*self.step())
        for flag, value in (("assert_no_cpu_op", "warn"), ("metaopt.verbose", 1)):
            with self.subTest(flag), config.change_flags({flag: value}):
                for _ in range(2):
                    self.check_missed(*self.step())


class DiskTests(DeviceTestCase):
    def test_recordings_that_are_damaged_are_made_again(self) -> None:
        built, result = self.twice(*self.step())
        built(X)
        for data in (b"no pickle", None):
            with mock.patch(f"{DISK}.find_kept", return_value=data):
                self.check_values(self.build(*self.step())[1])
        self.check_values(result)

    def test_a_library_that_tells_something_else(self) -> None:
        built, result = self.twice(*self.step())
        built(X)
        with mock.patch(f"{REGION}.restored_recording", return_value=None) as restored:
            self.check_values(result)
        self.assertEqual(restored.call_count, 1)

    def test_many_shapes(self) -> None:
        built, _ = self.twice(*self.step())
        with mock.patch(f"{DISK}.store_kept") as store:
            for n in range(1, 20):
                built(np.ones((n, 4), "float32"))
        self.assertEqual(store.call_count, 16)

    def test_a_rule_that_keeps_nothing(self) -> None:
        with mock.patch.object(type(DEVICE_CLUSTERS), "keep", None):
            self.check_missed(*self.step())
            self.check_missed(*self.step())

    def test_smaller_graphs_than_on_the_host(self) -> None:
        x = self.x
        for _ in range(LARGE_COUNT):
            x = T.tanh(x) + self.w[0, 0]
        with (
            config.change_flags(function_cache="large"),
            mock.patch("theano_linker_c._function._disk_files.exchanged_code", return_value=None),
        ):
            self.twice([self.x], x)
            for _ in range(2):
                self.check_missed(*self.step())

    def test_no_library_is_written_elsewhere(self) -> None:
        with tempfile.TemporaryDirectory() as folder, config.change_flags({"gpuarray.cache_path": folder}):
            self.twice(*self.step())[0](X)
            self.assertTrue(os.listdir(folder))


if __name__ == "__main__":
    unittest.main()
