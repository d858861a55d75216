"""Convolutions along two and three axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._lengths import BorderMode
from ._ops import AbstractConv, AbstractConv_gradInputs, AbstractConv_gradWeights, BaseAbstractConv, register_special


class _Conv2d(BaseAbstractConv):
    """The common part of convolutions along rows and columns: their constructor."""

    def __init__(
        self,
        imshp: Sequence[Any] | None = None,
        kshp: Sequence[Any] | None = None,
        border_mode: BorderMode = "valid",
        subsample: int | Sequence[Any] = (1, 1),
        filter_flip: bool = True,
        filter_dilation: int | Sequence[Any] = (1, 1),
        num_groups: int = 1,
        unshared: bool = False,
    ) -> None:
        super().__init__(2, imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared)


class _Conv3d(BaseAbstractConv):
    """The common part of convolutions along depth, rows and columns: their constructor."""

    def __init__(
        self,
        imshp: Sequence[Any] | None = None,
        kshp: Sequence[Any] | None = None,
        border_mode: BorderMode = "valid",
        subsample: int | Sequence[Any] = (1, 1, 1),
        filter_flip: bool = True,
        filter_dilation: int | Sequence[Any] = (1, 1, 1),
        num_groups: int = 1,
    ) -> None:
        super().__init__(3, imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups)


class AbstractConv2d(_Conv2d, AbstractConv):
    """Convolution of images with filters; see :class:`BaseAbstractConv`."""


class AbstractConv2d_gradInputs(_Conv2d, AbstractConv_gradInputs):
    """Gradient of a convolution by its images."""


class AbstractConv2d_gradWeights(_Conv2d, AbstractConv_gradWeights):
    """Gradient of a convolution by its filters."""


class AbstractConv3d(_Conv3d, AbstractConv):
    """Convolution of volumes with filters; see :class:`BaseAbstractConv`."""


class AbstractConv3d_gradInputs(_Conv3d, AbstractConv_gradInputs):
    """Gradient of a convolution of volumes by these."""


class AbstractConv3d_gradWeights(_Conv3d, AbstractConv_gradWeights):
    """Gradient of a convolution of volumes by its filters."""


register_special(AbstractConv, 2, AbstractConv2d)
register_special(AbstractConv_gradInputs, 2, AbstractConv2d_gradInputs)
register_special(AbstractConv_gradWeights, 2, AbstractConv2d_gradWeights)
register_special(AbstractConv, 3, AbstractConv3d)
register_special(AbstractConv_gradInputs, 3, AbstractConv3d_gradInputs)
register_special(AbstractConv_gradWeights, 3, AbstractConv3d_gradWeights)
