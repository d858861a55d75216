"""The tensor language: `import theano.tensor as T`.

Every name is one of `theano_tensor`; see there for what it does.
"""

from typing import TYPE_CHECKING

from .._lazy import from_module, from_testing
from . import (
    basic as basic,
    blas as blas,
    blas_headers as blas_headers,
    elemwise as elemwise,
    extra_ops as extra_ops,
    fft as fft,
    inplace as inplace,
    io as io,
    nlinalg as nlinalg,
    nnet as nnet,
    opt as opt,
    raise_op as raise_op,
    raw_random as raw_random,
    shared_randomstreams as shared_randomstreams,
    sharedvar as sharedvar,
    slinalg as slinalg,
    subtensor as subtensor,
    type as type,
    utils as utils,
    xlogx as xlogx,
)
from .io import load as load
from .sort import SortOp as SortOp
from .var import _tensor_py_operators as _tensor_py_operators

# isort: split
# The modules `sort` and `var` stay importable, yet these names are functions here: what is imported last wins.
from .basic import *

if TYPE_CHECKING:
    from theano_testing.tensor import verify_grad as verify_grad

    from . import blas_c as blas_c, blas_scipy as blas_scipy, fourier as fourier
    from . import signal as signal
else:

    def __getattr__(name: str) -> object:
        """Find what is imported only when it is asked for: pooling, and a helper for tests."""
        if name in ("blas_c", "blas_scipy", "fourier", "signal"):
            return from_module(__name__, {name: f"{__name__}.{name}"}, name)
        return from_testing(__name__, name)
