"""Lets PyCUDA work in the default context of CUDA: import it before PyCUDA is used.

>>> from theano.misc import pycuda_init
>>> pycuda_init.pycuda_available
False
"""

from __future__ import annotations

from theano_gpuarray.bridges import default_pycuda

#: The context of PyCUDA; None where PyCUDA is not installed, or functions do not run on CUDA.
pycuda_context = default_pycuda()
#: Whether PyCUDA can be used.
pycuda_available = pycuda_context is not None
