"""Steps of a list that run many times: rounds that are written down, and rounds that are too many for that."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_gpuarray._runtime import Context, LaunchList

from .runtime_support import download, each_context, each_device, kernel, null, upload

#: How often steps are repeated: once, an even and an odd number of rounds, and more than are written down.
COUNTS = (1, 2, 7, 5000)


def running_sum(context: Context, count: int) -> tuple[Any, ...]:
    """Return steps that put running sums of rows of buffer 0 into rows of buffer 1, by way of the two rows of 2.

    Row i is copied to one half of buffer 2, and the sum before, which is in buffer 3, is added in place.
    """
    body = (
        ("copy", 2, 0, 0, 0, 16),
        ("launch", kernel(context, "scale"), (1,), (4,), (4, 0, 1.0, (3,))),
        ("copy", 1, 0, 2, 0, 16),
    )
    moves = (((0, 0, 16), (1, 16, 0)), ((1, 1, 0),), ((0, 16, 0), (1, 0, 16)))
    return ("fill", 3, 0, 16, 0), ("repeat", count, body, moves)


class TestRepeats(unittest.TestCase):
    @each_device()
    def test_values(self, context: Context) -> None:
        for count in COUNTS:
            with self.subTest(count=count):
                launches = LaunchList(context, running_sum(context, count), 4)
                x = np.random.default_rng(0).normal(size=(count, 4)).astype("float32")
                for _ in range(3):
                    operands = [upload(context, x), *(context.allocate(n) for n in (16 * count, 32, 16))]
                    launches.run(operands)
                    np.testing.assert_array_equal(download(operands[1], "float32", x.size).reshape(x.shape), x)
                    np.testing.assert_array_equal(
                        download(operands[3], "float32", 4), np.full(4, count * (count - 1) / 2)
                    )

    @each_context()
    def test_counts(self, context: Context) -> None:
        for count in COUNTS:
            before = context.statistics()["launches"]
            operands = [context.allocate(n) for n in (16 * count, 16 * count, 32, 16)]
            LaunchList(context, running_sum(context, count), 4).run(operands)
            self.assertEqual(count, context.statistics()["launches"] - before)

    def test_numbers(self) -> None:
        context = null()
        for count in COUNTS:
            context.recorded()
            launches = LaunchList(context, running_sum(context, count), 4)
            for _ in range(2):
                launches.run([context.allocate(n) for n in (16 * count, 16 * count, 32, 16)])
                shifts = [entry[4][1] for entry in context.recorded() if entry[0] == "launch"]
                self.assertEqual(list(range(count)), shifts)

    def test_buffers_that_are_too_small(self) -> None:
        context = null()
        for count in COUNTS[1:]:
            launches = LaunchList(context, running_sum(context, count), 4)
            sizes = [16 * count, 16 * count, 32, 16]
            for k in range(3):
                short = [n - (i == k) for i, n in enumerate(sizes)]
                with self.subTest(count=count, k=k), self.assertRaises(ValueError):
                    launches.run([context.allocate(n) for n in short])
            launches.run([context.allocate(n) for n in sizes])

    def test_launches_without_groups(self) -> None:
        context = null()
        scale = kernel(context, "scale")
        body = (
            ("launch", scale, (0,), (4,), (4, 0, 1.0, (0,))),
            ("launch", scale, (1,), (4,), (4, 0, 1.0, (0,))),
        )
        LaunchList(context, (("repeat", 3, body, ((), ((0, 2, 0),))),), 1).run([context.allocate(16)])
        self.assertEqual([4, 6, 8], [entry[4][0] for entry in context.recorded() if entry[0] == "launch"])

    def test_wrong_repeats(self) -> None:
        context = null()
        scale = ("launch", kernel(context, "scale"), (1,), (4,), (4, 0, 1.0, (0,)))
        copy, fill = ("copy", 0, 0, 1, 16, 16), ("fill", 0, 0, 16, 0)
        long = ("repeat", 5000, (fill,), ((),))
        wrong = [
            ("repeat", 0, (fill,), ((),)),
            ("repeat", 2, (fill,), ()),
            ("repeat", 2, [fill], ((),)),
            ("repeat", 2, (fill,), (3,)),
            ("repeat", 2, (fill,), ((3,),)),
            ("repeat", 2, (("repeat", 2, (fill,), ((),)),), ((),)),
            ("repeat", 2, (fill,), (((1, 4, 0),),)),
            ("repeat", 2, (fill,), (((0, -4, 0),),)),
            ("repeat", 9000, (fill,), (((0, -4, 0),),)),
            ("repeat", 2, (copy,), (((2, 4, 0),),)),
            ("repeat", 3, (copy,), (((1, -9, 0),),)),
            ("repeat", 2, (scale,), (((2, 1, 0),),)),
            ("repeat", 2, (scale,), (((3, 1, 0),),)),
            ("repeat", 2, (scale,), (((-1, 1, 0),),)),
            ("repeat", 2, (scale,), (((0, 2**31, 0),),)),
            ("repeat", 2, (scale,), (((1, -1, 0),),)),
            ("repeat", 5000, (scale,), (((1, 2**20, 0),),)),
            ("repeat", 3, (scale,), (((0, 2**62, 0),),)),
        ]
        for item in wrong:
            with self.subTest(item=item), self.assertRaises((TypeError, ValueError)):
                LaunchList(context, (item,), 2)
        with self.assertRaises(ValueError):
            LaunchList(context, (long, long), 2)
        LaunchList(context, (long, fill, ("repeat", 3, (fill,), ((),))), 2).run([context.allocate(16)] * 2)

    def test_copies_within_a_buffer_do_not_overlap(self) -> None:
        context = null()
        for count in (3, 5000):
            good = ("repeat", count, (("copy", 0, 16, 0, 0, 16),), (((0, 16, 0), (1, 16, 0)),))
            LaunchList(context, (good,), 1).run([context.allocate(16 * count + 16)])
            with self.assertRaisesRegex(ValueError, "overlap"):
                LaunchList(context, (("repeat", count, (("copy", 0, 16, 0, 0, 16),), (((1, 8, 0),),)),), 1)
