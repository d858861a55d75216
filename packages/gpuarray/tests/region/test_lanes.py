"""Events side by side: any order that lanes allow gives the values of one after the other, in memory that is shared."""

from __future__ import annotations

import random
import unittest
from collections.abc import Iterable, Sequence
from itertools import pairwise
from unittest import mock

import numpy as np

from theano_gpuarray.codegen import Argument, DeviceOperand
from theano_gpuarray.region import Download, Region, Step, Upload
from theano_gpuarray.region._events import Event, Kept
from theano_gpuarray.region.scheduling import Layout, Schedule, conflicting_events, lay_out, needed_events, schedule
from theano_linker_c.kernels import ElementwiseKernel, MatrixProductKernel, Reduction, ReductionKernel
from theano_linker_c.scalar import add, exp, identity, tanh
from theano_testing.device import null_context
from theano_testing.tiers import slow


def conflict(a: Event, b: Event, layout: Layout, sizes: dict[int, int]) -> bool:
    """Tell whether two events touch the same bytes, and one writes them."""
    for x, x_written in zip(a.operands, a.written, strict=True):
        for y, y_written in zip(b.operands, b.written, strict=True):
            (home, at), (other, there) = (layout.places.get(z.slot, (z.slot, 0)) for z in (x, y))
            apart = home != other or at + sizes[x.slot] <= there or there + sizes[y.slot] <= at
            if not apart and (x_written or y_written):
                return True
    return False


class Program:
    """Random events over arrays, each written by a fill first; the effect of an event depends on its number."""

    def __init__(self, rng: random.Random, length: int) -> None:
        saved = Kept(null_context(), mock.Mock(), 0)
        self.arrays: list[DeviceOperand] = []
        self.events: list[Event] = []
        for _ in range(length):
            if len(self.arrays) < 2 or rng.random() < 0.5:
                self.arrays.append(saved.empty("uint8", (rng.choice((100, 300, 1000)),)))
                self._add(rng, self.arrays[-1], rng.sample(self.arrays[:-1], min(2, len(self.arrays) - 1)), False)
            else:
                target, *sources = rng.sample(self.arrays[-5:], min(3, len(self.arrays)))
                self._add(rng, target, sources, True)
        self.sizes = saved.sizes

    def _add(self, rng: random.Random, target: DeviceOperand, sources: Sequence[DeviceOperand], reads: bool) -> None:
        """Add an event that sets an array to values of the sources, and of the array itself where it `reads`."""
        kind = rng.choice(("launch", "launch", "product")) if sources else "launch"
        arguments: list[Argument] = [target, *sources, int(reads), rng.randrange(1 << 20)]
        self.events.append(Event("launch" if kind == "launch" else "product", None, tuple(arguments)))

    def run(self, order: Iterable[int], places: dict[int, tuple[int, int]], read: Sequence[int]) -> list[int]:
        """Run events in an order, and return the final contents of some arrays."""
        memory: dict[int, list[int]] = {}

        def span(x: DeviceOperand) -> tuple[int, slice]:
            home, begin = places.get(x.slot, (x.slot, 0))
            memory.setdefault(home, [0] * 100_000)
            return home, slice(begin, begin + self.sizes[x.slot])

        def value(x: DeviceOperand) -> int:
            home, where = span(x)
            return hash(tuple(memory[home][where]))

        for i in order:
            target, *others = self.events[i].arguments
            *sources, reads, salt = others
            assert isinstance(target, DeviceOperand)
            used = [x for x in (*sources, *([target] if reads else [])) if isinstance(x, DeviceOperand)]
            home, where = span(target)
            memory[home][where] = [hash((salt, *map(value, used)))] * self.sizes[target.slot]
        return [value(x) for x in self.arrays if x.slot in read]


def any_order(rng: random.Random, result: Schedule) -> list[int]:
    """Return one of the orders that lanes and waits allow."""
    left = [[i for i, lane in enumerate(result.lanes) if lane == k] for k in range(max(result.lanes) + 1)]
    done: list[int] = []
    while any(left):
        ready = [lane for lane in left if lane and set(result.waits[lane[0]]) <= set(done)]
        done.append(rng.choice(ready).pop(0))
    return done


class TestRandomLists(unittest.TestCase):
    @slow
    def test_every_conflict_is_ordered_and_values_stay(self) -> None:
        rng = random.Random(3)
        beside = 0
        for turn in range(60):
            program = Program(rng, rng.randrange(4, 26))
            leaving = {x.slot for x in rng.sample(program.arrays, 2)} if len(program.arrays) > 1 else {0}
            lanes = 1 + turn % 4
            first = schedule(program.events, lanes)
            layout = lay_out(program.events, program.sizes, leaving, first.beside)
            needed = conflicting_events(program.events, layout.places, program.sizes)
            result = schedule(program.events, lanes, needed)
            self.assertLessEqual(max(result.lanes), lanes - 1)
            before = result.before
            for j, event in enumerate(program.events):
                for i in range(j):
                    if conflict(program.events[i], event, layout, program.sizes):
                        self.assertTrue(before[j] >> i & 1, (i, j, result))
                    beside += not before[j] >> i & 1
            expected = program.run(range(len(program.events)), {}, list(leaving))
            for _ in range(5):
                self.assertEqual(expected, program.run(any_order(rng, result), layout.places, list(leaving)))
        self.assertGreater(beside, 100, "some events run side by side")

    def test_memory_is_given_on_behind_all_that_use_it(self) -> None:
        """The layout separates events that run side by side: shared arrays need no more waiting."""
        rng = random.Random(4)
        for _ in range(40):
            program = Program(rng, 20)
            first = schedule(program.events, 2)
            layout = lay_out(program.events, program.sizes, set(), first.beside)
            for j, needed in enumerate(conflicting_events(program.events, layout.places, program.sizes)):
                for i in needed:
                    self.assertTrue(first.before[j] >> i & 1)

    def test_one_lane_lays_out_as_before(self) -> None:
        program = Program(random.Random(5), 30)
        one = schedule(program.events, 1)
        self.assertEqual(((0,) * 30, ()), (one.lanes, one.order))
        self.assertEqual(list(range(30)), one.beside)
        self.assertEqual(
            lay_out(program.events, program.sizes, ()), lay_out(program.events, program.sizes, (), one.beside)
        )


class TestLanes(unittest.TestCase):
    def events(self, *argument: tuple[str, int, tuple[int, ...]]) -> list[Event]:
        """Return events of a kind, each with the array that it writes and the arrays that it reads."""
        results = []
        for kind, target, sources in argument:
            arrays = tuple(DeviceOperand(slot, "float32", (1000, 1000), (4000, 4)) for slot in (target, *sources))
            results.append(Event("product" if kind == "product" else "launch", None, arrays))
        return results

    def test_leaves_run_beside_a_chain_of_products(self) -> None:
        events = self.events(
            ("product", 0, (9,)),
            ("launch", 10, (0,)),
            ("product", 1, (0,)),
            ("launch", 11, (1,)),
            ("product", 2, (1,)),
        )
        result = schedule(events, 2)
        self.assertEqual((0, 1, 0, 1, 0), result.lanes)
        self.assertEqual(((), (0,), (), (2,), ()), result.waits)

    def test_what_libraries_compute_stays_in_the_first_lane(self) -> None:
        events = self.events(*(("product", k, (9,)) for k in range(4)))
        self.assertEqual((0,) * 4, schedule(events, 3).lanes)
        self.assertEqual((), schedule(events, 3).order)

    def test_a_chain_stays_in_one_lane(self) -> None:
        events = self.events(*(("launch", k + 1, (k,)) for k in range(5)))
        self.assertEqual((0,) * 5, schedule(events, 2).lanes)

    def test_waits_that_follow_from_others_are_left_out(self) -> None:
        events = self.events(
            ("product", 0, (9,)), ("launch", 1, (0,)), ("product", 2, (0,)), ("launch", 3, (0, 1)), ("product", 4, (2,))
        )
        result = schedule(events, 2, needed_events(events))
        for waits in result.waits:
            for a, b in pairwise(waits):
                self.assertFalse(result.before[b] >> a & 1)


class TestRegions(unittest.TestCase):
    def test_a_recording_with_lanes(self) -> None:
        context = null_context()
        context.lanes = 2
        full = ((False, False),)
        total = Reduction(add, "float64", "float32", 0)
        sums = ReductionKernel(identity, ("float32",), (), (total,), full, 2, (0,))
        steps = [Step(Upload(), (0,), (1,))]
        x, number = 1, 2
        read = []
        for op in (tanh, exp, tanh):
            product, outcome, bias = number, number + 1, number + 2
            steps.append(Step(MatrixProductKernel("gemm", "float32"), (x, x), (product,)))
            steps.append(Step(ElementwiseKernel(op, ("float32",), ("float32",), full, 2), (product,), (outcome,)))
            steps.append(Step(sums, (outcome,), (bias,)))
            read += [bias]
            x, number = outcome, number + 3
        steps += [Step(Download(), (v,), (v + 100,)) for v in read]
        region = Region(context, steps, [0], [v + 100 for v in read])
        # Joined launches leave nothing to run side by side.
        with mock.patch("theano_gpuarray.region.scheduling._LARGE", 0):
            region([np.ones((300, 300), "float32")])
        (recording,) = region.recordings
        result, events = recording.schedule, recording.events
        self.assertIn(1, result.lanes)
        stems = {
            event.text.name.rpartition("_")[0]
            for event, lane in zip(events, result.lanes, strict=True)
            if lane and event.text
        }
        self.assertEqual({"reduction"}, stems)
        context.lanes = 1
        region([np.ones((200, 200), "float32")])
        self.assertEqual((), region.recordings[-1].schedule.order)


if __name__ == "__main__":
    unittest.main()
