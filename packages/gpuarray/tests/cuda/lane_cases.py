"""Lists whose steps run side by side, as branches of graphs: run by `test_cuda_driver` in a process with stand-ins."""

from __future__ import annotations

import random
import unittest
from typing import Any
from unittest.mock import patch

import numpy as np

from theano_gpuarray._runtime import LaunchList
from theano_gpuarray.contexts import GpuContext, open_context
from theano_gpuarray.region import Download, Region, Step, Upload
from theano_graph import config
from theano_linker_c.kernels import ElementwiseKernel, MatrixProductKernel, Reduction, ReductionKernel
from theano_linker_c.scalar import add, identity, tanh

from . import cuda_cases
from .cuda_cases import calls, driver, fake


def random_list(rng: random.Random, n_buffers: int, count: int) -> tuple[list[tuple[Any, ...]], Any]:
    """Return copies and fills of buffers of 64 bytes, and lanes in which each waits for its needs."""
    steps: list[tuple[Any, ...]] = []
    order: list[tuple[int, tuple[int, ...]]] = []
    touched: list[tuple[int, int]] = []  # the buffers that each step writes and reads
    for _ in range(count):
        target, source = rng.sample(range(n_buffers), 2)
        begin, length = rng.randrange(32), rng.randrange(1, 32)
        if rng.random() < 0.3:
            source = target
            steps.append(("fill", target, begin, length, rng.randrange(256)))
        else:
            steps.append(("copy", target, begin, source, rng.randrange(32), length))
        lane = rng.randrange(3)
        needed = {j for j, (wrote, read) in enumerate(touched) if wrote in (target, source) or read == target}
        order.append((lane, tuple(sorted(j for j in needed if order[j][0] != lane))))
        touched.append((target, source))
    return steps, tuple(order)


class TestLanes(cuda_cases.Case):
    def side_by_side(self) -> LaunchList:
        """Return a list of which two chains need each other at the end alone."""
        scale = self.kernel()
        steps = [
            ("fill", 0, 0, 16, 0),
            ("copy", 1, 0, 4, 0, 16),
            ("launch", scale, [1], [4], [(1,), 4, 2.0]),
            ("copy", 2, 0, 4, 0, 16),
            ("launch", scale, [1], [4], [(2,), 4, 10.0]),
            ("copy", 3, 0, 2, 0, 8),
            ("copy", 3, 8, 1, 8, 8),
        ]
        order = ((0, ()), (0, ()), (0, ()), (1, ()), (1, ()), (0, (4,)), (0, ()))
        return LaunchList(self.context, steps, 5, order)

    def test_lanes_are_branches_of_a_graph(self) -> None:
        replay = self.side_by_side()
        for late in (0, 1):
            fake.fake_late_first(late)
            buffers = [self.context.allocate(16) for _ in range(5)]
            buffers[4].write(0, np.array([1, 2, 3, 4], "float32"))
            for _ in range(4):
                buffers[3].write(0, np.zeros(4, "float32"))
                replay.run(buffers)
                self.assertEqual([10, 20, 6, 8], self.values(buffers[3]))
        fake.fake_late_first(0)
        self.assertEqual(6, fake.fake_pairs(), "three steps beside two")
        self.assertEqual(0, fake.fake_events())

    def test_a_branch_that_cannot_be_captured(self) -> None:
        for call in ("cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"):
            for skip in range(2):
                with self.subTest(call=call, skip=skip):
                    replay = self.side_by_side()
                    buffers = [self.context.allocate(16) for _ in range(5)]
                    buffers[4].write(0, np.array([1, 2, 3, 4], "float32"))
                    before = fake.fake_graphs()
                    for _ in range(2):
                        replay.run(buffers)
                    fake.fake_fail(call.encode(), 77, skip)
                    replay.run(buffers)
                    fake.fake_fail(b"", 0, 0)
                    self.assertEqual([10, 20, 6, 8], self.values(buffers[3]))
                    self.assertEqual((before, 0), (fake.fake_graphs(), fake.fake_events()))

    def test_random_lists_in_any_order(self) -> None:
        """Lanes of copies and fills, which wait for their needs, give the values of one after the other."""
        rng = random.Random(1)
        fake.fake_late_first(1)
        beside = 0
        for _ in range(40):
            steps, order = random_list(rng, 5, rng.randrange(3, 20))
            values = [np.frombuffer(rng.randbytes(64), np.uint8) for _ in range(5)]
            results = []
            for operands in ((), order):
                replay = LaunchList(self.context, steps, 5, operands)
                buffers = [self.buffer(value) for value in values]
                for _ in range(3):
                    for buffer, value in zip(buffers, values, strict=True):
                        buffer.write(0, value)
                    replay.run(buffers)
                results.append([self.values(buffer, "uint8") for buffer in buffers])
                beside += fake.fake_pairs()
            self.assertEqual(*results)
        fake.fake_late_first(0)
        self.assertGreater(beside, 100)

    def test_orders_that_are_none(self) -> None:
        steps = [("fill", 0, 0, 4, 0), ("fill", 0, 4, 4, 0)]
        wrong: tuple[Any, ...] = (
            ((0, ()),),
            ((0, ()), (4, ())),
            ((0, ()), (-1, ())),
            ((0, ()), (1, (1,))),
            ((0, (-1,)), (1, ())),
            ((0, ()), (0, [])),
            ((0, ()), 1),
        )
        for order in wrong:
            with self.subTest(order=order), self.assertRaisesRegex(ValueError, "the order of a list"):
                LaunchList(self.context, steps, 1, order)
        product = (
            "product",
            "float32",
            (False, False),
            (1, 1, 1, 1),
            1.0,
            *([((0,), 0, 1, 1)] * 2),
            0.0,
            ((1,), 0, 1, 1),
        )
        with self.assertRaisesRegex(ValueError, "what libraries compute is in lane 0"):
            LaunchList(self.context, [product], 2, ((1, ()),))

    def test_regions(self) -> None:
        """Sums of the rows of each layer run beside the products of the next ones."""
        context = GpuContext(self.context, "cuda0")
        context.lanes = 2
        full = ((False, False),)
        total = Reduction(add, "float64", "float32", 0)
        steps, outputs, x, number = [Step(Upload(), (0,), (1,))], list[int](), 1, 2
        for _ in range(4):
            steps += [
                Step(MatrixProductKernel("gemm", "float32"), (x, x), (number,)),
                Step(ElementwiseKernel(tanh, ("float32",), ("float32",), full, 2), (number,), (number + 1,)),
                Step(
                    ReductionKernel(identity, ("float32",), (), (total,), full, 2, (0,)), (number + 1,), (number + 2,)
                ),
                Step(Download(), (number + 2,), (number + 3,)),
            ]
            outputs.append(number + 3)
            x, number = number + 1, number + 4
        region = Region(context, steps, [0], outputs)
        rng = np.random.default_rng(0)
        with patch("theano_gpuarray.region.scheduling._LARGE", 0):
            for _ in range(5):
                value = (rng.normal(size=(24, 24)) / 5).astype("float32")
                for item in region([value]):
                    value = np.tanh(value @ value)
                    np.testing.assert_allclose(item, value.sum(axis=0), rtol=1e-4, atol=1e-5)
        self.assertIn(1, region.recordings[0].schedule.lanes)
        self.assertGreater(calls().count("cuGraphLaunch"), 0)

    def test_the_flag_that_allows_lanes(self) -> None:
        for single, lanes in ((True, 1), (False, 2)):
            with (
                patch("theano_gpuarray.contexts._devices.open_driver", return_value=driver),
                config.change_flags(gpuarray__single_stream=single),
            ):
                self.assertEqual(lanes, open_context("cuda0").lanes)


if __name__ == "__main__":
    unittest.main()
