"""When the events of a recording run, and where their arrays lie: joined launches, lanes, and the layout of memory."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from theano_graph import record

from ..codegen import Argument, KernelText
from ..codegen.text import joined_arrays, joined_text
from ._events import ARENA, Event, Kept

# ---- An order by dependences


def ordered(needs: Mapping[int, set[int]]) -> list[int] | None:
    """Return numbers each after its needs, and otherwise from small to large.

    Parameters
    ----------
    needs : mapping of int to set of int
        Each number with the numbers before it, which are in the mapping, too.

    Returns
    -------
    list of int or None
        None where some need each other in a circle.
    """
    left = {i: len(found) for i, found in needs.items()}
    readers: dict[int, list[int]] = {i: [] for i in needs}
    for i, sources in needs.items():
        for j in sources:
            readers[j].append(i)
    ready = [i for i, count in left.items() if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        i = heappop(ready)
        order.append(i)
        for j in readers[i]:
            left[j] -= 1
            if not left[j]:
                heappush(ready, j)
    return order if len(order) == len(needs) else None


# ---- Joined launches: independent ones, and the order of events that follows
#
# Launches of one text are joined, of any weight; those of light kernels, which wait for memory alone, with any
# their text. Of OpenCL's compilers some make errors with barriers in branches: there kernels with barriers are joined
# with others of their text alone. Each does its own work, so values stay the same bit for bit.

#: Bytes of the operands of a launch from which on it gains nothing by another one beside it, and of all that are
#: joined: the arrays they read have to live until they run.
_LARGE, _LARGE_TOGETHER = 8 << 20, 64 << 20
#: Bytes of the parameters of a launch. OpenCL promises 1024.
_PARAMETERS = {"cuda": 4000}
_FEWEST_PARAMETERS = 1024
#: Texts in one launch, at most: the one with the most registers decides how many groups run at a time. And arrays of
#: theirs in local memory, each of which has up to 2 KB.
_MOST_TEXTS, _MOST_SHARED = 4, 16


@record
class JoinPlan:
    """In which order events run, and which are joined.

    Parameters
    ----------
    items : tuple of tuple of int
        The numbers of the events that are one.
    """

    items: tuple[tuple[int, ...], ...]

    def apply(self, recorder: Kept) -> None:
        """Put the events of a recording into the order of the plan; unknown events come last."""
        events = recorder.numbered()
        fused = {number for item in self.items for number in item}
        found: list[Event] = []
        for item in self.items:
            found += _joined([events[number] for number in item if number in events])
        recorder.events[:] = [*found, *(event for number, event in events.items() if number not in fused)]


def needed_events(events: Sequence[Event]) -> list[set[int]]:
    """Return the predecessors of each event: writers of its inputs, readers and writers of its outputs.

    Arrays are taken as wholes: two that write into parts of one memory need each other.

    Parameters
    ----------
    events : sequence of Event
    """
    writers: dict[int, int] = {}
    readers: dict[int, set[int]] = {}
    needed: list[set[int]] = []
    for i, event in enumerate(events):
        reads, writes = event.slots
        found = {writers[slot] for slot in reads | writes if slot in writers}
        for slot in writes:
            found |= readers.get(slot, set())
        needed.append(found - {i})
        for slot in writes:
            writers[slot] = i
            readers[slot] = set()
        for slot in reads - writes:
            readers.setdefault(slot, set()).add(i)
    return needed


def plan_joins(recorder: Kept) -> JoinPlan:
    """Choose which launches of a recording are joined.

    Parameters
    ----------
    recorder : Kept
        With memory of its own for each array.
    """
    numbers, events = list(recorder.numbered()), recorder.events
    needed = needed_events(events)
    # Events as far from the end do not need each other, and neither do groups of them.
    levels = [0] * len(events)
    for i in reversed(range(len(events))):
        for j in needed[i]:
            levels[j] = max(levels[j], levels[i] + 1)
    families: dict[Hashable, list[int]] = {}
    barriers = recorder.properties.driver != "opencl"
    for i, event in enumerate(events):
        family = _family(event, barriers)
        if family is not None:
            families.setdefault((levels[i], family), []).append(i)
    most = _PARAMETERS.get(recorder.properties.driver, _FEWEST_PARAMETERS)
    groups = [group for family in families.values() for group in _groups(events, family, most)]
    return JoinPlan(tuple(tuple(numbers[i] for i in item) for item in _ordered(len(events), groups, needed)))


def _family(event: Event, barriers: bool) -> Hashable | None:
    """Return the key of launches that may be joined; None where an event stays alone.

    Parameters
    ----------
    event : Event
    barriers : bool
        Whether kernels with barriers may stand in branches.
    """
    text = event.text
    if text is None or text.kernel is None or _bytes(event) > _LARGE:
        return None
    if len(event.groups) > 2 or any(n != 1 for n in event.local[1:]):
        return None
    # Where work-items share nothing, they need not wait for each other.
    light = text.kernel.light and (barriers or not text.kernel.local)
    return (light or text.name), event.local[0], text.kernel.single_item


def _bytes(event: Event) -> int:
    return sum(operand.nbytes for operand in event.operands)


def _parameter_bytes(text: KernelText) -> int:
    """Return the bytes of the parameters of a launch among others: each lies at a multiple of its size."""
    at = 0
    for letter in f"II{text.parameters}":
        size = 8 if letter in "Pqd" else 4
        at += -at % size + size
    return at + -at % 8


def _shared(texts: Iterable[KernelText]) -> int:
    """Return how many arrays in local memory some kernels have."""
    return len(joined_arrays(text.kernel for text in texts if text.kernel is not None))


def _groups(events: Sequence[Event], members: Iterable[int], most: int) -> list[list[int]]:
    """Return groups of members, each of which fits into one launch; those of one text come together."""
    by_text: dict[KernelText | None, list[int]] = {}
    for i in members:
        by_text.setdefault(events[i].text, []).append(i)
    groups: list[list[int]] = []
    texts: set[KernelText] = set()
    parameters = size = 0
    for text, found in by_text.items():
        assert text is not None, "only launches have a family"
        for i in found:
            more, bytes_, together = _parameter_bytes(text), _bytes(events[i]), texts | {text}
            full = parameters + more > most or size + bytes_ > _LARGE_TOGETHER
            several = len(together) > 1 and (len(together) > _MOST_TEXTS or _shared(together) > _MOST_SHARED)
            if full or several or not groups:
                groups.append([])
                texts, parameters, size = set(), 0, 0
            groups[-1].append(i)
            texts.add(text)
            parameters += more
            size += bytes_
    return [group for group in groups if len(group) > 1]


def _ordered(count: int, groups: Iterable[Sequence[int]], needed: Sequence[set[int]]) -> list[list[int]]:
    """Return events and groups of them, each after its needs, and otherwise in their order."""
    items = {i: [i] for i in range(count)}
    places = list(range(count))
    for group in groups:
        last = max(group)
        for i in group:
            del items[i]
            places[i] = last
        items[last] = list(group)
    waits = {i: {places[j] for member in item for j in needed[member]} for i, item in items.items()}
    order = ordered(waits)
    assert order is not None, "groups do not need each other"
    return [items[i] for i in order]


def _joined(events: Sequence[Event]) -> list[Event]:
    """Return launches as one."""
    if len(events) < 2:
        return list(events)
    by_text: dict[KernelText, list[Event]] = {}
    for event in events:
        assert event.text is not None, "only launches are joined"
        by_text.setdefault(event.text, []).append(event)
    if not _alike(by_text):
        return list(events)
    arguments: list[Argument] = []
    sizes: list[tuple[int, ...]] = []
    begin = 0
    for event in (event for members in by_text.values() for event in members):
        arguments += [begin, event.groups[0], *event.arguments]
        sizes.append(event.groups)
        begin += event.groups[0] * (event.groups[1] if len(event.groups) > 1 else 1)
    text = joined_text(tuple((text, len(found)) for text, found in by_text.items()))
    local = events[0].local[0]
    return [Event("launch", text, tuple(arguments), (begin,), (local,), joined=tuple(sizes))]


def _alike(by_text: Mapping[KernelText, Sequence[Event]]) -> bool:
    """Tell whether launches can be joined: with other offsets they may have other texts than those of the plan."""
    families = {_family(event, True) for members in by_text.values() for event in members}
    return len(families) == 1 and None not in families


# ---- Lanes: independent events side by side, and the events that each waits for
#
# CUDA captures each lane from a stream of its own, so that the graph of a list has them as branches. Dependences
# follows from the memory that events read and write: also from places in the arena that several arrays have in turn.

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
    """Return the events that each event waits for, without its predecessors by other ways."""
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


# ---- The layout of memory: arrays that do not leave share one arena, by their lifetimes

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


__all__ = [
    "ALIGNMENT",
    "JoinPlan",
    "Layout",
    "Schedule",
    "conflicting_events",
    "lay_out",
    "needed_events",
    "ordered",
    "plan_joins",
    "schedule",
]
