"""Arrays of a dtype that is asked for by name."""

from typing import Any

import numpy as np
import numpy.typing as npt

from theano_graph import config


def _asarray(a: Any, dtype: str, order: Any = None) -> npt.NDArray[Any]:
    """Return `a` as an array whose dtype is exactly the one of this name; ``"floatX"`` is one.

    Examples
    --------
    >>> from theano.misc import safe_asarray
    >>> safe_asarray._asarray([1, 2], "int8").dtype
    dtype('int8')
    """
    return np.asarray(a, dtype=np.dtype(config.floatX if str(dtype) == "floatX" else dtype), order=order)
