"""Addresses of BLAS routines, taken from the ones that SciPy was built with."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType

from .._lazy import scipy_blas
from ._capsules import capsule_pointer

_PREFIX = MappingProxyType({"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"})
_ROUTINE = MappingProxyType(
    {"dot": "dot", "gemv": "gemv", "vecmat": "gemv", "gemm": "gemm", "ger": "ger", "batched": "gemm"}
)


@cache
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
    capsule = scipy_blas().__pyx_capi__.get(prefix + routine) if routine else None
    return ("", 0) if capsule is None else (prefix + routine, capsule_pointer(capsule))
