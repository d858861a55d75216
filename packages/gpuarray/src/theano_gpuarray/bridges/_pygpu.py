"""Arrays of pygpu, the library of devices of Theano 1.0, for programs that still call it.

pygpu opens contexts of its own, whose memory no other context may touch: values go through the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import GpuArray, asarray
from ..contexts import GpuContext
from ._installed import library

__all__ = ["from_pygpu", "to_pygpu"]


def from_pygpu(x: Any, context: GpuContext | None = None) -> GpuArray:
    """Return a copy of an array of pygpu.

    Parameters
    ----------
    x : pygpu.gpuarray.GpuArray
    context : GpuContext, optional
        The default one if None.
    """
    return asarray(np.asarray(x), context=context)


def to_pygpu(x: GpuArray, context: Any = None) -> Any:
    """Return a copy as an array of pygpu.

    Parameters
    ----------
    x : GpuArray
    context : pygpu.gpuarray.GpuContext, optional
        pygpu's default one if None.

    Raises
    ------
    ImportError
        If pygpu is not installed.
    """
    return library("pygpu.gpuarray").array(np.asarray(x), context=context)
