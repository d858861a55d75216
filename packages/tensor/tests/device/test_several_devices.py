"""Functions on several devices: the manual's example, the order of waiting, and transfers between them."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import numpy as np

import theano_tensor as T
from theano_gpuarray.arrays import GpuArray
from theano_gpuarray.contexts import get_context
from theano_gpuarray.region import Region
from theano_gpuarray.types import GpuToGpu
from theano_linker_c import function, shared

from .contexts import NAME, OTHER, computes, context

A, B = (np.random.default_rng(k).random((32, 32)).astype("float32") for k in range(2))


def variables() -> list[Any]:
    """Return two matrices on each of two devices."""
    context()
    return [shared(value, target=name) for name in (NAME, OTHER) for value in (A, B)]


class TestSeveralDevices(unittest.TestCase):
    def contexts_of_calls(self, f: Any) -> list[tuple[str, bool]]:
        """Return for each region that a call runs where it does, and whether it gives values to the host."""
        called: list[tuple[str, bool]] = []
        run = Region.__call__

        def note(region: Region, values: Any) -> Any:
            result = run(region, values)
            name = NAME if region.context is get_context(NAME) else OTHER
            called.append((name, any(not isinstance(x, GpuArray) for x in result)))
            return result

        with mock.patch.object(Region, "__call__", note):
            f()
        return called

    def test_the_program_of_the_manual(self) -> None:
        a, b, c, d = variables()
        f = function([], [T.dot(a, b), T.dot(c, d)])
        for _ in range(3):
            for item in f():
                self.assertIsInstance(item, np.ndarray)
                if computes():
                    np.testing.assert_allclose(item, A @ B, rtol=1e-5)

    def test_all_devices_have_their_work_before_one_is_waited_for(self) -> None:
        a, b, c, d = variables()
        f = function([], [T.dot(a, b).sum(axis=0), T.dot(c, d).sum(axis=0)])
        f()
        self.assertEqual([(NAME, False), (OTHER, False), (NAME, True), (OTHER, True)], self.contexts_of_calls(f))

    def test_one_device_is_one_region(self) -> None:
        a, b, *_ = variables()
        self.assertEqual([(NAME, True)], self.contexts_of_calls(function([], [T.dot(a, b), (a + b).sum()])))

    def test_updates(self) -> None:
        a, b, c, d = variables()
        f = function([], [a.sum(), c.sum()], updates=[(a, T.dot(a, b)), (c, T.dot(c, d) * 2)])
        f()
        f()
        if computes():
            np.testing.assert_allclose(a.get_value(), A @ B @ B, rtol=1e-4)
            np.testing.assert_allclose(c.get_value(), 4 * (A @ B @ B), rtol=1e-4)

    def test_transfers_between_devices(self) -> None:
        a, b, c, _ = variables()
        moved = T.dot(a, b).transfer(OTHER)
        f = function([], (moved + c).transfer("cpu"))
        self.assertEqual(1, sum(isinstance(node.op, GpuToGpu) for node in f.maker.fgraph.toposort()))
        before = [get_context(name).native.statistics()["reads"] for name in (NAME, OTHER)]
        result = f()
        after = [get_context(name).native.statistics()["reads"] for name in (NAME, OTHER)]
        self.assertEqual([0, 1], [now - then for then, now in zip(before, after, strict=True)])
        if computes():
            np.testing.assert_allclose(result, A @ B + A, rtol=1e-5)


if __name__ == "__main__":
    unittest.main()
