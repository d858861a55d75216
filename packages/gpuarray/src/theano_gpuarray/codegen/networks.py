"""Layers of neural networks that cuDNN computes in one call, convolutions and pooling among them."""

from __future__ import annotations

import math
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from theano_graph import config, record
from theano_linker_c.kernels import ConvolutionKernel, Kernel, PoolingKernel

from ._form import ConvolutionRequest, DeviceOperand, LibraryCall, Operand, Recorder, device_form, register_device_form
from ._kernel_writer import contiguous, copy_into, host_numbers, on_device
from .windows import Convolution, Pooling, launch_convolution, launch_pooling, sides_of, understood, understood_pooling

# ---- The kernel of a layer, and steps that do the same without the library

#: Records kernels for tasks that the library does not compute, ``(recorder, operands) -> results``.
Instead: TypeAlias = Callable[[Recorder, Sequence[Operand]], Sequence[Operand]]


@record
class DnnKernel(Kernel):
    """A layer that cuDNN computes where it is there and has it; else by kernels of our own.

    Parameters
    ----------
    task : str
        A name that a function was registered for by :func:`by_library`.
    dtype : str
        Of all arrays.
    options : tuple of int
        The parameters of the task.
    on_host : tuple of int
        Positions of operands that are numbers on the host.
    instead : callable
        ``(recorder, operands) -> results``: records kernels that compute the same.
    """

    task: str
    dtype: str
    options: tuple[int, ...]
    on_host: tuple[int, ...]
    instead: Instead


#: Calls the library, and returns the results; None where it does not have this.
Attempt: TypeAlias = Callable[[DnnKernel, Recorder, Sequence[Operand]], Sequence[Operand] | None]
_attempts: dict[str, Attempt] = {}


def by_library(task: str) -> Callable[[Attempt], Attempt]:
    """Return a decorator of the function that computes a task by the library."""

    def register(attempt: Attempt) -> Attempt:
        _attempts[task] = attempt
        return attempt

    return register


@register_device_form(DnnKernel, host_inputs=lambda kernel, count: kernel.on_host)
def _layer(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    results = _attempts[kernel.task](kernel, recorder, operands)
    return kernel.instead(recorder, operands) if results is None else results


# ---- Batch normalization


#: The number of the mode that normalizes over all but the channels; 0 is that of each activation by itself.
_SPATIAL = 1


def _bits(number: Operand) -> int:
    """Return the bits of a number as a float64, as one of the numbers of a call."""
    return int(np.asarray(number, "float64").reshape(()).view("int64"))


def _channel_lengths(
    kernel: DnnKernel, x: DeviceOperand, parameters: Sequence[DeviceOperand]
) -> tuple[int, int, int, int] | None:
    """Return mode, batch, channels and elements of a channel; None where parameters are not of this shape."""
    (mode,) = kernel.options
    if x.ndim < 1 + mode:
        return None
    shape = (1, x.shape[1], *(1,) * (x.ndim - 2)) if mode == _SPATIAL else (1, *x.shape[1:])
    if any(p.shape != shape for p in parameters):
        return None
    inner_size = math.prod(x.shape[2:]) if mode == _SPATIAL else 1
    return mode, x.shape[0], x.shape[1] if mode == _SPATIAL else math.prod(x.shape[1:]), inner_size


def _normalization_call(
    kernel: DnnKernel,
    recorder: Recorder,
    arrays: tuple[DeviceOperand, Sequence[DeviceOperand]],
    numbers: Sequence[Operand],
) -> LibraryCall | None:
    """Return the operation for a batch and parameters; None where the library has none such."""
    lengths = _channel_lengths(kernel, *arrays)
    if lengths is None:
        return None
    call = LibraryCall(kernel.task, kernel.dtype, (*lengths, *map(_bits, numbers)), of_cudnn=True)
    return None if recorder.workspace(call) is None else call


@by_library("norm_train")
def _train(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take batch, scale, shift and epsilon, and then the weight of the batch in running averages, and these two."""
    x, scale, shift = (on_device(recorder, v) for v in operands[:3])
    numbers, running = operands[3:5], [on_device(recorder, v) for v in operands[5:]]
    call = _normalization_call(kernel, recorder, (x, [scale, shift, *running]), numbers)
    # With one element there is no variance of its batch.
    if call is None or (running and call.numbers[1] * call.numbers[3] == 1):
        return None
    y, mean, inverse = (recorder.empty(kernel.dtype, v.shape) for v in (x, scale, scale))
    moved = [recorder.empty(kernel.dtype, v.shape) for v in running]
    for new, old in zip(moved, running, strict=True):
        copy_into(recorder, new, old)
    given = [contiguous(recorder, v) for v in (x, scale, shift)]
    recorder.call(call, [given[0], y, *given[1:], mean, inverse, *moved])
    return [y, mean, inverse, *moved]


@by_library("norm_test")
def _test(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take batch, scale, shift, mean, variance and epsilon."""
    x, *parameters = (on_device(recorder, v) for v in operands[:5])
    call = _normalization_call(kernel, recorder, (x, parameters), operands[5:])
    if call is None:
        return None
    y = recorder.empty(kernel.dtype, x.shape)
    recorder.call(call, [contiguous(recorder, x), y, *(contiguous(recorder, v) for v in parameters)])
    return [y]


@by_library("norm_grad")
def _grad(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take batch, gradient, scale, mean, the inverse of the standard deviation, and epsilon."""
    x, dy, *parameters = (on_device(recorder, v) for v in operands[:5])
    call = _normalization_call(kernel, recorder, (x, parameters), operands[5:]) if dy.shape == x.shape else None
    if call is None:
        return None
    given = [contiguous(recorder, v) for v in (x, dy, *parameters)]
    results = [recorder.empty(kernel.dtype, v.shape) for v in (x, parameters[0], parameters[0])]
    recorder.call(call, [given[0], given[1], results[0], given[2], results[1], results[2], *given[3:]])
    return results


# ---- Recurrent networks of several layers

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


def _sequence_lengths(recorder: Recorder, x: DeviceOperand) -> DeviceOperand:
    """Return the length of each sequence."""
    return recorder.constant(np.full(x.shape[1], x.shape[0], "int32"))


@by_library("rnn")
def _forward(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take parameters, inputs, first states and first cells; give the values kept for the gradient, too."""
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
    recorder.call(plan.call("rnn"), [*places, _sequence_lengths(recorder, x), work, reserve])
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
    """Take inputs and results of the network, and gradients by its results; give gradients by its inputs."""
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
    work, lengths = recorder.empty("uint8", (plan.work,)), _sequence_lengths(recorder, x)
    given, of_last = ([_aligned(recorder, v) for v in states] for states in (first, last))
    places = [_aligned(recorder, x), given[0], given[-1], weights, _aligned(recorder, y), _aligned(recorder, dy)]
    places += [of_last[0], of_last[-1], dx, by_first[0], by_first[-1], dw, lengths, work, reserve_copy]
    recorder.call(plan.call("rnn_grad"), places)
    by_w = DeviceOperand(dw.slot, w.dtype, w.shape, (w.itemsize,), dw.offset)
    return [by_w, dx, *by_first]


# ---- Softmax of images


@by_library("softmax")
@by_library("softmax_grad")
def _softmax(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take the scores, or the gradient by the result and the result; options are algorithm and mode of the library."""
    arrays = [on_device(recorder, x) for x in operands]
    shape = arrays[-1].shape
    call = LibraryCall(kernel.task, kernel.dtype, (*kernel.options, *shape), of_cudnn=True)
    if any(x.shape != shape for x in arrays) or recorder.workspace(call) is None:
        return None
    result = recorder.empty(kernel.dtype, shape)
    # The library takes the result before its gradient.
    recorder.call(call, [*(contiguous(recorder, x) for x in reversed(arrays)), result])
    return [result]


# ---- Spatial transformers


def _transformer_call(kernel: DnnKernel, recorder: Recorder, numbers: Sequence[int]) -> LibraryCall | None:
    call = LibraryCall(kernel.task, kernel.dtype, tuple(numbers), of_cudnn=True)
    return None if recorder.workspace(call) is None else call


@by_library("grid")
def _grid(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take affine maps, and the shape of the sampled images on the host."""
    theta, lengths = on_device(recorder, operands[0]), host_numbers(operands[1])
    call = _transformer_call(kernel, recorder, lengths) if theta.shape == (lengths[0], 2, 3) else None
    if call is None:
        return None
    grid = recorder.empty(kernel.dtype, (lengths[0], lengths[2], lengths[3], 2))
    recorder.call(call, [contiguous(recorder, theta), grid])
    return [grid]


@by_library("grid_grad")
def _grid_grad(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take the gradient by the points."""
    by_grid = on_device(recorder, operands[0])
    batch, rows, columns, last = by_grid.shape
    # The number of channels does not matter for points.
    call = _transformer_call(kernel, recorder, (batch, 1, rows, columns)) if last == 2 else None
    if call is None:
        return None
    by_theta = recorder.empty(kernel.dtype, (batch, 2, 3))
    recorder.call(call, [contiguous(recorder, by_grid), by_theta])
    return [by_theta]


@by_library("sample")
@by_library("sample_grad")
def _sample(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take images, points, and where it is the gradient that is wanted, that by the sampled images."""
    image, grid, *dy = (on_device(recorder, v) for v in operands)
    batch, rows, columns, last = grid.shape
    sampled = (batch, image.shape[1], rows, columns)
    # Gradients are added up in any order.
    if last != 2 or image.shape[0] != batch or any(v.shape != sampled for v in dy) or (dy and recorder.deterministic):
        return None
    call = _transformer_call(kernel, recorder, (*sampled, *image.shape[2:]))
    if call is None:
        return None
    results = [recorder.empty(kernel.dtype, s) for s in ((image.shape, grid.shape) if dy else (sampled,))]
    recorder.call(call, [*(contiguous(recorder, v) for v in (image, grid, *dy)), *results])
    return results


# ---- Convolutions; without the library they are products


class ChosenOnce:
    """The algorithm that a convolution keeps when it has been chosen, for each context.

    Attributes
    ----------
    algorithms : mapping of GpuContext to int
    """

    def __init__(self) -> None:
        self.algorithms: MutableMapping[Any, int] = WeakKeyDictionary()


@record
class DnnConvolutionKernel(Kernel):
    """A convolution or a gradient of it, by a library where there is one; its inputs are those of the convolution.

    Parameters
    ----------
    convolution : ConvolutionKernel
    algorithm : str
        A name of :mod:`theano_gpuarray.dnn_flags`.
    chosen : ChosenOnce or None
        Where the algorithm is chosen once: the choice.
    """

    convolution: ConvolutionKernel
    algorithm: str
    chosen: ChosenOnce | None = None


@register_device_form(
    DnnConvolutionKernel,
    supports=lambda kernel: device_form.lookup(kernel.convolution).supports(kernel.convolution),
    host_inputs=lambda kernel, count: range(2, count),
)
def _convolution(kernel: DnnConvolutionKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    found = understood(kernel.convolution, recorder, operands)
    if not _by_library(kernel, recorder, found):
        launch_convolution(kernel.convolution, recorder, found)
    return [found.arrays[found.result]]


def _by_library(kernel: DnnConvolutionKernel, recorder: Recorder, convolution: Convolution) -> bool:
    """Compute a convolution by a library; return False where there is none for it."""
    request = _request(kernel, convolution)
    plan = None if request is None else recorder.plan_convolution(request)
    if plan is None:
        return False
    arrays = {
        name: array if name == convolution.result else contiguous(recorder, array)
        for name, array in convolution.arrays.items()
    }
    workspace = recorder.empty("uint8", (plan.workspace,))
    recorder.convolve(plan, arrays["image"], arrays["filter"], arrays["top"], workspace)
    return True


def _request(kernel: DnnConvolutionKernel, found: Convolution) -> ConvolutionRequest | None:
    """Describe a convolution; None where libraries have none such: of no elements, or with borders that differ."""
    convolution, geometry = kernel.convolution, found.geometry
    zeros = sides_of(convolution, geometry.filters[2:])
    if any(before != after for before, after in zeros) or 0 in (*geometry.images, *geometry.filters):
        return None
    # Libraries know two or three axes: one axis is the second of two.
    more = (1,) * max(2 - len(convolution.strides), 0)
    return ConvolutionRequest(
        convolution.task,
        convolution.dtype,
        _lengthened(geometry.images, more),
        _lengthened(geometry.filters, more),
        _lengthened(geometry.output, more),
        (*(0 for _ in more), *(before for before, _ in zeros)),
        (*more, *convolution.strides),
        (*more, *convolution.dilations),
        convolution.groups,
        convolution.flip,
        kernel.algorithm,
        kernel.chosen,
    )


def _lengthened(lengths: tuple[int, ...], more: tuple[int, ...]) -> tuple[int, ...]:
    return (*lengths[:2], *more, *lengths[2:])


# ---- Pooling; without the library it is done by kernels of our own

#: The library's numbers of modes. It has no sums, and does not say where the gradient of a largest element goes if
#: several are equal; both are left to kernels of our own.
_MODES = {"max": 0, "average_inc_pad": 1, "average_exc_pad": 2}
_MAX_DETERMINISTIC = 3
_TASKS = {"pool": "pool", "average_pool_grad": "pool_grad"}
#: Axes along which windows of the library lie.
_AXES = (2, 3)


@record
class DnnPoolingKernel(Kernel):
    """Pooling or its gradient, by a library where there is one; its inputs are those of the kernel.

    Parameters
    ----------
    pooling : PoolingKernel
    deterministic : bool
        Whether largest elements are looked for in a way that always gives the same.
    """

    pooling: PoolingKernel
    deterministic: bool = False


@register_device_form(
    DnnPoolingKernel,
    supports=lambda kernel: device_form.lookup(kernel.pooling).supports(kernel.pooling),
    host_inputs=lambda kernel, count: device_form.lookup(kernel.pooling).host_inputs(kernel.pooling, count),
)
def _pooling(kernel: DnnPoolingKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    found = understood_pooling(kernel.pooling, recorder, operands)
    call = _pooling_call(kernel, recorder, found)
    if call is None or recorder.workspace(call) is None:
        launch_pooling(kernel.pooling, recorder, found)
    else:
        recorder.call(call, [contiguous(recorder, found.arrays[0]), found.result])
    return [found.result]


def _pooling_call(kernel: DnnPoolingKernel, recorder: Recorder, found: Pooling) -> LibraryCall | None:
    """Return the operation of the library; None where it has none such."""
    pooling, axes = kernel.pooling, found.axes
    images = found.arrays[0].shape if pooling.task == "pool" else found.result.shape
    mode, task = _MODES.get(pooling.mode), _TASKS.get(pooling.task)
    if mode is None or task is None or not pooling.ignore_border or len(axes) not in _AXES or not found.result.size:
        return None
    if len(images) != len(axes) + 2 or any(axis.pad >= axis.window for axis in axes):
        return None
    if pooling.mode == "max" and (kernel.deterministic or recorder.deterministic):
        mode = _MAX_DETERMINISTIC
    layout = [getattr(axis, name) for name in ("window", "pad", "step") for axis in axes]
    return LibraryCall(task, pooling.dtype, (mode, len(axes), *images, *layout), of_cudnn=True)


__all__ = ["ChosenOnce", "DnnConvolutionKernel", "DnnKernel", "DnnPoolingKernel", "network_numbers"]
