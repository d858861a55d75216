"""Addresses of special functions, taken from the ones that SciPy was built with."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable
from functools import cache

from ..._lazy import cython_special
from ._capsules import capsule_name, capsule_pointer

_VARIANT = re.compile(r"__pyx_fuse_(?:\d+_)*\d+")


@cache
def special_address(name: str, count: int) -> int:
    """Give the address of a function of `scipy.special` on doubles; 0 if SciPy has none.

    Parameters
    ----------
    name : str
        Name in `scipy.special`.
    count : int
        Number of its arguments; Cython adds an int, which says whether a Python method is to be called.

    Examples
    --------
    >>> special_address("psi", 1) != 0
    True
    """
    signature = f"double ({'double, ' * count}int __pyx_skip_dispatch)"
    for key, capsule in cython_special().__pyx_capi__.items():
        if _VARIANT.sub("", key) == name and capsule_name(capsule) == signature:
            return capsule_pointer(capsule)
    return 0


def set_special_functions(address_of: Callable[[str], int], functions: Iterable[tuple[str, int]]) -> None:
    """Set the pointers through which loaded code calls special functions; `address_of` gives where they lie."""
    for name, count in functions:
        pointer = ctypes.c_void_p.from_address(address_of(f"theano_special_{name}"))
        pointer.value = special_address(name, count)
