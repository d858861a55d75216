"""Whether two values may lie in the same memory."""

import sys
from typing import Any

import numpy as np


def may_share_memory(a: Any, b: Any, raise_other_type: bool = True) -> bool:
    """Tell whether two arrays may use the same memory.

    Parameters
    ----------
    a, b : ndarray, GpuArray or SciPy matrix
    raise_other_type : bool
        Whether other values are an error; otherwise they share nothing.

    Raises
    ------
    TypeError
        For other values.

    Examples
    --------
    >>> from theano.misc import may_share_memory
    >>> import numpy as np
    >>> x = np.zeros(4)
    >>> may_share_memory.may_share_memory(x, x[1:])
    True
    """
    arrays, others = _arrays(a), _arrays(b)
    if arrays is None or others is None:
        if raise_other_type:
            raise TypeError(f"may_share_memory compares arrays, not {type(a).__name__} and {type(b).__name__}")
        return False
    return any(_overlap(x, y) for x in arrays for y in others)


def _overlap(x: Any, y: Any) -> bool:
    if isinstance(x, np.ndarray) != isinstance(y, np.ndarray):
        return False
    return bool(np.may_share_memory(x, y) if isinstance(x, np.ndarray) else _devices().may_share_memory(x, y))


def _devices() -> Any:
    """Return the module of arrays on devices; None where nobody has imported it, so that there are none."""
    return sys.modules.get("theano_gpuarray.arrays")


def _arrays(value: Any) -> list[Any] | None:
    """Return the arrays that a value is made of: itself, or those of a sparse matrix; None for other values."""
    if isinstance(value, np.ndarray) or (_devices() and isinstance(value, _devices().GpuArray)):
        return [value]
    if hasattr(value, "indptr") and type(value).__module__.startswith("scipy.sparse"):
        return [value.data, value.indices, value.indptr]
    return None
