"""Ops on devices by their documented names, each for an op of the host."""

# Names that these define, written by tools/generate_names.py:
#     _convolution _elementwise _indexing _linear_algebra _memory _random
# fmt: off
# isort: off
from ._convolution import correlation_code as correlation_code
from ._elementwise import reduction_kernel as reduction_kernel, reduction_launch as reduction_launch
from ._indexing import (
    GpuAdvancedBooleanIncSubtensor as GpuAdvancedBooleanIncSubtensor,
    GpuAdvancedBooleanSubtensor as GpuAdvancedBooleanSubtensor, GpuAdvancedIncSubtensor as GpuAdvancedIncSubtensor,
    GpuAdvancedIncSubtensor1 as GpuAdvancedIncSubtensor1,
    GpuAdvancedIncSubtensor1_dev20 as GpuAdvancedIncSubtensor1_dev20, GpuAdvancedSubtensor as GpuAdvancedSubtensor,
    GpuAdvancedSubtensor1 as GpuAdvancedSubtensor1, GpuAllocDiag as GpuAllocDiag, GpuArgSortOp as GpuArgSortOp,
    GpuExtractDiag as GpuExtractDiag, GpuIncSubtensor as GpuIncSubtensor, GpuSortOp as GpuSortOp,
    GpuSubtensor as GpuSubtensor, GpuTopKOp as GpuTopKOp,
)
from ._linear_algebra import blocks_outer as blocks_outer, blocks_product as blocks_product
from ._memory import (
    GpuAlloc as GpuAlloc, GpuAllocEmpty as GpuAllocEmpty, GpuContiguous as GpuContiguous, GpuEye as GpuEye,
    GpuJoin as GpuJoin, GpuReshape as GpuReshape, GpuSplit as GpuSplit, gpu_contiguous as gpu_contiguous,
    gpu_join as gpu_join,
)
from ._random import (
    GPUAChoiceFromUniform as GPUAChoiceFromUniform, GPUAMultinomialFromUniform as GPUAMultinomialFromUniform,
    GPUA_mrg_uniform as GPUA_mrg_uniform,
)
# isort: on
# fmt: on
# End of the names that these define.
from ...on_devices import NamedDeviceOp as NamedDeviceOp, lifters as lifters
from . import _linear_algebra as _linear_algebra

__all__ = ["NamedDeviceOp", "lifters"]
# Their names, written by tools/generate_names.py.
# fmt: off
# isort: off
__all__ += [
    "GPUAChoiceFromUniform", "GPUAMultinomialFromUniform", "GPUA_mrg_uniform", "GpuAdvancedBooleanIncSubtensor",
    "GpuAdvancedBooleanSubtensor", "GpuAdvancedIncSubtensor", "GpuAdvancedIncSubtensor1",
    "GpuAdvancedIncSubtensor1_dev20", "GpuAdvancedSubtensor", "GpuAdvancedSubtensor1", "GpuAlloc", "GpuAllocDiag",
    "GpuAllocEmpty", "GpuArgSortOp", "GpuContiguous", "GpuExtractDiag", "GpuEye", "GpuIncSubtensor", "GpuJoin",
    "GpuReshape", "GpuSortOp", "GpuSplit", "GpuSubtensor", "GpuTopKOp", "blocks_outer", "blocks_product",
    "correlation_code", "gpu_contiguous", "gpu_join", "reduction_kernel", "reduction_launch",
]
# isort: on
# fmt: on
# End of their names.
