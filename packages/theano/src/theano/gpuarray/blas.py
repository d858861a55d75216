"""Products and convolutions on devices."""

from __future__ import annotations

from typing import Any

from theano_graph import describe, format_error
from theano_tensor import as_tensor_variable, batched_dot, cast

from ..tensor._expression_ops import ExpressionOp
from ._ops import OnDevice

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_tensor.device import (
    BaseGpuCorr3dMM as BaseGpuCorr3dMM, BaseGpuCorrMM as BaseGpuCorrMM, GpuCorr3dMM as GpuCorr3dMM,
    GpuCorr3dMM_gradInputs as GpuCorr3dMM_gradInputs, GpuCorr3dMM_gradWeights as GpuCorr3dMM_gradWeights,
    GpuCorrMM as GpuCorrMM, GpuCorrMM_gradInputs as GpuCorrMM_gradInputs,
    GpuCorrMM_gradWeights as GpuCorrMM_gradWeights, GpuDot22 as GpuDot22, GpuGemm as GpuGemm, GpuGemv as GpuGemv,
    GpuGer as GpuGer, gpu_dot22 as gpu_dot22, gpugemm_inplace as gpugemm_inplace,
    gpugemm_no_inplace as gpugemm_no_inplace, gpugemv_inplace as gpugemv_inplace,
    gpugemv_no_inplace as gpugemv_no_inplace, gpuger_inplace as gpuger_inplace, gpuger_no_inplace as gpuger_no_inplace,
)
# isort: on
# fmt: on
# End of the names of names.toml.


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
