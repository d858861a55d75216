"""Where the C headers of this layer are."""

from __future__ import annotations

import os

__all__ = ["get_include"]


def get_include() -> str:
    """Return the folder of the headers for C code on arrays of devices: ``gpuarray/*.h``, ``gpuarray_api.h``, ...

    Examples
    --------
    >>> import os
    >>> from theano_gpuarray import get_include
    >>> os.path.exists(os.path.join(get_include(), "gpuarray", "array.h"))
    True
    """
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "c", "include")
