"""Whether two values may lie in the same memory."""

from typing import Any

import numpy as np


def may_share_memory(a: Any, b: Any, raise_other_type: bool = True) -> bool:
    """Tell whether two arrays may use the same memory.

    Parameters
    ----------
    a, b : ndarray
    raise_other_type : bool
        Whether other values are an error; otherwise they share nothing.

    Raises
    ------
    TypeError
        For other values.

    Examples
    --------
    >>> x = np.zeros(4)
    >>> may_share_memory(x, x[1:])
    True
    """
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        if raise_other_type:
            raise TypeError(f"may_share_memory compares arrays, not {type(a).__name__} and {type(b).__name__}")
        return False
    return np.may_share_memory(a, b)


__all__ = ["may_share_memory"]
