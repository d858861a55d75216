"""The work of a region: steps over numbered values, and their way to a recorder."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theano_graph import record
from theano_linker_c.kernels import Kernel

from ..codegen import DeviceOperand, Operand, Recorder
from ._execution import form_of

__all__ = [
    "Download",
    "Entry",
    "Fusion",
    "OnHost",
    "Step",
    "StepError",
    "StepRecorder",
    "Upload",
    "entry_on_device",
    "entry_on_host",
    "record_steps",
]


@record
class Upload:
    """A transfer from the host to the device."""


@record
class Download:
    """A transfer from the device to the host, when all steps have run."""


class Fusion:
    """Several steps that may be recorded as one, if shapes allow it.

    Parameters
    ----------
    parts : sequence of (int, Step)
        The steps, with their numbers, in an order in which they can be recorded.
    outputs : sequence of int
        The values that others read.
    """

    def __init__(self, parts: Sequence[tuple[int, Step]], outputs: Sequence[int]) -> None:
        self.parts = tuple(parts)
        self.outputs = tuple(outputs)

    def record(self, recorder: StepRecorder, values: Mapping[int, Entry]) -> Mapping[int, Entry] | None:
        """Record all parts at once.

        Parameters
        ----------
        recorder : StepRecorder
        values : mapping of int to Entry
            The values that the parts read of others.

        Returns
        -------
        mapping of int to Entry, or None
            The values that others read; None where the parts have to be recorded one by one, which also raises the
            errors of wrong operands.
        """
        return None


@record
class Step:
    """A kernel, a transfer or a fusion, with the values that it reads and makes.

    Parameters
    ----------
    task : Kernel or Upload or Download or Fusion
    inputs, outputs : tuple of int
    """

    task: Kernel | Upload | Download | Fusion
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def host_inputs(self) -> frozenset[int]:
        """The values that are wanted on the host while the step is recorded."""
        if isinstance(self.task, Fusion):
            return frozenset[int]().union(*(part.host_inputs for _, part in self.task.parts))
        if not isinstance(self.task, Kernel):
            return frozenset()
        positions = form_of(self.task).host_inputs(self.task, len(self.inputs))
        return frozenset(self.inputs[i] for i in positions)


@record
class OnHost:
    """An array of the host that is on the device, too.

    Parameters
    ----------
    operand : DeviceOperand
    value : ndarray or None
        None where the host will get it when all steps have run.
    """

    operand: DeviceOperand
    value: NDArray[Any] | None = None


#: Facts about a value while steps are recorded.
Entry: TypeAlias = Operand | OnHost


class StepError(Exception):
    """Raised where a step cannot be recorded, or has failed.

    Parameters
    ----------
    step : int
    operands : sequence
        Facts about its inputs; empty where it failed on the device.
    error : Exception
        Why.
    """

    def __init__(self, step: int, operands: Sequence[Any], error: Exception) -> None:
        super().__init__(step, operands, error)
        self.step = step
        self.operands = operands
        self.error = error


class StepRecorder(Recorder, Protocol):
    """A recorder that knows which step it records.

    Attributes
    ----------
    step : int
    dying : set of int
        Slots that nothing reads after the step, and one operand of it alone.
    """

    step: int
    dying: set[int]


class _Lives:
    """Until which step the memory of each slot is read."""

    def __init__(self, steps: Sequence[tuple[int, Step]], outputs: Collection[int]) -> None:
        self._reads = {i: k for k, (_, step) in enumerate(steps) for i in step.inputs}
        self._reads.update(dict.fromkeys(outputs, len(steps)))
        self._ends: dict[int, int] = {}

    def enter(self, values: Mapping[int, Entry]) -> None:
        """Take note of values that are known now. Later values of a slot are made of one of these."""
        for i, entry in values.items():
            operand = entry.operand if isinstance(entry, OnHost) else entry
            if isinstance(operand, DeviceOperand):
                self._ends[operand.slot] = max(self._ends.get(operand.slot, -1), self._reads.get(i, -1))

    def dying(self, position: int, inputs: Sequence[Entry]) -> set[int]:
        """Return the slots that one operand of a step has, and nothing reads afterwards."""
        slots = [entry.slot for entry in inputs if isinstance(entry, DeviceOperand)]
        return {slot for slot in slots if slots.count(slot) == 1 and self._ends.get(slot, -1) <= position}


def record_steps(
    recorder: StepRecorder,
    steps: Sequence[tuple[int, Step]],
    entries: Mapping[int, Entry],
    outputs: Collection[int] = (),
) -> dict[int, Entry]:
    """Tell a recorder of steps.

    Parameters
    ----------
    recorder : StepRecorder
    steps : sequence of (int, Step)
        With their numbers.
    entries : mapping of int to Entry
        The values that are known before.
    outputs : collection of int
        Values that are read afterwards.

    Returns
    -------
    dict of int to Entry
        All values.

    Raises
    ------
    StepError
        If a device form refuses its operands.
    """
    values = dict(entries)
    lives = _Lives(steps, outputs)
    lives.enter(values)
    for position, (number, step) in enumerate(steps):
        operands = [values[i] for i in step.inputs]
        recorder.step, recorder.dying = number, lives.dying(position, operands)
        if isinstance(step.task, Fusion):
            results = _fused(recorder, step.task, dict(zip(step.inputs, operands, strict=True)), step.outputs)
        else:
            results = dict(zip(step.outputs, _results(recorder, number, step, operands), strict=True))
        lives.enter(results)
        values.update(results)
    return values


def _fused(
    recorder: StepRecorder, fusion: Fusion, values: Mapping[int, Entry], outputs: Sequence[int]
) -> dict[int, Entry]:
    """Record a fusion at once, or part by part."""
    recorder.dying = set()  # several parts may read an operand
    results = fusion.record(recorder, values)
    if results is None:
        # The inputs of the parts may have other readers, which are not known here.
        results = record_steps(recorder, fusion.parts, values, {*outputs, *values})
    return {i: results[i] for i in outputs}


def _results(recorder: StepRecorder, number: int, step: Step, given: Sequence[Entry]) -> Sequence[Entry]:
    try:
        return _results_of(recorder, step, given)
    except Exception as error:
        raise StepError(number, [_seen(entry) for entry in given], error) from error


def _results_of(recorder: StepRecorder, step: Step, given: Sequence[Entry]) -> Sequence[Entry]:
    task = step.task
    if isinstance(task, Upload):
        return [entry_on_device(recorder, given[0])]
    if isinstance(task, Download):
        entry = given[0]
        return [OnHost(entry) if isinstance(entry, DeviceOperand) else entry]
    assert isinstance(task, Kernel), "fusions are recorded by their parts"
    form = form_of(task)
    stays = set(form.host_inputs(task, len(given)))
    operands = [
        entry_on_host(entry) if i in stays else entry_on_device(recorder, entry) for i, entry in enumerate(given)
    ]
    results: Sequence[Entry] = form.run(task, recorder, operands)
    return results


def record_inside(
    recorder: StepRecorder, steps: Sequence[tuple[int, Step]], entries: Mapping[int, Entry], outputs: Sequence[int]
) -> list[Operand]:
    """Tell a recorder of the steps that a device form consists of.

    Parameters
    ----------
    recorder : StepRecorder
    steps : sequence of (int, Step)
    entries : mapping of int to Entry
        The values that are known before, the operands of the form among them.
    outputs : sequence of int

    Returns
    -------
    list of Operand
        The values of `outputs`.

    Raises
    ------
    Exception
        The errors of a step.
    """
    step, dying = recorder.step, recorder.dying
    try:
        # The operands of the form may be read by others.
        results = record_steps(recorder, steps, entries, {*outputs, *entries})
    except StepError as failure:
        raise failure.error from failure
    finally:
        recorder.step, recorder.dying = step, dying
    return [entry_on_device(recorder, results[i]) for i in outputs]


def entry_on_device(recorder: StepRecorder, entry: Entry) -> DeviceOperand:
    """Return a value on the device; one on the host depends on nothing but the key of the recording."""
    if isinstance(entry, OnHost):
        return entry.operand
    return entry if isinstance(entry, DeviceOperand) else recorder.constant(np.asarray(entry))


def entry_on_host(entry: Entry) -> NDArray[Any]:
    value = entry.value if isinstance(entry, OnHost) else entry
    if value is None or isinstance(value, DeviceOperand):
        raise TypeError("a length or a position that the host has to know is computed on the device")
    return np.asarray(value)


def _seen(entry: Entry) -> Any:
    """Return the description of a value for messages."""
    if isinstance(entry, OnHost):
        return entry.operand if entry.value is None else entry.value
    return entry
