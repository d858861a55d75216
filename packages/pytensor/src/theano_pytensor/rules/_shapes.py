"""Shapes, their changes, and their checks."""

from __future__ import annotations

from typing import Any

import theano.tensor as T

from .._table import Site, rule


@rule("tensor.Shape")
def _shape(site: Site) -> Any:
    return T.shape(site.inputs[0])


@rule("tensor.Shape_i")
def _length(site: Site) -> Any:
    return site.inputs[0].shape[site.op.i]


@rule("tensor.Reshape")
def _reshape(site: Site) -> Any:
    x, lengths = site.inputs
    return T.reshape(x, lengths, ndim=site.op.ndim)


@rule("tensor.SpecifyShape")
def _specify(site: Site) -> Any:
    x, *lengths = site.inputs
    if all(length is None for length in lengths):
        return x
    return T.specify_shape(x, [x.shape[axis] if length is None else length for axis, length in enumerate(lengths)])


@rule("tensor.JoinDims")
def _join_dims(site: Site) -> Any:
    (x,), first, count = site.inputs, site.op.start_axis, site.op.n_axes
    last = first + count
    joined = (
        T.prod([x.shape[axis] for axis in range(first, last)], dtype="int64") if count else T.constant(1, dtype="int64")
    )
    lengths = [*(x.shape[axis] for axis in range(first)), joined, *(x.shape[axis] for axis in range(last, x.ndim))]
    return T.reshape(x, T.stack(lengths), ndim=x.ndim - count + 1)


@rule("tensor.SplitDims")
def _split_dims(site: Site) -> Any:
    x, lengths = site.inputs
    axis, rank = site.op.axis, site.outputs[0].type.ndim
    parts = [lengths[k] for k in range(rank - x.ndim + 1)]
    full = [*(x.shape[k] for k in range(axis)), *parts, *(x.shape[k] for k in range(axis + 1, x.ndim))]
    return T.reshape(x, T.stack(full) if full else T.constant([], dtype="int64"), ndim=rank)


@rule(
    "tensor.TensorFromScalar",
    "tensor.ScalarFromTensor",
    "compile.ViewOp",
    "compile.DeepCopyOp",
    "compile.TypeCastingOp",
)
def _same(site: Site) -> Any:
    return site.inputs[0]


@rule("tensor.CpuContiguous")
def _contiguous(site: Site) -> Any:
    return T.cpu_contiguous(site.inputs[0])
