"""Products of vectors, matrices and tensors."""

from ._batched import BatchedDot as BatchedDot, batched_dot as batched_dot
from ._dot import Dot as Dot, matrix_product as matrix_product, outer as outer
from ._einsum import einsum as einsum
from ._matmul import inner as inner, matmul as matmul, vdot as vdot
from ._tensordot import batched_tensordot as batched_tensordot, dot as dot, tensordot as tensordot

__all__ = [
    "BatchedDot",
    "Dot",
    "batched_dot",
    "batched_tensordot",
    "dot",
    "einsum",
    "inner",
    "matmul",
    "matrix_product",
    "outer",
    "tensordot",
    "vdot",
]
