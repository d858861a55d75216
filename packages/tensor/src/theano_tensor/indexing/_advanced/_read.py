"""Parts of tensors by arrays of integers and truth values: copies of the selected elements.

The index is that of NumPy. Where arrays are broadcast against each other, only dimensions that are declared
broadcastable broadcast. There is no view, so the ops have no place in alias analysis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Constant, Variable, describe, format_error

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import INTEGER_DTYPES, Array, TensorLike
from ..._core._ops import TensorOp, refused
from ..._core._type import StaticShape, Tensor, tensor_type
from ..._errors import IndexingError
from .._layout import check_arrays, is_mask, layout, static_advanced
from .._parse import consumed
from .._parts import index_pattern, out_of_range
from ..entries import (
    Entries,
    Slice,
    Symbol,
    as_python,
    count_symbols,
    entries_text,
    fill_in,
    from_python,
    known_number,
)


class AdvancedSubtensor(TensorOp):
    """A part of a tensor by an index with arrays in it: ``x[entries]``, as NumPy has it.

    Parameters
    ----------
    entries : tuple of (int, SYMBOL, NEWAXIS or Slice), optional
        From the left. SYMBOL stands for a further input: an array of integers, of truth values (a mask, which stands
        for as many dimensions as it has), or an integer scalar. An op without entries takes all parts of the index as
        inputs, slices and None included.
    """

    __props__: ClassVar[tuple[str, ...]] = ("entries",)

    def __init__(self, entries: Entries | None = None) -> None:
        self.entries: Any = None if entries is None else tuple(entries)

    def make_node(self, x: TensorLike, *inputs: TensorLike | None) -> Apply[Self, Tensor]:
        """Apply to a tensor and the values of the symbols, or of an op without entries to all parts of the index.

        Raises
        ------
        IndexingError
            If the dtype of an index is wrong, or there are too many.
        """
        if self.entries is None:
            entries, operands = split_index(inputs)
            return type(self)(entries).make_node(x, *operands)
        variable = as_tensor_variable(x)
        index = [as_index(i) for i in inputs]
        variable, shape = indexed(variable, self.entries, index)
        return Apply(self, [variable, *index], [tensor_type(variable.type.dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Copy the part; IndexError if a number is out of range or arrays do not fit."""
        x, *numbers = inputs
        try:
            check_index(self.entries, node.inputs[1:], numbers, x)
            output_storage[0][0] = np.asarray(x[fill_in(self.entries, numbers)])
        except IndexError as error:
            raise out_of_range(error, node, x) from error

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on the index."""
        return index_pattern(node, 1)

    def __str__(self) -> str:
        return type(self).__name__ + (f"{{{entries_text(self.entries)}}}" if self.entries is not None else "")


class AdvancedBooleanSubtensor(AdvancedSubtensor):
    """A part of a tensor by an index with at least one mask in it; see :class:`AdvancedSubtensor`."""


class AdvancedSubtensor1(AdvancedSubtensor):
    """Rows of a tensor by a vector of integers: ``x[ilist]``.

    Parameters
    ----------
    sparse_grad : bool
        Whether the gradient with respect to `x` is a sparse matrix; see :func:`sparse_grad`.
    """

    __props__ = ("sparse_grad",)

    def __init__(self, sparse_grad: bool = False) -> None:
        super().__init__((Symbol.SYMBOL,))
        self.sparse_grad = bool(sparse_grad)

    def make_node(self, x: TensorLike, *inputs: TensorLike | None) -> Apply[Self, Tensor]:
        """Apply to a tensor and a vector of integers."""
        check_vector(x, inputs)
        return super().make_node(x, *inputs)

    def __str__(self) -> str:
        return "AdvancedSubtensor1" + ("{sparse_grad}" if self.sparse_grad else "")


def split_index(index: Sequence[Any]) -> tuple[Entries, list[Variable]]:
    """Return entries and inputs for an index that has been given with its slices, numbers and None.

    Slices and None may be constants, or slices results of an op on their bounds.
    """
    items = []
    for item in index:
        value = item.data if isinstance(item, Constant) else item
        if isinstance(item, Variable) and not isinstance(item, Tensor) and not isinstance(value, slice | None):
            node = item.owner
            if node is None or len(node.inputs) != 3:
                raise IndexingError(
                    format_error(
                        f"`{item}` is no index: the graph does not tell the kind of slice",
                        context=[describe(item)],
                        hint="make the slice of its bounds: slice(start, stop, step)",
                    )
                )
            value = slice(*[None if isinstance(v, Constant) and v.data is None else v for v in node.inputs])
        if isinstance(value, slice):
            value = slice(*(known_number(b) if isinstance(b, Constant) else b for b in _bounds(value)))
        items.append(value if value is None or isinstance(value, slice | int) else as_index(item))
    return from_python(items)


def _bounds(part: slice) -> tuple[Any, Any, Any]:
    return part.start, part.stop, part.step


def check_vector(x: TensorLike, inputs: Sequence[Any]) -> None:
    """Refuse an index that is not one vector of integers.

    Raises
    ------
    IndexingError
        If it is anything else.
    """
    index = [as_index(i) for i in inputs]
    if len(index) != 1 or index[0].type.ndim != 1 or index[0].type.dtype == "bool":
        raise IndexingError(
            format_error(
                "rows are taken by one vector of integers",
                context=[describe(as_tensor_variable(x)), *(describe(i) for i in index)],
                hint="use x[index], which takes any index",
            )
        )


def as_index(value: object) -> Tensor:
    """Return part of an index as a tensor of integers or truth values."""
    variable = as_tensor_variable(value)
    if variable.type.dtype not in INTEGER_DTYPES and variable.type.dtype != "bool":
        raise IndexingError(
            format_error(
                f"an index must be of integers or truth values, not {variable.type.dtype}",
                context=[describe(variable)],
                hint="convert it: T.cast(i, 'int64')",
            )
        )
    return variable


def indexed(x: Tensor, entries: Entries, inputs: Sequence[Variable]) -> tuple[Tensor, StaticShape]:
    """Return `x` and the static shape of the part of it; where a known index cannot fit, what stands for x."""

    def where() -> list[str]:
        return [describe(v) for v in (x, *inputs)]

    if count_symbols(entries) != len(inputs):
        raise IndexingError(
            format_error(
                f"{len(inputs)} inputs for an index with {count_symbols(entries)} symbols",
                context=where(),
                hint="give one input for each SYMBOL of the entries",
            )
        )
    items = as_python(entries, inputs)
    wanted = sum(consumed(item) for item in items)
    if wanted > x.type.ndim or not any(_is_array(e, i) for e, i in zip(entries, items, strict=True)):
        raise IndexingError(
            format_error(
                f"an index for {wanted} dimensions cannot be used here: the tensor has {x.type.ndim}, and an "
                "advanced index has an array in it",
                context=where(),
                hint="use x[index], which takes any index",
            )
        )
    try:
        return x, static_advanced(x.type.shape, entries, inputs)
    except IndexError as error:
        text = format_error(str(error), context=where(), hint="use indices below the length")
        found = layout(entries, inputs, x.type.ndim)
        ndim = len(found.before) + found.ndim + len(found.after)
        return refused(IndexError(text), x, [None] * x.type.ndim, *inputs), (None,) * ndim


def _is_array(entry: Any, item: Any) -> bool:
    return not isinstance(entry, Slice) and isinstance(item, Variable)


def check_index(entries: Entries, variables: Sequence[Variable], values: Sequence[Any], x: Array) -> None:
    """Check the values of index arrays; IndexError if they do not fit each other or the tensor."""
    plan = layout(entries, variables, x.ndim)
    items = [
        item
        for entry, item in zip(entries, as_python(entries, values), strict=True)
        if item is not None and not isinstance(entry, Slice)
    ]
    check_arrays(plan, items, x.shape)


def advanced_op(entries: Entries, inputs: Sequence[Variable]) -> AdvancedSubtensor:
    """Return the op for an advanced index."""
    if entries == (Symbol.SYMBOL,) and as_index(inputs[0]).type.ndim == 1 and not is_mask(inputs[0]):
        return AdvancedSubtensor1()
    masks = any(is_mask(v) for v in inputs)
    return AdvancedBooleanSubtensor(entries) if masks else AdvancedSubtensor(entries)
