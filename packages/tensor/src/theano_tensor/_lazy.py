"""SciPy, which is imported on first use only: it takes longer to load than the whole library."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any


@cache
def scipy_fft() -> Any:
    """Return `scipy.fft`."""
    import scipy.fft

    module: ModuleType = scipy.fft
    return module
