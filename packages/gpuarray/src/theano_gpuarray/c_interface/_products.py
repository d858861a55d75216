"""Products and correlations, for C code of ops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theano_graph import format_error
from theano_linker_c.kernels import ConvolutionKernel, ConvolutionTask

from ..arrays import GpuArray
from ..kernel_base import gemm
from ..region import run_kernel
from ..types import as_device_value

__all__ = ["correlate", "multiply"]

_TASKS: Sequence[ConvolutionTask] = ("forward", "weight_grad", "input_grad")


def multiply(trans_a: int, trans_b: int, alpha: float, a: GpuArray, b: GpuArray, beta: float, z: GpuArray) -> None:
    """Let ``z = alpha * a @ b + beta * z``, of matrices and vectors, or for each matrix of 3-dimensional arrays.

    Without dimensions, `z` is the product of two vectors; as a matrix of two vectors it is their outer product.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    if a.ndim == b.ndim == z.ndim == 3 and a.shape[0] == b.shape[0] == z.shape[0]:
        for i in range(z.shape[0]):
            gemm(alpha, a[i], b[i], beta, z[i], bool(trans_a), bool(trans_b), overwrite_c=True)
        return
    kinds = (a.ndim, b.ndim, z.ndim)
    left, right, result = a, b, z
    if kinds == (2, 1, 1):
        right, result = b[:, None], z[:, None]
    elif kinds == (1, 1, 2):
        left, right = a[:, None], b[None, :]
    elif kinds == (1, 1, 0):
        left, right, result = a[None, :], b[:, None], z[None, None]
    elif kinds != (2, 2, 2):
        raise ValueError(
            format_error(f"arrays of {kinds} dimensions are no operands of a product", hint="pass matrices and vectors")
        )
    gemm(alpha, left, right, beta, result, bool(trans_a), bool(trans_b), overwrite_c=True)


def correlate(
    direction: int, bottom: GpuArray, weights: GpuArray, top: GpuArray, axes: int, numbers: Sequence[int]
) -> None:
    """Compute a correlation (0), its gradient by the filters (1) or by the images (2) into the array of the result.

    Parameters
    ----------
    direction : {0, 1, 2}
    bottom, weights, top : GpuArray
        Images, filters and the result of a correlation.
    axes : int
    numbers : sequence of int
        Zeros before the axes, zeros behind them, steps, dilations, and the number of groups.
    """
    before, after, steps, dilations = (tuple(numbers[k * axes : (k + 1) * axes]) for k in range(4))
    kernel = ConvolutionKernel(
        _TASKS[direction],
        bottom.dtype.name,
        steps,
        dilations,
        tuple(zip(before, after, strict=True)),
        False,
        numbers[-1],
    )
    result = (top, weights, bottom)[direction]
    operands: tuple[GpuArray, ...] = ((bottom, weights), (bottom, top), (weights, top))[direction]
    lengths = [] if direction == 0 else [np.asarray(result.shape[2:], "int64")]
    (outcome,) = run_kernel(kernel, result.context, [*operands, *lengths])
    computed = as_device_value(outcome, result.context)
    if computed.shape != result.shape:
        raise ValueError(
            format_error(
                f"a correlation gives an array of shape {computed.shape}, not of {result.shape}",
                hint="allocate one of that shape",
            )
        )
    result[...] = computed
