"""Fast Fourier transforms; complex numbers are pairs of real ones in `rfft` and `irfft`."""

from theano_tensor.fourier import (
    Fourier as Fourier,
    InverseRealFourier as InverseRealFourier,
    RealFourier as RealFourier,
    fft as fft,
    ifft as ifft,
    irfft as irfft,
    rfft as rfft,
)

RFFTOp, IRFFTOp = RealFourier, InverseRealFourier
rfft_op, irfft_op = RFFTOp(), IRFFTOp()

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
