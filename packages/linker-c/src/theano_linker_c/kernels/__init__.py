"""Kernels: descriptions of the work of nodes, their code in C, and how the machine runs them.

Each kernel is one module, which lists its public names in `__all__`. `_description` has the common parts,
`_build` makes machine code of them, and `_libraries` finds routines that exist already.
"""

from ..compiler import (
    CompileError as CompileError,
    CompilerOptions as CompilerOptions,
    CompilerWarning as CompilerWarning,
)

# Names that these define, written by tools/generate_names.py:
#     * _description._accumulators _description._broadcast _description._kernel _description._source _description._table
# fmt: off
# isort: off
from ._argmax import ArgmaxKernel as ArgmaxKernel
from ._array_routines import ArrayRoutineKernel as ArrayRoutineKernel, TASKS as TASKS
from ._build import (
    BuildStandIn as BuildStandIn, KernelLibrary as KernelLibrary, build as build, kernel_source as kernel_source,
    library as library, stand_in as stand_in, with_room as with_room,
)
from ._compressed import CompressedKernel as CompressedKernel, CompressedTask as CompressedTask
from ._elementwise import EXPENSIVE as EXPENSIVE, ElementwiseKernel as ElementwiseKernel, is_expensive as is_expensive
from ._fourier import FourierKernel as FourierKernel, FourierTask as FourierTask
from ._indexing import (
    IndexArray as IndexArray, IndexEntry as IndexEntry, IndexInput as IndexInput, IndexNumber as IndexNumber,
    IndexReadKernel as IndexReadKernel, IndexSlice as IndexSlice, IndexViewKernel as IndexViewKernel,
    IndexWriteKernel as IndexWriteKernel, Indexing as Indexing,
)
from ._loop import ElementwiseLoop as ElementwiseLoop
from ._matrix_product import MatrixProductKernel as MatrixProductKernel
from ._reduction import Reduction as Reduction, ReductionKernel as ReductionKernel
from ._shapes import (
    ConcatenateKernel as ConcatenateKernel, FullKernel as FullKernel, LengthKernel as LengthKernel,
    ReshapeKernel as ReshapeKernel, SpecifyShapeKernel as SpecifyShapeKernel, SplitKernel as SplitKernel,
    StackKernel as StackKernel, TransposeKernel as TransposeKernel,
)
from ._windows import (
    CONVOLUTION_TASKS as CONVOLUTION_TASKS, ConvolutionKernel as ConvolutionKernel, ConvolutionTask as ConvolutionTask,
    POOLING_MODES as POOLING_MODES, POOLING_TASKS as POOLING_TASKS, PoolingKernel as PoolingKernel,
    PoolingMode as PoolingMode, PoolingTask as PoolingTask,
)
from ._description._accumulators import can_reduce as can_reduce, reduction_seed as reduction_seed
from ._description._broadcast import broadcast_lengths as broadcast_lengths
from ._description._kernel import (
    Donors as Donors, Encoded as Encoded, Kernel as Kernel, Linkage as Linkage, LoadedKernel as LoadedKernel,
    Overwriting as Overwriting, Site as Site, c_text as c_text, first_may_be_taken as first_may_be_taken,
    overwrites as overwrites, type_number as type_number, wait_number as wait_number,
)
from ._description._source import (
    CFunction as CFunction, KernelSource as KernelSource, file_text as file_text, memory_type as memory_type,
)
from ._description._table import KernelTable as KernelTable, native_kernel as native_kernel
# isort: on
# fmt: on
# End of the names that these define.
from ._libraries._blas import blas_address as blas_address
from ._libraries._blas_library import (
    LinkArguments as LinkArguments,
    chosen_routine as chosen_routine,
    library_files as library_files,
    link_arguments as link_arguments,
)
from ._libraries._lapack import (
    ROUTINES as ROUTINES,
    LapackKernel as LapackKernel,
    lapack_addresses as lapack_addresses,
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
