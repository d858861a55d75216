"""Fourier transforms on devices."""

from . import _real as _real
from ._kernel import InverseRealFourierKernel as InverseRealFourierKernel, RealFourierKernel as RealFourierKernel

__all__ = ["InverseRealFourierKernel", "RealFourierKernel"]
