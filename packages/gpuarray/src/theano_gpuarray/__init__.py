"""The layer that runs expression graphs on graphics cards, and on other devices of OpenCL.

Importing it declares the flags about devices; `theano_gpuarray.contexts` opens devices, `theano_gpuarray.arrays` has
their arrays.
"""

from theano_graph import register_library

from . import _flags as _flags, dnn_flags as dnn_flags
from ._include import get_include as get_include
from ._version import __version__ as __version__

register_library(__file__)

__all__ = ["__version__", "dnn_flags", "get_include"]
