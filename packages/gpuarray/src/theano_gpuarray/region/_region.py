"""Regions: kernels and transfers that run together, recorded for each combination of shapes and replayed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np

from theano_graph import record
from theano_linker_c.kernels import IndexViewKernel

from .._runtime import Replays
from ..arrays import GpuArray
from ..codegen import DeviceOperand, contiguous_strides
from ..contexts import GpuContext
from ._events import Constants, Explain, Kept
from ._execution import flags_token, operand_of, upload
from ._recording import HELD, INPUT, Recording, Replay, StoredRecording, make_recording, restored_recording
from ._steps import Entry, OnHost, Step, StepError, record_steps

__all__ = ["KEYED", "MOVED", "RECORDINGS", "Outline", "Region", "Shelf", "explain_failure"]

#: Recordings that a region keeps, for so many combinations of shapes and numbers; the one used longest ago goes first.
RECORDINGS = 64
#: Bytes to which the offsets of two calls with one recording are equal: the choice of a kernel may depend on it.
_ALIGNED = 16
#: The needs for an array on the host: its transfer, and its elements; the same numbers as in c/replays.c.
MOVED, KEYED = 1, 2

Value: TypeAlias = Any


@record
class _Call:
    """Facts about the values of a call.

    Attributes
    ----------
    values : sequence
    entries : dict of int to Entry, or None
        Entries for recorders; None where nobody has asked for them.
    key : tuple
        The key of a recording.
    offsets : tuple of int
        Those of the arrays that are on the device.
    """

    values: Sequence[Value]
    entries: dict[int, Entry] | None
    key: tuple[Hashable, ...]
    offsets: tuple[int, ...]


class Shelf(Protocol):
    """A store of recordings for other processes."""

    def find(self, key: Hashable) -> StoredRecording | None:
        """Return the entry of a key; None where there is nothing."""

    def put(self, key: Hashable, recording: StoredRecording) -> None:
        """Keep a recording."""


@record
class Outline:
    """A region's facts about its steps where recordings of them are there already.

    Attributes
    ----------
    views : list of (int, Step)
        The steps that each call takes for itself, with their numbers.
    keyed, moved, asked : frozenset of int
        Inputs whose value on the host is a part of the key of a recording; values that are transferred if they are on
        the host; inputs whose value on the host matters to a call.
    viewed : frozenset of int
        Constants that are moved to the device, since views of them are taken.
    """

    views: list[tuple[int, Step]]
    keyed: frozenset[int]
    moved: frozenset[int]
    asked: frozenset[int]
    viewed: frozenset[int]


class Region:
    """Runs steps on a device.

    The first call with some shapes records the steps: device forms work out shapes, refuse wrong ones, and tell
    which launches there are. Later calls replay them. A recording holds for the shapes and strides of arrays and for
    the values of numbers that the host has to know, except the numbers that only say where a view of an input begins:
    numbers changes with an offset is replaced in the recording. A region keeps :data:`RECORDINGS` of them.

    Parameters
    ----------
    context : GpuContext
    steps : sequence of Step, or callable
        In the order in which they run; or a function that returns them.
    inputs, outputs : sequence of int
        The values that calls give and get.
    constants : mapping of int to object
        Values that are the same in each call: arrays on the host or on the device.
    fuse : callable, optional
        ``(steps with their numbers, outputs) -> steps``: puts steps together that one launch can do.
    outline : Outline, optional
        Facts about the steps; then they are asked for only if they have to be recorded.

    Attributes
    ----------
    constants : Constants
        Arrays that recordings hold.
    held : list of GpuArray
        Constants on the device.
    outline : Outline
    flags : bytes
        For each input the needs for an array on the host: its transfer, its elements, or both.

    Examples
    --------
    >>> import numpy as np
    >>> from theano_gpuarray.contexts import open_context
    >>> from theano_gpuarray.region import Region, Step, Upload
    >>> from theano_linker_c.kernels import TransposeKernel
    >>> transpose = Step(TransposeKernel((1, 0), ()), (1,), (2,))
    >>> region = Region(open_context("null0"), [Step(Upload(), (0,), (1,)), transpose], [0], [2])
    >>> region([np.ones((2, 3), "float32")])[0].shape
    (3, 2)
    """

    def __init__(
        self,
        context: GpuContext,
        steps: Sequence[Step] | Callable[[], Sequence[Step]],
        inputs: Sequence[int],
        outputs: Sequence[int],
        constants: Mapping[int, Value] | None = None,
        fuse: Callable[[Sequence[tuple[int, Step]], Collection[int]], Sequence[tuple[int, Step]]] | None = None,
        outline: Outline | None = None,
    ) -> None:
        self.context = context
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.constants = Constants(context)
        self._fixed = dict(constants or {})
        self._told, self._fuse = steps, fuse
        self._known: list[tuple[int, Step]] | None = None
        self._shelf: Shelf | None = None
        self.outline = self._outlined() if outline is None else outline
        for number in self.outline.viewed:
            self._fixed[number] = upload(context, np.asarray(self._fixed[number]))
        self._views = self.outline.views
        self.held = [value for value in self._fixed.values() if isinstance(value, GpuArray)]
        self._viewed = [v for _, step in self._views for v in step.outputs]
        self._recordings: OrderedDict[Hashable, Recording] = OrderedDict()
        self._exact: set[Hashable] = set()
        self._lock = threading.RLock()
        #: Memory that recordings find, one after the other.
        self._slots = len(self.inputs) + len(self.held)
        moved, asked = self.outline.moved, self.outline.asked
        self.flags = bytes(MOVED * (i in moved) + KEYED * (i in asked) for i in self.inputs)
        self._replays = Replays(context.native, GpuArray, context, np.empty, self.flags)

    def _outlined(self) -> Outline:
        """Return the facts about the steps that calls need.

        Constants of which views are taken are on the device, unless the host has to know them, too: each call takes
        views of arrays with memory before anything is recorded.
        """
        is_single = self._whole()
        asked = {i for _, step in is_single for i in step.host_inputs}
        viewed = {i for _, step in is_single if isinstance(step.task, IndexViewKernel) for i in step.inputs}
        on_host = {number for number, value in self._fixed.items() if not isinstance(value, GpuArray)}
        moved = (viewed - asked) & on_host
        views, steps = _split(is_single, {*self.inputs, *self._fixed}, on_host - moved)
        self._known = steps
        keyed = frozenset[int]().union(*(step.host_inputs for _, step in steps)).intersection(self.inputs)
        return Outline(
            views,
            keyed,
            frozenset(i for _, step in steps for i in step.inputs if i not in step.host_inputs),
            keyed.union(*(step.host_inputs for _, step in views)),
            frozenset(moved),
        )

    @property
    def recordings(self) -> list[Recording]:
        """The recordings that there are, the one that was made last at the end."""
        return list(self._recordings.values())

    @property
    def steps(self) -> list[tuple[int, Step]]:
        """The steps that are recorded, with their numbers; views that each call takes for itself are none of them."""
        return list(self._recorded_steps())

    def _recorded_steps(self) -> list[tuple[int, Step]]:
        if self._known is None:
            views = {number for number, _ in self._views}
            self._known = [(number, step) for number, step in self._whole() if number not in views]
        return self._known

    def _whole(self) -> Sequence[tuple[int, Step]]:
        numbered = list(enumerate(self._told() if callable(self._told) else self._told))
        return numbered if self._fuse is None else self._fuse(numbered, set(self.outputs))

    def keep_on(self, shelf: Shelf) -> None:
        """Let recordings be looked for on a shelf before they are made, and kept there, existing ones, too."""
        with self._lock:
            self._shelf = shelf
            recordings = list(self._recordings.items())
        for key, recording in recordings:
            self._put(key, recording)

    def __call__(self, values: Sequence[Value]) -> list[Value]:
        """Run the steps and return the outputs: arrays on the device, and on the host where a step has put them there.

        Raises
        ------
        StepError
            If operands do not fit, or a kernel has found a wrong value; nothing that was given has been changed.
        """
        operands = values if type(values) is list else list(values)
        token = flags_token()
        results = self._replays.run(operands, token)
        return self._first(operands, token) if results is None else results

    def _first(self, values: list[Value], token: int) -> list[Value]:
        """Make a call that is not known yet."""
        values = [v if isinstance(v, GpuArray) else np.asarray(v, order="C") for v in values]
        call = self._call(values, token)
        with self._lock:
            recording, replay = self._replay(call)
        sources = tuple(self._source(*source) for source in recording.sources)
        explain = partial(explain_failure, recording.explain)
        entry = replay.launches, sources, replay.outputs, recording.status_index, explain
        self._replays.keep(values, token, entry)
        return self._replays.make(values, entry)

    def _source(self, source: int, what: Any) -> tuple[int, Any]:
        """Return where the memory of a slot comes from: of those of the inputs, the last ones are constants."""
        beyond = what - len(self.inputs) if source == INPUT else -1
        return (HELD, self.held[beyond].buffer) if beyond >= 0 else (source, what)

    def _call(self, values: Sequence[Value], token: int) -> _Call:
        """Return the key of a call."""
        key: list[Hashable] = [token]
        offsets: list[int] = []
        for number, value in zip(self.inputs, values, strict=True):
            if isinstance(value, GpuArray):
                key.append((value.shape, value.strides, value.offset % _ALIGNED))
                offsets.append(value.offset)
                continue
            if number in self.outline.moved:
                key.append(value.shape)
            if number in self.outline.keyed:
                key.append(value.tobytes())
        offsets.extend(value.offset for value in self.held)
        entries = None
        if self._views:
            entries = self.entries(values)
            for number in self._viewed:
                view = entries[number]
                assert isinstance(view, DeviceOperand), "views of arrays on the device are there, too"
                key.append((view.shape, view.strides, view.offset % _ALIGNED))
                offsets.append(view.offset)
        return _Call(values, entries, tuple(key), tuple(offsets))

    def entries(self, values: Sequence[Value]) -> dict[int, Entry]:
        """Return entries for recorders from the values of a call, with views of them."""
        entries: dict[int, Entry] = {}
        for slot, (number, value) in enumerate(zip(self.inputs, values, strict=True)):
            if isinstance(value, GpuArray):
                entries[number] = operand_of(slot, value)
                continue
            array = entries[number] = np.asarray(value)
            if number in self.outline.moved:
                strides = contiguous_strides(array.shape, array.itemsize)
                entries[number] = OnHost(DeviceOperand(slot, array.dtype.name, array.shape, strides), array)
        slot = len(self.inputs)
        for number, value in self._fixed.items():
            if isinstance(value, GpuArray):
                entries[number] = operand_of(slot, value)
                slot += 1
            else:
                entries[number] = np.asarray(value)
        kept = Kept(self.context, self.constants, slot)
        entries_by_slot = record_steps(kept, self._views, entries)
        assert not kept.held, "memory that views need is there before"
        return entries_by_slot

    def _replay(self, call: _Call) -> tuple[Recording, Replay]:
        """Return the commands of a call, recorded now if it is the first one of its kind."""
        exact = (call.key, call.offsets)
        key: Hashable = exact if call.key in self._exact else call.key
        recording = self._recordings.get(key) or self._found(key, call) or self._record(key, call)
        self._recordings.move_to_end(key)
        replay = recording.replay(call.offsets)
        if replay is None:  # more changes with an offset than numbers
            self._exact.add(call.key)
            recording = self._record(exact, call)
            replay = recording.replay(call.offsets)
            assert replay is not None, "it was recorded with these offsets"
        return recording, replay

    def _record(self, key: Hashable, call: _Call) -> Recording:
        entries = self.entries(call.values) if call.entries is None else call.entries
        steps = self._recorded_steps()
        recording = make_recording(self.context, self.constants, steps, entries, self.outputs, self._slots)
        self._put(key, recording)
        return self._added(key, recording)

    def _found(self, key: Hashable, call: _Call) -> Recording | None:
        """Return the recording for a call that another process has made; None where there is none."""
        stored = None if self._shelf is None else self._shelf.find(key)
        if stored is None:
            return None
        entries = self.entries(call.values) if call.entries is None else call.entries
        recording = restored_recording(
            self.context, self.constants, self._recorded_steps, entries, self.outputs, stored
        )
        return None if recording is None else self._added(key, recording)

    def _added(self, key: Hashable, recording: Recording) -> Recording:
        self._recordings[key] = recording
        if len(self._recordings) > RECORDINGS:
            self._recordings.popitem(last=False)
        return recording

    def _put(self, key: Hashable, recording: Recording) -> None:
        stored = None if self._shelf is None else recording.stored()
        if self._shelf is not None and stored is not None:
            self._shelf.put(key, stored)


def _split(
    steps: Sequence[tuple[int, Step]], inputs: Collection[int], on_host: Collection[int]
) -> tuple[list[tuple[int, Step]], list[tuple[int, Step]]]:
    """Return the steps that only take views of inputs, which each call does for itself, and the others.

    So numbers that say where a view begins are no part of a key. Arrays that are `on_host` have no memory to view.
    """
    static, views, others = set(inputs), list[tuple[int, Step]](), list[tuple[int, Step]]()
    for number, step in steps:
        arrays = {i for i in step.inputs if i not in step.host_inputs}
        if isinstance(step.task, IndexViewKernel) and static.issuperset(step.inputs) and arrays.isdisjoint(on_host):
            views.append((number, step))
            static.update(step.outputs)
        else:
            others.append((number, step))
    return views, others


def explain_failure(failure: Callable[[int], tuple[int, Explain]], number: int, *told: int) -> None:
    """Raise a kernel's failure; `failure` gives the step of a number, and the constructor of the exception."""
    step, explain = failure(number)
    raise StepError(step, [], explain(*told))
