"""Arrays of devices under the names of the library that Theano 1.0 took them from.

>>> from theano.gpuarray import pygpu
>>> pygpu.gpuarray.dtype_to_ctype("float32")
'ga_float'
"""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from . import blas as blas, gpuarray as gpuarray
from theano_gpuarray import get_include as get_include
from theano_gpuarray.arrays import (
    GpuArray as GpuArray, array as array, asarray as asarray, ascontiguousarray as ascontiguousarray, empty as empty,
    zeros as zeros,
)
# isort: on
# fmt: on
# End of the names of names.toml.
