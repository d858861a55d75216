"""Where arrays of a recording lie: by lifetimes, in one arena."""

from __future__ import annotations

import random
import unittest
from typing import Any

from theano_gpuarray.codegen import DeviceOperand
from theano_gpuarray.region import ALIGNMENT, ARENA, Event, lay_out


def array(slot: int, nbytes: int = 1000, offset: int = 0) -> DeviceOperand:
    return DeviceOperand(slot, "uint8", (nbytes,), (1,), offset)


def launch(*operands: DeviceOperand) -> Event:
    return Event("launch", None, operands, (1,), (1,))


def copy(target: DeviceOperand, source: DeviceOperand) -> Event:
    return Event("copy", None, (target, source))


class TestLayout(unittest.TestCase):
    def test_memory_serves_again(self) -> None:
        events = [launch(array(0), array(1)), launch(array(1), array(2)), launch(array(2), array(3)), launch(array(3))]
        layout = lay_out(events, {1: 1000, 2: 1000, 3: 1000}, ())
        self.assertEqual(2048, layout.arena)
        self.assertEqual(layout.places[1], layout.places[3])
        self.assertNotEqual(layout.places[1], layout.places[2])

    def test_what_leaves_has_memory_of_its_own(self) -> None:
        events = [launch(array(0), array(1)), launch(array(1), array(2))]
        layout = lay_out(events, {1: 1000, 2: 1000}, [2])
        self.assertEqual({1: (ARENA, 0), 2: (2, 0)}, layout.places)
        self.assertEqual(1024, layout.arena)

    def test_a_copy_of_what_dies_takes_its_place(self) -> None:
        events = [launch(array(1)), copy(array(2), array(1)), launch(array(2))]
        layout = lay_out(events, {1: 1000, 2: 1000}, ())
        self.assertEqual(layout.places[1], layout.places[2])
        self.assertEqual(1024, layout.arena)

    def test_a_copy_that_leaves_gives_its_memory_to_what_is_copied(self) -> None:
        events = [launch(array(1)), copy(array(2), array(1)), launch(array(2))]
        layout = lay_out(events, {1: 1000, 2: 1000}, [2])
        self.assertEqual((1, 0), layout.places[2])
        self.assertEqual((1, 0), layout.places[1])
        self.assertEqual(0, layout.arena)

    def test_copies_of_what_is_read_later_or_comes_from_outside_stay(self) -> None:
        for events in (
            [launch(array(1)), copy(array(2), array(1)), launch(array(1), array(2))],
            [copy(array(2), array(0)), launch(array(1), array(2))],
            [launch(array(1)), copy(array(2, 500), array(1, 500)), launch(array(2))],
        ):
            layout = lay_out(events, {1: 1000, 2: 1000}, ())
            self.assertNotEqual(layout.places[1], layout.places[2])

    def test_what_nothing_uses_needs_no_memory(self) -> None:
        layout = lay_out([], {1: 1000, 2: 1000}, ())
        self.assertEqual(0, layout.arena)

    def test_arrays_that_live_at_one_time_do_not_overlap(self) -> None:
        for seed in range(50):
            rng = random.Random(seed)
            sizes = {slot: rng.choice([1, 100, 256, 1000, 5000]) for slot in range(1, 12)}
            events = [launch(*(array(slot, sizes[slot]) for slot in rng.sample(sorted(sizes), 3))) for _ in range(20)]
            layout = lay_out(events, sizes, [1])
            spans: dict[int, Any] = {}
            for i, event in enumerate(events):
                for operand in event.operands:
                    spans[operand.slot] = spans.get(operand.slot, (i, i))[0], i
            for a, b in ((a, b) for a in spans for b in spans if a < b and layout.places[a][0] == layout.places[b][0]):
                apart = spans[a][1] < spans[b][0] or spans[b][1] < spans[a][0]
                (_, at), (_, to) = layout.places[a], layout.places[b]
                self.assertTrue(apart or at + sizes[a] <= to or to + sizes[b] <= at)
                self.assertEqual((0, 0), (at % ALIGNMENT, to % ALIGNMENT))


if __name__ == "__main__":
    unittest.main()
