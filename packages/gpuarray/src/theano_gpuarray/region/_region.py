"""Regions: kernels and transfers that run together, recorded for each combination of shapes and replayed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from theano_graph import record
from theano_linker_c.kernels import IndexViewKernel

from .._runtime import Replays
from ..arrays import GpuArray
from ..codegen import DeviceOperand, contiguous_strides
from ..contexts import GpuContext
from ._array import operand_of, upload
from ._at_once import flags_token
from ._kept import Constants, Explain, Kept
from ._recording import HELD, INPUT, Recording, Replay, make_recording
from ._steps import Entry, OnHost, Step, StepError, record_steps

__all__ = ["KEYED", "MOVED", "RECORDINGS", "Region", "explain_failure"]

#: Recordings that a region keeps, for so many combinations of shapes and numbers; the one used longest ago goes first.
RECORDINGS = 64
#: Bytes to which the offsets of two calls with one recording are equal: what a kernel was chosen for may depend on it.
_ALIGNED = 16
#: What matters of an array on the host: that it is transferred, and its elements; the same numbers as in c/replays.c.
MOVED, KEYED = 1, 2

Value: TypeAlias = Any


@record
class _Call:
    """What is known of the values of a call.

    Attributes
    ----------
    values : sequence
    entries : dict of int to Entry, or None
        What recorders have to know of them; None where it has not been asked for.
    key : tuple
        What a recording holds for.
    offsets : tuple of int
        Those of the arrays that are on the device.
    """

    values: Sequence[Value]
    entries: dict[int, Entry] | None
    key: tuple[Hashable, ...]
    offsets: tuple[int, ...]


class Region:
    """Runs steps on a device.

    The first call with some shapes records the steps: device forms work out shapes, refuse what does not fit, and tell
    which launches there are. Later calls replay them. A recording holds for the shapes and strides of arrays and for
    the values of numbers that the host has to know, but for those that only say where a view of an input begins: what
    changes with an offset is replaced in the recording. A region keeps :data:`RECORDINGS` of them.

    Parameters
    ----------
    context : GpuContext
    steps : sequence of Step
        In the order in which they run.
    inputs, outputs : sequence of int
        The values that calls give and get.
    constants : mapping of int to object
        Values that are the same in each call: arrays on the host or on the device.
    fuse : callable, optional
        ``(steps with their numbers, outputs) -> steps``: puts steps together that one launch can do.

    Attributes
    ----------
    constants : Constants
        Arrays that recordings hold.
    held : list of GpuArray
        Constants on the device.
    flags : bytes
        For each input what matters of an array on the host: that it is transferred, its elements, or both.

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
        steps: Sequence[Step],
        inputs: Sequence[int],
        outputs: Sequence[int],
        constants: Mapping[int, Value] | None = None,
        fuse: Callable[[Sequence[tuple[int, Step]], Collection[int]], Sequence[tuple[int, Step]]] | None = None,
    ) -> None:
        self.context = context
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.constants = Constants(context)
        self._fixed = dict(constants or {})
        numbered = list(enumerate(steps))
        whole = numbered if fuse is None else fuse(numbered, set(outputs))
        self._move_viewed([step for _, step in whole])
        on_host = {number for number, value in self._fixed.items() if not isinstance(value, GpuArray)}
        self._views, self._steps = _split(whole, {*inputs, *self._fixed}, on_host)
        wanted = frozenset[int]().union(*(step.host_inputs for _, step in self._steps))
        #: Inputs whose value on the host is a part of the key, and those that are transferred if they are on the host.
        self._keyed = wanted.intersection(self.inputs)
        self._moved = {i for _, step in self._steps for i in step.inputs if i not in step.host_inputs}
        self.held = [value for value in self._fixed.values() if isinstance(value, GpuArray)]
        self._viewed = [v for _, step in self._views for v in step.outputs]
        self._recordings: OrderedDict[Hashable, Recording] = OrderedDict()
        self._exact: set[Hashable] = set()
        self._lock = threading.RLock()
        #: Memory that recordings find, one after the other.
        self._slots = len(self.inputs) + len(self.held)
        asked = self._keyed.union(*(step.host_inputs for _, step in self._views))
        #: For each input what matters of an array on the host.
        self.flags = bytes(MOVED * (i in self._moved) + KEYED * (i in asked) for i in self.inputs)
        self._replays = Replays(context.native, GpuArray, context, np.empty, self.flags)

    def _move_viewed(self, steps: Sequence[Step]) -> None:
        """Move constants of which views are taken to the device, unless the host has to know them, too.

        Each call takes views of what has memory before anything is recorded.
        """
        asked = {i for step in steps for i in step.host_inputs}
        viewed = {i for step in steps if isinstance(step.task, IndexViewKernel) for i in step.inputs}
        for number in (viewed - asked) & self._fixed.keys():
            value = self._fixed[number]
            if not isinstance(value, GpuArray):
                self._fixed[number] = upload(self.context, np.asarray(value))

    @property
    def recordings(self) -> list[Recording]:
        """The recordings that there are, the one that was made last at the end."""
        return list(self._recordings.values())

    @property
    def steps(self) -> list[tuple[int, Step]]:
        """The steps that are recorded, with their numbers; views that each call takes for itself are none of them."""
        return list(self._steps)

    def __call__(self, values: Sequence[Value]) -> list[Value]:
        """Run the steps and return the outputs: arrays on the device, and on the host where a step has put them there.

        Raises
        ------
        StepError
            If operands do not fit, or a kernel has found a wrong value; nothing that was given has been changed.
        """
        given = values if type(values) is list else list(values)
        token = flags_token()
        found = self._replays.run(given, token)
        return self._first(given, token) if found is None else found

    def _first(self, values: list[Value], token: int) -> list[Value]:
        """Make a call that is not known yet."""
        values = [v if isinstance(v, GpuArray) else np.asarray(v, order="C") for v in values]
        call = self._call(values, token)
        with self._lock:
            recording, replay = self._replay(call)
        sources = tuple(self._source(*source) for source in recording.sources)
        explain = partial(explain_failure, recording.failures)
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
            if number in self._moved:
                key.append(value.shape)
            if number in self._keyed:
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
        """Return what recorders have to know of the values of a call, with views of them."""
        entries: dict[int, Entry] = {}
        for slot, (number, value) in enumerate(zip(self.inputs, values, strict=True)):
            if isinstance(value, GpuArray):
                entries[number] = operand_of(slot, value)
                continue
            array = entries[number] = np.asarray(value)
            if number in self._moved:
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
        found = record_steps(kept, self._views, entries)
        assert not kept.held, "memory that views need is there before"
        return found

    def _replay(self, call: _Call) -> tuple[Recording, Replay]:
        """Return what runs for a call, recorded now if it is the first one of its kind."""
        exact = (call.key, call.offsets)
        key: Hashable = exact if call.key in self._exact else call.key
        recording = self._recordings.get(key) or self._record(key, call)
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
        made = make_recording(self.context, self.constants, self._steps, entries, self.outputs, self._slots)
        self._recordings[key] = made
        if len(self._recordings) > RECORDINGS:
            self._recordings.popitem(last=False)
        return made


def _split(
    steps: Sequence[tuple[int, Step]], given: Collection[int], on_host: Collection[int]
) -> tuple[list[tuple[int, Step]], list[tuple[int, Step]]]:
    """Return the steps that only take views of what is given, which each call does for itself, and the others.

    So numbers that say where a view begins are no part of a key. Arrays that are `on_host` have no memory to view.
    """
    known, views, others = set(given), list[tuple[int, Step]](), list[tuple[int, Step]]()
    for number, step in steps:
        arrays = {i for i in step.inputs if i not in step.host_inputs}
        if isinstance(step.task, IndexViewKernel) and known.issuperset(step.inputs) and arrays.isdisjoint(on_host):
            views.append((number, step))
            known.update(step.outputs)
        else:
            others.append((number, step))
    return views, others


def explain_failure(failures: Sequence[tuple[int, Explain]], number: int, *told: int) -> None:
    """Raise what a kernel has found wrong."""
    step, explain = failures[number - 1]
    raise StepError(step, [], explain(*told))
