"""Packages that are imported on first use only: they take longer to load than the whole library."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any


@cache
def scipy_special() -> Any:
    """Return `scipy.special`."""
    import scipy.special

    module: ModuleType = scipy.special
    return module


@cache
def scipy_blas() -> Any:
    """Return the extension module of SciPy that exports its BLAS routines as C function pointers."""
    import scipy.linalg.cython_blas

    module: ModuleType = scipy.linalg.cython_blas
    return module
