"""C code of an op, run with memory for its results."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from ..cop import CThunk


class _Header(ctypes.Structure):
    """The beginning of a `theano_thunk` (cop/thunk.h)."""

    _fields_ = [("run", ctypes.c_void_p)]


_RUN = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object), ctypes.POINTER(ctypes.c_void_p)
)
_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_NAME = b"theano_linker_c.thunk"


def run_into(thunk: CThunk, values: Sequence[Any], buffers: Sequence[Any] | None) -> Sequence[Any]:
    """Run C code on values, with objects already standing in the cells of the outputs.

    Parameters
    ----------
    thunk : CThunk
    values : sequence
        One for each input.
    buffers : sequence or None
        For each output, what stands in its cell, or None for nothing.
    """
    if buffers is None:
        return thunk(values)
    address = _POINTER(thunk.capsule, _NAME)
    inputs = (ctypes.py_object * max(1, len(values)))(*values)
    outputs = (ctypes.c_void_p * max(1, len(buffers)))()
    for k, buffer in enumerate(buffers):
        if buffer is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(buffer))
            outputs[k] = id(buffer)
    _RUN(_Header.from_address(address).run)(address, inputs, outputs)
    return [_taken(cell) for cell in outputs[: len(buffers)]]


def _taken(address: int | None) -> Any:
    """Return the object at an address, taking over the reference."""
    if not address:
        return None
    value = ctypes.cast(address, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(value))
    return value
