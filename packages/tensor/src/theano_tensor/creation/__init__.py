"""New tensors: filled, counted, identities, patterns, grids."""

from . import _native as _native
from ._alloc import (
    Alloc as Alloc,
    AllocEmpty as AllocEmpty,
    alloc as alloc,
    broadcast_to as broadcast_to,
    empty as empty,
    empty_like as empty_like,
    full as full,
    full_like as full_like,
    ones as ones,
    zeros as zeros,
)
from ._grids import Grid as Grid, linspace as linspace, meshgrid as meshgrid, mgrid as mgrid, ogrid as ogrid
from ._patterns import (
    tri as tri,
    tril as tril,
    tril_indices as tril_indices,
    tril_indices_from as tril_indices_from,
    triu as triu,
    triu_indices as triu_indices,
    triu_indices_from as triu_indices_from,
)
from ._ranges import ARange as ARange, Eye as Eye, arange as arange, eye as eye, identity_like as identity_like

__all__ = [
    "ARange",
    "Alloc",
    "AllocEmpty",
    "Eye",
    "Grid",
    "alloc",
    "arange",
    "broadcast_to",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "identity_like",
    "linspace",
    "meshgrid",
    "mgrid",
    "ogrid",
    "ones",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "zeros",
]
