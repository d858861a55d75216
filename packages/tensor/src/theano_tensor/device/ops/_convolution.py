"""Convolutions, pooling and cumulative sums on devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from theano_graph import Apply, format_error

from ...extra_ops import Cumulative
from ...nnet.convolution import (
    AbstractConv2d,
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
    AbstractConv3d,
    AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights,
    BaseAbstractConv,
)
from ...signal.pool import AveragePoolGrad, MaxPoolGrad, MaxPoolGradGrad, Pool
from .._table import NamedDeviceOp, stands_for

# ---- C code of correlations and their gradients

_DIRECTIONS = ("forward", "backprop weights", "backprop inputs")
_AXES = ("height", "width", "depth")


def correlation_code(
    op: Any,
    names: Sequence[str],
    direction: str,
    sub: Mapping[str, str],
    lengths: Sequence[str | None],
) -> str:
    """Return C code that computes one of images, filters and results from the two others, as the op says.

    Parameters
    ----------
    op : Op
        With `border_mode`, `subsample`, `filter_dilation` and `num_groups`.
    names : sequence of str
        The variables in C: images, filters and results.
    direction : {"forward", "backprop weights", "backprop inputs"}
        The result.
    sub : mapping
        With "fail".
    lengths : sequence of str or None
        For a gradient, the variables in C that have the lengths of its axes, arrays of one integer; None where these
        follow from the others.

    Raises
    ------
    ValueError
        If there is no such direction, or a length is missing that does not follow from the others.
    TypeError
        If each position has filters of its own.
    """
    if direction not in _DIRECTIONS:
        raise ValueError(
            format_error(f"{op}: there is no direction {direction!r}", hint=f"use {', '.join(_DIRECTIONS)}")
        )
    if op.unshared:
        raise TypeError(
            format_error(f"{op}: filters for each position have no code for devices", hint="compute it on the host")
        )
    number = _DIRECTIONS.index(direction)
    _check_lengths(op, direction, lengths)
    count = len(op.subsample)
    bottom, weights, top = names
    out = (top, weights, bottom)[number]
    like = weights if number == 2 else bottom
    axes = "".join(_axis_code(op, number, axis, names, lengths[axis], sub["fail"]) for axis in range(count))
    outer = (
        (f"PyGpuArray_DIM({bottom}, 0)", f"PyGpuArray_DIM({weights}, 0)"),
        (f"PyGpuArray_DIM({top}, 1)", f"PyGpuArray_DIM({bottom}, 1) / {op.num_groups}"),
        (f"PyGpuArray_DIM({top}, 0)", f"PyGpuArray_DIM({weights}, 1) * {op.num_groups}"),
    )[number]
    steps = [*op.subsample, *op.filter_dilation, op.num_groups]
    settled = "".join(f"    theano_numbers[{2 * count + i}] = {step};\n" for i, step in enumerate(steps))
    return f"""
{{
    size_t theano_numbers[{4 * count + 1}] = {{0}}, theano_dims[{count + 2}] = {{{", ".join(outer)}}};
{settled}{axes}
    if (theano_prep_output(&{out}, {count + 2}, theano_dims, {like}->ga.typecode, GA_C_ORDER, {like}->context))
        {sub["fail"]}
    if (theano_correlate({number}, {bottom}, {weights}, {top}, {count}, theano_numbers) < 0)
        {sub["fail"]}
}}
"""


def _check_lengths(op: Any, direction: str, lengths: Sequence[str | None]) -> None:
    if direction == "forward":
        return
    for axis, length in enumerate(lengths):
        half = op.border_mode == "half" and direction == "backprop weights"
        if length is None and (op.subsample[axis] != 1 or half):
            raise ValueError(
                format_error(
                    f"{op}: the {_AXES[axis]} does not follow from those of the operands",
                    hint=f"pass the variable that has it as `{_AXES[axis]}`",
                )
            )


def _axis_code(op: Any, number: int, axis: int, names: Sequence[str], length: str | None, fail: str) -> str:
    """Return C code that finds the zeros around an axis, and the length of the result along it."""
    count = len(op.subsample)
    bottom, weights, top = (f"(ssize_t)PyGpuArray_DIM({name}, {axis + 2})" for name in names)
    step, dilation = op.subsample[axis], op.filter_dilation[axis]
    mode = op.border_mode
    number_text = "-1" if length is None or number == 0 else f"PyArray_PyIntAsIntp((PyObject *){length})"
    sides: tuple[str, ...] = ("0", "0")
    if mode == "half":
        sides = ("filter / 2", "filter / 2")
    elif mode == "full":
        sides = ("filter - 1", "filter - 1")
    elif not isinstance(mode, str):
        sides = tuple(str(side) for side in mode[axis])
    # How long a filter is, from its first element to its last one, where its length is not given.
    if number != 1:
        filter_length = f"({weights} - 1) * {dilation} + 1"
    elif mode == "full":
        filter_length = f"length < 0 ? {top} - {bottom} + 1 : (length - 1) * {dilation} + 1"
    else:
        zeros = "0" if isinstance(mode, str) else " + ".join(sides)
        filter_length = f"length < 0 ? {bottom} + {zeros} - {top} + 1 : (length - 1) * {dilation} + 1"
    results = (
        f"({bottom} + before + after - filter) / {step} + 1",
        f"(filter - 1) / {dilation} + 1",
        f"length < 0 ? {top} + filter - 1 - before - after : length",
    )
    return f"""    {{
        ssize_t length = {number_text};
        if (length == -1 && PyErr_Occurred())
            {fail}
        ssize_t filter = {filter_length};
        ssize_t before = {sides[0]}, after = {sides[1]}, result = {results[number]};
        if (result < 0 || filter < 0) {{
            PyErr_SetString(PyExc_ValueError, "{type(op).__name__}: the lengths of axis {axis} do not fit");
            {fail}
        }}
        theano_numbers[{axis}] = (size_t)before;
        theano_numbers[{count + axis}] = (size_t)after;
        theano_dims[{axis + 2}] = (size_t)result;
    }}
"""


# ---- Convolutions and their gradients on devices


class _Correlation(NamedDeviceOp):
    """The base of correlations along two or three axes, and of their gradients."""

    host_op: BaseAbstractConv
    host_class: ClassVar[type[BaseAbstractConv] | None] = None

    def _make_host(self, **arguments: Any) -> BaseAbstractConv:
        if self.host_class is None:
            raise TypeError(
                format_error(
                    f"{type(self).__name__} is a base, and computes nothing",
                    hint="use GpuCorrMM, GpuCorr3dMM, or one of their gradients",
                )
            )
        return self.host_class(filter_flip=False, **arguments)

    @property
    def border_mode(self) -> Any:
        """How many zeros are around the images."""
        return self.host_op.border_mode

    @property
    def subsample(self) -> tuple[int, ...]:
        """Steps of the filters."""
        return self.host_op.subsample

    @property
    def filter_dilation(self) -> tuple[int, ...]:
        """Distances of the elements that neighbouring elements of a filter meet."""
        return self.host_op.filter_dilation

    @property
    def num_groups(self) -> int:
        """Number of parts of the channels, each convolved for itself."""
        return self.host_op.num_groups

    @property
    def unshared(self) -> bool:
        """Whether each position has filters of its own."""
        return self.host_op.unshared

    def flops(self, inp: Sequence[Sequence[int]], outp: Sequence[Sequence[int]]) -> int:
        """Return the number of multiplications and additions, from the shapes of inputs and outputs."""
        return self.host_op.flops(inp, outp)

    def __str__(self) -> str:
        flipped = ", flipped" if self.host_op.filter_flip else ""
        return (
            f"{type(self).__name__}{{{self.border_mode}, {self.subsample}, {self.filter_dilation}, "
            f"{self.num_groups} {self.unshared}{flipped}}}"
        )


class BaseGpuCorrMM(_Correlation):
    """The base of correlations of images and their gradients; it cannot be used by itself.

    Parameters
    ----------
    border_mode : {"valid", "full", "half"}, int, or pair of (int or pair of int)
        Zeros around the images: numbers, for each axis, maybe for both of its sides.
    subsample : pair of int
        Steps of the filters.
    filter_dilation : pair of int
        Distances of the elements that neighbouring elements of a filter meet.
    num_groups : int
        Number of parts of the channels, each convolved for itself.
    unshared : bool
        Whether each position has filters of its own; such correlations run on the host.
    """

    def __init__(
        self,
        border_mode: Any = "valid",
        subsample: Sequence[int] = (1, 1),
        filter_dilation: Sequence[int] = (1, 1),
        num_groups: int = 1,
        unshared: bool = False,
    ) -> None:
        super().__init__(
            self._make_host(
                border_mode=border_mode,
                subsample=subsample,
                filter_dilation=filter_dilation,
                num_groups=num_groups,
                unshared=unshared,
            )
        )

    def c_code_helper(
        self,
        bottom: str,
        weights: str,
        top: str,
        direction: str,
        sub: Mapping[str, str],
        height: str | None = None,
        width: str | None = None,
    ) -> str:
        """Return C code that computes one of images, filters and results from the two others.

        Parameters
        ----------
        bottom, weights, top : str
            The C variables of images, filters and results, or of the gradients by them.
        direction : {"forward", "backprop weights", "backprop inputs"}
            Whether `top`, `weights` or `bottom` is computed.
        sub : mapping
            With "fail", the statement that leaves the code.
        height, width : str, optional
            For a gradient, the C variables of integer scalars with the lengths of its axes; needed where these do not
            follow from those of the others: for steps above 1, and by the filters for "half".

        Raises
        ------
        ValueError
            If there is no such direction, or a length is missing.
        TypeError
            If each position has filters of its own.
        """
        return correlation_code(self, (bottom, weights, top), direction, sub, (height, width))


class BaseGpuCorr3dMM(_Correlation):
    """The base of correlations of volumes and their gradients; it cannot be used by itself.

    Parameters
    ----------
    border_mode : {"valid", "full", "half"}, int, or triple of int
    subsample, filter_dilation : triple of int
    num_groups : int
        As for images, see :class:`BaseGpuCorrMM`.
    """

    def __init__(
        self,
        border_mode: Any = "valid",
        subsample: Sequence[int] = (1, 1, 1),
        filter_dilation: Sequence[int] = (1, 1, 1),
        num_groups: int = 1,
    ) -> None:
        super().__init__(
            self._make_host(
                border_mode=border_mode, subsample=subsample, filter_dilation=filter_dilation, num_groups=num_groups
            )
        )

    def c_code_helper(
        self,
        bottom: str,
        weights: str,
        top: str,
        direction: str,
        sub: Mapping[str, str],
        height: str | None = None,
        width: str | None = None,
        depth: str | None = None,
    ) -> str:
        """Return C code that computes one of volumes, filters and results; see :meth:`BaseGpuCorrMM.c_code_helper`.

        Parameters
        ----------
        bottom, weights, top : str
        direction : {"forward", "backprop weights", "backprop inputs"}
        sub : mapping
        height, width, depth : str, optional
        """
        return correlation_code(self, (bottom, weights, top), direction, sub, (height, width, depth))


class GpuCorrMM(BaseGpuCorrMM):
    """Correlation of images with filters, which are not flipped; inputs are images and filters."""

    host_class = AbstractConv2d


class GpuCorr3dMM(BaseGpuCorr3dMM):
    """Correlation of volumes with filters, which are not flipped; inputs are volumes and filters."""

    host_class = AbstractConv3d


class _WeightGradient(_Correlation):
    """The gradient by the filters."""

    def make_node(self, img: Any, topgrad: Any, shape: Any = None) -> Apply[Self]:
        """Apply to images, the gradient of the result, and the lengths of the filters.

        Raises
        ------
        ValueError
            If the lengths are left out and do not follow from the others: for steps above 1, and for "half".
        """
        return super().make_node(img, topgrad, self._filter_lengths(img, topgrad) if shape is None else shape)

    def _filter_lengths(self, img: Any, topgrad: Any) -> list[Any]:
        _check_follows(self, self.border_mode != "half")
        lengths = []
        for axis, dilation in enumerate(self.filter_dilation):
            a, b = img.shape[axis + 2], topgrad.shape[axis + 2]
            dilated = b - a + 1 if self.border_mode == "full" else a + _padding(self, axis) - b + 1
            lengths.append((dilated - 1) // dilation + 1)
        return lengths


class _InputGradient(_Correlation):
    """The gradient by the images."""

    def make_node(self, kern: Any, topgrad: Any, shape: Any = None) -> Apply[Self]:
        """Apply to filters, the gradient of the result, and the lengths of the images.

        Raises
        ------
        ValueError
            If the lengths are left out and do not follow from the others: for steps above 1.
        """
        return super().make_node(kern, topgrad, self._image_lengths(kern, topgrad) if shape is None else shape)

    def _image_lengths(self, kern: Any, topgrad: Any) -> list[Any]:
        _check_follows(self, True)
        count = len(self.subsample)
        lengths = []
        for axis, dilation in enumerate(self.filter_dilation):
            dilated = (kern.shape[kern.type.ndim - count + axis] - 1) * dilation + 1
            b = topgrad.shape[axis + 2]
            if self.border_mode == "half":
                lengths.append(b + dilated - 1 - 2 * (dilated // 2))
            elif self.border_mode == "full":
                lengths.append(b - dilated + 1)
            else:
                lengths.append(b + dilated - 1 - _padding(self, axis))
        return lengths


def _check_follows(op: _Correlation, follows: bool) -> None:
    if not follows or any(step != 1 for step in op.subsample):
        raise ValueError(
            format_error(
                f"{op}: the lengths do not follow from those of the operands",
                hint="pass them as the third operand",
            )
        )


def _padding(op: _Correlation, axis: int) -> int:
    """Return the zeros on both sides of an axis."""
    if isinstance(op.border_mode, str):
        return 0
    return int(sum(op.border_mode[axis]))


class GpuCorrMM_gradWeights(_WeightGradient, BaseGpuCorrMM):  # the documented name
    """Gradient of :class:`GpuCorrMM` by the filters."""

    host_class = AbstractConv2d_gradWeights


class GpuCorrMM_gradInputs(_InputGradient, BaseGpuCorrMM):  # the documented name
    """Gradient of :class:`GpuCorrMM` by the images."""

    host_class = AbstractConv2d_gradInputs


class GpuCorr3dMM_gradWeights(_WeightGradient, BaseGpuCorr3dMM):  # the documented name
    """Gradient of :class:`GpuCorr3dMM` by the filters."""

    host_class = AbstractConv3d_gradWeights


class GpuCorr3dMM_gradInputs(_InputGradient, BaseGpuCorr3dMM):  # the documented name
    """Gradient of :class:`GpuCorr3dMM` by the volumes."""

    host_class = AbstractConv3d_gradInputs


# ---- Pooling and cumulative sums on devices


class _Pooling(NamedDeviceOp):
    """The base of ops on windows of arrays on a device."""

    host_op: Any

    @property
    def ignore_border(self) -> bool:
        """Whether windows that reach over the border are left out."""
        return bool(self.host_op.ignore_border)

    @property
    def mode(self) -> str:
        """The reduction of a window."""
        return str(self.host_op.mode)

    @property
    def ndim(self) -> int:
        """Number of axes of the windows."""
        return int(self.host_op.ndim)


@stands_for(Pool)
class GpuPool(_Pooling):
    """Pooling on a device; inputs are images, and lengths, steps and padding of the windows.

    Parameters
    ----------
    ignore_border : bool
        Whether windows that reach over the border are left out.
    mode : {'max', 'sum', 'average_inc_pad', 'average_exc_pad'}
    ndim : int
        Number of axes of the windows.
    """

    def __init__(self, ignore_border: bool, mode: str = "max", ndim: int = 2) -> None:
        super().__init__(Pool(ignore_border, mode, ndim))

    def make_node(self, inp: Any, ws: Any, stride: Any = None, pad: Any = None) -> Apply[Self]:
        """Apply to images and the layout of the windows; the default step is their size."""
        host = self.host_op
        return super().make_node(inp, *host.layout(ws, stride, pad))


@stands_for(MaxPoolGrad)
class GpuMaxPoolGrad(_Pooling):
    """Gradient of the pooling of largest elements on a device; inputs are images, their pooling, its gradient, windows.

    Parameters
    ----------
    ignore_border : bool
    mode : {'max'}
    ndim : int
    """

    _host_class: type[Any] = MaxPoolGrad

    def __init__(self, ignore_border: bool, mode: str = "max", ndim: int = 2) -> None:
        if mode not in ("max", "max_deterministic"):
            raise ValueError(
                format_error(
                    f"{type(self).__name__} is for the mode 'max', not {mode!r}", hint="use GpuAveragePoolGrad"
                )
            )
        super().__init__(self._host_class(ignore_border, ndim))

    def make_node(self, inp: Any, out: Any, grad: Any, ws: Any, stride: Any = None, pad: Any = None) -> Apply[Self]:
        """Apply to images, their pooled images, an array of the shape of one of them, and the windows."""
        return super().make_node(inp, out, grad, *self.host_op.layout(ws, stride, pad))


@stands_for(MaxPoolGradGrad)
class GpuDownsampleFactorMaxGradGrad(GpuMaxPoolGrad):
    """Elements of another array at the first largest one of each window, on a device; see :class:`GpuMaxPoolGrad`."""

    _host_class = MaxPoolGradGrad


@stands_for(AveragePoolGrad)
class GpuAveragePoolGrad(_Pooling):
    """Gradient of the pooling of averages and sums on a device; inputs are images, the gradient and the windows.

    Parameters
    ----------
    ignore_border : bool
    mode : {'sum', 'average_inc_pad', 'average_exc_pad'}
    ndim : int
    """

    def __init__(self, ignore_border: bool, mode: str = "average_inc_pad", ndim: int = 2) -> None:
        super().__init__(AveragePoolGrad(ignore_border, mode, ndim))

    def make_node(self, inp: Any, out_grad: Any, ws: Any, stride: Any = None, pad: Any = None) -> Apply[Self]:
        """Apply to images, the gradient of the pooled images, and the windows."""
        return super().make_node(inp, out_grad, *self.host_op.layout(ws, stride, pad))


@stands_for(Cumulative)
class GpuCumOp(NamedDeviceOp):
    """Cumulative sum or product of an array on a device.

    Parameters
    ----------
    axis : int
        Negative ones count from the end; None stands for 0.
    mode : {'add', 'mul'}
    """

    host_op: Cumulative

    def __init__(self, axis: int | None, mode: str = "add") -> None:
        super().__init__(Cumulative(0 if axis is None else axis, mode))

    @property
    def axis(self) -> int:
        """The axis."""
        return self.host_op.axis

    @property
    def mode(self) -> str:
        """Whether elements are added or multiplied."""
        return self.host_op.mode

    def make_node(self, x: Any) -> Apply[Self]:
        """Apply to an array; ValueError if it has no such axis."""
        ndim: int = x.type.ndim if hasattr(x, "type") else getattr(x, "ndim", 1)
        if not -ndim <= self.axis < ndim:
            raise ValueError(
                format_error(f"{self}: axis(={self.axis}) out of bounds for {ndim} dimensions", hint="use another axis")
            )
        if self.axis < 0:
            return type(self)(self.axis + ndim, self.mode).make_node(x)
        return super().make_node(x)


__all__ = [
    "BaseGpuCorr3dMM",
    "BaseGpuCorrMM",
    "GpuAveragePoolGrad",
    "GpuCorr3dMM",
    "GpuCorr3dMM_gradInputs",
    "GpuCorr3dMM_gradWeights",
    "GpuCorrMM",
    "GpuCorrMM_gradInputs",
    "GpuCorrMM_gradWeights",
    "GpuCumOp",
    "GpuDownsampleFactorMaxGradGrad",
    "GpuMaxPoolGrad",
    "GpuPool",
]
