"""``x[index]``, and tensors with the result of indexing replaced or incremented."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import IndexLike, TensorLike
from .._core._type import Tensor
from .._protocols._methods import operation
from ..elemwise import DimShuffle, dimshuffle
from ..shape import ShapeOf, addbroadcast, shape_i
from ._advanced._change import change_of
from ._advanced._read import AdvancedSubtensor, AdvancedSubtensor1, advanced_op
from ._layout import layout
from ._parse import ParsedIndex, parse_index
from ._subtensor import IncSubtensor, Subtensor
from .entries import Entries


@operation("getitem")
def getitem(x: TensorLike, index: IndexLike) -> Tensor:
    """Return ``x[index]`` for any index that NumPy takes; numbers, bounds, arrays and masks may be symbolic.

    Raises
    ------
    IndexingError
        If the index is of another kind.
    IndexError
        If a number is out of a known range.
    """
    variable = as_tensor_variable(x)
    if isinstance(index, list) and any(isinstance(item, slice) for item in index):
        index = tuple(index)  # as NumPy had it when Theano 1.0 was written
    parsed = parse_index(variable, index)
    result: Tensor
    if parsed.advanced:
        result = advanced_op(parsed.entries, parsed.inputs)(variable, *parsed.inputs)
        return _arrays_first(result, variable, parsed) if parsed.apart else result
    length = _length(variable, parsed.entries)
    if length is not None:
        result = length
    elif parsed.entries or parsed.new_axes is None:  # all of it too, so that it can be replaced
        result = Subtensor(parsed.entries)(variable, *parsed.inputs)
    else:
        result = variable
    return result if parsed.new_axes is None else dimshuffle(result, parsed.new_axes)


def _arrays_first(part: Tensor, x: Tensor, parsed: ParsedIndex) -> Tensor:
    plan = layout(parsed.entries, parsed.inputs, x.type.ndim)
    before, stop = len(plan.before), len(plan.before) + plan.ndim
    order = [*range(before, stop), *range(before), *range(stop, part.type.ndim)]
    return dimshuffle(part, order) if before else part


def _length(variable: Tensor, entries: Entries) -> Tensor | None:
    """Return the length that ``shape(x)[i]`` is."""
    owner = variable.owner
    if owner is None or not isinstance(owner.op, ShapeOf) or len(entries) != 1 or not isinstance(entries[0], int):
        return None
    ndim = getattr(owner.inputs[0].type, "ndim", 0)
    return shape_i(owner.inputs[0], entries[0] % ndim) if -ndim <= entries[0] < ndim else None


def set_subtensor(
    x: TensorLike, y: TensorLike, inplace: bool = False, tolerate_inplace_aliasing: bool = False
) -> Tensor:
    """Return the indexed tensor with the part `x` replaced by `y`.

    Parameters
    ----------
    x : Tensor
        The result of indexing: ``r[10:]``, ``r[[0, 2]]``, ``r[mask]``.
    y : tensor_like
        Broadcast to the part. Where an element is indexed several times, the last value stays.
    inplace : bool
        Whether the tensor itself is changed. Memory is reused without it, too, where nobody sees that.
    tolerate_inplace_aliasing : bool
        Whether `y` may share memory with the tensor that is changed in place.

    Returns
    -------
    Tensor
        Of the type of the tensor that was indexed.

    Raises
    ------
    TypeError
        If `x` is not the result of indexing, or `y` would lose precision.

    Examples
    --------
    >>> import theano.tensor as T
    >>> r = T.ivector("r")
    >>> T.set_subtensor(r[10:], 5).type
    TensorType(int32, vector)
    """
    return inc_subtensor(x, y, inplace, True, tolerate_inplace_aliasing)


def inc_subtensor(
    x: TensorLike,
    y: TensorLike,
    inplace: bool = False,
    set_instead_of_inc: bool = False,
    tolerate_inplace_aliasing: bool = False,
    ignore_duplicates: bool = False,
) -> Tensor:
    """Return the indexed tensor with `y` added to the part `x`.

    Parameters
    ----------
    x : Tensor
        The result of indexing.
    y : tensor_like
        Broadcast to the part. Where an element is indexed several times, its increments add up.
    inplace : bool
        Whether the tensor itself is changed. Memory is reused without it, too, where nobody sees that.
    tolerate_inplace_aliasing : bool
        Whether `y` may share memory with the tensor that is changed in place.
    set_instead_of_inc : bool
        Replace the part instead; see :func:`set_subtensor`.
    ignore_duplicates : bool
        Increment an element that is indexed several times once only, as ``x[index] += y`` does in NumPy.

    Returns
    -------
    Tensor
        Of the type of the tensor that was indexed.

    Raises
    ------
    TypeError
        If `x` is not the result of indexing, or `y` would lose precision.

    Examples
    --------
    >>> import theano.tensor as T
    >>> table, rows = T.dmatrix("table"), T.lvector("rows")
    >>> T.inc_subtensor(table[rows], 1.0).type
    TensorType(float64, matrix)
    """
    variable = as_tensor_variable(x)
    part = as_tensor_variable(y)
    owner = variable.owner
    while owner is not None and isinstance(owner.op, DimShuffle):
        inner = as_tensor_variable(owner.inputs[0])
        part = _undo(owner.op.order, inner, variable, part)
        variable = inner
        owner = variable.owner
    result: Tensor
    if owner is not None and isinstance(owner.op, Subtensor):
        source, *index = owner.inputs
        aliased = [(0, 1)] if tolerate_inplace_aliasing else None
        result = IncSubtensor(owner.op.entries, inplace, set_instead_of_inc, aliased)(source, part, *index)
        return result
    if owner is not None and isinstance(owner.op, AdvancedSubtensor):
        source, *index = owner.inputs
        result = change_of(owner.op, set_instead_of_inc, ignore_duplicates, inplace)(source, part, *index)
        return result
    shown = as_tensor_variable(x)
    raise TypeError(
        format_error(
            f"`{shown}` is not the result of indexing, so no part of a tensor can be replaced",
            context=[describe(shown)],
            hint="pass an indexed tensor: set_subtensor(x[0:10], y)",
        )
    )


def _undo(order: Sequence[Any], inner: Tensor, outer: Tensor, part: Tensor) -> Tensor:
    """Return a part for `outer` as a part for `inner`, where ``outer = inner.dimshuffle(order)``."""
    full = dimshuffle(part, ["x"] * (outer.type.ndim - part.type.ndim) + list(range(part.type.ndim)))
    new = [place for place, axis in enumerate(order) if axis == "x"]
    open_ = [place for place in new if full.type.shape[place] is None]
    if open_:
        full = addbroadcast(full, *open_)
    back: list[Any] = ["x"] * inner.type.ndim
    for position, axis in enumerate(order):
        if axis != "x":
            back[axis] = position
    return dimshuffle(full, back)


def sparse_grad(var: TensorLike) -> Tensor:
    """Return ``x[ilist]`` anew, with a gradient with respect to `x` that is a sparse matrix.

    Parameters
    ----------
    var : Tensor
        The result of indexing by one vector of integers.

    Returns
    -------
    Tensor
        Of the same values. The gradient is sparse where the layer for sparse matrices has been imported, which says
        how; else it is dense.

    Raises
    ------
    TypeError
        If `var` was made in another way.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.sparse_grad(T.dmatrix("x")[T.lvector("i")]).owner.op.sparse_grad
    True
    """
    variable = as_tensor_variable(var)
    owner = variable.owner
    if owner is None or not isinstance(owner.op, AdvancedSubtensor1):
        raise TypeError(
            format_error(
                "sparse_grad needs rows of a tensor",
                context=[describe(variable)],
                hint="index with one vector of integers: sparse_grad(x[ilist])",
            )
        )
    result: Tensor = AdvancedSubtensor1(sparse_grad=True)(*owner.inputs)
    return result
