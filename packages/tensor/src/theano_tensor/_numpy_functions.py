"""Functions that are asked for by NumPy's name, beside those behind operators and methods."""

from __future__ import annotations

from . import elemwise
from ._protocols._methods import OPERATIONS
from ._protocols._numpy_protocols import SYMBOLIC
from .creation import broadcast_to, empty_like, full_like, linspace, meshgrid, tril, triu
from .elemwise import angle, isclose
from .extra_ops import bincount, diag, pad, ravel_multi_index, tile, unique, unravel_index
from .indexing import flatnonzero
from .joining import concatenate, horizontal_stack, vertical_stack
from .linear import einsum, inner, outer, tensordot, vdot
from .shape import atleast_1d, atleast_2d, atleast_3d, expand_dims, fliplr, flipud, moveaxis, ravel

for _function in (
    *(angle, isclose, broadcast_to, empty_like, full_like, tril, triu, bincount, diag, pad, tile, unique, flatnonzero),
    *(concatenate, horizontal_stack, vertical_stack, einsum, inner, outer, tensordot, vdot),
    *(atleast_1d, atleast_2d, atleast_3d, expand_dims, fliplr, flipud, moveaxis, ravel),
):
    OPERATIONS[_function.__name__] = _function

#: Functions of ``scipy.special`` with the name that they have here.
_SPECIAL = (
    *("betainc", "betaln", "cbrt", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp2", "expm1", "gamma", "gammainc"),
    *("gammaincc", "gammaln", "i0", "i1", "iv", "j0", "j1", "jv", "log1p", "psi"),
)
SYMBOLIC.update({f"scipy.special.{_name}": getattr(elemwise, _name) for _name in _SPECIAL})
SYMBOLIC.update(
    {
        "numpy.concat": concatenate,
        "numpy.i0": elemwise.i0,
        "numpy.linspace": linspace,
        "numpy.meshgrid": meshgrid,
        "numpy.permute_dims": OPERATIONS["transpose"],
        "numpy.ravel_multi_index": ravel_multi_index,
        "numpy.sinc": elemwise.sinc,
        "numpy.unravel_index": unravel_index,
        "scipy.special.expit": elemwise.sigmoid,
        "scipy.special.round": elemwise.round_half_to_even,
    }
)
