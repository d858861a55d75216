"""Addresses of BLAS routines: of the library that the user chose, or else of the one that SciPy was built with."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType

from ..._lazy import scipy_blas
from ._blas_library import chosen_routine
from ._capsules import capsule_pointer

_PREFIX = MappingProxyType({"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"})
_ROUTINE = MappingProxyType(
    {"dot": "dot", "gemv": "gemv", "vecmat": "gemv", "gemm": "gemm", "ger": "ger", "batched": "gemm"}
)


def blas_address(kind: str, dtype: str) -> tuple[str, int]:
    """Give name and address of the BLAS routine for a product; an empty name and 0 if there is none.

    Parameters
    ----------
    kind : {"dot", "gemv", "vecmat", "gemm", "ger", "batched"}
    dtype : str

    Returns
    -------
    tuple of (str, int)
        The Fortran routine takes 32-bit integers, all arguments by address.

    Raises
    ------
    ConfigError
        If the flag ``blas.ldflags`` names a library that cannot be loaded, or lacks the routine.

    Examples
    --------
    >>> blas_address("gemm", "float64")[0]
    'dgemm'
    """
    prefix = _PREFIX.get(dtype)
    if prefix is None:
        return "", 0
    routine = _ROUTINE[kind]
    if prefix in "cz" and routine in ("dot", "ger"):
        # Complex results of Fortran functions are returned in compiler-dependent ways; `geru` is a subroutine.
        routine = {"ger": "geru"}.get(routine, "")
    address = routine_address(prefix + routine) if routine else 0
    return (prefix + routine, address) if address else ("", 0)


def routine_address(name: str) -> int:
    """Give the address of a BLAS routine, as `dgemm`; 0 if there is none.

    Raises
    ------
    ConfigError
        If the flag ``blas.ldflags`` names a library that cannot be loaded, or lacks the routine.

    Examples
    --------
    >>> routine_address("dgemm") > 0
    True
    """
    chosen = chosen_routine(name)
    return _address_in_scipy(name) if chosen is None else chosen


@cache
def _address_in_scipy(name: str) -> int:
    capsule = scipy_blas().__pyx_capi__.get(name)
    return 0 if capsule is None else capsule_pointer(capsule)
