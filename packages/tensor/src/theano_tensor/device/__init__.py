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
    GPUAChoiceFromUniform as GPUAChoiceFromUniform, GPUAMultinomialFromUniform as GPUAMultinomialFromUniform,
    GPUA_mrg_uniform as GPUA_mrg_uniform, GpuAdvancedBooleanIncSubtensor as GpuAdvancedBooleanIncSubtensor,
    GpuAdvancedBooleanSubtensor as GpuAdvancedBooleanSubtensor, GpuAdvancedIncSubtensor as GpuAdvancedIncSubtensor,
    GpuAdvancedIncSubtensor1 as GpuAdvancedIncSubtensor1,
    GpuAdvancedIncSubtensor1_dev20 as GpuAdvancedIncSubtensor1_dev20, GpuAdvancedSubtensor as GpuAdvancedSubtensor,
    GpuAdvancedSubtensor1 as GpuAdvancedSubtensor1, GpuAlloc as GpuAlloc, GpuAllocDiag as GpuAllocDiag,
    GpuAllocEmpty as GpuAllocEmpty, GpuArgSortOp as GpuArgSortOp, GpuContiguous as GpuContiguous,
    GpuExtractDiag as GpuExtractDiag, GpuEye as GpuEye, GpuIncSubtensor as GpuIncSubtensor, GpuJoin as GpuJoin,
    GpuReshape as GpuReshape, GpuSortOp as GpuSortOp, GpuSplit as GpuSplit, GpuSubtensor as GpuSubtensor,
    GpuTopKOp as GpuTopKOp, NamedDeviceOp as NamedDeviceOp, blocks_outer as blocks_outer,
    blocks_product as blocks_product, correlation_code as correlation_code, gpu_contiguous as gpu_contiguous,
    gpu_join as gpu_join, lifters as lifters, reduction_kernel as reduction_kernel,
    reduction_launch as reduction_launch,
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
    "GPUAChoiceFromUniform", "GPUAMultinomialFromUniform", "GPUA_mrg_uniform", "GpuAdvancedBooleanIncSubtensor",
    "GpuAdvancedBooleanSubtensor", "GpuAdvancedIncSubtensor", "GpuAdvancedIncSubtensor1",
    "GpuAdvancedIncSubtensor1_dev20", "GpuAdvancedSubtensor", "GpuAdvancedSubtensor1", "GpuAlloc", "GpuAllocDiag",
    "GpuAllocEmpty", "GpuArgSortOp", "GpuContiguous", "GpuExtractDiag", "GpuEye", "GpuIncSubtensor", "GpuJoin",
    "GpuReshape", "GpuSortOp", "GpuSplit", "GpuSubtensor", "GpuTopKOp", "NamedDeviceOp", "blocks_outer",
    "blocks_product", "correlation_code", "gpu_contiguous", "gpu_join", "lifters", "reduction_kernel",
    "reduction_launch",
]
# isort: on
# fmt: on
# End of their names.
