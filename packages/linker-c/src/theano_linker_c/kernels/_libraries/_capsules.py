"""C pointers that Python modules hand out in capsules."""

from __future__ import annotations

import ctypes
from typing import Any


def capsule_name(capsule: Any) -> str:
    """Give the name of a capsule, which for Cython's functions is their C signature."""
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    name = get_name(capsule)
    return name.decode() if isinstance(name, bytes) else ""


def capsule_pointer(capsule: Any) -> int:
    """Give the pointer that a capsule holds, as an integer."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get_pointer(capsule, capsule_name(capsule).encode()) or 0)
