"""Views, joins, diagonals, and arrays that follow from lengths, on devices."""

from . import _joins as _joins, _routines as _routines, _views as _views
from ._diagonals import DiagonalKernel as DiagonalKernel, DiagonalMatrixKernel as DiagonalMatrixKernel

__all__ = ["DiagonalKernel", "DiagonalMatrixKernel"]
