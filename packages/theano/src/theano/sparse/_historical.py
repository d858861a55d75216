"""Ops of sparse matrices of Theano 1.0 that the layer has no name for, names of classes and values, and digests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from theano_graph import Apply, Variable, describe, format_error
from theano_sparse import (
    Comparison,
    GetItem2d,
    GetItemScalar,
    SparseOp,
    SparseType,
    all_dtypes,
    as_sparse_variable,
    col_scale,
    csm_data,
    csm_indices,
    csm_indptr,
    dot,
    is_sparse,
    major_of,
    mul_s_s,
    sampling_dot as sampled_product,
    sp_sum,
    with_data,
)
from theano_tensor import TensorType, as_tensor_variable

# ---- Ops of sparse matrices of Theano 1.0 that the layer has no name for, and names of classes and values

# ---- Ops on sparse matrices of Theano 1.0 that are here composed of those of `theano_sparse`
#
# The functions of `theano.sparse` use other ops, which know more dtypes. These are for programs that apply, compare or
# subclass the old ones.

CLASSES = {"csc": scipy.sparse.csc_matrix, "csr": scipy.sparse.csr_matrix}


class _Structured(SparseOp):
    """Base of the ops whose result has the stored positions of their first operand."""

    like: ClassVar[int | None] = 0

    def make_node(self, x: Any, y: Any) -> Apply:
        """Apply to a sparse matrix and a vector, of one dtype."""
        matrix, vector = as_sparse_variable(x), as_tensor_variable(y)
        _refuse(self, vector, vector.type.ndim != 1, "the second operand is a vector")
        if matrix.type.dtype != vector.type.dtype:
            raise NotImplementedError(
                format_error(
                    f"{self}: both operands have one dtype, not {matrix.type.dtype} and {vector.type.dtype}",
                    hint="cast one of them",
                )
            )
        return Apply(self, [matrix, vector], [matrix.type.make_variable()])


def _refuse(op: SparseOp, variable: Any, wrong: bool, wanted: str) -> None:
    if wrong:
        raise TypeError(format_error(f"{op}: {wanted}", context=[describe(variable)], hint="pass that"))


def _factors(x: Any, vector: Any, axis: int) -> Any:
    """Return the element of a vector for each stored element of a matrix: by its row (0) or column (1)."""
    if x.shape[axis] != len(vector):
        raise ValueError(
            format_error(f"{len(vector)} elements for {x.shape[axis]} lines", hint="pass one for each line")
        )
    coordinates = x.tocoo(copy=False)
    return vector[coordinates.col if axis else coordinates.row]


def _with(x: Any, data: Any) -> Any:
    return CLASSES[x.format]((data, x.indices.copy(), x.indptr.copy()), shape=x.shape)


class MulSV(_Structured):
    """The product of a sparse matrix and a vector that is repeated in each row. Regular gradient."""

    def compute(self, node: Apply, *values: Any) -> Any:
        """Multiply the stored elements."""
        x, y = values
        return _with(x, x.data * _factors(x, y, 1))

    def grad(self, inputs: Sequence[Any], gout: Sequence[Any]) -> list[Any]:
        """Return the gradients by the matrix and by the vector."""
        (x, y), (gz,) = inputs, gout
        return [col_scale(gz, y), sp_sum(mul_s_s(x, gz), axis=0, sparse_grad=True)]


class StructuredAddSV(_Structured):
    """A sparse matrix with a vector added to the stored elements of each row. Structured gradient."""

    def compute(self, node: Apply, *values: Any) -> Any:
        """Add to the stored elements."""
        x, y = values
        return _with(x, x.data + _factors(x, y, 1))

    def grad(self, inputs: Sequence[Any], gout: Sequence[Any]) -> list[Any]:
        """Return the gradients by the matrix and by the vector."""
        return [gout[0], sp_sum(gout[0], axis=0, sparse_grad=True)]


class ColScaleCSC(_Structured):
    """A csc matrix with each column multiplied by the element of a vector. Structured gradient."""

    _axis = 1

    def make_node(self, x: Any, s: Any) -> Apply:
        """Apply to a csc matrix and a vector."""
        if as_sparse_variable(x).type.format != "csc":
            raise ValueError(
                format_error(f"{self} takes a csc matrix", context=[describe(x)], hint="use col_scale(x, s)")
            )
        return super().make_node(x, s)

    def compute(self, node: Apply, *values: Any) -> Any:
        """Multiply the stored elements."""
        x, s = values
        return _with(x, x.data * _factors(x, s, self._axis))

    def grad(self, inputs: Sequence[Any], gout: Sequence[Any]) -> list[Any]:
        """Return the gradients by the matrix and by the vector."""
        (x, s), (gz,) = inputs, gout
        return [self(gz, s), sp_sum(mul_s_s(x, gz), axis=1 - self._axis)]


class RowScaleCSC(ColScaleCSC):
    """A csc or csr matrix with each row multiplied by the element of a vector. Structured gradient."""

    _axis = 0

    def make_node(self, x: Any, s: Any) -> Apply:
        """Apply to a sparse matrix and a vector."""
        return _Structured.make_node(self, x, s)


class AddSSData(SparseOp):
    """The sum of two sparse matrices that store the same positions. Structured gradient."""

    like: ClassVar[int | None] = 0

    def make_node(self, x: Any, y: Any) -> Apply:
        """Apply to two matrices of one format and dtype."""
        first, second = as_sparse_variable(x), as_sparse_variable(y)
        if first.type != second.type:
            raise NotImplementedError(
                format_error(
                    f"{self}: both matrices have one format and dtype",
                    context=[describe(first), describe(second)],
                    hint="use add(x, y)",
                )
            )
        return Apply(self, [first, second], [first.type.make_variable()])

    def compute(self, node: Apply, *values: Any) -> Any:
        """Add the stored elements."""
        x, y = values
        if x.shape != y.shape or x.data.shape != y.data.shape:
            raise ValueError(format_error(f"{self}: the matrices store different positions", hint="use add(x, y)"))
        return _with(x, x.data + y.data)

    def grad(self, inputs: Sequence[Any], gout: Sequence[Any]) -> list[Any]:
        """Return the gradient of both, and None where elements are integers."""
        return [gout[0] if x.type.dtype.startswith(("float", "complex")) else None for x in inputs]


class SamplingDot(SparseOp):
    """``p * dot(x, y.T)`` where `p` stores something. Structured gradient for `p`."""

    like: ClassVar[int | None] = 2

    def make_node(self, x: Any, y: Any, p: Any) -> Apply:
        """Apply to two dense matrices and a sparse one."""
        pattern = as_sparse_variable(p)
        operands = [as_tensor_variable(part) for part in (x, y)]
        for operand in operands:
            _refuse(self, operand, operand.type.ndim != 2, "both operands are dense matrices")
        return Apply(self, [*operands, pattern], [pattern.type.make_variable()])

    def compute(self, node: Apply, *values: Any) -> Any:
        """Multiply rows of one with rows of the other."""
        x, y, p = values
        positions = p.tocoo(copy=False)
        return _with(p, p.data * np.einsum("ij,ij->i", x[positions.row], y[positions.col]))

    def grad(self, inputs: Sequence[Any], gout: Sequence[Any]) -> list[Any]:
        """Return the gradients by all three."""
        (x, y, p), (gz,) = inputs, gout
        weighted = mul_s_s(p, gz)
        by_p = with_data(p, csm_data(sampled_product(x, y, with_data(p, csm_data(p).ones_like()))) * csm_data(gz))
        return [dot(weighted, y), dot(weighted.T, x), by_p]


class CSMGrad(SparseOp):
    """The elements of a matrix at the stored positions of another one: the gradient of :class:`CSM` by its elements.

    The inputs are the four arrays of the matrix whose positions count, and those of the gradient.
    """

    def __init__(self, kmap: Any = None) -> None:
        if kmap is not None:
            raise TypeError(format_error(f"{type(self).__name__} takes no kmap", hint="leave it out"))

    def make_node(self, *parts: Any) -> Apply:
        """Apply to two times `data, indices, indptr, shape`."""
        inputs = [as_tensor_variable(part) for part in parts]
        return Apply(self, inputs, [TensorType(inputs[4].type.dtype, (None,))()])

    def compute(self, node: Apply, *values: Any) -> Any:
        """Look the elements up."""
        _, indices, indptr, shape, g_data, g_indices, g_indptr, _ = values
        other = int(shape[1] if len(indptr) - 1 == shape[0] else shape[0])
        g = scipy.sparse.csr_matrix((g_data, g_indices, g_indptr), shape=(len(indptr) - 1, other))
        rows = major_of(indptr, len(indices))
        return np.asarray(g[rows, indices]).ravel() if len(rows) else np.zeros(0, g_data.dtype)


class StructuredDotGradCSC(SparseOp):
    """The gradient of a structured product by the elements of its csc matrix.

    The inputs are `indices` and `indptr` of the matrix, the other operand, and the gradient by the product.
    """

    _by_rows = False

    def make_node(self, a_indices: Any, a_indptr: Any, b: Any, g_ab: Any) -> Apply:
        """Apply to two vectors of integers and two matrices, sparse or dense."""
        inputs = [as_tensor_variable(a_indices), as_tensor_variable(a_indptr)]
        inputs += [m if is_sparse(m) else as_tensor_variable(m) for m in (b, g_ab)]
        return Apply(self, inputs, [TensorType(inputs[3].type.dtype, (None,))()])

    def compute(self, node: Apply, *values: Any) -> Any:
        """Multiply rows of the gradient with rows of the operand."""
        indices, indptr, b, g = values
        b, g = (m.toarray() if scipy.sparse.issparse(m) else m for m in (b, g))
        lines = major_of(indptr, len(indices))
        rows, columns = (lines, indices) if self._by_rows else (indices, lines)
        return np.einsum("ij,ij->i", g[rows], b[columns])


class StructuredDotGradCSR(StructuredDotGradCSC):
    """The gradient of a structured product by the elements of its csr matrix; see :class:`StructuredDotGradCSC`."""

    _by_rows = True


def structured_dot_grad(sparse_A: Any, dense_B: Any, ga: Any) -> Any:
    """Return the gradient of ``structured_dot(A, B)`` by `A`, from that by the product."""
    op = sdg_csc if sparse_A.type.format == "csc" else sdg_csr
    return with_data(sparse_A, op(csm_indices(sparse_A), csm_indptr(sparse_A), dense_B, ga))


class _SS(Comparison):
    _relation: ClassVar[str]
    __props__: ClassVar[tuple[str, ...] | None] = ()

    def __init__(self) -> None:
        super().__init__(self._relation)

    def make_node(self, x: Any, y: Any) -> Apply:
        """Apply to two sparse matrices."""
        return super().make_node(as_sparse_variable(x), as_sparse_variable(y))

    def comparison(self, x: Any, y: Any) -> Any:
        """Compare two values element by element."""
        return self.compute(self.make_node(x, y), x, y)


class _SD(_SS):
    def make_node(self, x: Any, y: Any) -> Apply:
        """Apply to a sparse and a dense matrix."""
        return Comparison.make_node(self, as_sparse_variable(x), as_tensor_variable(y))


class EqualSS(_SS):
    """Whether elements of two sparse matrices are equal."""

    _relation = "eq"


class EqualSD(_SD):
    """Whether elements of a sparse and a dense matrix are equal."""

    _relation = "eq"


class NotEqualSS(_SS):
    """Whether elements of two sparse matrices differ."""

    _relation = "neq"


class NotEqualSD(_SD):
    """Whether elements of a sparse and a dense matrix differ."""

    _relation = "neq"


class LessThanSS(_SS):
    """Whether elements of the first of two sparse matrices are smaller."""

    _relation = "lt"


class LessThanSD(_SD):
    """Whether elements of a sparse matrix are smaller than those of a dense one."""

    _relation = "lt"


class GreaterThanSS(_SS):
    """Whether elements of the first of two sparse matrices are larger."""

    _relation = "gt"


class GreaterThanSD(_SD):
    """Whether elements of a sparse matrix are larger than those of a dense one."""

    _relation = "gt"


class LessEqualSS(_SS):
    """Whether elements of the first of two sparse matrices are smaller or equal."""

    _relation = "le"


class LessEqualSD(_SD):
    """Whether elements of a sparse matrix are smaller than those of a dense one, or equal."""

    _relation = "le"


class GreaterEqualSS(_SS):
    """Whether elements of the first of two sparse matrices are larger or equal."""

    _relation = "ge"


class GreaterEqualSD(_SD):
    """Whether elements of a sparse matrix are larger than those of a dense one, or equal."""

    _relation = "ge"


mul_s_v, structured_add_s_v, add_s_s_data = MulSV(), StructuredAddSV(), AddSSData()
sdg_csc, sdg_csr, csm_grad = StructuredDotGradCSC(), StructuredDotGradCSR(), CSMGrad
equal_s_s, equal_s_d = EqualSS(), EqualSD()
not_equal_s_s, not_equal_s_d = NotEqualSS(), NotEqualSD()
less_than_s_s, less_than_s_d = LessThanSS(), LessThanSD()
greater_than_s_s, greater_than_s_d = GreaterThanSS(), GreaterThanSD()
less_equal_s_s, less_equal_s_d = LessEqualSS(), LessEqualSD()
greater_equal_s_s, greater_equal_s_d = GreaterEqualSS(), GreaterEqualSD()


# ---- Names of `theano.sparse.basic` in Theano 1.0 besides ops: lists of dtypes and formats, types, and questions

#: Whether there are sparse matrices: SciPy is always there.
enable_sparse = True
imported_scipy = True
scipy_ver = [int(part) for part in scipy.__version__.split(".")[:2]]
sparse_formats = ["csc", "csr"]

_mtypes = [scipy.sparse.csc_matrix, scipy.sparse.csr_matrix]
_mtype_to_str = dict(zip(_mtypes, sparse_formats, strict=True))


def _of(kind: str) -> list[str]:
    return sorted(dtype for dtype in all_dtypes if dtype.startswith(kind))


complex_dtypes, float_dtypes, int_dtypes, uint_dtypes = (_of(kind) for kind in ("complex", "float", "int", "uint"))
integer_dtypes = discrete_dtypes = int_dtypes + uint_dtypes
continuous_dtypes = complex_dtypes + float_dtypes

csc_dmatrix, csr_dmatrix = (SparseType(format, "float64") for format in sparse_formats)
csc_fmatrix, csr_fmatrix = (SparseType(format, "float32") for format in sparse_formats)

get_item_2d, get_item_scalar = GetItem2d, GetItemScalar()


def _variable(x: Any) -> Variable:
    if not isinstance(x, Variable):
        raise NotImplementedError(
            format_error(f"this is asked of variables, not of {type(x).__name__}", hint="pass one")
        )
    return x


def _is_sparse_variable(x: Any) -> bool:
    """Tell whether a variable is sparse."""
    return isinstance(_variable(x).type, SparseType)


def _is_dense_variable(x: Any) -> bool:
    """Tell whether a variable is a tensor."""
    return isinstance(_variable(x).type, TensorType)


def _value(x: Any, *kinds: type) -> Any:
    if not (isinstance(x, kinds) or scipy.sparse.issparse(x)):
        raise NotImplementedError(
            format_error(f"this is asked of matrices, not of {type(x).__name__}", hint="pass one")
        )
    return x


def _is_sparse(x: Any) -> bool:
    """Tell whether a value is a sparse matrix of SciPy, and no array."""
    return bool(scipy.sparse.issparse(_value(x, np.ndarray, tuple, list)))


def _is_dense(x: Any) -> bool:
    """Tell whether a value is an array, and no sparse matrix of SciPy."""
    return isinstance(_value(x, np.ndarray), np.ndarray)


# ---- Digests of sparse matrices


def hash_from_sparse(data: Any) -> str:
    """Return a text that differs for matrices of other elements, positions, shape, dtype or format.

    Parameters
    ----------
    data : scipy.sparse matrix
        In csc or csr format.
    """
    digest = hashlib.sha256(f"{data.shape} {data.dtype} {data.format}".encode())
    for part in (data.data, data.indices, data.indptr):
        digest.update(f" {part.dtype} {part.shape} ".encode())
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()
