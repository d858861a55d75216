"""Functions that are asked for by NumPy's name, beside those behind operators and methods."""

from __future__ import annotations

from ._protocols._operations import OPERATIONS
from .creation import broadcast_to, empty_like, full_like, tril, triu
from .elemwise import angle, isclose
from .extra_ops import bincount, diag, pad, tile, unique
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
