"""Products of matrices on devices, for the Python code of ops."""

from __future__ import annotations

import numpy as np

from theano_graph import format_error
from theano_linker_c.kernels import MatrixProductKernel

from ..arrays import GpuArray, zeros
from ..region import run_kernel
from ..types import as_device_value

__all__ = ["gemm"]


def gemm(
    alpha: float,
    A: GpuArray,  # the documented names
    B: GpuArray,  # as above
    beta: float = 0.0,
    C: GpuArray | None = None,  # as above
    trans_a: bool = False,
    trans_b: bool = False,
    overwrite_c: bool = False,
) -> GpuArray:
    """Return ``alpha * A @ B + beta * C``.

    Parameters
    ----------
    alpha, beta : float
        Where beta is 0, C is not read.
    A, B, C : GpuArray
        Matrices of one dtype, float32 or float64, in one context.
    trans_a, trans_b : bool
        Whether the transposed matrices are multiplied.
    overwrite_c : bool
        Whether C itself gets the result.

    Raises
    ------
    TypeError
        If these are no matrices of one dtype.
    ValueError
        If their shapes do not fit.

    Examples
    --------
    >>> from theano_gpuarray.contexts import open_context
    >>> context = open_context("null0")
    >>> a = zeros((2, 3), "float32", context=context)
    >>> gemm(1.0, a, a, trans_b=True).shape
    (2, 2)
    """
    operands = [A, B] if C is None else [A, B, C]
    if any(not isinstance(x, GpuArray) or x.ndim != 2 or x.dtype != A.dtype for x in operands):
        kinds = [f"{x.dtype} of shape {x.shape}" if isinstance(x, GpuArray) else type(x).__name__ for x in operands]
        raise TypeError(
            format_error("gemm takes matrices of one dtype on a device", context=kinds, hint="convert them with astype")
        )
    left, right = (A.T if trans_a else A), (B.T if trans_b else B)
    dtype = A.dtype.name
    if C is None:
        C, beta = zeros((left.shape[0], right.shape[1]), dtype, context=A.context), 0.0
    factors = [np.asarray(v, dtype) for v in (alpha, beta)]
    (outcome,) = run_kernel(MatrixProductKernel("gemm", dtype), A.context, [C, factors[0], left, right, factors[1]])
    result = as_device_value(outcome, A.context)
    if not overwrite_c:
        return result
    C[...] = result
    return C
