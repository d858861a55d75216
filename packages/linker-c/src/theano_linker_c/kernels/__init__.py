"""Kernels: native forms of nodes as data, their C text, and machine code made of it."""

from ..compiler import (
    CompileError as CompileError,
    CompilerOptions as CompilerOptions,
    CompilerWarning as CompilerWarning,
)
from ._blas import blas_address as blas_address
from ._build import (
    KernelLibrary as KernelLibrary,
    LoadedKernel as LoadedKernel,
    build as build,
    kernel_source as kernel_source,
    library as library,
    with_room as with_room,
)
from ._descriptions import (
    BUILT_IN as BUILT_IN,
    EXPENSIVE as EXPENSIVE,
    ElementwiseKernel as ElementwiseKernel,
    ExtremumPosition as ExtremumPosition,
    Kernel as Kernel,
    MatrixProduct as MatrixProduct,
    ReductionKernel as ReductionKernel,
    Reorder as Reorder,
    is_expensive as is_expensive,
    native_kernel as native_kernel,
    reduction_seed as reduction_seed,
    with_element as with_element,
)
from ._indexing import (
    IndexArray as IndexArray,
    IndexEntry as IndexEntry,
    Indexing as Indexing,
    IndexInput as IndexInput,
    IndexNumber as IndexNumber,
    IndexRead as IndexRead,
    IndexSlice as IndexSlice,
    IndexView as IndexView,
    IndexWrite as IndexWrite,
)
from ._source import KernelSource as KernelSource, file_text as file_text

__all__ = [
    "BUILT_IN",
    "EXPENSIVE",
    "CompileError",
    "CompilerOptions",
    "CompilerWarning",
    "ElementwiseKernel",
    "ExtremumPosition",
    "IndexArray",
    "IndexEntry",
    "IndexInput",
    "IndexNumber",
    "IndexRead",
    "IndexSlice",
    "IndexView",
    "IndexWrite",
    "Indexing",
    "Kernel",
    "KernelLibrary",
    "KernelSource",
    "LoadedKernel",
    "MatrixProduct",
    "ReductionKernel",
    "Reorder",
    "blas_address",
    "build",
    "file_text",
    "is_expensive",
    "kernel_source",
    "library",
    "native_kernel",
    "reduction_seed",
    "with_element",
    "with_room",
]
