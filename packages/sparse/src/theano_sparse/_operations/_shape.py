"""Transposes, parts, diagonals and stacks of sparse matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse

from theano_graph import Apply, Variable, describe, format_error, pullback, pushforward, shape_rule
from theano_tensor import alloc, as_tensor_variable, constant, set_subtensor, stack, switch

from .._core._conversion import SparseFromDense, to_format
from .._core._op import (
    SparseOp,
    as_sparse_or_tensor_variable,
    as_sparse_variable,
    common_dtype,
    dense,
    is_sparse,
    refuse_rank,
)
from .._core._structure import ScatterElements, csm_shape
from .._core._type import CLASSES, Operand, SparseType, _Operators


class Transpose(SparseOp):
    """The transpose, in the other format. Regular gradient."""

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, x: Operand) -> Apply[Self]:
        """Apply to a sparse matrix."""
        matrix = as_sparse_variable(x)
        other = "csr" if matrix.type.format == "csc" else "csc"
        return Apply(self, [matrix], [SparseType(other, matrix.type.dtype).make_variable()])

    def lengths(self, node: Apply[Self]) -> Any:
        """Return the lengths of the matrix in the other order."""
        return csm_shape(node.inputs[0])[::-1]

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Return the same arrays, read in the other way."""
        return values[0].transpose(copy=False)


transpose = Transpose()


@pullback.register(Transpose)
def _pullback_transpose(node: Apply[Transpose], cotangents: list[Variable]) -> list[Variable | None]:
    g: Any = cotangents[0]
    return [g.T]


@pushforward.register(Transpose)
def _pushforward_transpose(node: Apply[Transpose], tangents: list[Variable | None]) -> list[Variable | None]:
    tangent: Any = tangents[0]
    return [None if tangent is None else tangent.T]


def _slices(parts: tuple[tuple[bool, bool, bool], ...], numbers: Iterable[Any]) -> tuple[slice, ...]:
    """Return a slice for rows and one for columns, of those numbers that are given."""
    following = iter(numbers)
    return tuple(slice(*(next(following) if there else None for there in part)) for part in parts)


class GetItem2d(SparseOp):
    """A part of a sparse matrix, sparse. Regular gradient.

    Parameters
    ----------
    parts : tuple of tuple of bool
        For rows and for columns: whether start, stop and step are given.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("parts",)

    def __init__(self, parts: tuple[tuple[bool, bool, bool], ...]) -> None:
        self.parts = parts

    def make_node(self, x: Operand, *numbers: Operand) -> Apply[Self]:
        """Apply to a sparse matrix and those numbers that are given."""
        matrix = as_sparse_variable(x)
        return Apply(self, [matrix, *(as_tensor_variable(n) for n in numbers)], [matrix.type.make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Take the part."""
        return values[0][_slices(self.parts, (int(n) for n in values[1:]))]


class ScatterPart(SparseOp):
    """A matrix with a part of it given, and nothing stored elsewhere. Regular gradient.

    Parameters
    ----------
    parts : tuple of tuple of bool
        As in :class:`GetItem2d`.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("parts",)

    def __init__(self, parts: tuple[tuple[bool, bool, bool], ...]) -> None:
        self.parts = parts

    def make_node(self, part: Operand, shape: Operand, *numbers: Operand) -> Apply[Self]:
        """Apply to a sparse matrix, the two lengths of the whole one, and those numbers that are given."""
        matrix = as_sparse_variable(part)
        inputs = [matrix, as_tensor_variable(shape), *(as_tensor_variable(n) for n in numbers)]
        return Apply(self, inputs, [matrix.type.make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Move each element to its position; ValueError where the part has another shape."""
        part, lengths = values[0].tocoo(), [int(n) for n in values[1]]
        slices = _slices(self.parts, (int(n) for n in values[2:]))
        positions = [np.arange(n)[entry] for n, entry in zip(lengths, slices, strict=True)]
        if part.shape != tuple(len(value) for value in positions):
            raise ValueError(
                format_error(
                    f"a part of {len(positions[0])} x {len(positions[1])} has the shape {part.shape}",
                    hint="correct the shape",
                )
            )
        moved = (positions[0][part.row], positions[1][part.col])
        return scipy.sparse.coo_matrix((part.data, moved), shape=tuple(lengths))


@pullback.register(ScatterPart)
def _pullback_scatter(node: Apply[ScatterPart], cotangents: list[Variable]) -> list[Variable | None]:
    g, numbers = as_sparse_or_tensor_variable(cotangents[0]), node.inputs[2:]
    part = GetItem2d(node.op.parts)(g, *numbers) if is_sparse(g) else g[_slices(node.op.parts, numbers)]
    return [part, None, *([None] * len(numbers))]


@pushforward.register(ScatterPart)
def _pushforward_scatter(node: Apply[ScatterPart], tangents: list[Variable | None]) -> list[Variable | None]:
    tangent = tangents[0]
    result: Variable | None = None if tangent is None else node.op(tangent, *node.inputs[1:])
    return [result]


class GetItemScalar(SparseOp):
    """One element of a sparse matrix, a dense number. Regular gradient."""

    def make_node(self, x: Operand, row: Operand, column: Operand) -> Apply[Self]:
        """Apply to a sparse matrix and two integers."""
        matrix = as_sparse_variable(x)
        positions = [as_tensor_variable(n) for n in (row, column)]
        return Apply(self, [matrix, *positions], [dense(matrix.type.dtype, 0)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Look the element up; IndexError where there is none."""
        x, *positions = values
        for position, length, name in zip(positions, x.shape, ("row", "column"), strict=True):
            if not -length <= position < length:
                raise IndexError(
                    format_error(
                        f"{name} {int(position)} is out of range for {length}", hint="count from 0 or from the end"
                    )
                )
        return x[int(positions[0]), int(positions[1])]


def getitem(x: Operand, index: Any) -> Any:
    """Return a part of a sparse matrix: ``x[i, j]`` a number, ``x[a:b, c:d]`` a matrix. Regular gradient.

    Raises
    ------
    NotImplementedError
        For an index that would give a vector, such as ``x[i, a:b]``: sparse vectors do not exist.
    """
    matrix = as_sparse_variable(x)
    entries = list(index) if isinstance(index, tuple) else [index]
    if len(entries) > 2:
        raise IndexError(format_error(f"{len(entries)} indices for a matrix", hint="index with two at most"))
    entries += [slice(None)] * (2 - len(entries))
    slices = [isinstance(entry, slice) for entry in entries]
    if not any(slices):
        return GetItemScalar()(matrix, *(_position(entry) for entry in entries))
    if not all(slices):
        raise NotImplementedError(
            format_error(
                "an index of one row or column would give a sparse vector, which does not exist",
                context=[describe(matrix)],
                hint="take a matrix: x[i:i + 1, a:b] or x[a:b, j:j + 1]",
            )
        )
    bounds = [[entry.start, entry.stop, entry.step] for entry in entries]
    parts = tuple((a is not None, b is not None, c is not None) for a, b, c in bounds)
    numbers = [_position(n) for part in bounds for n in part if n is not None]
    return GetItem2d(parts)(matrix, *numbers)


def _position(n: Any) -> Any:
    result = as_tensor_variable(n)
    if result.type.ndim or not result.type.dtype.startswith(("int", "uint")):
        raise TypeError(
            format_error(
                "positions in a sparse matrix are integers", context=[describe(result)], hint="pass integers or slices"
            )
        )
    return result


@pullback.register(GetItem2d)
def _pullback_part(node: Apply[GetItem2d], cotangents: list[Variable]) -> list[Variable | None]:
    x, numbers = as_sparse_variable(node.inputs[0]), node.inputs[1:]
    g, shape = as_sparse_or_tensor_variable(cotangents[0]), csm_shape(x)
    nothing: list[Variable | None] = [None] * len(numbers)
    if is_sparse(g):
        return [ScatterPart(node.op.parts)(g, shape, *numbers), *nothing]
    full = alloc(constant(np.zeros((), g.type.dtype)), shape[0], shape[1])
    return [set_subtensor(full[_slices(node.op.parts, numbers)], g), *nothing]


@pullback.register(GetItemScalar)
def _pullback_element(node: Apply[GetItemScalar], cotangents: list[Variable]) -> list[Variable | None]:
    x, g = as_sparse_variable(node.inputs[0]), as_tensor_variable(cotangents[0])
    shape = csm_shape(x)
    positions = [as_tensor_variable(n) for n in node.inputs[1:]]
    rows, columns = (switch(n < 0, n + shape[k], n).dimshuffle("x") for k, n in enumerate(positions))
    return [ScatterElements(x.type.format)(g.dimshuffle("x"), rows, columns, shape), None, None]


@pushforward.register(GetItem2d)
@pushforward.register(GetItemScalar)
def _pushforward_getitem(
    node: Apply[GetItem2d | GetItemScalar], tangents: list[Variable | None]
) -> list[Variable | None]:
    tangent = tangents[0]
    result: Variable | None = None if tangent is None else node.op(tangent, *node.inputs[1:])
    return [result]


def diag(x: Operand) -> Any:
    """Return the diagonal of a sparse matrix, a dense vector. Regular gradient.

    Parameters
    ----------
    x : sparse matrix

    Returns
    -------
    Tensor
        As long as the shorter side of `x`.
    """
    return Diag()(x)


class Diag(SparseOp):
    """The diagonal of a sparse matrix, dense. Regular gradient."""

    def make_node(self, x: Operand) -> Apply[Self]:
        """Apply to a sparse matrix."""
        matrix = as_sparse_variable(x)
        return Apply(self, [matrix], [dense(matrix.type.dtype, 1)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Take the diagonal."""
        return values[0].diagonal()


@pullback.register(Diag)
def _pullback_diag(node: Apply[Diag], cotangents: list[Variable]) -> list[Variable | None]:
    (x,), (g,) = node.inputs, cotangents
    gradient: Any = g
    positions = _range(gradient.shape[0])
    return [ScatterElements(as_sparse_variable(x).type.format)(g, positions, positions, csm_shape(x))]


@pushforward.register(Diag)
def _pushforward_diag(node: Apply[Diag], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else diag(tangents[0])]


@shape_rule.register(Diag)
def _shape_diag(node: Apply[Diag], input_shapes: list[Any]) -> list[Any]:
    lengths = csm_shape(node.inputs[0])
    return [(lengths.min(),)]


def _range(n: Any) -> Any:
    return alloc(constant(np.int64(1)), n).cumsum() - 1


class SquareDiagonal(SparseOp):
    """The csc matrix with a vector as its diagonal. Regular gradient."""

    def make_node(self, diagonal: Operand) -> Apply[Self]:
        """Apply to a dense vector."""
        values = as_tensor_variable(diagonal)
        refuse_rank(self, values, 1, "the diagonal is a vector")
        return Apply(self, [values], [SparseType("csc", values.type.dtype).make_variable()])

    def lengths(self, node: Apply[Self]) -> Any:
        """Return the length of the vector twice."""
        n = as_tensor_variable(node.inputs[0]).shape[0]
        return stack([n, n])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Put the vector on the diagonal."""
        (x,) = values
        n = len(x)
        return CLASSES["csc"]((x.copy(), np.arange(n), np.arange(n + 1)), shape=(n, n))


square_diagonal = SquareDiagonal()


@pullback.register(SquareDiagonal)
def _pullback_square(node: Apply[SquareDiagonal], cotangents: list[Variable]) -> list[Variable | None]:
    g: Any = cotangents[0]
    return [diag(g) if is_sparse(g) else g.diagonal()]


@pushforward.register(SquareDiagonal)
def _pushforward_square(node: Apply[SquareDiagonal], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else square_diagonal(tangents[0])]


class ConstructSparseFromList(SparseOp):
    """The csc matrix of the shape of `x` with the rows of `values` added at the rows `ilist`. Regular gradient.

    This is the gradient of ``x[ilist]`` in sparse form.
    """

    def make_node(self, x: Operand, values: Operand, ilist: Operand) -> Apply[Self]:
        """Apply to a dense matrix, of which only the shape counts, a dense matrix and a vector of integers."""
        inputs = [as_tensor_variable(part) for part in (x, values, ilist)]
        for variable, ndim, item in zip(
            inputs, (2, 2, 1), ("`x` is a matrix", "`values` is a matrix", "`ilist` is a vector"), strict=True
        ):
            refuse_rank(self, variable, ndim, item)
        return Apply(self, inputs, [SparseType("csc", inputs[1].type.dtype).make_variable()])

    def lengths(self, node: Apply[Self]) -> Any:
        """Return the shape of the first input."""
        return as_tensor_variable(node.inputs[0]).shape

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Put the rows in; those for one row add up."""
        x, rows, ilist = values
        columns = x.shape[1]
        index = np.where(ilist < 0, ilist + x.shape[0], ilist)
        positions = (np.repeat(index, columns), np.tile(np.arange(columns), len(index)))
        return scipy.sparse.coo_matrix((rows.ravel(), positions), shape=x.shape).tocsc()


construct_sparse_from_list = ConstructSparseFromList()


@pullback.register(ConstructSparseFromList)
def _pullback_construct(node: Apply[ConstructSparseFromList], cotangents: list[Variable]) -> list[Variable | None]:
    g: Any = cotangents[0]
    full = g.toarray() if is_sparse(g) else g
    return [None, full[node.inputs[2]], None]


@pushforward.register(ConstructSparseFromList)
def _pushforward_construct(
    node: Apply[ConstructSparseFromList], tangents: list[Variable | None]
) -> list[Variable | None]:
    x, _, ilist = node.inputs
    return [None if tangents[1] is None else construct_sparse_from_list(x, tangents[1], ilist)]


class Stack(SparseOp):
    """Sparse matrices beside or below each other. Regular gradient.

    Parameters
    ----------
    axis : {0, 1}
        0: below each other.
    format : {"csc", "csr"}
    dtype : str
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("axis", "format", "dtype")

    def __init__(self, axis: int, format: str, dtype: str) -> None:
        self.axis = axis
        self.format = format
        self.dtype = dtype

    def make_node(self, *blocks: Operand) -> Apply[Self]:
        """Apply to sparse matrices."""
        inputs = [as_sparse_variable(block) for block in blocks]
        return Apply(self, inputs, [SparseType(self.format, self.dtype).make_variable()])

    def lengths(self, node: Apply[Self]) -> Any:
        """Return the sum of the lengths along the axis, and the other length of the first block."""
        shapes = [csm_shape(block) for block in node.inputs]
        total = sum((shape[self.axis] for shape in shapes[1:]), shapes[0][self.axis])
        other = shapes[0][1 - self.axis]
        return stack([total, other] if self.axis == 0 else [other, total])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Stack; ValueError where the other lengths differ."""
        lengths = [value.shape[1 - self.axis] for value in values]
        if len(set(lengths)) > 1:
            line = "columns" if self.axis == 0 else "rows"
            raise ValueError(
                format_error(f"stacked sparse matrices have {lengths} {line}", hint="make them equally long")
            )
        join = scipy.sparse.vstack if self.axis == 0 else scipy.sparse.hstack
        return join(values, format=self.format, dtype=self.dtype or None)

    def __str__(self) -> str:
        return "VStack" if self.axis == 0 else "HStack"


class HStack(Stack):
    """Sparse matrices beside each other; see :class:`Stack`. The format is csc unless it is given.

    Without a dtype the result has the one that holds all.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("format", "dtype")
    _axis: ClassVar[int] = 1

    def __init__(self, format: str | None = None, dtype: str | None = None) -> None:
        super().__init__(self._axis, format or "csc", dtype or "")

    def make_node(self, *blocks: Operand) -> Apply[Self]:
        """Apply to sparse matrices."""
        inputs = [as_sparse_variable(block) for block in blocks]
        dtype = self.dtype or common_dtype(*inputs)
        return Apply(self, inputs, [SparseType(self.format, dtype).make_variable()])


class VStack(HStack):
    """Sparse matrices below each other; see :class:`HStack`."""

    _axis: ClassVar[int] = 0


@pullback.register(Stack)
def _pullback_stack(node: Apply[Stack], cotangents: list[Variable]) -> list[Variable | None]:
    g: Any = cotangents[0]
    axis, start, result = node.op.axis, as_tensor_variable(0), []
    for block in node.inputs:
        kind = as_sparse_variable(block).type
        stop = start + csm_shape(block)[axis]
        part = g[start:stop, :] if axis == 0 else g[:, start:stop]
        if is_sparse(part):
            result.append(to_format(part, kind.format))
        else:
            result.append(SparseFromDense(kind.format)(part))
        start = stop
    return list(result)


@pushforward.register(Stack)
def _pushforward_stack(node: Apply[Stack], tangents: list[Variable | None]) -> list[Variable | None]:
    if all(tangent is None for tangent in tangents):
        return [None]
    pairs = zip(tangents, node.inputs, strict=True)
    blocks: list[Any] = [as_sparse_variable(x).zeros_like() if t is None else t for t, x in pairs]
    result: Variable = node.op(*blocks)
    return [result]


def hstack(blocks: Sequence[Any], format: str | None = None, dtype: str | None = None) -> Any:
    """Return sparse matrices beside each other. Regular gradient.

    Parameters
    ----------
    blocks : sequence of sparse matrices
        With equally many rows.
    format : {"csc", "csr"}, optional
        Of the result; csc by default.
    dtype : str, optional
        Of the result; the one that holds all by default.

    Returns
    -------
    SparseVariable
    """
    return _stacked(1, blocks, format, dtype)


def vstack(blocks: Sequence[Any], format: str | None = None, dtype: str | None = None) -> Any:
    """Return sparse matrices below each other. Regular gradient.

    Parameters
    ----------
    blocks : sequence of sparse matrices
        With equally many columns.
    format : {"csc", "csr"}, optional
        Of the result; csc by default.
    dtype : str, optional
        Of the result; the one that holds all by default.

    Returns
    -------
    SparseVariable
    """
    return _stacked(0, blocks, format, dtype)


def _stacked(axis: int, blocks: Sequence[Any], format: str | None, dtype: str | None) -> Any:
    arguments = [as_sparse_variable(block) for block in blocks]
    if not arguments:
        raise ValueError(format_error("there is nothing to stack", hint="pass at least one sparse matrix"))
    return (VStack if axis == 0 else HStack)(format or "csc", dtype or common_dtype(*arguments))(*arguments)


_Operators.table |= {"transpose": transpose, "getitem": getitem}
