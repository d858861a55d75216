"""Loops that a value ends: some steps at a time, then it is looked at whether one of them was the last."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._runtime import LaunchList
from ..arrays import GpuArray
from ..codegen import DeviceOperand, contiguous_strides
from ._at_once import STATUS_LENGTH
from ._loops import LoopPlan, LoopRecording
from ._recording import OWN
from ._region import Region

if TYPE_CHECKING:
    from .. import _device

__all__ = ["Ended", "UntilRecording", "record_until"]

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
