"""The Python part of the C interface for ops; `_device` looks these functions up by their names."""

from ._arrays import (
    concatenate as concatenate,
    copy_array as copy_array,
    describe_array as describe_array,
    fill_bytes as fill_bytes,
    from_host as from_host,
    make_array as make_array,
    move_array as move_array,
    read_array as read_array,
    reshape as reshape,
    set_array as set_array,
    take_rows as take_rows,
    to_host as to_host,
    write_array as write_array,
)
from ._devices import (
    compile_kernel as compile_kernel,
    default_context as default_context,
    open_device as open_device,
)
from ._expressions import Expression as Expression
from ._products import correlate as correlate, multiply as multiply

__all__ = [
    "Expression",
    "compile_kernel",
    "concatenate",
    "copy_array",
    "correlate",
    "default_context",
    "describe_array",
    "fill_bytes",
    "from_host",
    "make_array",
    "move_array",
    "multiply",
    "open_device",
    "read_array",
    "reshape",
    "set_array",
    "take_rows",
    "to_host",
    "write_array",
]
