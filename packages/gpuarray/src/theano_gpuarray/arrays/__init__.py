"""Arrays in the memory of devices."""

from ._array import GpuArray as GpuArray, broadcast_array as broadcast_array, same_context as same_context
from ._creation import (
    array as array,
    asarray as asarray,
    ascontiguousarray as ascontiguousarray,
    empty as empty,
    from_dlpack as from_dlpack,
    may_share_memory as may_share_memory,
    zeros as zeros,
)
from ._dtypes import (
    SIZE as SIZE,
    SSIZE as SSIZE,
    dtype_of_typecode as dtype_of_typecode,
    dtype_to_ctype as dtype_to_ctype,
    dtype_to_typecode as dtype_to_typecode,
)
from ._flags import ArrayFlags as ArrayFlags

__all__ = [
    "SIZE",
    "SSIZE",
    "ArrayFlags",
    "GpuArray",
    "array",
    "asarray",
    "ascontiguousarray",
    "broadcast_array",
    "dtype_of_typecode",
    "dtype_to_ctype",
    "dtype_to_typecode",
    "empty",
    "from_dlpack",
    "may_share_memory",
    "same_context",
    "zeros",
]
