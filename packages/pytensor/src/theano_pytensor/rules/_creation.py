"""Arrays from lengths and numbers, and arrays joined and split."""

from __future__ import annotations

from typing import Any

import numpy as np

import theano.tensor as T

from .._table import Site, rule
from .._types import known_integer


@rule("tensor.Alloc")
def _alloc(site: Site) -> Any:
    return T.alloc(*site.inputs)


@rule("tensor.AllocEmpty")
def _empty(site: Site) -> Any:
    return T.AllocEmpty(site.op.dtype)(*site.inputs)


@rule("tensor.MakeVector")
def _vector(site: Site) -> Any:
    dtype = site.op.dtype
    if not site.inputs:
        return T.constant(np.zeros(0, dtype))
    return T.stack([T.cast(x, dtype) for x in site.inputs])


@rule("tensor.ARange")
def _range(site: Site) -> Any:
    start, stop, step = site.inputs
    return T.arange(start, stop, step, dtype=site.op.dtype)


@rule("tensor.Eye")
def _eye(site: Site) -> Any:
    rows, columns, offset = site.inputs
    return T.eye(rows, columns, offset, dtype=site.op.dtype)


@rule("tensor.Join")
def _join(site: Site) -> Any:
    """Join along an axis, which is a property of the op, or in older versions its first input."""
    axis = getattr(site.op, "axis", None)
    if axis is not None:
        return T.join(axis, *site.inputs)
    first, *parts = site.inputs
    return T.join(known_integer(first, "axis"), *parts)


@rule("tensor.Split")
def _split(site: Site) -> Any:
    """Split along an axis, which is a property of the op, or in older versions its second input."""
    axis, count = getattr(site.op, "axis", None), site.op.len_splits
    if axis is not None:
        x, lengths = site.inputs
    else:
        x, second, lengths = site.inputs
        axis = known_integer(second, "axis")
    parts = T.split(x, lengths, count, axis=axis)
    return list(parts) if isinstance(parts, list | tuple) else [parts]


@rule("tensor.ExtractDiag")
def _diagonal(site: Site) -> Any:
    op = site.op
    return T.diagonal(site.inputs[0], op.offset, op.axis1, op.axis2)


@rule("tensor.AllocDiag")
def _diagonal_matrix(site: Site) -> Any:
    """A matrix with a diagonal; other offsets and axes are a graph inside the op."""
    (x,), op = site.inputs, site.op
    if op.offset == 0 and x.ndim == 1 and (op.axis1, op.axis2) == (0, 1):
        return T.diag(x)
    return site.translation.graph(op.fgraph, site.inputs)


@rule("tensor.Nonzero")
def _nonzero(site: Site) -> Any:
    return list(site.inputs[0].nonzero())


@rule("tensor.FillDiagonal")
def _fill_diagonal(site: Site) -> Any:
    return T.fill_diagonal(*site.inputs)


@rule("tensor.FillDiagonalOffset")
def _fill_diagonal_offset(site: Site) -> Any:
    return T.fill_diagonal_offset(*site.inputs)
