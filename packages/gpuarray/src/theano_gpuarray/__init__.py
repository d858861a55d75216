"""The layer that runs expression graphs on graphics cards, and on other devices of OpenCL.

Importing it declares the flags about devices; `theano_gpuarray.contexts` opens devices, `theano_gpuarray.arrays` has
their arrays.
"""

from __future__ import annotations

import os

from theano_graph import register_library

from . import _flags as _flags, dnn_flags as dnn_flags
from ._version import __version__ as __version__

register_library(__file__)


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


__all__ = ["__version__", "dnn_flags", "get_include"]
