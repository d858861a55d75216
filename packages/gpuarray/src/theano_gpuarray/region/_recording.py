"""Recordings: the events of a region for one combination of shapes, laid out and ready to be replayed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from theano_graph import record

from .._runtime import LaunchList
from ..arrays import GpuArray
from ..codegen import DeviceOperand, LibraryCall
from ..contexts import GpuContext
from ._events import ARENA, Constants, Event, Explain, Kept, StoredEvents
from ._execution import extent, has_products, library_product, workspace_of
from ._steps import Entry, OnHost, Step, record_steps
from .scheduling import JoinPlan, Layout, Schedule, conflicting_events, lay_out, plan_joins, schedule

if TYPE_CHECKING:
    from .. import _device

__all__ = [
    "HELD",
    "INPUT",
    "OWN",
    "STATUS",
    "Recording",
    "Replay",
    "StoredRecording",
    "launch_step",
    "make_recording",
    "restored_recording",
]

#: Where the memory of a slot comes from in a call.
INPUT, OWN, HELD, STATUS = range(4)
#: Bytes by which an offset is moved to find its dependents.
_SHIFT = 4096
#: Lists of launches with other offsets that a recording keeps; the one used longest ago goes first.
_LISTS = 256

Numbers: TypeAlias = list[tuple[int | float, ...]]
#: How a result is made: number of the buffer, whether it is read to the host, dtype, shape, strides and offset.
Told: TypeAlias = tuple[int, bool, np.dtype[Any], tuple[int, ...], tuple[int, ...], int]
Output: TypeAlias = "Told | Callable[[Sequence[_device.Buffer]], Any]"


@record
class Replay:
    """Events with fixed offsets, and the results that they give.

    Attributes
    ----------
    launches : LaunchList or None
        None where there is nothing to do.
    outputs : tuple
        The form of each result, or a function that makes it of the buffers.
    """

    launches: LaunchList | None
    outputs: tuple[Output, ...]


class Recording:
    """The events of a region for one combination of shapes.

    Parameters
    ----------
    context : GpuContext
    kept : Kept
        With its events, which lie where `layout` says.
    layout : Layout
    plan : JoinPlan
        Which launches are one.
    results : list of Entry
    n_inputs : int
    offsets : tuple of int
        Those of the inputs with which it was recorded.
    again : callable
        ``(offsets) -> (kept, results)`` records the same with other offsets.

    Attributes
    ----------
    schedule : Schedule
        Which events run side by side.
    slots : list of int
        The slot of each buffer that a replay is given.
    sources : list of (int, object)
        Where each of them comes from: INPUT and the number of the input, OWN and a number of bytes, HELD and the buffer
        itself, or STATUS.
    status_index : int or None
        Which of them is the status.
    """

    def __init__(
        self,
        context: GpuContext,
        kept: Kept,
        layout: Layout,
        plan: JoinPlan,
        results: list[Entry],
        n_inputs: int,
        offsets: tuple[int, ...],
        again: Callable[[tuple[int, ...]], tuple[Kept, list[Entry]]],
    ) -> None:
        self._context = context
        self._kept = kept
        self._results = results
        self._offsets = offsets
        self._again = again
        self._slopes: dict[int, Numbers | None] = {}
        self._lists: OrderedDict[tuple[int, ...], Replay] = OrderedDict()
        self._layout, self._plan, self._n_inputs = layout, plan, n_inputs
        self.arena = layout.arena
        self.schedule = _schedule(kept, layout, context.lanes)
        arrays = [*(operand for event in kept.events for operand in event.operands), *_operands(results)]
        self.memory_of = kept.memory_of
        self.slots = sorted({kept.memory_of(operand.slot) for operand in arrays})
        self._index = {slot: i for i, slot in enumerate(self.slots)}
        self.sources = [self._source(slot, n_inputs) for slot in self.slots]
        self.status_index = None if kept.status_slot is None else self._index.get(kept.status_slot)

    def explain(self, number: int) -> tuple[int, Explain]:
        """Return the step in which a kernel reports a failure, and the constructor of the exception."""
        if not self._kept.failures:
            # Another process has recorded the steps, and the exceptions are made by code.
            self._kept.failures = self._again(self._offsets)[0].failures
        return self._kept.failures[number - 1]

    def stored(self) -> StoredRecording | None:
        """Return the part that another process takes over; None where a library chose an algorithm by measuring."""
        if any(event.plan is not None for event in self._kept.events):
            return None
        recorder = self._kept
        return StoredRecording(
            recorder.stored(),
            recorder.workspaces,
            self._layout,
            self._plan,
            self._results,
            self._n_inputs,
            self._offsets,
        )

    def _source(self, slot: int, n_inputs: int) -> tuple[int, Any]:
        recorder = self._kept
        if slot == ARENA:
            return OWN, max(self.arena, 1)
        if slot < n_inputs:
            return INPUT, slot
        if slot in recorder.held:
            return HELD, recorder.held[slot]
        return (STATUS, None) if slot == recorder.status_slot else (OWN, max(recorder.sizes[slot], 1))

    @property
    def events(self) -> list[Event]:
        """The launches, copies, fills and products, in the order in which they run."""
        return list(self._kept.events)

    @property
    def launches(self) -> int:
        """How many launches, copies, fills and products there are."""
        return len(self._kept.events)

    def replay(self, offsets: tuple[int, ...]) -> Replay | None:
        """Return the commands for inputs with some offsets; None if they have to be recorded anew.

        To find the dependents of an offset, the steps are recorded once more with this offset moved: numbers that
        follow it evenly are replaced, and where anything else changes there is nothing to replace.
        """
        commands = self._lists.get(offsets)
        if commands is not None:
            self._lists.move_to_end(offsets)
            return commands
        events, results = self._kept.events, self._results
        if offsets != self._offsets:
            numbers = self._numbers(offsets)
            if numbers is None:
                return None
            events = [e.with_numbers(n) for e, n in zip(events, numbers, strict=False)]
            results = _with_offsets(results, numbers[len(events) :])
        commands = self._lists[offsets] = Replay(self._launches(events), tuple(map(self._output, results)))
        if len(self._lists) > _LISTS:
            self._lists.popitem(last=False)
        return commands

    def _output(self, entry: Entry) -> Output:
        """Return how a result is made: an array on the device, or on the host."""
        if not isinstance(entry, (OnHost, DeviceOperand)):
            return lambda buffers: np.array(entry)
        on_host = isinstance(entry, OnHost)
        operand = entry.operand if isinstance(entry, OnHost) else entry
        index, dtype, context = self._buffer(operand), np.dtype(operand.dtype), self._context
        if not on_host or (operand.contiguous and operand.size):
            return index, on_host, dtype, tuple(operand.shape), tuple(operand.strides), operand.offset
        return lambda buffers: np.asarray(
            GpuArray(buffers[index], dtype, operand.shape, operand.strides, operand.offset, context)
        )

    def _numbers(self, offsets: tuple[int, ...]) -> Numbers | None:
        numbers = _numbers(self._kept.events, self._results)
        for i, (was, now) in enumerate(zip(self._offsets, offsets, strict=True)):
            if was == now:
                continue
            if i not in self._slopes:
                self._slopes[i] = self._slopes_of(i)
            slopes = self._slopes[i]
            if slopes is None:
                return None
            moved = now - was
            numbers = [
                tuple(n + int(s * moved) if s else n for n, s in zip(row, slope, strict=True))
                for row, slope in zip(numbers, slopes, strict=True)
            ]
        return numbers

    def _slopes_of(self, i: int) -> Numbers | None:
        """Return by how much each number changes for each byte of the offset of an input; None where more changes."""
        moved = tuple(o + _SHIFT * (k == i) for k, o in enumerate(self._offsets))
        recorder, results = self._again(moved)
        events = recorder.events
        if [e.fixed for e in events] != [e.fixed for e in self._kept.events]:
            return None
        slopes: Numbers = []
        rows = zip(_numbers(self._kept.events, self._results), _numbers(events, results), strict=True)
        for before, after in rows:
            if any(a != b and isinstance(a, float) for a, b in zip(before, after, strict=True)):
                return None
            slopes.append(tuple((b - a) / _SHIFT for a, b in zip(before, after, strict=True)))
        return slopes

    def _launches(self, events: Sequence[Event]) -> LaunchList | None:
        """Return the list of all launches, products by a library among them."""
        self._context.prepare(event.text for event in events if event.text is not None)
        steps = tuple(launch_step(self._context, event, self._buffer) for event in events)
        return LaunchList(self._context.native, steps, len(self.slots), self.schedule.order) if steps else None

    def _buffer(self, operand: DeviceOperand) -> int:
        return self._index[self.memory_of(operand.slot)]


@record
class StoredRecording:
    """The part of a recording that another process takes over.

    Attributes
    ----------
    kept : StoredEvents
    workspaces : list of (LibraryCall, int or None)
        The answers that libraries have given, and have to give there.
    layout : Layout
    plan : JoinPlan
    results : list of Entry
    n_inputs : int
    offsets : tuple of int
    """

    kept: StoredEvents
    workspaces: list[tuple[LibraryCall, int | None]]
    layout: Layout
    plan: JoinPlan
    results: list[Entry]
    n_inputs: int
    offsets: tuple[int, ...]


def _schedule(recorder: Kept, layout: Layout, lanes: int) -> Schedule:
    """Return which events run side by side, as far as where arrays lie allows it."""
    if lanes < 2:
        return schedule(recorder.events, 1, ())
    return schedule(recorder.events, lanes, conflicting_events(recorder.events, layout.places, recorder.sizes))


def launch_step(context: GpuContext, event: Event, buffer: Callable[[DeviceOperand], int]) -> tuple[Any, ...]:
    """Return an event as a step of a list of launches.

    Parameters
    ----------
    context : GpuContext
    event : Event
    buffer : callable
        Gives the number of the buffer in which an operand lies.
    """
    if event.kind == "launch" and event.text is not None:
        arguments = tuple((buffer(x),) if isinstance(x, DeviceOperand) else x for x in event.arguments)
        return "launch", context.kernel(event.text), event.groups, event.local, arguments, 0
    if event.kind == "product":
        return _product_step(event, buffer)
    if event.plan is not None:
        places = [((buffer(x),), x.offset) for x in event.operands]
        return "convolution", event.plan.description, event.plan.algorithm, *places, event.plan.workspace
    if event.call is not None:
        spans = [((buffer(x),), x.offset, extent(x)) for x in event.operands]
        return "call", event.call.name, event.call.dtype, event.call.numbers, *spans
    target = event.operands[0]
    nbytes = target.size * target.itemsize
    if event.kind == "copy":
        source = event.operands[1]
        return "copy", buffer(target), target.offset, buffer(source), source.offset, nbytes
    return "fill", buffer(target), target.offset, nbytes, event.arguments[1]


def _product_step(event: Event, buffer: Callable[[DeviceOperand], int]) -> tuple[Any, ...]:
    z, a, b, *factors = event.arguments
    assert isinstance(z, DeviceOperand) and isinstance(a, DeviceOperand) and isinstance(b, DeviceOperand)
    outcome = library_product(z, a, b)
    assert outcome is not None, "it was one when it was recorded"
    first, second, result = (
        ((buffer(x.operand),), x.offset, x.leading, x.stride) for x in (outcome.a, outcome.b, outcome.z)
    )
    alpha, beta = (
        ((buffer(f),), f.offset // f.itemsize) if isinstance(f, DeviceOperand) else float(f) for f in factors
    )
    transposes = outcome.a.transposed, outcome.b.transposed
    return "product", outcome.dtype, transposes, outcome.sizes, alpha, first, second, beta, result


def make_recording(
    context: GpuContext,
    constants: Constants,
    steps: Sequence[tuple[int, Step]],
    entries: Mapping[int, Entry],
    outputs: Sequence[int],
    n_inputs: int,
) -> Recording:
    """Record steps twice: to see how long arrays live, and with the offsets that they then have in the arena.

    Parameters
    ----------
    context : GpuContext
    constants : Constants
    steps : sequence of (int, Step)
    entries : mapping of int to Entry
        The values that are known before; arrays on the device have the slots of the inputs.
    outputs : sequence of int
        The values that leave.
    n_inputs : int
        How many slots are those of inputs.

    Raises
    ------
    StepError
        If a device form refuses its operands.
    """
    first = Kept(context, constants, n_inputs)
    outcomes = record_steps(first, steps, entries, outputs)
    plan = plan_joins(first)
    plan.apply(first)
    leaving = {operand.slot for operand in _operands([outcomes[i] for i in outputs])}
    beside = schedule(first.events, context.lanes).beside if context.lanes > 1 else None
    layout = lay_out(first.events, first.sizes, leaving, beside)
    offsets = tuple(array.offset for array in _arrays(entries).values())
    again = _again(context, constants, steps, entries, outputs, n_inputs, layout, plan)
    recorder, results = again(offsets)
    return Recording(context, recorder, layout, plan, results, n_inputs, offsets, again)


def restored_recording(
    context: GpuContext,
    constants: Constants,
    steps: Callable[[], Sequence[tuple[int, Step]]],
    entries: Mapping[int, Entry],
    outputs: Sequence[int],
    stored: StoredRecording,
) -> Recording | None:
    """Return the recording that another process has made of the same steps; None where libraries tell something else.

    Parameters
    ----------
    context, constants, entries, outputs
        As for :func:`make_recording`.
    steps : callable
        Gives the steps, which are wanted where an offset differs, and where a kernel finds something wrong.
    stored : StoredRecording
    """
    if any(workspace_of(context, call) != size for call, size in stored.workspaces):
        return None
    # Libraries that multiply matrices are started by a first product.
    if not all(has_products(context, e.operands[0].dtype) for e in stored.kept.events if e.kind == "product"):
        return None
    recorder = Kept(context, constants, stored.n_inputs, stored.layout.places)
    recorder.restore(stored.kept)
    recorder.workspaces = list(stored.workspaces)

    def again(offsets: tuple[int, ...]) -> tuple[Kept, list[Entry]]:
        return _again(context, constants, steps(), entries, outputs, stored.n_inputs, stored.layout, stored.plan)(
            offsets
        )

    return Recording(
        context, recorder, stored.layout, stored.plan, stored.results, stored.n_inputs, stored.offsets, again
    )


def _arrays(entries: Mapping[int, Entry]) -> dict[int, DeviceOperand]:
    return {i: entry for i, entry in entries.items() if isinstance(entry, DeviceOperand)}


def _again(
    context: GpuContext,
    constants: Constants,
    steps: Sequence[tuple[int, Step]],
    entries: Mapping[int, Entry],
    outputs: Sequence[int],
    n_inputs: int,
    layout: Layout,
    plan: JoinPlan,
) -> Callable[[tuple[int, ...]], tuple[Kept, list[Entry]]]:
    """Return a function that records steps with other offsets of the inputs."""

    def again(offsets: tuple[int, ...]) -> tuple[Kept, list[Entry]]:
        moved = dict(entries)
        for (i, array), offset in zip(_arrays(entries).items(), offsets, strict=True):
            moved[i] = replace(array, offset=offset)
        recorder = Kept(context, constants, n_inputs, layout.places)
        results = record_steps(recorder, steps, moved, outputs)
        plan.apply(recorder)
        return recorder, [results[i] for i in outputs]

    return again


def _operands(results: Sequence[Entry]) -> list[DeviceOperand]:
    seen = [entry.operand if isinstance(entry, OnHost) else entry for entry in results]
    return [entry for entry in seen if isinstance(entry, DeviceOperand)]


def _numbers(events: Sequence[Event], results: Sequence[Entry]) -> Numbers:
    """Return the numbers that may change with offsets: of each event, and of each array among the results."""
    return [*(event.numbers for event in events), *((operand.offset,) for operand in _operands(results))]


def _with_offsets(results: Sequence[Entry], numbers: Numbers) -> list[Entry]:
    offsets = iter(numbers)
    moved: list[Entry] = []
    for entry in results:
        if isinstance(entry, OnHost):
            moved.append(replace(entry, operand=replace(entry.operand, offset=int(next(offsets)[0]))))
        elif isinstance(entry, DeviceOperand):
            moved.append(replace(entry, offset=int(next(offsets)[0])))
        else:
            moved.append(entry)
    return moved
