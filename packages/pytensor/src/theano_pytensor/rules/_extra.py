"""Sorting, searching, counting and accumulating along an axis."""

from __future__ import annotations

from typing import Any

import theano.tensor as T

from .._table import Site, rule
from .._types import known_integer


@rule("tensor.CumOp")
def _accumulate(site: Site) -> Any:
    return (T.cumsum if site.op.mode == "add" else T.cumprod)(site.inputs[0], axis=site.op.axis)


@rule("tensor.Repeat")
def _repeat(site: Site) -> Any:
    x, repeats = site.inputs
    return T.repeat(x, repeats, axis=site.op.axis)


@rule("tensor.Unique")
def _unique(site: Site) -> Any:
    op = site.op
    results = T.unique(site.inputs[0], op.return_index, op.return_inverse, op.return_counts, op.axis)
    return list(results) if isinstance(results, list | tuple) else results


@rule("tensor.UnravelIndex")
def _unravel(site: Site) -> Any:
    indices, lengths = site.inputs
    return list(T.unravel_index(indices, lengths, order=site.op.order, ndim=len(site.outputs)))


@rule("tensor.RavelMultiIndex")
def _ravel(site: Site) -> Any:
    *indices, lengths = site.inputs
    return T.ravel_multi_index(indices, lengths, mode=site.op.mode, order=site.op.order)


@rule("tensor.SearchsortedOp")
def _search(site: Site) -> Any:
    x, values, *sorter = site.inputs
    return T.searchsorted(x, values, side=site.op.side, sorter=sorter[0] if sorter else None)


@rule("tensor.Bartlett")
def _bartlett(site: Site) -> Any:
    return T.bartlett(site.inputs[0])


@rule("tensor.SortOp")
def _sort(site: Site) -> Any:
    return T.sort(site.inputs[0], known_integer(site.inputs[1], "axis"), site.op.kind)


@rule("tensor.ArgSortOp")
def _argsort(site: Site) -> Any:
    return T.argsort(site.inputs[0], known_integer(site.inputs[1], "axis"), site.op.kind)
