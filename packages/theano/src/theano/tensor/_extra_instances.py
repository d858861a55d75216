"""Instances of ops that functions of `theano.tensor.extra_ops` apply."""

from theano_tensor import Bartlett, DisconnectedType, FillDiagonal, FillDiagonalOffset

bartlett_ = Bartlett()
fill_diagonal_ = FillDiagonal()
fill_diagonal_offset_ = FillDiagonalOffset()
disconnected_type = DisconnectedType()
