"""Windows that slide over images, on devices: convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theano_graph import format_error
from theano_linker_c.kernels import ConvolutionKernel, PoolingKernel, memory_type
from theano_linker_c.scalar import CValue, c_stored, c_type

from ._form import DeviceOperand, Operand, Recorder, register_device_form
from ._kernel_writer import KernelWriter, host_numbers, loaded, merged_dimensions, on_device, spread
from ._tiles import TiledProduct, launch_product

# ---- Geometry: lengths of results, zeros around images, and the checks of shapes

_SUFFIXES = {"forward": "", "input_grad": "_gradInputs", "weight_grad": "_gradWeights"}


@dataclass(frozen=True)
class Geometry:
    """How filters slide over images.

    Parameters
    ----------
    images, filters, output : tuple of int
        Shapes of all three.
    before : tuple of int
        Zeros before each axis.
    """

    images: tuple[int, ...]
    filters: tuple[int, ...]
    output: tuple[int, ...]
    before: tuple[int, ...]


def sides_of(kernel: ConvolutionKernel, lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Return zeros before and behind each axis."""
    if not isinstance(kernel.border, str):
        return list(kernel.border)
    spans = [(k - 1) * d for k, d in zip(lengths, kernel.dilations, strict=True)]
    widths = {
        "valid": [0 for _ in spans],
        "half": [(span + 1) // 2 for span in spans],
        "full": spans,
    }[kernel.border]
    return [(width, width) for width in widths]


def geometry_of(
    kernel: ConvolutionKernel,
    images: tuple[int, ...],
    filters: tuple[int, ...],
    result: tuple[int, ...] | None = None,
) -> Geometry:
    """Return how filters slide; ValueError, as on the CPU, if shapes do not fit.

    Parameters
    ----------
    kernel : ConvolutionKernel
    images, filters : tuple of int
        Their shapes.
    result : tuple of int, optional
        The shape of the array for the result.
    """
    borders = sides_of(kernel, filters[2:])
    if images[1] != filters[1] * kernel.groups:
        each = "" if kernel.groups == 1 else f", times {kernel.groups} groups"
        raise _refused(kernel, f"images and filters differ in input channels{each}", images, filters, result)
    if filters[0] % kernel.groups:
        what = f"{filters[0]} filters cannot be divided into {kernel.groups} groups"
        raise _refused(kernel, what, images, filters, result)
    output = tuple(
        (n + sum(border) - (k - 1) * d - 1) // s + 1
        for n, k, border, s, d in zip(images[2:], filters[2:], borders, kernel.strides, kernel.dilations, strict=True)
    )
    if min(output) < 1 or min(filters[2:]) < 1:
        raise _refused(kernel, "the filters do not fit into the images", images, filters, result)
    shape = (images[0], filters[0], *output)
    if result is not None and result != shape:
        raise _refused(kernel, f"the result of the convolution has the shape {shape}", images, filters, result)
    return Geometry(images, filters, shape, tuple(before for before, _ in borders))


def _refused(
    kernel: ConvolutionKernel,
    what: str,
    images: tuple[int, ...],
    filters: tuple[int, ...],
    result: tuple[int, ...] | None,
) -> ValueError:
    name = f"AbstractConv{len(kernel.strides)}d{_SUFFIXES[kernel.task]}"
    where = [f"images: shape {images}", f"filters: shape {filters}"]
    where += [] if result is None else [f"result: shape {result}"]
    return ValueError(
        format_error(
            f"{name}: {what}",
            context=where,
            hint=f"border_mode={kernel.border!r}, subsample={kernel.strides}, filter_dilation={kernel.dilations}, "
            f"num_groups={kernel.groups} must fit the shapes",
        )
    )


# ---- Convolutions as products of matrices, whose elements are looked up in images and filters

_DTYPES = ("float16", "float32", "float64")


def _product(lengths: Sequence[int]) -> int:
    size = 1
    for n in lengths:
        size *= n
    return size


@dataclass(frozen=True)
class Convolution:
    """A convolution, or a gradient of it, of arrays on a device.

    Parameters
    ----------
    geometry : Geometry
    arrays : dict of str to DeviceOperand
        The arrays "image", "filter" and "top", the last one of which is the result.
    """

    geometry: Geometry
    arrays: dict[str, DeviceOperand]

    @property
    def result(self) -> str:
        """The name of the result."""
        return list(self.arrays)[-1]


def understood(kernel: ConvolutionKernel, recorder: Recorder, operands: Sequence[Operand]) -> Convolution:
    """Return the images to convolve, with a new array for the result; ValueError if shapes do not fit."""
    first, second = (on_device(recorder, x) for x in operands[:2])
    if kernel.task == "forward":
        geometry = geometry_of(kernel, first.shape, second.shape)
        result = recorder.empty(kernel.dtype, geometry.output)
        return Convolution(geometry, {"image": first, "filter": second, "top": result})
    if kernel.task == "input_grad":
        lengths = host_numbers(operands[2])
        images = (second.shape[0], first.shape[1] * kernel.groups, *lengths)
        geometry = geometry_of(kernel, images, first.shape, second.shape)
        return Convolution(geometry, {"filter": first, "top": second, "image": recorder.empty(kernel.dtype, images)})
    filters = (second.shape[1], first.shape[1] // kernel.groups, *host_numbers(operands[2]))
    geometry = geometry_of(kernel, first.shape, filters, second.shape)
    return Convolution(geometry, {"image": first, "top": second, "filter": recorder.empty(kernel.dtype, filters)})


@register_device_form(
    ConvolutionKernel,
    supports=lambda kernel: kernel.dtype in _DTYPES and len(kernel.strides) <= 3,
    host_inputs=lambda kernel, count: range(2, count),
)
def _convolution(kernel: ConvolutionKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    found = understood(kernel, recorder, operands)
    launch_convolution(kernel, recorder, found)
    return [found.arrays[found.result]]


def launch_convolution(kernel: ConvolutionKernel, recorder: Recorder, convolution: Convolution) -> None:
    """Launch a convolution by kernels of our own."""
    geometry, arrays = convolution.geometry, convolution.arrays
    filters, channels = geometry.filters[0] // kernel.groups, geometry.filters[1]
    images, taps = geometry.images[0], _product(geometry.filters[2:])
    positions, pixels = _product(geometry.output[2:]), _product(geometry.images[2:])
    rows, columns, inner = {
        "forward": (filters, images * positions, channels * taps),
        "input_grad": (channels, images * pixels, filters * taps),
        "weight_grad": (filters, channels * taps, images * positions),
    }[kernel.task]
    counter = "uint32_t" if max(columns, inner) < 2**31 else "uint64_t"
    text = _ConvolutionText(kernel, counter)
    first, second, store = {
        "forward": text.forward,
        "input_grad": text.input_grad,
        "weight_grad": text.weight_grad,
    }[kernel.task]()
    *factors, result = arrays.items()

    def declare_lengths(writer: KernelWriter) -> None:
        writer.numbers("image_n", geometry.images[2:])
        writer.numbers("filter_n", geometry.filters[2:])
        writer.numbers("top_n", geometry.output[2:])
        writer.numbers("before", geometry.before)
        writer.number("filters", filters)
        writer.number("channels", channels)

    def declare_factors(writer: KernelWriter) -> None:
        for name, operand in factors:
            _declare(writer, name, operand)

    launch_product(
        recorder,
        TiledProduct(
            f"convolution_{kernel.task}",
            "float64" if kernel.dtype == "float64" else "float32",
            (rows, columns, inner, kernel.groups),
            declare_factors,
            first,
            second,
            lambda writer: _declare(writer, *result, written=True),
            store,
            (True, kernel.task != "weight_grad"),
            declare_lengths,
        ),
    )


def _declare(writer: KernelWriter, name: str, operand: DeviceOperand, *, written: bool = False) -> None:
    writer.array(name, operand, written=written)
    writer.numbers(f"{name}_s", operand.strides)


class _ConvolutionText:
    """The statements that look elements up; strides and dilations are written into them.

    Parameters
    ----------
    kernel : ConvolutionKernel
    counter : str
        The type in which numbers of rows and columns are taken apart.
    """

    def __init__(self, kernel: ConvolutionKernel, counter: str) -> None:
        self.kernel, self.counter, self.axes = kernel, counter, range(len(kernel.strides))

    def apart(self, number: str, name: str, lengths: str, others: str) -> list[str]:
        """Take a number apart into positions ``name0``, ``name1``, ... along axes, and the remainder."""
        lines = [f"{self.counter} {others}_left = ({self.counter}){number};"]
        for d in reversed(self.axes):
            n = f"({self.counter}){lengths}{d}"
            lines.append(f"const int64_t {name}{d} = {others}_left % {n}; {others}_left /= {n};")
        return [*lines, f"const int64_t {others} = {others}_left;"]

    def element(self, array: str, first: str, second: str, positions: Sequence[str]) -> str:
        """Return an element of images, filters or results as an lvalue."""
        places = [first, second, *positions]
        at = " + ".join(f"({j}) * {array}_s{d}" for d, j in enumerate(places))
        return f"*(GLOBAL_MEM {memory_type(self.kernel.dtype)} *)({array} + {array}_at + {at})"

    def set_value(self, array: str, first: str, second: str, positions: Sequence[str], condition: str = "") -> str:
        """Return the statement that sets ``value`` to an element, where a condition holds."""
        value = loaded(self.kernel.dtype, self.element(array, first, second, positions)).text
        return f"{f'if ({condition}) ' if condition else ''}value = {value};"

    def put(self, array: str, first: str, second: str, positions: Sequence[str]) -> str:
        """Return the statement that stores ``sum``."""
        dtype = self.kernel.dtype
        wide = "float64" if dtype == "float64" else "float32"
        return f"{self.element(array, first, second, positions)} = {c_stored(CValue('sum', wide), dtype)};"

    @property
    def filter_places(self) -> list[str]:
        """Positions in the filters that meet the positions ``t`` of windows."""
        return [f"filter_n{d} - 1 - t{d}" if self.kernel.flip else f"t{d}" for d in self.axes]

    def from_window(self, image: str, channel: str) -> list[str]:
        """Read the image under a window at ``o`` at ``t``, which is 0 around the images."""
        strides, dilations = self.kernel.strides, self.kernel.dilations
        lines = [f"const int64_t p{d} = o{d} * {strides[d]} - before{d} + t{d} * {dilations[d]};" for d in self.axes]
        inside = " && ".join(f"p{d} >= 0 && p{d} < image_n{d}" for d in self.axes)
        return [*lines, self.set_value("image", image, channel, [f"p{d}" for d in self.axes], inside)]

    def forward(self) -> tuple[list[str], list[str], list[str]]:
        """Return statements for both factors and the result: filters, the image under windows, and the result."""
        window = self.apart("inner", "t", "filter_n", "c")
        index = self.apart("column", "o", "top_n", "n")
        return (
            [*window, self.set_value("filter", "batch * filters + row", "c", self.filter_places)],
            [*window, *index, *self.from_window("n", "batch * channels + c")],
            [*index, self.put("top", "n", "batch * filters + row", [f"o{d}" for d in self.axes])],
        )

    def input_grad(self) -> tuple[list[str], list[str], list[str]]:
        """Return the same for the gradient by images: each element looks up which windows have seen it."""
        window = self.apart("inner", "t", "filter_n", "f")
        index = self.apart("column", "p", "image_n", "n")
        strides, dilations = self.kernel.strides, self.kernel.dilations
        lines = [f"const int64_t q{d} = p{d} + before{d} - t{d} * {dilations[d]};" for d in self.axes]
        seen = [f"q{d} >= 0 && q{d} < top_n{d} * {strides[d]}" for d in self.axes]
        seen += [f"q{d} % {s} == 0" for d, s in enumerate(strides) if s != 1]
        tops = [f"q{d}" if s == 1 else f"q{d} / {s}" for d, s in enumerate(strides)]
        return (
            [*window, self.set_value("filter", "batch * filters + f", "row", self.filter_places)],
            [*window, *index, *lines, self.set_value("top", "n", "batch * filters + f", tops, " && ".join(seen))],
            [*index, self.put("image", "n", "batch * channels + row", [f"p{d}" for d in self.axes])],
        )

    def weight_grad(self) -> tuple[list[str], list[str], list[str]]:
        """Return the same for the gradient by filters: sums over images and positions."""
        index = self.apart("inner", "o", "top_n", "n")
        window = self.apart("column", "t", "filter_n", "c")
        return (
            [*index, self.set_value("top", "n", "batch * filters + row", [f"o{d}" for d in self.axes])],
            [*index, *window, *self.from_window("n", "batch * channels + c")],
            [*window, self.put("filter", "batch * filters + row", "c", self.filter_places)],
        )


# ---- Pooling


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
    """Return the array to pool and how, with a new array for the result.

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
    text = _PoolingText(kernel)
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


class _PoolingText:
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
        """Return the statements that add up the values of windows whose first largest element is the one at ``p``."""
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


__all__: list[str] = []
