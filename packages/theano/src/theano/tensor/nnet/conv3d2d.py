"""Convolutions of movies, with the time before the channels."""

from theano_tensor.nnet.convolution import conv3d2d as conv3d

from ..._lazy import lazy_names
from ._diagonals import (
    DiagonalSubtensor as DiagonalSubtensor,
    IncDiagonalSubtensor as IncDiagonalSubtensor,
    diagonal_subtensor as diagonal_subtensor,
    get_diagonal_subtensor_view as get_diagonal_subtensor_view,
    inc_diagonal_subtensor as inc_diagonal_subtensor,
    local_inplace_DiagonalSubtensor as local_inplace_DiagonalSubtensor,
)

__all__ = [
    "DiagonalSubtensor",
    "IncDiagonalSubtensor",
    "conv3d",
    "diagonal_subtensor",
    "get_diagonal_subtensor_view",
    "inc_diagonal_subtensor",
    "local_inplace_DiagonalSubtensor",
]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
