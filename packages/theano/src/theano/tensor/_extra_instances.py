"""Instances of ops that functions of `theano.tensor.extra_ops` and `theano.tensor.fft` apply."""

from theano_tensor import Bartlett, DisconnectedType, FillDiagonal, FillDiagonalOffset
from theano_tensor.fourier import InverseRealFourier, RealFourier

bartlett_ = Bartlett()
fill_diagonal_ = FillDiagonal()
fill_diagonal_offset_ = FillDiagonalOffset()
disconnected_type = DisconnectedType()
rfft_op, irfft_op = RealFourier(), InverseRealFourier()
