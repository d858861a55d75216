"""Rules for arrays: creation, shapes, indices, lists, extra ops and convolutions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import theano.tensor as T
from theano import typed_list
from theano.tensor.nnet import conv2d
from theano.tensor.type_other import make_slice

from .._translation import NoRule, Site, known_integer, rule

# ---- Arrays from lengths and numbers, and arrays joined and split


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


# ---- Shapes, their changes, and their checks


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


# ---- Indexing of all kinds: reading, setting and incrementing


def _entry(part: Any, indices: Iterator[Any], inputs: Sequence[Any]) -> Any:
    """Return one entry of an index from a template: types take the next input, integers name the input."""
    if isinstance(part, slice):
        return slice(*(_entry(bound, indices, inputs) for bound in (part.start, part.stop, part.step)))
    if part is None:
        return None
    return inputs[part] if isinstance(part, int) else next(indices)


def index_of(op: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index that an op has, in part as a template and in part as inputs."""
    template = getattr(op, "idx_list", None)
    if template is None:
        return tuple(inputs)
    indices = iter(inputs)
    return tuple(_entry(part, indices, inputs) for part in template)


@rule("tensor.MakeSlice")
def _slice(site: Site) -> Any:
    return make_slice(slice(*site.inputs))


@rule("tensor.Subtensor", "tensor.AdvancedSubtensor")
def _part(site: Site) -> Any:
    x, *indices = site.inputs
    return x[index_of(site.op, indices)]


@rule("tensor.IncSubtensor", "tensor.AdvancedIncSubtensor")
def _changed(site: Site) -> Any:
    """Set or increment a part; increments of entries that repeat add up, unless the op says otherwise."""
    x, y, *indices = site.inputs
    op = site.op
    part = x[index_of(op, indices)]
    if op.set_instead_of_inc:
        return T.set_subtensor(part, y)
    once = getattr(op, "ignore_duplicates", False)
    # Other forms overwrite what they may by themselves.
    return T.inc_subtensor(part, y, inplace=once and bool(site.overwritten), ignore_duplicates=once)


@rule("tensor.AdvancedSubtensor1")
def _rows(site: Site) -> Any:
    x, rows = site.inputs
    return x[rows]


@rule("tensor.AdvancedIncSubtensor1")
def _changed_rows(site: Site) -> Any:
    x, y, rows = site.inputs
    part = x[rows]
    return T.set_subtensor(part, y) if site.op.set_instead_of_inc else T.inc_subtensor(part, y)


@rule("tensor.Choose")
def _choose(site: Site) -> Any:
    which, *choices = site.inputs
    if len(choices) == 1:
        raise NoRule("choices from the first axis of one array")
    return T.choose(which, choices, mode=site.op.mode)


# ---- Typed lists


@rule("typed_list.MakeList")
def _make(site: Site) -> Any:
    return typed_list.make_list(site.inputs)


@rule("typed_list.GetItem")
def _item(site: Site) -> Any:
    return typed_list.getitem(*site.inputs)


@rule("typed_list.Append")
def _append(site: Site) -> Any:
    return typed_list.append(*site.inputs)


@rule("typed_list.Extend")
def _extend(site: Site) -> Any:
    return typed_list.extend(*site.inputs)


@rule("typed_list.Insert")
def _insert(site: Site) -> Any:
    return typed_list.insert(*site.inputs)


@rule("typed_list.Remove")
def _remove(site: Site) -> Any:
    return typed_list.remove(*site.inputs)


@rule("typed_list.Reverse")
def _reverse(site: Site) -> Any:
    return typed_list.reverse(*site.inputs)


@rule("typed_list.Index")
def _index(site: Site) -> Any:
    return typed_list.index_(*site.inputs)


@rule("typed_list.Count")
def _count(site: Site) -> Any:
    return typed_list.count(*site.inputs)


@rule("typed_list.Length")
def _length_of_list(site: Site) -> Any:
    return typed_list.length(*site.inputs)


# ---- Sorting, searching, counting and accumulating along an axis


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


# ---- Convolutions of vectors


@rule("tensor.Convolve1d")
def _convolve(site: Site) -> Any:
    """Convolve as images of one row; "valid" is a part of "full"."""
    a, b, is_full = site.inputs
    dtype = site.outputs[0].type.dtype
    if np.dtype(dtype).kind != "f":
        raise NoRule("a convolution of integers or complex numbers")
    image, kernel = (T.cast(x, dtype).dimshuffle("x", "x", "x", 0) for x in (a, b))
    full = conv2d(image, kernel, border_mode="full")[0, 0, 0]
    lengths = T.stack([a.shape[0], b.shape[0]])
    whole = T.neq(is_full, 0)
    start = T.switch(whole, 0, T.min(lengths) - 1)
    return full[start : T.switch(whole, T.sum(lengths) - 1, T.max(lengths))]
