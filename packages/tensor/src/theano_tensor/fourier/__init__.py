"""Fast Fourier transforms."""

from ._complex import Fourier as Fourier, fft as fft, ifft as ifft
from ._real import (
    InverseRealFourier as InverseRealFourier,
    RealFourier as RealFourier,
    irfft as irfft,
    rfft as rfft,
)

__all__ = ["Fourier", "InverseRealFourier", "RealFourier", "fft", "ifft", "irfft", "rfft"]
