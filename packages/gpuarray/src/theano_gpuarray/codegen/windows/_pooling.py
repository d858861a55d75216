"""Pooling and its gradients: each element of the result looks at its windows, or at those that it is in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theano_graph import format_error
from theano_linker_c.kernels import PoolingKernel, memory_type
from theano_linker_c.scalar import CValue, c_stored, c_type

from .._copies import host_numbers, on_device
from .._form import DeviceOperand, Operand, Recorder, register_device_form
from .._kernel_writer import KernelWriter, loaded, merged_dimensions, spread

__all__ = ["Pooling", "launch_pooling", "understood_pooling"]

_DTYPES = ("float16", "float32", "float64")


@dataclass(frozen=True)
class _Axis:
    """How windows lie along one axis."""

    length: int
    window: int
    step: int
    pad: int
    windows: int


@dataclass(frozen=True)
class Pooling:
    """How windows lie, the arrays that are read, and the result."""

    axes: Sequence[_Axis]
    arrays: Sequence[DeviceOperand]
    result: DeviceOperand


def _count(length: int, window: int, step: int, pad: int, ignore_border: bool) -> int:
    room = length + 2 * pad - window
    if ignore_border:
        return max(room // step + 1, 0)
    # As many as cover everything, yet none that begins behind the last element.
    return min((room + window - 1) // step, max(-(-room // step), 0)) + 1


def _axes(kernel: PoolingKernel, lengths: Sequence[int], layout: Sequence[Sequence[int]]) -> list[_Axis]:
    """Return how windows lie along the axes; ValueError, as on the CPU, if they cannot."""
    windows, steps, pads = layout
    problem = None
    if min(windows) < 1 or min(steps) < 1 or min(pads) < 0:
        problem = "windows and steps must be at least 1, padding at least 0"
    elif kernel.mode in ("max", "average_exc_pad") and any(p >= w for p, w in zip(pads, windows, strict=True)):
        problem = "the padding must be smaller than the windows, or some of them would see nothing else"
    elif any(pads) and not kernel.ignore_border:
        problem = "padding needs ignore_border=True"
    if problem is not None:
        where = [f"ws={windows}, stride={steps}, pad={pads}"]
        raise ValueError(format_error(f"pooling: {problem}", context=where, hint="change them"))
    return [
        _Axis(n, w, s, p, _count(n, w, s, p, kernel.ignore_border))
        for n, w, s, p in zip(lengths, windows, steps, pads, strict=True)
    ]


_ARRAYS = {"pool": 1, "average_pool_grad": 1, "max_pool_grad": 3, "max_pool_grad_grad": 3}


@register_device_form(
    PoolingKernel,
    supports=lambda kernel: kernel.dtype in _DTYPES,
    host_inputs=lambda kernel, count: range(_ARRAYS[kernel.task], count),
)
def _pooling(kernel: PoolingKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    found = understood_pooling(kernel, recorder, operands)
    launch_pooling(kernel, recorder, found)
    return [found.result]


def understood_pooling(kernel: PoolingKernel, recorder: Recorder, operands: Sequence[Operand]) -> Pooling:
    """Return what is pooled how, with a new array for the result.

    Raises
    ------
    ValueError
        If windows cannot lie so, or arrays do not belong together.
    """
    count = _ARRAYS[kernel.task]
    arrays = [on_device(recorder, x) for x in operands[:count]]
    layout = [host_numbers(v) for v in operands[-3:]]
    leading, along = arrays[0].shape[: -kernel.ndim], arrays[0].shape[-kernel.ndim :]
    lengths = host_numbers(operands[1]) if kernel.task == "average_pool_grad" else along
    axes = _axes(kernel, lengths, layout)
    counts = tuple(axis.windows for axis in axes)
    _check(kernel, arrays, counts)
    of_windows = kernel.task in ("pool", "max_pool_grad_grad")
    result = recorder.empty(kernel.dtype, (*leading, *(counts if of_windows else lengths)))
    return Pooling(axes, arrays, result)


def launch_pooling(kernel: PoolingKernel, recorder: Recorder, pooling: Pooling) -> None:
    """Pool by a kernel."""
    if pooling.result.size:
        _launch(kernel, recorder, pooling.axes, pooling.arrays, pooling.result)


def _check(kernel: PoolingKernel, arrays: Sequence[DeviceOperand], counts: tuple[int, ...]) -> None:
    """Raise ValueError if arrays do not belong together."""
    first = arrays[0]
    if kernel.task == "average_pool_grad" and first.shape[-kernel.ndim :] != counts:
        raise ValueError(
            format_error(
                f"pooling: there are {counts} windows, got numbers for {first.shape[-kernel.ndim :]}",
                hint="give one number for each window",
            )
        )
    if len(arrays) == 3:
        x, y, third = arrays
        shape = (*x.shape[: -kernel.ndim], *counts)
        if y.shape != shape or third.shape != (y if kernel.task == "max_pool_grad" else x).shape:
            raise ValueError(
                format_error(
                    f"pooling: shapes {x.shape}, {y.shape} and {third.shape} do not belong together",
                    hint=f"the windows have the shape {shape}",
                )
            )


def _launch(
    kernel: PoolingKernel,
    recorder: Recorder,
    axes: Sequence[_Axis],
    arrays: Sequence[DeviceOperand],
    result: DeviceOperand,
) -> None:
    names = ["x", "y", "z"][: len(arrays)]
    writer = KernelWriter(f"{kernel.task}_{kernel.mode}")
    everything = [*zip(names, arrays, strict=True), ("out", result)]
    leading, strides = merged_dimensions(
        result.shape[: -kernel.ndim], *(array.strides[: -kernel.ndim] for _, array in everything)
    )
    for name, array in everything:
        writer.array(name, array, written=name == "out")
        writer.numbers(f"{name}_s", array.strides[-kernel.ndim :])
    for name in ("length", "window", "step", "pad", "windows"):
        writer.numbers(name, [getattr(axis, name) for axis in axes])
    lengths = writer.numbers("n", leading)
    sums = [
        (f"{n}_o", writer.numbers(f"{n}_lead", strides_of_part))
        for (n, _), strides_of_part in zip(everything, strides, strict=True)
    ]
    of_windows = kernel.task in ("pool", "max_pool_grad_grad")
    writer.walk(result.size)
    for d in reversed(range(kernel.ndim)):
        name, n = ("w", f"windows{d}") if of_windows else ("p", f"length{d}")
        writer.add(f"const int64_t {name}{d} = r % {n}; r /= {n};")
    writer.add(*(f"int64_t {name}_o = {name}_at;" for name, _ in everything))
    writer.decode(lengths, sums)
    text = _Text(kernel)
    writer.add(f"{text.kind} result = 0;")
    writer.add(
        *{
            "pool": text.pool,
            "average_pool_grad": text.average_pool_grad,
            "max_pool_grad": text.max_pool_grad,
            "max_pool_grad_grad": text.max_pool_grad_grad,
        }[kernel.task]()
    )
    index = text.place("out", "w" if of_windows else "p")
    writer.add(f"{index} = {c_stored(CValue('result', text.wide), kernel.dtype)};")
    writer.end()
    writer.launch(recorder, *spread(recorder, result.size))


class _Text:
    """The statements of pooling; positions along axes are ``w`` of windows and ``p``, ``e`` of elements."""

    def __init__(self, kernel: PoolingKernel) -> None:
        self.kernel, self.axes = kernel, range(kernel.ndim)
        self.wide = "float64" if kernel.dtype == "float64" else "float32"
        self.kind = c_type(self.wide)

    def place(self, array: str, position: str) -> str:
        """Return an element as an lvalue."""
        at = " + ".join(f"{position}{d} * {array}_s{d}" for d in self.axes)
        return f"*(GLOBAL_MEM {memory_type(self.kernel.dtype)} *)({array} + {array}_o + {at})"

    def value(self, array: str, position: str) -> str:
        """Return the value of an element."""
        return loaded(self.kernel.dtype, self.place(array, position)).text

    def elements(self, body: Sequence[str], go_on: str = "") -> list[str]:
        """Return loops over the elements of the window at ``w`` that are inside, in order, while a condition holds."""
        lines = []
        for d in self.axes:
            lines += [
                f"const int64_t first{d} = w{d} * step{d} - pad{d}, behind{d} = first{d} + window{d};",
                f"const int64_t begin{d} = first{d} < 0 ? 0 : first{d};",
                f"const int64_t end{d} = behind{d} < length{d} ? behind{d} : length{d};",
            ]
        more = f" && {go_on}" if go_on else ""
        lines += [f"for (int64_t e{d} = begin{d}; e{d} < end{d}{more}; e{d}++)" for d in self.axes]
        return [*lines, "{", *body, "}"]

    def around(self, body: Sequence[str]) -> list[str]:
        """Return loops over the windows that the element at ``p`` is in."""
        lines = []
        for d in self.axes:
            at = f"(p{d} + pad{d})"
            lines += [
                f"const int64_t low{d} = {at} < window{d} ? 0 : ({at} - window{d}) / step{d} + 1;",
                f"const int64_t high{d} = {at} / step{d} < windows{d} ? {at} / step{d} + 1 : windows{d};",
            ]
        lines += [f"for (int64_t w{d} = low{d}; w{d} < high{d}; w{d}++)" for d in self.axes]
        return [*lines, "{", *body, "}"]

    def divisor(self) -> list[str]:
        """Return statements that count the elements of the window at ``w``, with its padding or without."""
        lines = [f"{self.kind} divisor = 1;"]
        for d in self.axes:
            begin, last = f"w{d} * step{d} - pad{d}", f"length{d}"
            if self.kernel.mode == "average_inc_pad":
                last = f"(length{d} + pad{d})"
            end = f"({begin} + window{d} < {last} ? {begin} + window{d} : {last})"
            if self.kernel.mode == "average_exc_pad":
                begin = f"{begin} < 0 ? 0 : {begin}"
            size = f"({end} - ({begin}))"
            lines.append(f"divisor *= ({self.kind}){size};")
        return lines

    def pool(self) -> list[str]:
        """Return the statements for the largest element (NaN is larger than all), the sum or the mean."""
        x = self.value("x", "e")
        if self.kernel.mode == "max":
            larger = f"const {self.kind} v = {x}; if (v > result || v != v) result = v;"
            return ["result = -INFINITY;", *self.elements([larger])]
        lines = self.elements([f"result += {x};"])
        return lines if self.kernel.mode == "sum" else [*lines, *self.divisor(), "result /= divisor;"]

    def average_pool_grad(self) -> list[str]:
        """Return the statements for the gradient of sums and means."""
        x = self.value("x", "w")
        if self.kernel.mode == "sum":
            return self.around([f"result += {x};"])
        return self.around([*self.divisor(), f"result += {x} / divisor;"])

    def max_pool_grad(self) -> list[str]:
        """Return the statements that add up what windows give whose first largest element is the one at ``p``."""
        condition = " && ".join(f"e{d} == p{d}" for d in self.axes)
        search = self.elements([f"if ({self.value('x', 'e')} == largest) {{ left = 0; hit = {condition}; }}"], "left")
        body = [
            f"const {self.kind} largest = {self.value('y', 'w')};",
            "if (largest != mine) continue;",
            "int left = 1, hit = 0;",
            *search,
            f"if (hit) result += {self.value('z', 'w')};",
        ]
        return [f"const {self.kind} mine = {self.value('x', 'p')};", *self.around(body)]

    def max_pool_grad_grad(self) -> list[str]:
        """Return the statements that take an element where the first largest one is."""
        hit = f"if ({self.value('x', 'e')} == largest) {{ left = 0; result = {self.value('z', 'e')}; }}"
        return [f"const {self.kind} largest = {self.value('y', 'w')};", "int left = 1;", *self.elements([hit], "left")]
