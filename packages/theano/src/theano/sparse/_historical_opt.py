"""Ops that rewrites of Theano 1.0 put into graphs, on the arrays that sparse matrices consist of.

Rewrites put others in here (`theano_sparse.CompressedDot` and the like), which run in C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from theano_graph import Apply, FunctionGraph, Variable, format_error
from theano_linker_c import optdb
from theano_linker_c.scalar import upcast
from theano_optimize import Phase, node_rewriter
from theano_sparse import (
    CSM,
    MulSD,
    SparseOp,
    UsmmCscDense,
    as_sparse_variable,
    check_arrays,
    col_scale,
    csm_data,
    csm_indices,
    csm_indptr,
    csm_properties,
    major_of,
    stored_positions,
    with_data,
)
from theano_tensor import TensorType, as_tensor_variable

from ._historical import CLASSES, CSMGrad, MulSV, StructuredAddSV


def _vector(dtype: str) -> Variable:
    vector: Variable = TensorType(dtype, (None,))()
    return vector


def _matrix(format: str, arrays: Sequence[Any], shape: tuple[int, int]) -> Any:
    """Return the matrix of a shape that arrays make; ValueError where they make none, which SciPy does not see."""
    n_major, length = shape if format == "csr" else shape[::-1]
    data, indices, indptr = arrays
    check_arrays(data, indices, indptr, n_major, length)
    return CLASSES[format](tuple(arrays), shape=shape)


class StructuredDotCSC(SparseOp):
    """The product of a csc matrix and a dense one: of ``data, indices, indptr``, the number of rows, and the other."""

    def make_node(self, a_val: Any, a_ind: Any, a_ptr: Any, a_nrows: Any, b: Any) -> Apply:
        """Apply to the arrays, an integer and a dense matrix."""
        inputs = [as_tensor_variable(part) for part in (a_val, a_ind, a_ptr, a_nrows, b)]
        dtype = str(upcast(inputs[0].type.dtype, inputs[4].type.dtype))
        return Apply(self, inputs, [TensorType(dtype, (None, inputs[4].type.shape[1]))()])

    def compute(self, node: Apply, *values: Any) -> Any:
        """Multiply."""
        *arrays, rows, b = values
        return np.asarray(_matrix("csc", arrays, (int(rows), len(b))) @ b)


class StructuredDotCSR(SparseOp):
    """The product of a csr matrix and a dense one: of ``data, indices, indptr`` and the other."""

    def make_node(self, a_val: Any, a_ind: Any, a_ptr: Any, b: Any) -> Apply:
        """Apply to the arrays and a dense matrix."""
        inputs = [as_tensor_variable(part) for part in (a_val, a_ind, a_ptr, b)]
        dtype = str(upcast(inputs[0].type.dtype, inputs[3].type.dtype))
        return Apply(self, inputs, [TensorType(dtype, (None, inputs[3].type.shape[1]))()])

    def compute(self, node: Apply, *values: Any) -> Any:
        """Multiply."""
        *arrays, b = values
        return np.asarray(_matrix("csr", arrays, (len(arrays[2]) - 1, len(b))) @ b)


class AddSD_ccode(SparseOp):
    """The sum of a sparse and a dense matrix; the inputs of its node are ``data, indices, indptr`` and the dense one.

    Parameters
    ----------
    format : {"csc", "csr"}
    inplace : bool
        Whether the result takes the memory of the dense matrix.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("format", "inplace")

    def __init__(self, format: str, inplace: bool = False) -> None:
        self.format, self.inplace = format, bool(inplace)
        if self.inplace:
            self.destroy_map: Mapping[int, Sequence[int]] = {0: [3]}

    def make_node(self, x: Any, y: Any) -> Apply:
        """Apply to a sparse matrix of the format and a dense one."""
        matrix, other = as_sparse_variable(x), as_tensor_variable(y)
        dtype = str(upcast(matrix.type.dtype, other.type.dtype))
        if matrix.type.format != self.format or other.type.ndim != 2 or (self.inplace and dtype != other.type.dtype):
            raise TypeError(
                format_error(
                    f"{self} adds a {self.format} matrix to a dense one that holds the result",
                    hint="use theano.sparse.add(x, y)",
                )
            )
        inputs = [csm_data(matrix), csm_indices(matrix), csm_indptr(matrix), other]
        return Apply(self, inputs, [TensorType(dtype, shape=other.type.shape)()])

    def compute(self, node: Apply, *values: Any) -> Any:
        """Add."""
        *arrays, y = values
        result = y if self.inplace else np.array(y, dtype=node.outputs[0].type.dtype)
        result += _matrix(self.format, arrays, y.shape).toarray()
        return result


class CSMGradC(CSMGrad):
    """See :class:`theano.sparse.CSMGrad`."""

    def __init__(self) -> None:
        super().__init__()


class _OnData(SparseOp):
    """Base of the ops on ``data, indices, indptr`` and a dense operand that give new data."""

    _ndim = 2

    def make_node(self, a_data: Any, a_indices: Any, a_indptr: Any, b: Any) -> Apply:
        """Apply to the arrays and a dense operand."""
        inputs = [as_tensor_variable(part) for part in (a_data, a_indices, a_indptr, b)]
        if inputs[3].type.ndim != self._ndim:
            raise TypeError(
                format_error(f"{self}: the dense operand has {self._ndim} dimensions", hint="pass that many")
            )
        return Apply(self, inputs, [_vector(inputs[3].type.dtype)])


class MulSDCSC(_OnData):
    """The data of the product, element by element, of a csc matrix and a dense one."""

    def compute(self, node: Apply, *values: Any) -> Any:
        """Multiply the stored elements."""
        data, indices, indptr, b = values
        check_arrays(data, indices, indptr, b.shape[1], b.shape[0])
        return data * b[indices, major_of(indptr, len(indices))]


class MulSDCSR(_OnData):
    """The data of the product, element by element, of a csr matrix and a dense one."""

    def compute(self, node: Apply, *values: Any) -> Any:
        """Multiply the stored elements."""
        data, indices, indptr, b = values
        check_arrays(data, indices, indptr, *b.shape)
        return data * b[major_of(indptr, len(indices)), indices]


class MulSVCSR(_OnData):
    """The data of the product of a csr matrix and a vector that is repeated in each row."""

    _ndim = 1

    def compute(self, node: Apply, *values: Any) -> Any:
        """Multiply the stored elements."""
        data, indices, indptr, b = values
        check_arrays(data, indices, indptr, len(indptr) - 1, len(b))
        return data * b[indices]


class StructuredAddSVCSR(_OnData):
    """The data of a csr matrix with a vector added to the stored elements of each row."""

    _ndim = 1

    def compute(self, node: Apply, *values: Any) -> Any:
        """Add to the stored elements."""
        data, indices, indptr, b = values
        check_arrays(data, indices, indptr, len(indptr) - 1, len(b))
        return data + b[indices]


class SamplingDotCSR(SparseOp):
    """``p * dot(x, y.T)`` where a csr matrix `p` stores something, as ``data, indices, indptr``."""

    def make_node(self, x: Any, y: Any, p_data: Any, p_ind: Any, p_ptr: Any, p_ncols: Any) -> Apply:
        """Apply to two dense matrices, the arrays of `p` and its number of columns."""
        inputs = [as_tensor_variable(part) for part in (x, y, p_data, p_ind, p_ptr, p_ncols)]
        dtype = str(upcast(*(part.type.dtype for part in inputs[:3])))
        return Apply(self, inputs, [_vector(dtype), *(_vector(part.type.dtype) for part in inputs[3:5])])

    def compute(self, node: Apply, *values: Any) -> Any:
        """Multiply rows of one with rows of the other."""
        x, y, data, indices, indptr, _ = values
        check_arrays(data, indices, indptr, len(x), len(y))
        return (
            data * np.einsum("ij,ij->i", x[major_of(indptr, len(indices))], y[indices]),
            indices.copy(),
            indptr.copy(),
        )


sd_csc, sd_csr, csm_grad_c, sampling_dot_csr = StructuredDotCSC(), StructuredDotCSR(), CSMGradC(), SamplingDotCSR()
mul_s_d_csc, mul_s_d_csr, mul_s_v_csr = MulSDCSC(), MulSDCSR(), MulSVCSR()
structured_add_s_v_csr = StructuredAddSVCSR()
usmm_csc_dense, usmm_csc_dense_inplace = UsmmCscDense(), UsmmCscDense(inplace=True)


def _fitting(node: Apply, made: Any) -> list[Variable] | None:
    return [made] if node.outputs[0].type.is_super(made.type) else None


@node_rewriter([MulSV], phase=Phase.SPECIALIZE)
def local_mul_s_v(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """The product of a sparse matrix and a vector that is repeated in each row runs in C."""
    return _fitting(node, col_scale(*node.inputs))


@node_rewriter([StructuredAddSV], phase=Phase.SPECIALIZE)
def local_structured_add_s_v(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """The sum of the stored elements of a matrix and a vector runs in C."""
    x, y = node.inputs
    return _fitting(node, with_data(x, csm_data(x) + as_tensor_variable(y)[stored_positions(x)[1]]))


@node_rewriter([MulSD], phase=Phase.SPECIALIZE)
def local_mul_s_d(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """The product of a sparse and a dense matrix works on the data of the sparse one; where a mode asks for it."""
    x, y = node.inputs
    if y.type.dtype != node.outputs[0].type.dtype:
        return None
    data, indices, indptr, shape = csm_properties(x)
    format = as_sparse_variable(x).type.format
    op = mul_s_d_csc if format == "csc" else mul_s_d_csr
    return _fitting(node, CSM(format)(op(data, indices, indptr, y), indices, indptr, shape))


optdb["specialize"].register(local_mul_s_d.name, local_mul_s_d)
for _found in (local_mul_s_v, local_structured_add_s_v):
    optdb["specialize"].register(_found.name, _found, "fast_run", "o3", "o4")
