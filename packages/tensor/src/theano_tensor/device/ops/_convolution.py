"""Convolutions and their gradients on devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from theano_graph import Apply, format_error

from ...nnet.convolution import (
    AbstractConv2d,
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
    AbstractConv3d,
    AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights,
    BaseAbstractConv,
)
from ...on_devices import NamedDeviceOp
from ._c_correlation import correlation_code


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
