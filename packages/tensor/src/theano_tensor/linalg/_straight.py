"""Matrices that have no form in C that stands alone; loaded for exports only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply
from theano_linker_c.straight import Block, CArray, straight_op

from .._core._type import Tensor
from ._cholesky import Cholesky, CholeskyGrad
from ._eigen import Eigh, EighGrad
from ._inverse import Det, MatrixInverse, SLogDet
from ._orthogonal import SVD, QRFull, QRIncomplete
from ._solve import Solve

__all__: list[str] = []


@straight_op.register(Cholesky, CholeskyGrad, Det, Eigh, EighGrad)
@straight_op.register(MatrixInverse, QRFull, QRIncomplete, SLogDet, Solve, SVD)
def _refuse(node: Apply[Any, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    """Refuse an op without a native kernel, whose form would have been asked first."""
    raise block.refuse("these matrices have no form in C", "use real matrices of float32 or float64")
