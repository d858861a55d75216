"""``x[index]``, where a tensor is not zero, and elements by number along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule

from .._core._convert import as_tensor_variable
from .._core._dtypes import IndexLike, TensorLike
from .._core._ops import run_in_a_loop
from .._core._type import Tensor, tensor_type
from .._errors import ShapeError
from .._protocols._methods import operation
from ..elemwise import DimShuffle, cast, clip, dimshuffle, mod, neq
from ..joining import stack
from ..reduce import sum as sum_over
from ..shape import ShapeOf, addbroadcast, flatten, shape_i
from ._advanced import AdvancedSubtensor, AdvancedSubtensor1, advanced_op, as_index, change_of
from ._parse import ParsedIndex, layout, parse_index
from ._subtensor import IncSubtensor, Subtensor
from .entries import Entries

# ---- ``x[index]``, and tensors with the result of indexing replaced or incremented


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


# ---- Where a tensor is not zero


class Nonzero(Op):
    """Numbers of the elements that are not zero: one vector of int64 for each dimension, in row-major order."""

    __props__ = ()

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor with at least one dimension; ShapeError for a scalar."""
        variable = as_tensor_variable(x)
        if not variable.type.ndim:
            raise ShapeError(
                format_error(
                    "nonzero: a scalar has no elements to number",
                    context=[describe(variable)],
                    hint="use T.shape_padleft(x), or T.neq(x, 0)",
                )
            )
        outputs = [tensor_type("int64", (None,)).make_variable() for _ in variable.type.shape]
        return Apply(self, [variable], outputs)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Find the elements."""
        for storage, indices in zip(output_storage, np.nonzero(inputs[0]), strict=True):
            storage[0] = np.ascontiguousarray(indices, dtype="int64")

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """Numbers do not depend differentiably on the elements."""
        return [[False] * len(node.outputs)]

    def __str__(self) -> str:
        return "Nonzero"


@pullback.register(Nonzero)
def _pullback(node: Apply[Nonzero, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [None]


@pushforward.register(Nonzero)
def _pushforward(node: Apply[Nonzero, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None] * len(node.outputs)


@shape_rule.register(Nonzero)
def _shape(node: Apply[Nonzero, Tensor], input_shapes: list[Any]) -> list[Any]:
    count = sum_over(cast(neq(node.inputs[0], 0), "int64"))
    return [(count,)] * len(node.outputs)


@operation("nonzero")
def nonzero(a: TensorLike, return_matrix: bool = False) -> Any:
    """Return the numbers of the elements that are not zero.

    Parameters
    ----------
    a : tensor_like
        With at least one dimension.
    return_matrix : bool
        Return one matrix, with a row for each dimension.

    Returns
    -------
    tuple of Tensor, or Tensor
        Vectors of int64, one for each dimension, for use as an index: ``a[a.nonzero()]``.

    Raises
    ------
    ShapeError
        For a scalar.

    Examples
    --------
    >>> import theano.tensor as T
    >>> len(T.nonzero(T.dmatrix("x")))
    2
    """
    results = tuple(Nonzero()(as_tensor_variable(a), return_list=True))
    return stack(list(results), axis=0) if return_matrix else results


@operation("flatnonzero")
def flatnonzero(a: TensorLike) -> Tensor:
    """Return the numbers of the elements of the flattened tensor that are not zero.

    Parameters
    ----------
    a : tensor_like
        With at least one dimension.

    Returns
    -------
    Tensor
        A vector of int64.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.flatnonzero(T.dmatrix("x")).type
    TensorType(int64, vector)
    """
    variable = as_tensor_variable(a)
    indices: tuple[Tensor, ...] = nonzero(flatten(variable) if variable.type.ndim else variable)
    return indices[0]


@operation("nonzero_values")
def nonzero_values(a: TensorLike) -> Tensor:
    """Return the elements that are not zero, as a vector in row-major order.

    Parameters
    ----------
    a : tensor_like
        With at least one dimension.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nonzero_values(T.dmatrix("x")).type
    TensorType(float64, vector)
    """
    variable = as_tensor_variable(a)
    return getitem(flatten(variable) if variable.type.ndim else variable, flatnonzero(variable))


batch_rule.register(Nonzero)(run_in_a_loop)


# ---- Elements by number along an axis, and slices by a condition


@operation("take")
def take(a: TensorLike, indices: TensorLike, axis: int | None = None, mode: str = "raise") -> Tensor:
    """Return elements, or slices along an axis, by their numbers.

    Parameters
    ----------
    a : tensor_like
    indices : tensor_like of int
        Of any shape.
    axis : int, optional
        Along which is taken; by default of the flattened tensor.
    mode : {"raise", "clip", "wrap"}
        Numbers out of range are an error; are replaced by the nearest in range (negative ones by 0); are taken modulo
        the length.

    Returns
    -------
    Tensor
        With the dimensions of `indices` in the place of `axis`.

    Raises
    ------
    ValueError
        If the mode is none of these.
    ShapeError
        If there is no such axis.
    IndexError
        When it runs, in mode "raise", for a number out of range.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.take(T.dmatrix("x"), [[0, 2], [1, 1]], axis=1).type.shape
    (None, 2, 2)
    """
    variable, index = as_tensor_variable(a), as_index(indices)
    check_mode("take", mode)
    if axis is None:
        variable, axis = flatten(variable), 0
    axis = _checked_axis("take", axis, variable)
    if index.type.dtype == "bool":
        index = index.astype("int64")
    if mode != "raise":
        length = shape_i(variable, axis)
        index = clip(index, 0, length - 1) if mode == "clip" else mod(index, length)
        index = index.astype("int64")
    return getitem(variable, (*[slice(None)] * axis, index))


def check_mode(name: str, mode: Any) -> None:
    """Refuse an unknown treatment of numbers out of range."""
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(format_error(f"{name}: {mode!r} is no mode", hint='use "raise", "clip" or "wrap"'))


def _checked_axis(name: str, axis: object, x: Tensor) -> int:
    if isinstance(axis, (bool, Tensor)) or not hasattr(axis, "__index__"):
        raise ShapeError(
            format_error(f"{name}: {axis!r} is no axis", context=[describe(x)], hint="give an int or None")
        )
    number = int(axis.__index__())
    if not -x.type.ndim <= number < x.type.ndim:
        raise ShapeError(
            format_error(
                f"{name}: axis {number} is out of range for {x.type.ndim} dimensions",
                context=[describe(x)],
                hint=f"give an axis from {-x.type.ndim} to {x.type.ndim - 1}",
            )
        )
    return number % x.type.ndim


@operation("compress")
def compress(condition: TensorLike, x: TensorLike, axis: int | None = None) -> Tensor:
    """Return the slices of `x` along an axis where a condition is not zero.

    Parameters
    ----------
    condition : tensor_like
        A vector. It may be shorter than the axis: elements beyond it are left out.
    x : tensor_like
    axis : int, optional
        By default `x` is flattened.

    Raises
    ------
    ShapeError
        If the condition is no vector, or there is no such axis.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.compress([0, 1], T.dmatrix("x"), axis=0).type
    TensorType(float64, matrix)
    """
    chosen = as_tensor_variable(condition)
    if chosen.type.ndim != 1:
        raise ShapeError(
            format_error("compress: the condition must be a vector", context=[describe(chosen)], hint="flatten it")
        )
    return take(x, flatnonzero(neq(chosen, 0)), axis=axis)
