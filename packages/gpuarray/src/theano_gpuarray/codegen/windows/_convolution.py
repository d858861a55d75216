"""Convolutions and their gradients, as products of matrices whose elements are looked up in images and filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theano_linker_c.kernels import ConvolutionKernel, memory_type
from theano_linker_c.scalar import CValue, c_stored

from .._copies import host_numbers, on_device
from .._form import DeviceOperand, Operand, Recorder, register_device_form
from .._kernel_writer import KernelWriter, loaded
from ..products import TiledProduct, launch_product
from ._geometry import Geometry, geometry_of

__all__ = ["Convolution", "launch_convolution", "understood"]

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
    """Return what is to be convolved, with a new array for the result; ValueError if shapes do not fit."""
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
    text = _Text(kernel, counter)
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


class _Text:
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
        """Take a number apart into positions ``name0``, ``name1``, ... along axes, and what is left."""
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
        """Read what a window at ``o`` sees at ``t``, which is 0 around the images."""
        strides, dilations = self.kernel.strides, self.kernel.dilations
        lines = [f"const int64_t p{d} = o{d} * {strides[d]} - before{d} + t{d} * {dilations[d]};" for d in self.axes]
        inside = " && ".join(f"p{d} >= 0 && p{d} < image_n{d}" for d in self.axes)
        return [*lines, self.set_value("image", image, channel, [f"p{d}" for d in self.axes], inside)]

    def forward(self) -> tuple[list[str], list[str], list[str]]:
        """Return statements for both factors and the result: filters, what windows see, and the result."""
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
