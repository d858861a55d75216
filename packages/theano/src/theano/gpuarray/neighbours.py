"""Neighbourhoods in images on devices."""

from __future__ import annotations

from ..tensor.nnet._layer_ops import Images2Neibs
from ._ops import OnDevice


class GpuImages2Neibs(OnDevice, Images2Neibs):
    """Neighbourhoods in images on a device as rows of a matrix; inputs are images, and shape and step of the window.

    Parameters
    ----------
    mode : {'valid', 'half', 'full', 'wrap_centered', 'ignore_borders'}
    """

    # The op it stands for runs on the device, where it is part of the function.
    inline = True
    moved = 1
