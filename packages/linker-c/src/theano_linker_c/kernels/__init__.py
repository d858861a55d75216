"""Kernels: descriptions of the work of nodes, their code in C, and how the machine runs them.

Each module lists its public names in `__all__`. `_kernel` has the common parts, `_source` builds C text, `_build` makes
machine code of it, and `_libraries` finds routines that exist already.
"""

from ..compiler import (
    CompileError as CompileError,
    CompilerOptions as CompilerOptions,
    CompilerWarning as CompilerWarning,
)

# Names that these define, written by tools/generate_names.py:
#     *
# fmt: off
# isort: off
from ._argmax import ArgmaxKernel as ArgmaxKernel
from ._build import (
    BuildStandIn as BuildStandIn, KernelLibrary as KernelLibrary, build as build, kernel_source as kernel_source,
    library as library, stand_in as stand_in, with_room as with_room,
)
from ._elementwise import (
    EXPENSIVE as EXPENSIVE, ElementwiseKernel as ElementwiseKernel, ElementwiseLoop as ElementwiseLoop,
    is_expensive as is_expensive,
)
from ._kernel import (
    Donors as Donors, Encoded as Encoded, Kernel as Kernel, KernelTable as KernelTable, Linkage as Linkage,
    LoadedKernel as LoadedKernel, Overwriting as Overwriting, Site as Site, broadcast_lengths as broadcast_lengths,
    c_text as c_text, first_may_be_taken as first_may_be_taken, native_kernel as native_kernel,
    overwrites as overwrites, type_number as type_number, wait_number as wait_number,
)
from ._reduction import (
    Reduction as Reduction, ReductionKernel as ReductionKernel, can_reduce as can_reduce,
    reduction_seed as reduction_seed,
)
from ._routines import (
    ArrayRoutineKernel as ArrayRoutineKernel, CONVOLUTION_TASKS as CONVOLUTION_TASKS,
    CompressedKernel as CompressedKernel, CompressedTask as CompressedTask, ConvolutionKernel as ConvolutionKernel,
    ConvolutionTask as ConvolutionTask, FourierKernel as FourierKernel, FourierTask as FourierTask,
    MatrixProductKernel as MatrixProductKernel, POOLING_MODES as POOLING_MODES, POOLING_TASKS as POOLING_TASKS,
    PoolingKernel as PoolingKernel, PoolingMode as PoolingMode, PoolingTask as PoolingTask, TASKS as TASKS,
)
from ._source import (
    CFunction as CFunction, KernelSource as KernelSource, file_text as file_text, memory_type as memory_type,
)
from ._views import (
    ConcatenateKernel as ConcatenateKernel, FullKernel as FullKernel, IndexArray as IndexArray,
    IndexEntry as IndexEntry, IndexInput as IndexInput, IndexNumber as IndexNumber, IndexReadKernel as IndexReadKernel,
    IndexSlice as IndexSlice, IndexViewKernel as IndexViewKernel, IndexWriteKernel as IndexWriteKernel,
    Indexing as Indexing, LengthKernel as LengthKernel, ReshapeKernel as ReshapeKernel,
    SpecifyShapeKernel as SpecifyShapeKernel, SplitKernel as SplitKernel, StackKernel as StackKernel,
    TransposeKernel as TransposeKernel,
)
# isort: on
# fmt: on
# End of the names that these define.
from ._libraries import (
    ROUTINES as ROUTINES,
    LapackKernel as LapackKernel,
    LinkArguments as LinkArguments,
    blas_address as blas_address,
    chosen_routine as chosen_routine,
    lapack_addresses as lapack_addresses,
    library_files as library_files,
    link_arguments as link_arguments,
)

__all__ = [
    "ROUTINES",
    "CompileError",
    "CompilerOptions",
    "CompilerWarning",
    "LapackKernel",
    "LinkArguments",
    "blas_address",
    "chosen_routine",
    "lapack_addresses",
    "library_files",
    "link_arguments",
]
# Their names, written by tools/generate_names.py.
# fmt: off
# isort: off
__all__ += [
    "ArgmaxKernel", "ArrayRoutineKernel", "BuildStandIn", "CFunction", "CONVOLUTION_TASKS", "CompressedKernel",
    "CompressedTask", "ConcatenateKernel", "ConvolutionKernel", "ConvolutionTask", "Donors", "EXPENSIVE",
    "ElementwiseKernel", "ElementwiseLoop", "Encoded", "FourierKernel", "FourierTask", "FullKernel", "IndexArray",
    "IndexEntry", "IndexInput", "IndexNumber", "IndexReadKernel", "IndexSlice", "IndexViewKernel", "IndexWriteKernel",
    "Indexing", "Kernel", "KernelLibrary", "KernelSource", "KernelTable", "LengthKernel", "Linkage", "LoadedKernel",
    "MatrixProductKernel", "Overwriting", "POOLING_MODES", "POOLING_TASKS", "PoolingKernel", "PoolingMode",
    "PoolingTask", "Reduction", "ReductionKernel", "ReshapeKernel", "Site", "SpecifyShapeKernel", "SplitKernel",
    "StackKernel", "TASKS", "TransposeKernel", "broadcast_lengths", "build", "c_text", "can_reduce", "file_text",
    "first_may_be_taken", "is_expensive", "kernel_source", "library", "memory_type", "native_kernel", "overwrites",
    "reduction_seed", "stand_in", "type_number", "wait_number", "with_room",
]
# isort: on
# fmt: on
# End of their names.
