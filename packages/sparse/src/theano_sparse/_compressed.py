"""Ops in C on the arrays of compressed matrices: data, indices and indptr."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Variable, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import CompressedKernel, CompressedTask, native_kernel
from theano_linker_c.scalar import upcast
from theano_tensor import TensorType, as_tensor_variable
from theano_tensor.rewrites.length_checks import COMPARED, VALUE, Term, term_of

from ._core._op import SparseOp, dense, refuse_rank
from ._core._structure import covers, major_of
from ._core._type import CLASSES, Operand

# ---- Ops with a kernel each

#: The dtypes of elements that native kernels take.
NATIVE_DTYPES = ("float32", "float64")


class CompressedOp(SparseOp):
    """Base of the ops on ``data, indices, indptr`` and the length of the minor axis. Put in by rewrites."""

    #: The function of the native kernel.
    task: ClassVar[CompressedTask]
    #: Where `data` stands among the inputs.
    first: ClassVar[int] = 0

    def check(self, inputs: Sequence[Any], dtype: str) -> list[Any]:
        """Return the inputs with the integers as the C code reads them, and all else in a dtype."""
        kinds = ["int32", "int32", "int64"]
        result = []
        for position, item in enumerate(inputs):
            variable = as_tensor_variable(item)
            offset = position - self.first - 1
            expected = kinds[offset] if 0 <= offset < 3 else dtype
            result.append(variable if variable.type.dtype == expected else variable.astype(expected))
        return result

    @property
    def flag(self) -> bool:
        """The parameter of the kernel: whether rows are the major axis."""
        return bool(getattr(self, "format", "") == "csr")


@native_kernel.register(CompressedOp)
def _native(node: Apply[CompressedOp]) -> CompressedKernel | None:
    op: Any = node.op
    kind: Any = node.inputs[op.first].type
    return CompressedKernel(op.task, kind.dtype, op.flag) if kind.dtype in NATIVE_DTYPES else None


def assembled(format: str, data: Any, indices: Any, indptr: Any, other: Any) -> Any:
    """Return SciPy's matrix of some arrays; ValueError where they make none."""
    n_major, length = len(indptr) - 1, int(other)
    try:
        result = CLASSES[format](
            (data, indices, indptr), shape=(n_major, length) if format == "csr" else (length, n_major)
        )
        result.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(
            format_error(
                f"the arrays do not make a sparse matrix: {error}",
                hint="take them from csm_properties(x) of one matrix",
            )
        ) from None
    return result


def not_differentiated(*ops: type[CompressedOp]) -> None:
    """Say that ops have no derivatives."""
    for op in ops:
        for table in (pullback, pushforward):
            table.declare_absent(op, "it is put in by rewriting, after differentiation")


# ---- Sums, dense forms and other orders of sparse matrices

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
        result = assembled("csr", *values).tocsc()
        return result.data, result.indices, result.indptr


@shape_rule.register(ChangeCompression)
def _shape_compression(node: Apply[ChangeCompression], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0], input_shapes[1], (as_tensor_variable(node.inputs[3]) + 1,)]


class CompressedToDense(CompressedOp):
    """A sparse matrix, given by its arrays, as a dense one; added to another one if there is a fifth input.

    Parameters
    ----------
    format : {"csc", "csr"}
    inplace : bool
        Whether the result takes the memory of the summand.
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
        arguments = [as_tensor_variable(part) for part in (data, indices, indptr, other, *addend)]
        dtype = str(upcast(arguments[0].type.dtype, *(part.type.dtype for part in arguments[4:])))
        return Apply(self, self.check(arguments, dtype), [dense(dtype, 2)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Make the matrix dense with SciPy, and add."""
        result = assembled(self.format, *values[:4]).toarray()
        if len(values) == 4:
            return result
        (z,) = values[4:]
        if result.shape != z.shape:
            raise ValueError(
                format_error(
                    f"AddSD: the shapes {result.shape} and {z.shape} differ", hint="sparse matrices do not broadcast"
                )
            )
        return np.add(z, result, out=z if self.inplace else result)

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
        """The parameter of the kernel: the major axis or not."""
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


# ---- Products of a sparse and a dense matrix


def _product(op: Any, arrays: Sequence[Any], y: Any) -> Any:
    """Return the product by SciPy."""
    x = assembled(op.format, *arrays)
    if x.shape[1] != y.shape[0]:
        raise ValueError(
            format_error(
                f"{x.shape[1]} columns of the sparse matrix meet {y.shape[0]} rows", hint="transpose one of the two"
            )
        )
    return np.asarray(x @ y)


def _rows(op: Any, parts: Sequence[Variable], indptr_shape: Any) -> Any:
    return as_tensor_variable(parts[3]) if op.format == "csc" else indptr_shape[0] - 1


class CompressedDot(CompressedOp):
    """The product of a sparse matrix, given by its arrays, and a dense one. Put in by a rewrite; no gradient.

    Parameters
    ----------
    format : {"csc", "csr"}
        Of the sparse matrix. The inputs are ``data, indices, indptr``, the
        number of the sparse matrix's columns (csr) or rows (csc), and the dense matrix.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("format",)
    task: ClassVar[CompressedTask] = "dot"

    def __init__(self, format: str) -> None:
        self.format = format

    def make_node(
        self, data: Operand, indices: Operand, indptr: Operand, minor_length: Operand, y: Operand
    ) -> Apply[Self]:
        """Apply to the arrays of a sparse matrix, its other length, and a dense matrix."""
        arguments = [as_tensor_variable(part) for part in (data, indices, indptr, minor_length, y)]
        inputs = self.check(arguments, str(upcast(arguments[0].type.dtype, arguments[4].type.dtype)))
        refuse_rank(self, inputs[4], 2, "the dense operand is a matrix")
        return Apply(self, inputs, [dense(inputs[4].type.dtype, 2)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Multiply with SciPy."""
        return _product(self, values[:4], values[4])

    def __str__(self) -> str:
        return f"StructuredDot{{{self.format}, native}}"


@shape_rule.register(CompressedDot)
def _shape_compressed_dot(node: Apply[CompressedDot], input_shapes: list[Any]) -> list[Any]:
    return [(_rows(node.op, node.inputs, input_shapes[2]), input_shapes[4][1])]


class CompressedUsmm(CompressedOp):
    """``alpha * dot(x, y) + z`` in C for a sparse x, given by its arrays. Put in by a rewrite; no gradient.

    Parameters
    ----------
    format : {"csc", "csr"}
        Of the sparse matrix. The inputs are ``alpha, data, indices, indptr``, its number of columns (csr) or rows
        (csc), and the dense matrices ``y`` and ``z``.
    inplace : bool
        Whether the result takes the memory of z.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("format", "inplace")
    task: ClassVar[CompressedTask] = "usmm"
    first: ClassVar[int] = 1

    def __init__(self, format: str, inplace: bool = False) -> None:
        self.format = format
        self.inplace = bool(inplace)
        if self.inplace:
            self.destroy_map: Mapping[int, Sequence[int]] = {0: [6]}

    def make_node(
        self, alpha: Operand, x_val: Operand, x_ind: Operand, x_ptr: Operand, x_nrows: Operand, y: Operand, z: Operand
    ) -> Apply[Self]:
        """Apply to a number, the arrays of a sparse matrix and its other length, and two dense matrices."""
        arguments = [as_tensor_variable(part) for part in (alpha, x_val, x_ind, x_ptr, x_nrows, y, z)]
        if any(n != 1 for n in arguments[0].type.shape):
            raise TypeError(
                format_error(f"{self}: `alpha` is a number", context=[describe(arguments[0])], hint="pass a scalar")
            )
        dtype = str(upcast(*(arguments[i].type.dtype for i in (0, 1, 5, 6))))
        inputs = self.check(arguments, dtype)
        if self.inplace and inputs[6] is not arguments[6]:
            raise TypeError(
                format_error(
                    f"{self}: the result has the dtype {dtype}, so it cannot take the memory of `z`",
                    context=[describe(arguments[6])],
                    hint="leave inplace=False",
                )
            )
        for variable, name in ((inputs[5], "y"), (inputs[6], "z")):
            refuse_rank(self, variable, 2, f"`{name}` is a matrix")
        return Apply(self, inputs, [TensorType(dtype, inputs[6].type.shape)()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Multiply with SciPy, and add."""
        alpha, z = values[0], values[6]
        product = _product(self, values[1:5], values[5])
        if z.shape != product.shape:
            raise ValueError(format_error(f"a product of shape {product.shape} is added to {z.shape}", hint="hint z"))
        product *= alpha.reshape(())
        return np.add(z, product, out=z if self.inplace else product)

    def __str__(self) -> str:
        return f"Usmm{{{self.format}, native, {'inplace' if self.inplace else 'no_inplace'}}}"


class UsmmCscDense(CompressedUsmm):
    """:class:`CompressedUsmm` for a csc matrix.

    Parameters
    ----------
    inplace : bool
        Whether the result takes the memory of z.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__("csc", inplace)

    def __str__(self) -> str:
        return f"UsmmCscDense{{{'inplace' if self.inplace else 'no_inplace'}}}"


def compressed_usmm(format: str, inplace: bool = False) -> CompressedUsmm:
    """Return the op for a format."""
    return UsmmCscDense(inplace) if format == "csc" else CompressedUsmm(format, inplace)


@shape_rule.register(CompressedUsmm)
def _shape_usmm(node: Apply[CompressedUsmm], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[6]]


class UsmmRows(CompressedOp):
    """The rows of ``alpha * dot(x, y)`` in which x stores something: their numbers, and a matrix. No gradient.

    Parameters
    ----------
    format : {"csc", "csr"}
        Of the sparse matrix. The inputs are those of :class:`CompressedUsmm`, with the lengths of z in place of z.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("format",)
    task: ClassVar[CompressedTask] = "usmm_rows"
    first: ClassVar[int] = 1

    def __init__(self, format: str) -> None:
        self.format = format

    def make_node(
        self,
        alpha: Operand,
        data: Operand,
        indices: Operand,
        indptr: Operand,
        other: Operand,
        y: Operand,
        *lengths: Operand,
    ) -> Apply[Self]:
        """Apply to a number, the arrays of a sparse matrix and its other length, a dense matrix and two integers."""
        arguments = [as_tensor_variable(part) for part in (alpha, data, indices, indptr, other, y)]
        dtype = str(upcast(*(arguments[i].type.dtype for i in (0, 1, 5))))
        inputs = [*self.check(arguments, dtype), *(as_tensor_variable(n).astype("int64") for n in lengths)]
        return Apply(self, inputs, [dense("int64", 1), dense(dtype, 2)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Multiply with SciPy, and take the rows."""
        product = _product(self, values[1:5], values[5])
        shape = int(values[6]), int(values[7])
        if product.shape != shape:
            raise ValueError(format_error(f"a product of shape {product.shape} is added to {shape}", hint="hint z"))
        rows = np.diff(assembled(self.format, *values[1:5]).tocsr().indptr).nonzero()[0]
        return rows, product[rows] * values[0].reshape(())

    def __str__(self) -> str:
        return f"UsmmRows{{{self.format}}}"


not_differentiated(CompressedDot, CompressedUsmm, UsmmRows)


def _compared(node: Apply[Any], rows: Term, columns: Term) -> list[list[Term]]:
    """Return the lengths of the summand that the product is compared with."""
    other, y = node.inputs[4:6]
    in_columns = [term_of(y, 1), columns]
    return [in_columns, [(other, VALUE), rows]] if node.op.format == "csc" else [in_columns]


@COMPARED.register(CompressedUsmm)
def _compared_by_usmm(node: Apply[CompressedUsmm]) -> list[list[Term]]:
    return _compared(node, term_of(node.inputs[6], 0), term_of(node.inputs[6], 1))


@COMPARED.register(UsmmRows)
def _compared_by_rows(node: Apply[UsmmRows]) -> list[list[Term]]:
    return _compared(node, (node.inputs[6], VALUE), (node.inputs[7], VALUE))
