"""Products of matrices as BLAS computes them, and the rewrites that find them."""

from theano_linker_c.cop import blas_arguments as ldflags
from theano_tensor.linear import (
    BatchedDot as BatchedDot,
    Dot22 as Dot22,
    Dot22Scalar as Dot22Scalar,
    Gemm as Gemm,
    Gemv as Gemv,
    Ger as Ger,
    batched_dot as batched_dot,
    dot22 as _dot22,
    dot22_scalar as _dot22scalar,
    gemm_inplace as gemm_inplace,
    gemm_no_inplace as gemm_no_inplace,
    gemv_inplace as gemv_inplace,
    gemv_no_inplace as gemv_no_inplace,
    ger as ger,
    ger_destructive as ger_destructive,
)
from theano_tensor.rewrites import GemmOptimizer as GemmOptimizer
from theano_tensor.rewrites.blas import (
    dot22_to_dot22scalar as local_dot22_to_dot22scalar,
    dot_to_dot22 as local_dot_to_dot22,
    gemm_to_gemv as local_gemm_to_gemv,
    gemm_to_ger as local_gemm_to_ger,
)

from .blas_headers import blas_header_text as blas_header_text, blas_header_version as blas_header_version

#: The op that adds a product to a matrix in the memory of that matrix.
gemm = gemm_inplace
#: The same for vectors.
gemv = gemv_inplace

__all__ = [
    "BatchedDot",
    "Dot22",
    "Dot22Scalar",
    "Gemm",
    "GemmOptimizer",
    "Gemv",
    "Ger",
    "_dot22",
    "_dot22scalar",
    "batched_dot",
    "blas_header_text",
    "blas_header_version",
    "gemm",
    "gemm_inplace",
    "gemm_no_inplace",
    "gemv",
    "gemv_inplace",
    "gemv_no_inplace",
    "ger",
    "ger_destructive",
    "ldflags",
    "local_dot22_to_dot22scalar",
    "local_dot_to_dot22",
    "local_gemm_to_gemv",
    "local_gemm_to_ger",
]
