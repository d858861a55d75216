"""Independent events side by side: the lane of each one, and the events that it waits for.

CUDA captures each lane from a stream of its own, so that the graph of a list has them as branches. Dependences
follows from the memory that events read and write: also from places in the arena that several arrays have in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from theano_graph import record

from .._kept import Event
from ._joining import needed_events

__all__ = ["Schedule", "conflicting_events", "schedule"]

#: Microseconds of a launch, and of waiting for another lane; bytes and multiplications in one: rough figures of a card.
_LAUNCH, _WAIT, _BYTES, _MULTIPLICATIONS = 2.0, 1.0, 1e6, 5e6
#: Library calls stay in one lane: they share handles and workspaces.
_LIBRARY = frozenset({"product", "convolution", "call"})


@record
class Schedule:
    """Lanes of events.

    Parameters
    ----------
    lanes : tuple of int
        One for each event.
    waits : tuple of tuple of int
        For each event the ones in other lanes that it waits for.
    """

    lanes: tuple[int, ...]
    waits: tuple[tuple[int, ...], ...]

    @property
    def before(self) -> list[int]:
        """Return for each event which ones have been done when it begins, as the bits of a number."""
        earlier: list[int] = []
        last: dict[int, int] = {}
        for i, (lane, waits) in enumerate(zip(self.lanes, self.waits, strict=True)):
            bits = 0
            for j in (*waits, *([last[lane]] if lane in last else [])):
                bits |= earlier[j] | 1 << j
            earlier.append(bits)
            last[lane] = i
        return earlier

    @property
    def beside(self) -> list[int]:
        """Return for each event the last one that may run before it has ended."""
        before, count = self.before, len(self.lanes)
        ends = list(range(count))
        for j in range(count):
            for i in range(j):
                if not before[j] >> i & 1:
                    ends[i] = j
        return ends

    @property
    def order(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Lanes of a list of launches; nothing where all events are in one lane."""
        return tuple(zip(self.lanes, self.waits, strict=True)) if any(self.lanes) else ()


def conflicting_events(
    events: Sequence[Event], places: Mapping[int, tuple[int, int]], sizes: Mapping[int, int]
) -> list[set[int]]:
    """Return for each event the ones before that have to be done, where arrays may lie where others have been.

    Parameters
    ----------
    events : sequence of Event
    places : mapping of int to (int, int)
        Slot -> the slot in whose memory it lies, and the offset there.
    sizes : mapping of int to int
        Bytes of these slots; others have memory of their own.
    """
    used: dict[int, list[tuple[int, int, int, bool]]] = {}
    needed: list[set[int]] = []
    for i, event in enumerate(events):
        slots, written = event.slots
        conflicts: set[int] = set()
        accesses: list[tuple[int, tuple[int, int, int, bool]]] = []
        for slot in slots:
            home, begin = places.get(slot, (slot, 0))
            end = begin + sizes[slot] if slot in sizes else 1 << 62
            writes = slot in written
            for j, first, last, other in used.get(home, ()):
                if (writes or other) and first < end and begin < last:
                    conflicts.add(j)
            accesses.append((home, (i, begin, end, writes)))
        for home, use in accesses:
            used.setdefault(home, []).append(use)
        needed.append(conflicts)
    return needed


def schedule(events: Sequence[Event], count: int, needed: Sequence[set[int]] | None = None) -> Schedule:
    """Choose lanes: the event that most others wait for goes on in the first one, and later ones in others.

    Parameters
    ----------
    events : sequence of Event
    count : int
        Lanes.
    needed : sequence of set of int, optional
        For each event the ones before that have to be done; by default as if each array had memory of its own.
    """
    needed = needed_events(events) if needed is None else needed
    n = len(events)
    if count < 2 or n < 2:
        return Schedule((0,) * n, ((),) * n)
    costs = [_cost(event) for event in events]
    waiting = list(costs)
    for i in reversed(range(n)):
        for j in needed[i]:
            waiting[j] = max(waiting[j], costs[j] + waiting[i])
    lanes: list[int] = []
    ends, done = [0.0] * count, [0.0] * n
    for i, event in enumerate(events):
        starts = [
            max([ends[lane], *(done[j] + _WAIT * (lanes[j] != lane) for j in needed[i])]) for lane in range(count)
        ]
        lane = 0
        if event.kind not in _LIBRARY and _rival(i, needed, waiting):
            lane = min(range(1, count), key=starts.__getitem__)
        lanes.append(lane)
        done[i] = ends[lane] = starts[lane] + costs[i]
    return Schedule(tuple(lanes), _waits(lanes, needed))


def _cost(event: Event) -> float:
    """Return about how many microseconds an event takes."""
    cost = _LAUNCH + sum(operand.nbytes for operand in event.operands) / _BYTES
    if event.kind == "product":
        z, a = event.operands[:2]
        cost += z.size * (a.shape[-1] if a.ndim else 1) / _MULTIPLICATIONS
    return cost


def _rival(i: int, needed: Sequence[set[int]], rest: Sequence[float]) -> bool:
    """Tell whether a later event could begin at the same time, of which more of the rest is waiting."""
    after = {i}
    for j in range(i + 1, len(needed)):
        if not after.isdisjoint(needed[j]):
            after.add(j)
        elif rest[j] > rest[i] and all(k < i for k in needed[j]):
            return True
    return False


def _waits(lanes: Sequence[int], needed: Sequence[set[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the events that each event waits for, but for those that precede it anyway."""
    before: list[int] = []
    last: dict[int, int] = {}
    waits: list[tuple[int, ...]] = []
    for i, lane in enumerate(lanes):
        j = last.get(lane, -1)
        bits = before[j] | 1 << j if j >= 0 else 0
        found: list[int] = []
        for k in sorted(needed[i], reverse=True):
            if not bits >> k & 1:
                found.append(k)
                bits |= before[k] | 1 << k
        before.append(bits)
        last[lane] = i
        waits.append(tuple(sorted(found)))
    return tuple(waits)
