"""Products and convolutions on devices."""

from __future__ import annotations

from typing import Any

from theano_graph import describe, format_error
from theano_tensor import as_tensor_variable, batched_dot, cast

from ..tensor._expression_ops import ExpressionOp
from ._ops import OnDevice


class _AddedProducts(ExpressionOp):
    """``beta * C + alpha * A[i] @ B[i]`` for stacks of matrices."""

    __props__ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = bool(inplace)

    def operands(self, C: Any, alpha: Any, A: Any, B: Any, beta: Any) -> list[Any]:
        """Take a stack, a number, two stacks, and a number."""
        stacks = [as_tensor_variable(v) for v in (C, A, B)]
        if any(v.type.ndim != 3 for v in stacks):
            raise TypeError(
                format_error(
                    "GpuGemmBatch takes stacks of matrices, which have three dimensions",
                    context=[describe(v) for v in stacks],
                    hint="use GpuGemm for matrices",
                )
            )
        target, first, second = stacks
        factors = [cast(as_tensor_variable(v), target.type.dtype) for v in (alpha, beta)]
        return [target, factors[0], first, second, factors[1]]

    def expression(self, C: Any, alpha: Any, A: Any, B: Any, beta: Any) -> list[Any]:
        """Return the sum."""
        return [cast(beta * C + alpha * batched_dot(A, B), C.type.dtype)]


class GpuGemmBatch(OnDevice, _AddedProducts):
    """Products of the matrices of two stacks on a device, added to a third: ``b C + a A[i] B[i]``.

    Inputs are C, a, A, B and b.

    Parameters
    ----------
    inplace : bool
        States that C may be overwritten. Memory that nobody needs any more is used again either way.
    """


gpugemmbatch_no_inplace, gpugemmbatch_inplace = GpuGemmBatch(), GpuGemmBatch(inplace=True)
