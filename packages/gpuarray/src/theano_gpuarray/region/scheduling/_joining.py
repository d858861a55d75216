"""Launches that do not need each other, as one: which ones, and the order of events that follows.

Launches of one text are joined, of any weight; those of light kernels, which wait for memory alone, with any
their text. Of OpenCL's compilers some make errors with barriers in branches: there kernels with barriers are joined
with others of their text alone. Each does its own work, so values stay the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from theano_graph import record

from ...codegen import Argument, KernelText
from ...codegen.text import joined_arrays, joined_text
from .._kept import Event, Kept
from ._ordering import ordered

__all__ = ["JoinPlan", "needed_events", "plan_joins"]

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
