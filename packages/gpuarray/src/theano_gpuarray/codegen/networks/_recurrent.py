"""Recurrent networks of several layers and their gradients, by cuDNN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theano_graph import config

from .._copies import contiguous, copy_into, on_device
from .._form import DeviceOperand, LibraryCall, Operand, Recorder
from ._kernel import DnnKernel, by_library

__all__ = ["network_numbers"]

#: The library's number of networks with cells, and the number of gates of each mode.
_LSTM = 2
_GATES = (1, 1, 4, 3)
_ALIGNMENT = 16


def network_numbers(options: tuple[int, ...], steps: int, batch: int, inputs: int, dtype: str) -> tuple[int, ...]:
    """Return the numbers of a network's operations.

    Parameters
    ----------
    options : tuple of int
        The library's number of the mode, length of the states, layers, whether there are two directions, and whether
        the input of the first layer is added as it is.
    steps, batch, inputs : int
    dtype : str
    """
    return (*options, steps, batch, inputs, int(dtype == "float32" and bool(config.gpuarray.tf32)))


@dataclass(frozen=True)
class _Plan:
    """How the library computes a network."""

    numbers: tuple[int, ...]
    dtype: str
    work: int
    reserve: int
    weights: int

    def call(self, task: str) -> LibraryCall:
        """Return an operation."""
        return LibraryCall(task, self.dtype, self.numbers, of_cudnn=True)


def _plan(kernel: DnnKernel, recorder: Recorder, x: DeviceOperand) -> _Plan | None:
    steps, batch, inputs = x.shape
    numbers = network_numbers(kernel.options, steps, batch, inputs, kernel.dtype)
    plan = []
    for name in ("rnn", "rnn_reserve", "rnn_weights"):
        size = recorder.workspace(LibraryCall(name, kernel.dtype, numbers, of_cudnn=True))
        if size is None:
            return None
        plan.append(size)
    return _Plan(numbers, kernel.dtype, plan[0], plan[1], plan[2])


def _fits(kernel: DnnKernel, w: DeviceOperand, x: DeviceOperand, states: Sequence[DeviceOperand]) -> bool:
    """Tell whether there are as many parameters as inputs of this length need, and states have their shape."""
    mode, hidden, layers, both, skips = kernel.options
    columns = [hidden * (1 + both) if k else 0 if skips else x.shape[2] for k in range(layers)]
    size = (1 + both) * _GATES[mode] * hidden * sum(n + hidden + 2 for n in columns)
    return w.shape == (size,) and all(s.shape == (layers * (1 + both), x.shape[1], hidden) for s in states)


def _aligned(recorder: Recorder, operand: DeviceOperand) -> DeviceOperand:
    """Return an array that is contiguous, at an address that suits vectors."""
    aligned = contiguous(recorder, operand)
    return contiguous(recorder, aligned, copied=True) if aligned.offset % _ALIGNMENT else aligned


def _parameters(recorder: Recorder, plan: _Plan, w: DeviceOperand) -> DeviceOperand | None:
    """Return the parameters where the library wants them: it may ask for more memory than they take."""
    if w.nbytes > plan.weights:
        return None
    if w.nbytes == plan.weights:
        return _aligned(recorder, w)
    space = recorder.empty("uint8", (plan.weights,))
    copy_into(recorder, DeviceOperand(space.slot, w.dtype, w.shape, (w.itemsize,), space.offset), w)
    return space


def _lengths(recorder: Recorder, x: DeviceOperand) -> DeviceOperand:
    """Return the length of each sequence."""
    return recorder.constant(np.full(x.shape[1], x.shape[0], "int32"))


@by_library("rnn")
def _forward(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take parameters, inputs, first states and first cells; give what is kept for the gradient, too."""
    w, x, *first = (on_device(recorder, v) for v in operands)
    fits = _fits(kernel, w, x, first)
    y = recorder.empty(kernel.dtype, (*x.shape[:2], kernel.options[1] * (1 + kernel.options[3])))
    if fits and not y.size:
        return [y, *(contiguous(recorder, v, copied=True) for v in first), recorder.empty("uint8", (0,))]
    plan = _plan(kernel, recorder, x) if fits else None
    weights = None if plan is None else _parameters(recorder, plan, w)
    if plan is None or weights is None:
        return None
    last = [recorder.empty(kernel.dtype, v.shape) for v in first]
    work, reserve = recorder.empty("uint8", (plan.work,)), recorder.empty("uint8", (plan.reserve,))
    given = [_aligned(recorder, v) for v in first]
    # Where there are no cells, any place stands for theirs.
    places = [_aligned(recorder, x), given[0], given[-1], weights, y, last[0], last[-1]]
    recorder.call(plan.call("rnn"), [*places, _lengths(recorder, x), work, reserve])
    return [y, *last, reserve]


def _nothing(
    recorder: Recorder, w: DeviceOperand, x: DeviceOperand, last: Sequence[DeviceOperand]
) -> list[DeviceOperand]:
    """Return gradients where there are no steps, or no sequences: the last states are the first ones."""
    dw = recorder.empty(w.dtype, w.shape)
    recorder.fill(dw)
    return [dw, recorder.empty(x.dtype, x.shape), *(contiguous(recorder, v, copied=True) for v in last)]


@by_library("rnn_grad")
def _backward(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take what the network took and gave, and gradients by its results; give gradients by what it took."""
    count = 2 if kernel.options[0] == _LSTM else 1
    w, x, *others = (on_device(recorder, v) for v in operands)
    first, y, reserve, dy, last = (
        others[:count],
        others[count],
        others[count + 1],
        others[count + 2],
        others[count + 3 :],
    )
    fits = _fits(kernel, w, x, [*first, *last])
    if fits and not dy.size and dy.shape == y.shape:
        return _nothing(recorder, w, x, last)
    plan = _plan(kernel, recorder, x) if fits else None
    weights = None if plan is None else _parameters(recorder, plan, w)
    if plan is None or weights is None or reserve.nbytes != plan.reserve or dy.shape != y.shape:
        return None
    dw, dx = recorder.empty("uint8", (plan.weights,)), recorder.empty(kernel.dtype, x.shape)
    by_first = [recorder.empty(kernel.dtype, v.shape) for v in first]
    recorder.fill(dw)
    reserve_copy = reserve if recorder.may_overwrite(reserve) else contiguous(recorder, reserve, copied=True)
    work, lengths = recorder.empty("uint8", (plan.work,)), _lengths(recorder, x)
    given, of_last = ([_aligned(recorder, v) for v in states] for states in (first, last))
    places = [_aligned(recorder, x), given[0], given[-1], weights, _aligned(recorder, y), _aligned(recorder, dy)]
    places += [of_last[0], of_last[-1], dx, by_first[0], by_first[-1], dw, lengths, work, reserve_copy]
    recorder.call(plan.call("rnn_grad"), places)
    by_w = DeviceOperand(dw.slot, w.dtype, w.shape, (w.itemsize,), dw.offset)
    return [by_w, dx, *by_first]
