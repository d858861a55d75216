"""Ops for values of any type: copies, views, and printing."""

from ._breakpoint import PdbBreakpoint as PdbBreakpoint
from ._copies import (
    DeepCopyOp as DeepCopyOp,
    OutputGuard as OutputGuard,
    ViewOp as ViewOp,
    deep_copy_op as deep_copy_op,
    register_deep_copy_op_c_code as register_deep_copy_op_c_code,
    register_view_op_c_code as register_view_op_c_code,
    view_op as view_op,
)
from ._from_function import FromFunctionOp as FromFunctionOp, as_op as as_op
from ._print import Print as Print, print_attributes as print_attributes

__all__ = [
    "DeepCopyOp",
    "FromFunctionOp",
    "OutputGuard",
    "PdbBreakpoint",
    "Print",
    "ViewOp",
    "as_op",
    "deep_copy_op",
    "print_attributes",
    "register_deep_copy_op_c_code",
    "register_view_op_c_code",
    "view_op",
]
