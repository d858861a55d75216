"""Convolutions under former names, with other orders of arguments or axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Variable, batch_rule, describe, format_error

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import TensorLike
from ..._core._ops import CheckAndRaise, run_in_a_loop
from ..._core._type import Tensor
from ..._errors import NotScalarConstantError, ShapeError
from ...elemwise import dimshuffle, eq
from ...extra_ops import pad
from ...shape import as_lengths, shape_i
from ._functions import AbstractConv2d, conv3d
from ._lengths import as_static, border_mode_to_pad, get_conv_output_shape

Shape = Sequence[Any] | None
_HINTS = ("unroll_batch", "unroll_kern", "unroll_patch", "openmp")


class ConvOp(AbstractConv2d):
    """Convolution of images with filters that are flipped, by its former arguments.

    Parameters
    ----------
    imshp : sequence of int, optional
        Channels, rows and columns of the images.
    kshp : sequence of int, optional
        Rows and columns of the filters.
    nkern, bsize : int, optional
        Numbers of filters and images.
    dx, dy : int
        Steps along rows and columns.
    output_mode : {'valid', 'full'}
    unroll_batch, unroll_kern, unroll_patch, verbose, version, direction_hint, openmp : optional
        Hints for the loops of a former implementation; nothing depends on them.
    imshp_logical, kshp_logical : tuple of int, optional
        Shapes with zeros put in between: only those without any are there, `imshp` and `kshp`.
    kshp_logical_top_aligned : bool
        Where the zeros would be.

    Raises
    ------
    ValueError
        If an argument cannot be.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.ConvOp(dx=2).subsample
    (2, 1)
    """

    def __init__(
        self,
        imshp: Shape = None,
        kshp: Shape = None,
        nkern: int | None = None,
        bsize: int | None = None,
        dx: int = 1,
        dy: int = 1,
        output_mode: str = "valid",
        unroll_batch: Any = None,
        unroll_kern: Any = None,
        unroll_patch: Any = None,
        imshp_logical: Shape = None,
        kshp_logical: Shape = None,
        kshp_logical_top_aligned: bool = True,
        verbose: int = 0,
        version: int = -1,
        direction_hint: str = "forward",
        openmp: object = None,
    ) -> None:
        for logical, shape in ((imshp_logical, imshp), (kshp_logical, kshp)):
            if logical is not None and (shape is None or tuple(logical) != tuple(shape)):
                raise ValueError(
                    format_error(
                        f"ConvOp: the logical shape {logical!r} is not {shape!r}",
                        hint="use conv2d with filter_dilation, or conv2d_grad_wrt_inputs with subsample",
                    )
                )
        if output_mode not in ("valid", "full"):
            raise ValueError(format_error(f"ConvOp: unknown output_mode {output_mode!r}", hint="use 'valid' or 'full'"))
        channels = None if imshp is None else imshp[0]
        super().__init__(
            None if imshp is None else (bsize, *imshp),
            None if kshp is None else (nkern, channels, *kshp),
            output_mode,
            (dx, dy),
        )

    @staticmethod
    def getOutputShape(
        inshp: Sequence[int], kshp: Sequence[int], stride: Sequence[int] = (1, 1), mode: str = "valid"
    ) -> tuple[int, ...]:
        """Return rows and columns of the result, from those of images and filters.

        Examples
        --------
        >>> import theano.tensor as T
        >>> T.nnet.ConvOp.getOutputShape((5, 5), (3, 3), mode="full")
        (7, 7)
        """
        shape = get_conv_output_shape((1, 1, *inshp), (1, 1, *kshp), mode, tuple(stride))
        return tuple(int(n) for n in shape[2:])

    @staticmethod
    def has_all_shape(imshp: Shape, kshp: Shape, nkern: Any = 1, bsize: Any = 1) -> bool:
        """Tell whether all lengths are known."""
        shapes = [None if shape is None else list(shape) for shape in (imshp, kshp)]
        return all(shape is not None and None not in shape for shape in shapes) and None not in (nkern, bsize)


def former_conv2d(
    input: TensorLike,
    filters: TensorLike,
    image_shape: Shape = None,
    filter_shape: Shape = None,
    border_mode: str = "valid",
    subsample: Sequence[int] = (1, 1),
    **kwargs: Any,
) -> Tensor:
    """Convolve images with filters; :func:`conv2d` does that and more.

    Parameters
    ----------
    input : tensor_like
        Of shape (batch size, channels, rows, columns).
    filters : tensor_like
        Of shape (number of filters, channels, rows, columns).
    image_shape, filter_shape : sequence of (int, constant or None), optional
        Their shapes.
    border_mode : {'valid', 'full'}
    subsample : pair of int
        Steps of the filters.
    **kwargs
        `unroll_batch`, `unroll_kern`, `unroll_patch` and `openmp`, for :class:`ConvOp`.

    Returns
    -------
    Tensor
        Of shape (batch size, number of filters, rows, columns).

    Raises
    ------
    ShapeError
        If a number of dimensions is wrong.
    ChannelError
        If the shapes that are given have different numbers of channels.
    NotScalarConstantError
        If a length that is given is no constant.
    ValueError
        If `border_mode` is unknown; at run time if shapes do not fit, or differ from the given ones.
    TypeError
        For other keywords.

    Examples
    --------
    >>> former_conv2d([[[[1.0, 2.0, 3.0]]]], [[[[1.0, 10.0]]]]).eval()
    array([[[[12., 23.]]]])
    """
    unknown = sorted(set(kwargs) - set(_HINTS))
    if unknown:
        raise TypeError(
            format_error(f"conv2d: unknown arguments {', '.join(unknown)}", hint=f"known are {', '.join(_HINTS)}")
        )
    (dx, dy), images, kernel = subsample, _known(image_shape, "image_shape"), _known(filter_shape, "filter_shape")
    if None not in (images[1], kernel[1]) and images[1] != kernel[1]:
        raise ChannelError(
            format_error(f"conv2d: {images[1]} channels of images, {kernel[1]} of filters", hint="make the shapes fit")
        )
    op = ConvOp(images[1:], kernel[2:], kernel[0], images[0], dx, dy, border_mode, **kwargs)
    result: Tensor = op(_of_shape(input, images, "image_shape"), _of_shape(filters, kernel, "filter_shape"))
    return result


class ChannelError(ShapeError, AssertionError):
    """Images and filters with different numbers of channels."""


def _known(shape: Shape, name: str) -> tuple[int | None, ...]:
    shape_given = as_lengths(shape, 4) if isinstance(shape, Variable) else shape
    lengths = as_static(shape_given, [4], name)
    if shape_given is None or lengths is None:
        return (None,) * 4
    for k, (length, static) in enumerate(zip(shape_given, lengths, strict=True)):
        if length is not None and static is None:
            raise NotScalarConstantError(
                format_error(f"conv2d: {name}[{k}] is no constant", hint="pass a number, or None where it is not known")
            )
    return lengths


def _of_shape(x: TensorLike, shape: Sequence[int | None], name: str) -> Tensor:
    """Return an operand that is compared with the shape given for it: ValueError at run time where it has another."""
    variable = as_tensor_variable(x)
    if variable.type.ndim != len(shape):
        return variable
    conditions = [eq(shape_i(variable, i), n) for i, n in enumerate(shape) if n not in (None, variable.type.shape[i])]
    checked: Tensor = CheckAndRaise(ValueError, f"conv2d: the operand has not the {name} that was given")(
        variable, *conditions
    )
    return checked if conditions else variable


def conv3d2d(
    signals: TensorLike,
    filters: TensorLike,
    signals_shape: Shape = None,
    filters_shape: Shape = None,
    border_mode: str | Sequence[str] = "valid",
) -> Tensor:
    """Convolve movies with filters in space and time, both with the time before the channels.

    Parameters
    ----------
    signals : tensor_like
        Of shape (batch size, time, channels, rows, columns).
    filters : tensor_like
        Of shape (number of filters, time, channels, rows, columns); they are flipped.
    signals_shape, filters_shape : sequence of (int, constant or None), optional
    border_mode : {'valid', 'full', 'half'}, or sequence of them
        Of time, rows and columns; where they differ, the lengths of the filters have to be known.

    Returns
    -------
    Tensor
        Of shape (batch size, time, number of filters, rows, columns).

    Raises
    ------
    ShapeError
        If a number of dimensions is not five.
    ValueError
        If `border_mode` is unknown; at run time if shapes do not fit.

    Examples
    --------
    >>> from theano.tensor.nnet import conv3d2d
    >>> conv3d2d.conv3d([[[[[1.0]]], [[[2.0]]], [[[3.0]]]]], [[[[[1.0]]], [[[10.0]]]]]).eval().ravel()
    array([12., 23.])
    """
    movies, kernel = as_tensor_variable(signals), as_tensor_variable(filters)
    if movies.type.ndim != 5 or kernel.type.ndim != 5:
        raise ShapeError(
            format_error(
                "conv3d2d takes signals and filters with five dimensions",
                context=[describe(movies), describe(kernel)],
                hint="their order is batch (or filters), time, channels, rows, columns",
            )
        )
    modes: list[Any] = list(border_mode) if isinstance(border_mode, (tuple, list)) else [border_mode] * 3
    if len(modes) != 3 or not {"valid", "full", "half"}.issuperset(modes):
        raise ValueError(
            format_error(
                f"conv3d2d: unknown border_mode {border_mode!r}",
                hint="use 'valid', 'full' or 'half', or a tuple of three of them",
            )
        )
    images: Shape = signals_shape
    border: Any = modes[0] if len(set(modes)) == 1 else _widths(modes, kernel, filters_shape)
    if border is None:
        movies, images, border = _surrounded(movies, kernel, modes), None, "valid"
    order = [0, 2, 1, 3, 4]
    result = conv3d(
        dimshuffle(movies, order),
        dimshuffle(kernel, order),
        _reordered(images, order),
        _reordered(filters_shape, order),
        border,
    )
    return dimshuffle(result, order)


def _widths(modes: Sequence[str], kernel: Tensor, shape: Shape) -> list[Any] | None:
    """Return how many zeros are around time, rows and columns; None where lengths of filters are unknown."""
    said = as_static(shape, [5], "filters_shape") or (None,) * 5
    lengths = [own if own is not None else n for own, n in zip(kernel.type.shape, said, strict=True)]
    widths = []
    for mode, length in zip(modes, (lengths[1], *lengths[3:]), strict=True):
        if length is None and mode != "valid":
            return None
        widths.append(border_mode_to_pad(mode, 1, (length or 1,))[0])
    return widths


def _surrounded(movies: Tensor, kernel: Tensor, modes: Sequence[str]) -> Tensor:
    """Return movies with zeros around time, rows and columns, as many as the lengths of the filters say."""
    widths: list[Any] = [(0, 0)] * 5
    for axis, mode in zip((1, 3, 4), modes, strict=True):
        n: Any = shape_i(kernel, axis)
        width: Any = {"valid": 0, "full": n - 1, "half": n // 2}[mode]
        widths[axis] = (width, width)
    return pad(movies, widths)


def _reordered(shape: Shape, order: Sequence[int]) -> Shape:
    return None if shape is None else [shape[i] for i in order]


batch_rule.register(ConvOp)(run_in_a_loop)
