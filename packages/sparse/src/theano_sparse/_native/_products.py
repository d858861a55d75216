"""Products of a sparse and a dense matrix in C, on the arrays that the sparse one consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Variable, describe, format_error, shape_rule
from theano_linker_c.kernels import CompressedTask
from theano_linker_c.scalar import upcast
from theano_tensor import TensorType, as_tensor_variable
from theano_tensor.rewrites.length_checks import COMPARED, VALUE, Term, term_of

from .._core._compressed import CompressedOp, assembled, not_differentiated
from .._core._op import dense, refuse_rank
from .._core._typing import Operand


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
        given = [as_tensor_variable(part) for part in (data, indices, indptr, minor_length, y)]
        inputs = self.check(given, str(upcast(given[0].type.dtype, given[4].type.dtype)))
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
        given = [as_tensor_variable(part) for part in (alpha, x_val, x_ind, x_ptr, x_nrows, y, z)]
        if any(n != 1 for n in given[0].type.shape):
            raise TypeError(
                format_error(f"{self}: `alpha` is a number", context=[describe(given[0])], hint="pass a scalar")
            )
        dtype = str(upcast(*(given[i].type.dtype for i in (0, 1, 5, 6))))
        inputs = self.check(given, dtype)
        if self.inplace and inputs[6] is not given[6]:
            raise TypeError(
                format_error(
                    f"{self}: the result has the dtype {dtype}, so it cannot take the memory of `z`",
                    context=[describe(given[6])],
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
        given = [as_tensor_variable(part) for part in (alpha, data, indices, indptr, other, y)]
        dtype = str(upcast(*(given[i].type.dtype for i in (0, 1, 5))))
        inputs = [*self.check(given, dtype), *(as_tensor_variable(n).astype("int64") for n in lengths)]
        return Apply(self, inputs, [dense("int64", 1), dense(dtype, 2)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Multiply with SciPy, and take the rows."""
        product = _product(self, values[1:5], values[5])
        wanted = int(values[6]), int(values[7])
        if product.shape != wanted:
            raise ValueError(format_error(f"a product of shape {product.shape} is added to {wanted}", hint="hint z"))
        rows = np.diff(assembled(self.format, *values[1:5]).tocsr().indptr).nonzero()[0]
        return rows, product[rows] * values[0].reshape(())

    def __str__(self) -> str:
        return f"UsmmRows{{{self.format}}}"


not_differentiated(CompressedDot, CompressedUsmm, UsmmRows)


def _compared(node: Apply[Any], rows: Term, columns: Term) -> list[list[Term]]:
    """Return the lengths of what is added to that the product is compared with."""
    other, y = node.inputs[4:6]
    in_columns = [term_of(y, 1), columns]
    return [in_columns, [(other, VALUE), rows]] if node.op.format == "csc" else [in_columns]


@COMPARED.register(CompressedUsmm)
def _compared_by_usmm(node: Apply[CompressedUsmm]) -> list[list[Term]]:
    return _compared(node, term_of(node.inputs[6], 0), term_of(node.inputs[6], 1))


@COMPARED.register(UsmmRows)
def _compared_by_rows(node: Apply[UsmmRows]) -> list[list[Term]]:
    return _compared(node, (node.inputs[6], VALUE), (node.inputs[7], VALUE))
