"""Ops on devices by their documented names, each for an op of the host."""

# Names that these define, written by tools/generate_names.py:
#     _convolution _elementwise _indexing _linear_algebra _memory
# fmt: off
# isort: off
from ._convolution import (
    BaseGpuCorr3dMM as BaseGpuCorr3dMM, BaseGpuCorrMM as BaseGpuCorrMM, GpuAveragePoolGrad as GpuAveragePoolGrad,
    GpuCorr3dMM as GpuCorr3dMM, GpuCorr3dMM_gradInputs as GpuCorr3dMM_gradInputs,
    GpuCorr3dMM_gradWeights as GpuCorr3dMM_gradWeights, GpuCorrMM as GpuCorrMM,
    GpuCorrMM_gradInputs as GpuCorrMM_gradInputs, GpuCorrMM_gradWeights as GpuCorrMM_gradWeights, GpuCumOp as GpuCumOp,
    GpuDownsampleFactorMaxGradGrad as GpuDownsampleFactorMaxGradGrad, GpuMaxPoolGrad as GpuMaxPoolGrad,
    GpuPool as GpuPool,
)
from ._elementwise import (
    GpuCAReduce as GpuCAReduce, GpuCAReduceCPY as GpuCAReduceCPY, GpuCAReduceCuda as GpuCAReduceCuda,
    GpuDimShuffle as GpuDimShuffle, GpuElemwise as GpuElemwise, GpuErfcinv as GpuErfcinv, GpuErfinv as GpuErfinv,
    GpuFusedReduce as GpuFusedReduce, SupportCodeError as SupportCodeError, gpu_ca_reduce_cuda as gpu_ca_reduce_cuda,
    gpu_erfcinv as gpu_erfcinv, gpu_erfinv as gpu_erfinv, max_inputs_to_GpuElemwise as max_inputs_to_GpuElemwise,
)
from ._indexing import (
    GpuAdvancedBooleanIncSubtensor as GpuAdvancedBooleanIncSubtensor,
    GpuAdvancedBooleanSubtensor as GpuAdvancedBooleanSubtensor, GpuAdvancedIncSubtensor as GpuAdvancedIncSubtensor,
    GpuAdvancedIncSubtensor1 as GpuAdvancedIncSubtensor1,
    GpuAdvancedIncSubtensor1_dev20 as GpuAdvancedIncSubtensor1_dev20, GpuAdvancedSubtensor as GpuAdvancedSubtensor,
    GpuAdvancedSubtensor1 as GpuAdvancedSubtensor1, GpuAllocDiag as GpuAllocDiag, GpuArgSortOp as GpuArgSortOp,
    GpuExtractDiag as GpuExtractDiag, GpuIncSubtensor as GpuIncSubtensor, GpuSortOp as GpuSortOp,
    GpuSubtensor as GpuSubtensor, GpuTopKOp as GpuTopKOp,
)
from ._linear_algebra import (
    GpuBatchedDot as GpuBatchedDot, GpuDot as GpuDot, GpuDot22 as GpuDot22, GpuDot22Scalar as GpuDot22Scalar,
    GpuGemm as GpuGemm, GpuGemv as GpuGemv, GpuGer as GpuGer, blocks_outer as blocks_outer,
    blocks_product as blocks_product, gpu_dot22 as gpu_dot22, gpugemm_inplace as gpugemm_inplace,
    gpugemm_no_inplace as gpugemm_no_inplace, gpugemv_inplace as gpugemv_inplace,
    gpugemv_no_inplace as gpugemv_no_inplace, gpuger_inplace as gpuger_inplace, gpuger_no_inplace as gpuger_no_inplace,
)
from ._memory import (
    GPUAChoiceFromUniform as GPUAChoiceFromUniform, GPUAMultinomialFromUniform as GPUAMultinomialFromUniform,
    GPUA_mrg_uniform as GPUA_mrg_uniform, GpuAlloc as GpuAlloc, GpuAllocEmpty as GpuAllocEmpty,
    GpuContiguous as GpuContiguous, GpuEye as GpuEye, GpuJoin as GpuJoin, GpuReshape as GpuReshape,
    GpuSplit as GpuSplit, gpu_contiguous as gpu_contiguous, gpu_join as gpu_join,
)
# isort: on
# fmt: on
# End of the names that these define.
from .._table import NamedDeviceOp as NamedDeviceOp, lifters as lifters
from . import _linear_algebra as _linear_algebra

__all__ = ["NamedDeviceOp", "lifters"]
# Their names, written by tools/generate_names.py.
# fmt: off
# isort: off
__all__ += [
    "BaseGpuCorr3dMM", "BaseGpuCorrMM", "GPUAChoiceFromUniform", "GPUAMultinomialFromUniform", "GPUA_mrg_uniform",
    "GpuAdvancedBooleanIncSubtensor", "GpuAdvancedBooleanSubtensor", "GpuAdvancedIncSubtensor",
    "GpuAdvancedIncSubtensor1", "GpuAdvancedIncSubtensor1_dev20", "GpuAdvancedSubtensor", "GpuAdvancedSubtensor1",
    "GpuAlloc", "GpuAllocDiag", "GpuAllocEmpty", "GpuArgSortOp", "GpuAveragePoolGrad", "GpuBatchedDot", "GpuCAReduce",
    "GpuCAReduceCPY", "GpuCAReduceCuda", "GpuContiguous", "GpuCorr3dMM", "GpuCorr3dMM_gradInputs",
    "GpuCorr3dMM_gradWeights", "GpuCorrMM", "GpuCorrMM_gradInputs", "GpuCorrMM_gradWeights", "GpuCumOp",
    "GpuDimShuffle", "GpuDot", "GpuDot22", "GpuDot22Scalar", "GpuDownsampleFactorMaxGradGrad", "GpuElemwise",
    "GpuErfcinv", "GpuErfinv", "GpuExtractDiag", "GpuEye", "GpuFusedReduce", "GpuGemm", "GpuGemv", "GpuGer",
    "GpuIncSubtensor", "GpuJoin", "GpuMaxPoolGrad", "GpuPool", "GpuReshape", "GpuSortOp", "GpuSplit", "GpuSubtensor",
    "GpuTopKOp", "SupportCodeError", "blocks_outer", "blocks_product", "gpu_ca_reduce_cuda", "gpu_contiguous",
    "gpu_dot22", "gpu_erfcinv", "gpu_erfinv", "gpu_join", "gpugemm_inplace", "gpugemm_no_inplace", "gpugemv_inplace",
    "gpugemv_no_inplace", "gpuger_inplace", "gpuger_no_inplace", "max_inputs_to_GpuElemwise",
]
# isort: on
# fmt: on
# End of their names.
