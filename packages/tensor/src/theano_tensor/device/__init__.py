"""Expressions on devices: variables, ops by their documented names, and the rewrites that move graphs there.

The imports here make :func:`theano_tensor.shared` and functions use devices, as far as flags say so.
"""

from theano_gpuarray import lowering as lowering  # nodes on a device run together

from . import dnn as dnn
from ._rewrites import (
    CpuOpError as CpuOpError,
    LiftToDevice as LiftToDevice,
    alpha_merge as alpha_merge,
    find_node as find_node,
    gpu_optimizer as gpu_optimizer,
    gpu_seqopt as gpu_seqopt,
    grab_cpu_scalar as grab_cpu_scalar,
    inplace_allocempty as inplace_allocempty,
    is_equal as is_equal,
    op_lifter as op_lifter,
    output_merge as output_merge,
    pad_dims as pad_dims,
    register_opt as register_opt,
    register_opt2 as register_opt2,
    unpad_dims as unpad_dims,
)
from ._variables import (
    DeviceTensor as DeviceTensor,
    GpuArrayConstant as GpuArrayConstant,
    GpuArraySharedVariable as GpuArraySharedVariable,
    GpuArrayVariable as GpuArrayVariable,
    as_gpuarray_variable as as_gpuarray_variable,
    gpu_supported as gpu_supported,
    gpuarray_shared_constructor as gpuarray_shared_constructor,
    move_to_gpu as move_to_gpu,
    transfer as transfer,
)

# Names that these define, written by tools/generate_names.py:
#     ops
# fmt: off
# isort: off
from .ops import (
    BaseGpuCorr3dMM as BaseGpuCorr3dMM, BaseGpuCorrMM as BaseGpuCorrMM, GPUAChoiceFromUniform as GPUAChoiceFromUniform,
    GPUAMultinomialFromUniform as GPUAMultinomialFromUniform, GPUA_mrg_uniform as GPUA_mrg_uniform,
    GpuAdvancedBooleanIncSubtensor as GpuAdvancedBooleanIncSubtensor,
    GpuAdvancedBooleanSubtensor as GpuAdvancedBooleanSubtensor, GpuAdvancedIncSubtensor as GpuAdvancedIncSubtensor,
    GpuAdvancedIncSubtensor1 as GpuAdvancedIncSubtensor1,
    GpuAdvancedIncSubtensor1_dev20 as GpuAdvancedIncSubtensor1_dev20, GpuAdvancedSubtensor as GpuAdvancedSubtensor,
    GpuAdvancedSubtensor1 as GpuAdvancedSubtensor1, GpuAlloc as GpuAlloc, GpuAllocDiag as GpuAllocDiag,
    GpuAllocEmpty as GpuAllocEmpty, GpuArgSortOp as GpuArgSortOp, GpuAveragePoolGrad as GpuAveragePoolGrad,
    GpuBatchedDot as GpuBatchedDot, GpuCAReduce as GpuCAReduce, GpuCAReduceCPY as GpuCAReduceCPY,
    GpuCAReduceCuda as GpuCAReduceCuda, GpuContiguous as GpuContiguous, GpuCorr3dMM as GpuCorr3dMM,
    GpuCorr3dMM_gradInputs as GpuCorr3dMM_gradInputs, GpuCorr3dMM_gradWeights as GpuCorr3dMM_gradWeights,
    GpuCorrMM as GpuCorrMM, GpuCorrMM_gradInputs as GpuCorrMM_gradInputs,
    GpuCorrMM_gradWeights as GpuCorrMM_gradWeights, GpuCumOp as GpuCumOp, GpuDimShuffle as GpuDimShuffle,
    GpuDot as GpuDot, GpuDot22 as GpuDot22, GpuDot22Scalar as GpuDot22Scalar,
    GpuDownsampleFactorMaxGradGrad as GpuDownsampleFactorMaxGradGrad, GpuElemwise as GpuElemwise,
    GpuErfcinv as GpuErfcinv, GpuErfinv as GpuErfinv, GpuExtractDiag as GpuExtractDiag, GpuEye as GpuEye,
    GpuFusedReduce as GpuFusedReduce, GpuGemm as GpuGemm, GpuGemv as GpuGemv, GpuGer as GpuGer,
    GpuIncSubtensor as GpuIncSubtensor, GpuJoin as GpuJoin, GpuMaxPoolGrad as GpuMaxPoolGrad, GpuPool as GpuPool,
    GpuReshape as GpuReshape, GpuSortOp as GpuSortOp, GpuSplit as GpuSplit, GpuSubtensor as GpuSubtensor,
    GpuTopKOp as GpuTopKOp, NamedDeviceOp as NamedDeviceOp, SupportCodeError as SupportCodeError,
    blocks_outer as blocks_outer, blocks_product as blocks_product, gpu_ca_reduce_cuda as gpu_ca_reduce_cuda,
    gpu_contiguous as gpu_contiguous, gpu_dot22 as gpu_dot22, gpu_erfcinv as gpu_erfcinv, gpu_erfinv as gpu_erfinv,
    gpu_join as gpu_join, gpugemm_inplace as gpugemm_inplace, gpugemm_no_inplace as gpugemm_no_inplace,
    gpugemv_inplace as gpugemv_inplace, gpugemv_no_inplace as gpugemv_no_inplace, gpuger_inplace as gpuger_inplace,
    gpuger_no_inplace as gpuger_no_inplace, lifters as lifters, max_inputs_to_GpuElemwise as max_inputs_to_GpuElemwise,
)
# isort: on
# fmt: on
# End of the names that these define.

__all__ = [
    "CpuOpError",
    "DeviceTensor",
    "GpuArrayConstant",
    "GpuArraySharedVariable",
    "GpuArrayVariable",
    "LiftToDevice",
    "alpha_merge",
    "as_gpuarray_variable",
    "find_node",
    "gpu_optimizer",
    "gpu_seqopt",
    "gpu_supported",
    "gpuarray_shared_constructor",
    "grab_cpu_scalar",
    "inplace_allocempty",
    "is_equal",
    "lowering",
    "move_to_gpu",
    "op_lifter",
    "output_merge",
    "pad_dims",
    "register_opt",
    "register_opt2",
    "transfer",
    "unpad_dims",
]
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
    "GpuTopKOp", "NamedDeviceOp", "SupportCodeError", "blocks_outer", "blocks_product", "gpu_ca_reduce_cuda",
    "gpu_contiguous", "gpu_dot22", "gpu_erfcinv", "gpu_erfinv", "gpu_join", "gpugemm_inplace", "gpugemm_no_inplace",
    "gpugemv_inplace", "gpugemv_no_inplace", "gpuger_inplace", "gpuger_no_inplace", "lifters",
    "max_inputs_to_GpuElemwise",
]
# isort: on
# fmt: on
# End of their names.
