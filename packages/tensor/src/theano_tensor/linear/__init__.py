"""Products of vectors, matrices and tensors."""

from ._dot import Dot as Dot, matrix_product as matrix_product, outer as outer
from ._tensordot import batched_dot as batched_dot, dot as dot, matmul as matmul, tensordot as tensordot

__all__ = ["Dot", "batched_dot", "dot", "matmul", "matrix_product", "outer", "tensordot"]
