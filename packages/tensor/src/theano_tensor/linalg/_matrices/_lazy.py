"""SciPy, which is imported on first use only: it takes longer to load than the whole library."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any


@cache
def scipy_linalg() -> Any:
    """Return `scipy.linalg`."""
    import scipy.linalg

    module: ModuleType = scipy.linalg
    return module
