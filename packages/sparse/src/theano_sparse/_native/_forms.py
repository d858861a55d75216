"""Sums, dense forms and other orders of sparse matrices in C, on the arrays that they consist of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, format_error, shape_rule
from theano_linker_c.kernels import CompressedTask
from theano_linker_c.scalar import upcast
from theano_tensor import as_tensor_variable

from .._core._compressed import CompressedOp, assembled, not_differentiated
from .._core._op import dense
from .._core._structure import covers, major_of
from .._core._typing import Operand

_PART_DTYPES = ("int32", "int32")


def _arrays(dtype: str) -> list[Any]:
    """Return variables for the arrays of a new matrix."""
    return [dense(dtype, 1), *(dense(kind, 1) for kind in _PART_DTYPES)]


class ChangeCompression(CompressedOp):
    """The arrays of a sparse matrix in the other format. No gradient."""

    task: ClassVar[CompressedTask] = "change_compression"

    def make_node(self, data: Operand, indices: Operand, indptr: Operand, other: Operand) -> Apply[Self]:
        """Apply to the arrays of a sparse matrix and its other length."""
        values = as_tensor_variable(data)
        inputs = self.check((values, indices, indptr, other), values.type.dtype)
        return Apply(self, inputs, _arrays(values.type.dtype))

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Change the format with SciPy."""
        found = assembled("csr", *values).tocsc()
        return found.data, found.indices, found.indptr


@shape_rule.register(ChangeCompression)
def _shape_compression(node: Apply[ChangeCompression], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0], input_shapes[1], (as_tensor_variable(node.inputs[3]) + 1,)]


class CompressedToDense(CompressedOp):
    """A sparse matrix, given by its arrays, as a dense one; added to another one if there is a fifth input.

    Parameters
    ----------
    format : {"csc", "csr"}
    inplace : bool
        Whether the result takes the memory of what is added to.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("format", "inplace")
    task: ClassVar[CompressedTask] = "to_dense"

    def __init__(self, format: str, inplace: bool = False) -> None:
        self.format = format
        self.inplace = bool(inplace)
        if self.inplace:
            self.destroy_map: Mapping[int, Sequence[int]] = {0: [4]}

    def make_node(
        self, data: Operand, indices: Operand, indptr: Operand, other: Operand, *addend: Operand
    ) -> Apply[Self]:
        """Apply to the arrays of a sparse matrix, its other length, and maybe a dense matrix."""
        given = [as_tensor_variable(part) for part in (data, indices, indptr, other, *addend)]
        dtype = str(upcast(given[0].type.dtype, *(part.type.dtype for part in given[4:])))
        return Apply(self, self.check(given, dtype), [dense(dtype, 2)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Make the matrix dense with SciPy, and add."""
        found = assembled(self.format, *values[:4]).toarray()
        if len(values) == 4:
            return found
        (z,) = values[4:]
        if found.shape != z.shape:
            raise ValueError(
                format_error(
                    f"AddSD: the shapes {found.shape} and {z.shape} differ", hint="sparse matrices do not broadcast"
                )
            )
        return np.add(z, found, out=z if self.inplace else found)

    def __str__(self) -> str:
        return f"CompressedToDense{{{self.format}, {'inplace' if self.inplace else 'no_inplace'}}}"


@shape_rule.register(CompressedToDense)
def _shape_dense(node: Apply[CompressedToDense], input_shapes: list[Any]) -> list[Any]:
    if len(input_shapes) > 4:
        return [input_shapes[4]]
    n_major, other = input_shapes[2][0] - 1, as_tensor_variable(node.inputs[3])
    return [(n_major, other) if node.op.format == "csr" else (other, n_major)]


class _AxisOp(CompressedOp):
    """Base of ops about the major axis (`by_major`), or the minor one."""

    __props__: ClassVar[tuple[str, ...] | None] = ("by_major",)

    def __init__(self, by_major: bool) -> None:
        self.by_major = bool(by_major)

    @property
    def flag(self) -> bool:
        """What the kernel is told: whether it is about the major axis."""
        return self.by_major


class CompressedSum(_AxisOp):
    """Sums of a compressed sparse matrix along its minor axis (`by_major`), or along its major axis. No gradient.

    Parameters
    ----------
    by_major : bool
    """

    task: ClassVar[CompressedTask] = "sum"

    def make_node(self, data: Operand, indices: Operand, indptr: Operand, other: Operand) -> Apply[Self]:
        """Apply to the arrays of a sparse matrix and its other length."""
        values = as_tensor_variable(data)
        inputs = self.check((values, indices, indptr, other), values.type.dtype)
        return Apply(self, inputs, [dense(values.type.dtype, 1)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Add up with SciPy."""
        return np.asarray(assembled("csr", *values).sum(1 if self.by_major else 0)).ravel()


@shape_rule.register(CompressedSum)
def _shape_sums(node: Apply[CompressedSum], input_shapes: list[Any]) -> list[Any]:
    return [(input_shapes[2][0] - 1 if node.op.by_major else as_tensor_variable(node.inputs[3]),)]


class GatherByIndex(_AxisOp):
    """Gather elements of a vector by the major, or the minor, index of each stored element. No gradient.

    The inputs are the vector, ``indices`` and ``indptr``.

    Parameters
    ----------
    by_major : bool
    """

    task: ClassVar[CompressedTask] = "gather"

    def make_node(self, vector: Operand, indices: Operand, indptr: Operand) -> Apply[Self]:
        """Apply to a vector and two arrays of a sparse matrix."""
        values = as_tensor_variable(vector)
        inputs = self.check((values, indices, indptr), values.type.dtype)
        return Apply(self, inputs, [dense(values.type.dtype, 1)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Take the elements with NumPy; IndexError where there is none."""
        vector, indices, indptr = values
        positions = indices
        if self.by_major:
            positions = major_of(indptr, len(indices)) if covers(indptr, len(indices)) else indices[:0]
        if len(positions) != len(indices) or positions.max(initial=-1) >= len(vector) or positions.min(initial=0) < 0:
            raise IndexError(
                format_error(
                    f"an element of a sparse matrix has no element in a vector of {len(vector)}",
                    hint="pass one element for each row (or column) of the matrix",
                )
            )
        return vector[positions]


@shape_rule.register(GatherByIndex)
def _shape_gather(node: Apply[GatherByIndex], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[1]]


not_differentiated(ChangeCompression, CompressedToDense, CompressedSum, GatherByIndex)
