"""The base classes of ops."""

from ..gof.op import (
    COp as ExternalCOp,
    Op as Op,
    OpenMPOp as OpenMPOp,
    debug_assert as debug_assert,
    debug_error_message as debug_error_message,
    get_debug_values as get_debug_values,
    get_test_value as get_test_value,
    missing_test_message as missing_test_message,
)

#: An op with C code of its own is an op like others; one whose code stands in files is an :class:`ExternalCOp`.
COp = Op

__all__ = [
    "COp",
    "ExternalCOp",
    "Op",
    "OpenMPOp",
    "debug_assert",
    "debug_error_message",
    "get_debug_values",
    "get_test_value",
    "missing_test_message",
]
