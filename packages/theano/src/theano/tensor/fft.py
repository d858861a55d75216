"""Fast Fourier transforms; complex numbers are pairs of real ones in `rfft` and `irfft`."""

from typing import TYPE_CHECKING

from theano_tensor.fourier import (
    Fourier as Fourier,
    InverseRealFourier as InverseRealFourier,
    RealFourier as RealFourier,
    fft as fft,
    ifft as ifft,
    irfft as irfft,
    rfft as rfft,
)

from .._lazy import lazy_names
from ._extra_instances import irfft_op as irfft_op, rfft_op as rfft_op

RFFTOp = RealFourier
IRFFTOp = InverseRealFourier

__all__ = [
    "Fourier",
    "IRFFTOp",
    "InverseRealFourier",
    "RFFTOp",
    "RealFourier",
    "fft",
    "ifft",
    "irfft",
    "irfft_op",
    "rfft",
    "rfft_op",
]

if TYPE_CHECKING:
    from theano_tensor import (
        DisconnectedType as DisconnectedType,
    )
else:
    LAZY = {
        "theano": "T=tensor gof",
        "theano_tensor": "DisconnectedType",
    }
    __getattr__, __dir__ = lazy_names(__name__, __package__, LAZY)
