"""Loops whose steps are a region: all steps as one list of launches, or some at a time until a value ends them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from theano_graph import record

from .._runtime import LaunchList
from ..arrays import GpuArray
from ..codegen import DeviceOperand, contiguous_strides
from ..codegen._kernel_writer import copy_into
from ._events import ARENA, Kept, is_moved, moves_of
from ._execution import STATUS_LENGTH, operand_of
from ._recording import HELD, INPUT, OWN, STATUS, launch_step
from ._region import Region, explain_failure
from ._steps import Entry, record_steps
from .scheduling import JoinPlan, lay_out, plan_joins

if TYPE_CHECKING:
    from .. import _device


# ---- Loops with a number of steps

#: Steps that are recorded, to see how numbers advance: by how much from one to the next, by how much more in every
#: second one, and whether that is all.
_ROUNDS = 4


@record
class LoopInput:
    """Where the steps get an input of the region from.

    Parameters
    ----------
    kind : {"row", "position", "state", "same"}
        A row of a value of the call, one that the host has to know, an output of the step before, or the
        same in all steps.
    number : int
        Of the value of the call, or of the output; -1 where all steps get `value`.
    value : ndarray, optional
    """

    kind: Literal["row", "position", "state", "same"]
    number: int
    value: Any = None


@record
class LoopOutput:
    """The treatment of a result.

    Parameters
    ----------
    result : int
        Of the region; where it is negative, ``~result`` is the number of an input of the plan that is the result.
    stacked : bool
        Whether the values of all steps are wanted, or the last one.
    carried : bool
        Whether the next step reads it.
    initial : int
        The value of the call that the first step reads; -1 for zeros.
    """

    result: int
    stacked: bool
    carried: bool = False
    initial: int = -1


@record
class LoopPlan:
    """How the inputs and results of a region go together in a loop.

    Parameters
    ----------
    inputs : tuple of LoopInput
        One for each input of the region, and more for arrays on the device that are results as they are.
    outputs : tuple of LoopOutput
    backwards : bool
        Whether rows are read, and stacks written, from the last to the first.
    """

    inputs: tuple[LoopInput, ...]
    outputs: tuple[LoopOutput, ...]
    backwards: bool


@record
class _Rows:
    """Where the values of an output lie: rows of a buffer, of which results or the next step read some.

    Attributes
    ----------
    dtype : str
    shape : tuple of int
        Of one row.
    count : int
        Rows.
    first, step : int
        The row that the first step writes, and how many rows the next step goes on.
    ring : bool
        Whether there are two rows that take turns, step by step.
    """

    dtype: str
    shape: tuple[int, ...]
    count: int
    first: int
    step: int
    ring: bool

    @property
    def nbytes(self) -> int:
        """Bytes of a row."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize

    def written(self, i: int) -> int:
        """Return the offset of the row that step `i` writes; -1 is the row that the first step reads."""
        return self.nbytes * ((i + 1) % 2 if self.ring else self.first + i * self.step)

    def operand(self, slot: int, offset: int) -> DeviceOperand:
        """Return the row at an offset."""
        strides = contiguous_strides(self.shape, np.dtype(self.dtype).itemsize)
        return DeviceOperand(slot, self.dtype, self.shape, strides, offset)


def _rows_of(output: LoopOutput, dtype: str, shape: tuple[int, ...], n: int, backwards: bool) -> _Rows:
    more = int(output.carried)
    if not output.stacked:
        return _Rows(dtype, shape, 1 + more, 0, 0, output.carried)
    first, step = (n - 1, -1) if backwards else (more, 1)
    return _Rows(dtype, shape, n + more, first, step, False)


@record
class Body:
    """A recorded step, and the changes in its launches from one step to the next."""

    kept: Kept
    moves: tuple[tuple[tuple[int, int, int], ...], ...]


class LoopRecording:
    """A loop with fixed shapes and a fixed number of steps, as it is recorded.

    Slots are numbered: inputs of the region, its constants, the rows of each output, the initial value of each, and
    inputs that the region does not have.

    Parameters
    ----------
    region : Region
    plan : LoopPlan
    n : int
    values : sequence
        Those of the call: arrays on the device and on the host.
    shapes : mapping of int to (str, tuple of int)
        The dtypes and shapes of outputs that the next step reads.
    """

    def __init__(
        self,
        region: Region,
        plan: LoopPlan,
        n: int,
        values: Sequence[Any],
        shapes: Mapping[int, tuple[str, tuple[int, ...]]],
    ) -> None:
        self._region, self._plan, self._n, self._values = region, plan, n, values
        self._context = region.context
        self._nothing = region.context.native.allocate(0)
        self._rows = {k: _rows_of(plan.outputs[k], *like, n, plan.backwards) for k, like in shapes.items()}
        self._count = len(plan.outputs)
        self._first = len(region.inputs) + len(region.held)
        self._more = self._first + 2 * self._count
        self._slots = self._more + len(plan.inputs) - len(region.inputs)
        self._claims: dict[int, int] = {}
        self._places: Mapping[int, tuple[int, int]] = {}
        self._laid_out: tuple[int, dict[int, int]] | None = None
        self._plan_of_joins = JoinPlan(())
        self._index: dict[int, int] = {}
        self._before = Kept(self._context, region.constants, self._slots)
        self.arena = 0

    def entry(self) -> Any:
        """Return the work of a call; None where the steps differ in more than numbers that advance evenly."""
        body = self.begin(self._n)
        if body is None:
            return None
        recorder, index = body.kept, self._index
        outputs = tuple(self._told(k, index[self._first + k]) for k in range(self._count))
        status = None if recorder.status_slot is None else index.get(recorder.status_slot)
        sources = tuple(self._source(slot, recorder) for slot in index)
        return self.launches(body, self._n, first=True), sources, outputs, status, explain_by(recorder)

    def begin(self, count: int) -> Body | None:
        """Lay out arrays, and record the first steps and the work before; None where steps differ."""
        body = self.body(0, count) if self._lay_out() else None
        if body is not None:
            self._before = self._begin()
            self._index = {slot: i for i, slot in enumerate(self._memory(body.kept, self._before))}
        return body

    def body(self, begin: int, count: int) -> Body | None:
        """Record steps from one on; None where they differ in more than numbers that advance evenly."""
        found = [self._round(begin + i) for i in range(min(_ROUNDS, count))]
        rounds = [kept for kept in found if kept is not None]
        if len(rounds) < len(found):
            return None
        first = rounds[0]
        if any([e.fixed for e in other.events] != [e.fixed for e in first.events] for other in rounds[1:]):
            return None
        moves = [moves_of(events) for events in zip(*(other.events for other in rounds), strict=True)]
        even = tuple(moved for moved in moves if moved is not None)
        if len(even) < len(moves) or not self._last_fits(first, even, begin, count):
            return None
        return Body(first, even)

    def launches(self, body: Body, count: int, *, first: bool) -> LaunchList | None:
        """Return the list of so many steps, the first of them with the work before."""
        before = self._before.events if first else []
        events = [*before, *body.kept.events]
        self._context.prepare(event.text for event in events if event.text is not None)

        def buffer(operand: DeviceOperand) -> int:
            return self._index[self._home(body.kept.memory_of(operand.slot))]

        steps = [launch_step(self._context, event, buffer) for event in before]
        repeated = tuple(launch_step(self._context, event, buffer) for event in body.kept.events)
        if repeated:
            steps.append(("repeat", count, repeated, body.moves))
        return LaunchList(self._context.native, tuple(steps), len(self._index)) if steps else None

    def _given(self, i: int) -> list[Any]:
        """Return the inputs of the region in a step; of arrays on the device only the layout counts."""
        row = self._n - 1 - i if self._plan.backwards else i
        return [self._input(source, i, row) for source in self._plan.inputs]

    def _input(self, source: LoopInput, i: int, row: int) -> Any:
        if source.kind == "state":
            rows = self._rows[source.number]
            operand = rows.operand(0, rows.written(i - 1))
            return self._array(operand.dtype, operand.shape, operand.strides, operand.offset)
        if source.number < 0:
            return source.value
        value = self._values[source.number]
        if source.kind == "same":
            return value
        if source.kind == "position":
            return value[row, ...]
        offset = value.offset if isinstance(value, GpuArray) else 0  # the host's are C-contiguous
        return self._array(value.dtype, value.shape[1:], value.strides[1:], offset + row * value.strides[0])

    def _array(self, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> GpuArray:
        return GpuArray(self._nothing, dtype, shape, strides, offset, self._context)

    def _run(self, i: int, kept: Kept) -> list[Entry]:
        """Record a step, and return the results, one for each output."""
        region, inputs = self._region, self._given(i)
        count = len(region.inputs)
        entries = region.entries(inputs[:count])
        outcomes = record_steps(kept, region.steps, entries, region.outputs)
        results = list[Entry]()
        for output in self._plan.outputs:
            if output.result >= 0:
                results.append(outcomes[region.outputs[output.result]])
            elif ~output.result < count:
                results.append(entries[region.inputs[~output.result]])
            else:
                results.append(operand_of(self._more + ~output.result - count, inputs[~output.result]))
        return results

    def _lay_out(self) -> bool:
        """Find where arrays lie: results in the rows of outputs, if they are arrays of their own."""
        recorder = Kept(self._context, self._region.constants, self._slots)
        results = self._run(0, recorder)
        operands = [x for x in results if isinstance(x, DeviceOperand)]
        if len(operands) < len(results):
            return False
        for k, x in enumerate(operands):
            rows = _rows_of(self._plan.outputs[k], x.dtype, tuple(x.shape), self._n, self._plan.backwards)
            if self._rows.setdefault(k, rows) != rows:
                return False
        self._laid_out = recorder.outline
        self._plan_of_joins = plan_joins(recorder)
        self._plan_of_joins.apply(recorder)
        layout = lay_out(recorder.events, recorder.sizes, {x.slot for x in operands})
        for k, x in enumerate(operands):
            root, offset = layout.places.get(x.slot, (ARENA, 0))
            fills_buffer = x.contiguous and not x.offset and x.size * x.itemsize == recorder.sizes.get(x.slot)
            if root != ARENA and not offset and fills_buffer and root not in self._claims.values():
                self._claims[k] = root
        self._places, self.arena = layout.places, layout.arena
        return True

    def _round(self, i: int) -> Kept | None:
        """Record a step with everything in its position; None where it differs there from the layout.

        A form may copy an operand that does not begin at a multiple of some number of bytes, for instance.
        """
        row_of = {root: (self._first + k, self._rows[k].written(i)) for k, root in self._claims.items()}
        places = {slot: row_of.get(root, (root, at)) for slot, (root, at) in self._places.items()}
        recorder = Kept(self._context, self._region.constants, self._slots, places)
        results = self._run(i, recorder)
        if recorder.outline != self._laid_out:
            return None
        for k, x in enumerate(results):
            if k not in self._claims:
                assert isinstance(x, DeviceOperand), "results are on the device"
                rows = self._rows[k]
                copy_into(recorder, rows.operand(self._first + k, rows.written(i)), x)
        self._plan_of_joins.apply(recorder)
        return recorder

    def _begin(self) -> Kept:
        """Record the work before the first step: initial values become the rows that it reads."""
        recorder = Kept(self._context, self._region.constants, self._slots)
        for k, output in enumerate(self._plan.outputs):
            rows = self._rows[k]
            if not output.carried:
                continue
            target = rows.operand(self._first + k, rows.written(-1))
            if output.initial < 0:
                recorder.fill(target)
                continue
            value = self._values[output.initial]
            slot = self._first + self._count + k
            copy_into(recorder, target, DeviceOperand(slot, value.dtype.name, value.shape, value.strides, value.offset))
        return recorder

    def _last_fits(self, recorder: Kept, moves: Sequence[Any], begin: int, count: int) -> bool:
        """Tell whether the last steps continue the first ones, where positions decide."""
        positions = [self._values[x.number][: self._n] for x in self._plan.inputs if x.kind == "position"]
        if not positions:
            return True
        if any(len(set(np.diff(x.astype(object)).tolist())) > 1 for x in positions):
            return False
        for i in {max(count - 2, 0), count - 1}:
            last = self._round(begin + i)
            if last is None or [e.fixed for e in last.events] != [e.fixed for e in recorder.events]:
                return False
            for event, first, moved in zip(last.events, recorder.events, moves, strict=True):
                if not is_moved(event, first, moved, i):
                    return False
        return True

    def _home(self, slot: int) -> int:
        """Return the slot that has the memory of another one: states lie in the rows of outputs."""
        source = self._source_of(slot)
        return slot if source is None or source.kind != "state" else self._first + source.number

    def _source_of(self, slot: int) -> LoopInput | None:
        """Return the kind of an input that has a slot."""
        count = len(self._region.inputs)
        if 0 <= slot < count:
            return self._plan.inputs[slot]
        return self._plan.inputs[count + slot - self._more] if self._more <= slot < self._slots else None

    def _memory(self, recorder: Kept, before: Kept) -> list[int]:
        used = {
            self._home(recorder.memory_of(x.slot))
            for event in (*before.events, *recorder.events)
            for x in event.operands
        }
        return sorted(used | {self._first + k for k in range(self._count)})

    def _source(self, slot: int, recorder: Kept) -> tuple[int, Any]:
        """Return where the memory of a slot comes from in a call."""
        source = self._source_of(slot)
        outputs = slot - self._first
        if slot == ARENA:
            return OWN, max(self.arena, 1)
        if source is not None:
            if source.number >= 0:
                return INPUT, source.number
            return HELD, self._region.constants.buffer(np.asarray(source.value, order="C"))
        if slot < self._first:
            return HELD, self._region.held[slot - len(self._region.inputs)].buffer
        if outputs < self._count:
            return OWN, max(self._rows[outputs].count * self._rows[outputs].nbytes, 1)
        if slot < self._more:
            return INPUT, self._plan.outputs[outputs - self._count].initial
        if slot in recorder.held:
            return HELD, recorder.held[slot]
        return (STATUS, None) if slot == recorder.status_slot else (OWN, max(recorder.sizes[slot], 1))

    def _told(self, k: int, index: int) -> tuple[Any, ...]:
        """Return how an output is made of its rows."""
        rows, output = self._rows[k], self._plan.outputs[k]
        shape, offset = rows.shape, rows.written(self._n - 1)
        if output.stacked:
            shape = (self._n, *shape)
            offset = min(rows.written(0), rows.written(self._n - 1))
        dtype = np.dtype(rows.dtype)
        return index, False, dtype, shape, contiguous_strides(shape, dtype.itemsize), offset


def record_loop(
    region: Region, plan: LoopPlan, n: int, values: Sequence[Any], shapes: Mapping[int, tuple[str, tuple[int, ...]]]
) -> Any:
    """Record all steps of a loop.

    Parameters
    ----------
    region : Region
    plan : LoopPlan
    n : int
        Steps, 1 at least.
    values : sequence
        Those of the call: arrays on the device, and arrays on the host, which are C-contiguous.
    shapes : mapping of int to (str, tuple of int)
        The dtypes and shapes of outputs that the next step reads.

    Returns
    -------
    tuple or None
        The argument of :meth:`Replays.keep`; None where the steps differ in more than numbers that advance evenly, so
        that they have to be done one by one.

    Raises
    ------
    StepError
        If a device form refuses its operands.
    """
    return LoopRecording(region, plan, n, values, shapes).entry()


def explain_by(recorder: Kept) -> Any:
    """Return a function that raises the exception for a status."""
    return partial(explain_failure, lambda number: recorder.failures[number - 1])


# ---- Loops that a value ends

#: Steps that are done before it is looked at the condition for the first time.
_FIRST = 4
#: Bytes of all values of all outputs, at most: steps beyond the last one must not overwrite results.
_MOST = 1 << 28

#: The number of steps, and the outputs; None where a kernel has found a wrong value.
Ended = tuple[int, list[GpuArray]] | None


class UntilRecording(LoopRecording):
    """A loop that ends where the last output is true.

    All values of all outputs are kept until it has ended, so that steps beyond the last one overwrite nothing. A third
    of the steps that are done may be too many.

    Parameters
    ----------
    region : Region
    plan : LoopPlan
        Its last output is the condition.
    n : int
        The most steps.
    values : sequence
    shapes : mapping of int to (str, tuple of int)
    """

    def __init__(
        self,
        region: Region,
        plan: LoopPlan,
        n: int,
        values: Sequence[Any],
        shapes: Mapping[int, tuple[str, tuple[int, ...]]],
    ) -> None:
        self._stacked = [output.stacked for output in plan.outputs]
        outputs = tuple(replace(output, stacked=True) for output in plan.outputs)
        super().__init__(region, replace(plan, outputs=outputs), n, values, shapes)
        self._lists: list[tuple[int, LaunchList | None]] = []
        self._status: int | None = None
        self._lock = threading.Lock()

    def entry(self) -> Any:
        """Return the first work of a call: the steps before the first look at the condition; and all memory."""
        count = min(_FIRST, self._n)
        body = self.begin(count)
        if body is None or sum(rows.count * rows.nbytes for rows in self._rows.values()) > _MOST:
            return None
        sources = [self._source(slot, body.kept) for slot in self._index]
        status = body.kept.status_slot
        self._status = None if status is None else self._index.get(status)
        if status is not None and self._status is not None:
            sources[self._status] = OWN, STATUS_LENGTH * 8
            self._before.fill(DeviceOperand(status, "int64", (STATUS_LENGTH,), (8,)))
        launches = self.launches(body, count, first=True)
        self._lists.append((count, launches))
        return launches, tuple(sources), (lambda memory: (self, memory),), None, explain_nothing

    def finish(self, memory: Sequence[_device.Buffer]) -> Ended:
        """Go on until a step was the last one.

        Parameters
        ----------
        memory : sequence of Buffer
            In which the first steps have been done.
        """
        begin = done = 0
        for k in range(self._n):
            count, launches = self._list(k, begin)
            if launches is None and count == 0:
                return None
            if k and launches is not None:
                launches.run(memory)
            ends = self._ends(memory, begin, count)
            if self._failed(memory):
                return None
            begin += count
            done = begin if ends is None else begin - count + ends + 1
            if ends is not None or begin == self._n:
                break
        return done, [self._value(i, done, memory) for i in range(self._count - 1)]

    def _list(self, k: int, begin: int) -> tuple[int, LaunchList | None]:
        """Return the number of steps between two looks at the condition, and their launches; none where they differ."""
        with self._lock:
            if k == len(self._lists):
                count = min(max(_FIRST, begin // 2), self._n - begin)
                body = self.body(begin, count)
                self._lists.append((0, None) if body is None else (count, self.launches(body, count, first=False)))
            return self._lists[k]

    def _ends(self, memory: Sequence[_device.Buffer], begin: int, count: int) -> int | None:
        """Return the first of some steps after which the loop ends; None where it goes on."""
        last = self._count - 1
        offset = min(self._rows[last].written(i) for i in (begin, begin + count - 1))
        ends = np.empty(count, np.bool_)
        memory[self._index[self._first + last]].read(offset, ends)
        order = ends[::-1] if self._plan.backwards else ends
        return int(order.argmax()) if order.any() else None

    def _failed(self, memory: Sequence[_device.Buffer]) -> bool:
        if self._status is None:
            return False
        status = np.zeros(STATUS_LENGTH, np.int64)
        memory[self._status].read(0, status)
        return bool(status[0])

    def _value(self, k: int, done: int, memory: Sequence[_device.Buffer]) -> GpuArray:
        """Return an output after so many steps."""
        rows, buffer = self._rows[k], memory[self._index[self._first + k]]
        shape, offset = rows.shape, rows.written(done - 1)
        if self._stacked[k]:
            shape, offset = (done, *shape), min(rows.written(0), offset)
        dtype = np.dtype(rows.dtype)
        value = GpuArray(buffer, dtype, shape, contiguous_strides(shape, dtype.itemsize), offset, self._context)
        return value.copy() if 2 * value.nbytes < buffer.nbytes else value


def explain_nothing(*told: int) -> None:
    """Accept the question: the status is looked at with the condition."""


def record_until(
    region: Region, plan: LoopPlan, n: int, values: Sequence[Any], shapes: Mapping[int, tuple[str, tuple[int, ...]]]
) -> Any:
    """Record a loop that ends where its last output is true; the arguments are those of :func:`record_loop`.

    Returns
    -------
    tuple or None
        The argument of :meth:`Replays.keep`. The one result of such calls is a pair: an object whose method `finish`
        returns the number of steps and the outputs, and its argument.
    """
    return UntilRecording(region, plan, n, values, shapes).entry()


__all__ = [
    "LoopInput",
    "LoopOutput",
    "LoopPlan",
    "LoopRecording",
    "record_loop",
    "Ended",
    "UntilRecording",
    "record_until",
]
