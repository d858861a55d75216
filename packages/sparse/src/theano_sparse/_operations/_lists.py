"""Rows and elements of sparse matrices by lists of their numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse

from theano_graph import Apply, Variable, describe, format_error, pullback, pushforward, shape_rule
from theano_tensor import as_tensor_variable

from .._core._op import SparseOp, as_sparse_or_tensor_variable, as_sparse_variable, is_sparse, refuse_rank
from .._core._structure import GatherElements
from .._core._type import Operand, SparseType, _Operators
from ._shape import getitem


def _positions(op: SparseOp, index: Any) -> Any:
    result = as_tensor_variable(index)
    refuse_rank(op, result, 1, "numbers of rows or columns are a vector")
    if not result.type.dtype.startswith(("int", "uint")):
        raise TypeError(
            format_error(
                f"{op}: numbers of rows or columns are integers", context=[describe(result)], hint="pass integers"
            )
        )
    return result


def _within(op: SparseOp, node: Apply[Any], index: Any, length: int) -> Any:
    """Return numbers of rows or columns counted from the first one; IndexError where there is none."""
    counted = np.where(index < 0, index + length, index)
    outside = (counted < 0) | (counted >= length)
    if outside.any():
        raise IndexError(
            format_error(
                f"{op}: {index[outside][0]} is out of range for {length}",
                context=[describe(v) for v in node.inputs],
                hint="numbers begin at 0 and end before the length; negative ones count from the end",
            )
        )
    return counted


class GetItemList(SparseOp):
    """Rows of a sparse matrix, in the order of a vector of their numbers. Regular gradient."""

    def make_node(self, x: Operand, index: Operand) -> Apply[Self]:
        """Apply to a sparse matrix and a vector of integers."""
        matrix = as_sparse_variable(x)
        return Apply(self, [matrix, _positions(self, index)], [matrix.type.make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Take the rows; IndexError where there is none."""
        x, rows = values
        return x[rows]


class GetItemListGrad(SparseOp):
    """The matrix of the shape of `x` with the rows of another one added at given numbers."""

    def make_node(self, x: Operand, index: Operand, gz: Operand) -> Apply[Self]:
        """Apply to a sparse matrix, of which the shape counts, a vector of integers, and a sparse matrix."""
        matrix, rows = as_sparse_variable(x), as_sparse_or_tensor_variable(gz)
        dtype = rows.type.dtype
        return Apply(self, [matrix, _positions(self, index), rows], [SparseType(matrix.type.format, dtype)()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Put the rows in; those for one row add up."""
        x, index, gz = values
        index = _within(self, node, index, x.shape[0])
        part = scipy.sparse.coo_matrix(gz)
        return scipy.sparse.coo_matrix((part.data, (index[part.row], part.col)), shape=x.shape)


class GetItem2Lists(GatherElements):
    """Elements of a sparse matrix at given rows and columns, a dense vector. Regular gradient."""

    def make_node(self, x: Operand, ind1: Operand, ind2: Operand) -> Apply[Self]:
        """Apply to a sparse matrix and two vectors of integers of one length."""
        return super().make_node(x, _positions(self, ind1), _positions(self, ind2))


class GetItem2ListsGrad(SparseOp):
    """The matrix of the shape of `x` with given elements at given rows and columns; those at one position add up."""

    def make_node(self, x: Operand, ind1: Operand, ind2: Operand, gz: Operand) -> Apply[Self]:
        """Apply to a sparse matrix, of which the shape counts, two vectors of integers, and a vector of elements."""
        matrix, elements = as_sparse_variable(x), as_tensor_variable(gz)
        inputs = [matrix, _positions(self, ind1), _positions(self, ind2), elements]
        return Apply(self, inputs, [SparseType(matrix.type.format, elements.type.dtype)()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Put the elements in."""
        x, *positions, elements = values
        rows, columns = (_within(self, node, p, n) for p, n in zip(positions, x.shape, strict=True))
        return scipy.sparse.coo_matrix((elements, (rows, columns)), shape=x.shape)


get_item_list, get_item_list_grad = GetItemList(), GetItemListGrad()
get_item_2lists, get_item_2lists_grad = GetItem2Lists(), GetItem2ListsGrad()


@pullback.register(GetItemList)
def _pullback_rows(node: Apply[GetItemList], cotangents: list[Variable]) -> list[Variable | None]:
    x, index = node.inputs
    return [get_item_list_grad(x, index, cotangents[0]), None]


@pushforward.register(GetItemList)
def _pushforward_rows(node: Apply[GetItemList], tangents: list[Variable | None]) -> list[Variable | None]:
    result: Variable | None = None if tangents[0] is None else get_item_list(tangents[0], node.inputs[1])
    return [result]


@pullback.register(GetItem2Lists)
def _pullback_elements(node: Apply[GetItem2Lists], cotangents: list[Variable]) -> list[Variable | None]:
    x, *positions = node.inputs
    return [get_item_2lists_grad(x, *positions, cotangents[0]), None, None]


@pullback.register(GetItemListGrad)
def _pullback_put_rows(node: Apply[GetItemListGrad], cotangents: list[Variable]) -> list[Variable | None]:
    g, index = as_sparse_or_tensor_variable(cotangents[0]), node.inputs[1]
    return [None, None, get_item_list(g, index) if is_sparse(g) else g[index]]


@pullback.register(GetItem2ListsGrad)
def _pullback_put_elements(node: Apply[GetItem2ListsGrad], cotangents: list[Variable]) -> list[Variable | None]:
    g, positions = as_sparse_or_tensor_variable(cotangents[0]), node.inputs[1:3]
    return [None, None, None, get_item_2lists(g, *positions) if is_sparse(g) else g[positions[0], positions[1]]]


@shape_rule.register(GetItem2Lists)
def _shape_elements(node: Apply[GetItem2Lists], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[1]]


def _is_list(entry: Any) -> bool:
    ndim = getattr(getattr(entry, "type", entry), "ndim", None)
    return isinstance(entry, list) or ndim == 1


def get_item(x: Operand, index: Any) -> Any:
    """Return a part of a sparse matrix: see :func:`getitem`; ``x[[i, j]]`` are rows, ``x[[i, j], [k, l]]`` elements."""
    entries = index if isinstance(index, tuple) else (index,)
    lists = [_is_list(entry) for entry in entries]
    if not any(lists) or len(entries) > 2:
        return getitem(x, index)
    if len(entries) == 1:
        return get_item_list(x, entries[0])
    if lists == [True, True]:
        return get_item_2lists(x, *entries)
    is_full = isinstance(entries[1], slice) and entries[1] == slice(None)
    if lists[0] and isinstance(entries[1], slice):
        rows = get_item_list(x, entries[0])
        return rows if is_full else rows[:, entries[1]]
    if isinstance(entries[0], slice) and lists[1]:
        return get_item_list(getitem(x, (entries[0], slice(None))).T, entries[1]).T
    raise NotImplementedError(
        format_error(
            "an index of one row or column would give a sparse vector, which does not exist", hint="index by lists"
        )
    )


_Operators.table |= {"getitem": get_item}
