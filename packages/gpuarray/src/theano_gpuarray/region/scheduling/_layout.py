"""The layout of arrays: those that do not leave share one arena, by their lifetimes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from theano_graph import record

from .._kept import ARENA, Event

__all__ = ["ALIGNMENT", "Layout", "lay_out"]

#: Bytes to which offsets in an arena are rounded: the demand of the widest loads and the strictest devices.
ALIGNMENT = 256


@record
class Layout:
    """Where the arrays of a recording lie.

    Attributes
    ----------
    places : dict of int to (int, int)
        Slot -> the slot that it is put into, and the offset there.
    arena : int
        Bytes of the arena.
    """

    places: dict[int, tuple[int, int]]
    arena: int


def lay_out(
    events: Sequence[Event], sizes: Mapping[int, int], leaving: Collection[int], beside: Sequence[int] | None = None
) -> Layout:
    """Lay out the arrays of a recording.

    An array whose first use is that a whole other one is copied to it, which nothing reads afterwards, takes the place
    of that one. A result that leaves has memory of its own.

    Parameters
    ----------
    events : sequence of Event
    sizes : mapping of int to int
        Bytes of the slots that may be placed.
    leaving : collection of int
        Slots of results.
    beside : sequence of int, optional
        For each event the last one that may run before it has ended; by default they run one after the other.
    """
    spans = _spans(events, sizes, range(len(events)) if beside is None else beside)
    heirs = _heirs(events, sizes, spans, leaving)
    chosen = {slot: _root(slot, heirs) for slot in sizes}
    outgoing = {chosen[slot] for slot in leaving if slot in chosen}
    lifetimes: dict[int, tuple[int, int]] = {}
    for slot, (begin, end) in spans.items():
        root = chosen[slot]
        old = lifetimes.get(root, (begin, end))
        lifetimes[root] = min(old[0], begin), max(old[1], end)
    offsets, arena = _pack({s: lifetimes.get(s, (0, -1)) for s in set(chosen.values()) - outgoing}, sizes)
    places = {slot: (root, 0) if root in outgoing else (ARENA, offsets[root]) for slot, root in chosen.items()}
    return Layout(places, arena)


def _spans(events: Sequence[Event], sizes: Mapping[int, int], ends: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Return the first event that uses each slot, and the last one that runs while it is used."""
    spans: dict[int, tuple[int, int]] = {}
    for i, event in enumerate(events):
        for operand in event.operands:
            if operand.slot in sizes:
                begin, end = spans.get(operand.slot, (i, i))
                spans[operand.slot] = begin, max(end, ends[i])
    return spans


def _heirs(
    events: Sequence[Event],
    sizes: Mapping[int, int],
    spans: Mapping[int, tuple[int, int]],
    leaving: Collection[int],
) -> dict[int, int]:
    """Return the slots that take the place of another one, with that one."""
    heirs: dict[int, int] = {}
    for i, event in enumerate(events):
        if event.kind != "copy":
            continue
        target, source = event.operands
        same_size = target.size * target.itemsize == sizes.get(target.slot) == sizes.get(source.slot)
        ends = same_size and spans[target.slot][0] == i == spans[source.slot][1]
        if ends and not target.offset and not source.offset and source.slot not in leaving:
            heirs[target.slot] = source.slot
    return heirs


def _root(slot: int, heirs: Mapping[int, int]) -> int:
    while slot in heirs:
        slot = heirs[slot]
    return slot


def _pack(lifetimes: Mapping[int, tuple[int, int]], sizes: Mapping[int, int]) -> tuple[dict[int, int], int]:
    """Return an offset for each slot, so that none overlap that live at one time, and the length of it all.

    The largest ones come first; each is put into the first gap that it fits into.
    """
    placed: list[tuple[int, int, int, int]] = []
    offsets: dict[int, int] = {}
    for slot in sorted(lifetimes, key=lambda s: (-sizes[s], lifetimes[s], s)):
        begin, end = lifetimes[slot]
        size = -(-sizes[slot] // ALIGNMENT) * ALIGNMENT
        offset = 0
        if end >= begin:
            beside = sorted((at, to) for at, to, first, last in placed if first <= end and begin <= last)
            for at, to in beside:
                if at - offset >= size:
                    break
                offset = max(offset, to)
            placed.append((offset, offset + size, begin, end))
        offsets[slot] = offset
    return offsets, max((to for _, to, _, _ in placed), default=0)
