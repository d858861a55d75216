"""Products of vectors, matrices and tensors."""

from ._batched import BatchedDot as BatchedDot, batched_dot as batched_dot
from ._dot import Dot as Dot, matrix_product as matrix_product, outer as outer
from ._einsum import einsum as einsum
from ._gemm import (
    Dot22 as Dot22,
    Dot22Scalar as Dot22Scalar,
    Gemm as Gemm,
    Gemv as Gemv,
    Ger as Ger,
    dot22 as dot22,
    dot22_scalar as dot22_scalar,
    gemm_inplace as gemm_inplace,
    gemm_no_inplace as gemm_no_inplace,
    gemv_inplace as gemv_inplace,
    gemv_no_inplace as gemv_no_inplace,
    ger as ger,
    ger_destructive as ger_destructive,
    view_roots as view_roots,
)
from ._matmul import inner as inner, matmul as matmul, vdot as vdot
from ._tensordot import batched_tensordot as batched_tensordot, dot as dot, tensordot as tensordot

__all__ = [
    "BatchedDot",
    "Dot",
    "Dot22",
    "Dot22Scalar",
    "Gemm",
    "Gemv",
    "Ger",
    "batched_dot",
    "batched_tensordot",
    "dot",
    "dot22",
    "dot22_scalar",
    "einsum",
    "gemm_inplace",
    "gemm_no_inplace",
    "view_roots",
    "gemv_inplace",
    "gemv_no_inplace",
    "ger",
    "ger_destructive",
    "inner",
    "matmul",
    "matrix_product",
    "outer",
    "tensordot",
    "vdot",
]
