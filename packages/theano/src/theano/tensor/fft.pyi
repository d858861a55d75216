# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import tensor as _tensor
T = _tensor
from theano import gof as gof
from theano.tensor._old_ops import irfft_op as irfft_op
from theano.tensor._old_ops import rfft_op as rfft_op
from theano_tensor import DisconnectedType as DisconnectedType
from theano_tensor.fourier import Fourier as Fourier
from theano_tensor.fourier import InverseRealFourier as _InverseRealFourier
IRFFTOp = _InverseRealFourier
from theano_tensor.fourier import InverseRealFourier as InverseRealFourier
from theano_tensor.fourier import RealFourier as _RealFourier
RFFTOp = _RealFourier
from theano_tensor.fourier import RealFourier as RealFourier
from theano_tensor.fourier import fft as fft
from theano_tensor.fourier import ifft as ifft
from theano_tensor.fourier import irfft as irfft
from theano_tensor.fourier import rfft as rfft
