"""Arrays of a dtype that is asked for by name."""

from typing import Any

import numpy as np
import numpy.typing as npt


def _asarray(a: Any, dtype: str, order: Any = None) -> npt.NDArray[Any]:
    """Return `a` as an array whose dtype is exactly the one of this name, ``floatX`` included by the caller."""
    return np.asarray(a, dtype=np.dtype(dtype), order=order)


__all__ = ["_asarray"]
