"""How filters slide over images: lengths of results, zeros around images, and the checks of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theano_graph import format_error
from theano_linker_c.kernels import ConvolutionKernel

__all__ = ["Geometry", "geometry_of", "sides_of"]

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
        The shape of what is given for the result.
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
