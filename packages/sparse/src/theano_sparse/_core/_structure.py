"""The four arrays that a sparse matrix consists of, matrices made of them, and elements at given positions.

Functions of the stored elements alone are composed of these: ``CSM(format)(f(data), indices, indptr, shape)``. Its
derivatives follow from those of the parts, and `f` runs as a native kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse

from theano_graph import Apply, Variable, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import CompressedKernel, Kernel, native_kernel
from theano_tensor import SpecifyShape, TensorType, as_tensor_variable, constant, inc_subtensor, stack
from theano_tensor.gradient import DisconnectedType

from ._op import SparseOp, as_sparse_or_tensor_variable, as_sparse_variable, dense, is_sparse
from ._type import CLASSES, Operand, SparseType, _Operators

_INDEX = TensorType("int32", (None,))
_SHAPE = TensorType("int64", (2,))
_LARGEST = np.iinfo(np.int32).max


def covers(indptr: Any, stored: int) -> bool:
    """Tell whether the major slices of a matrix follow each other from its first stored element to its last one."""
    # Compared, not subtracted: differences wrap around.
    return bool(len(indptr) and indptr[0] == 0 and indptr[-1] == stored and (indptr[1:] >= indptr[:-1]).all())


def major_of(indptr: Any, stored: int) -> Any:
    """Return the number of the major slice of each stored element; ValueError where these are not so many."""
    if not covers(indptr, stored):
        raise ValueError(
            format_error(
                "the arrays do not make a sparse matrix: indptr does not cover its elements",
                hint="take them from csm_properties(x) of one matrix",
            )
        )
    return np.repeat(np.arange(len(indptr) - 1, dtype="int32"), np.diff(indptr))


def as_int32(part: Any) -> Any:
    """Return a vector of integers with the dtype of positions."""
    result = as_tensor_variable(part)
    return result if result.type.dtype == "int32" else result.astype("int32")


class CSMProperties(SparseOp):
    """The arrays ``data, indices, indptr, shape`` of a sparse matrix; the first three are views. Regular gradient."""

    view_map: Mapping[int, Sequence[int]] = {0: [0], 1: [0], 2: [0]}

    def make_node(self, csm: Operand) -> Apply[Self]:
        """Apply to a sparse matrix."""
        x = as_sparse_variable(csm)
        return Apply(self, [x], [dense(x.type.dtype, 1), _INDEX(), _INDEX(), _SHAPE()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Return the arrays of the matrix; ValueError where they do not fit into int32."""
        (x,) = values
        for part in (x.indices, x.indptr):
            if part.dtype != np.int32 and part.max(initial=0) > _LARGEST:
                raise ValueError(
                    format_error(
                        f"a sparse matrix of shape {x.shape} with {x.nnz} elements has positions beyond {_LARGEST}",
                        hint="divide it: positions and numbers of elements are int32 here",
                    )
                )
        return x.data, x.indices, x.indptr, np.asarray(x.shape)


class CSM(SparseOp):
    """A sparse matrix made of ``data, indices, indptr, shape``. Regular gradient.

    Parameters
    ----------
    format : {"csc", "csr"}
    kmap : array of int, optional
        Which elements of `data` are used, in order; all by default.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("format", "kmap_key")

    def __init__(self, format: str, kmap: Any = None) -> None:
        if format not in CLASSES:
            raise ValueError(format_error(f"CSM: there is no format {format!r}", hint="write 'csc' or 'csr'"))
        self.format = format
        self.kmap = None if kmap is None else np.asarray(kmap, "int64")
        self.kmap_key = None if self.kmap is None else tuple(self.kmap.tolist())
        if self.kmap is None:
            self.view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, data: Operand, indices: Operand, indptr: Operand, shape: Operand) -> Apply[Self]:
        """Apply to vectors: data, indices, indptr, and the two lengths."""
        values = as_tensor_variable(data)
        others = [as_tensor_variable(part) for part in (indices, indptr, shape)]
        if values.type.ndim != 1:
            raise TypeError(
                format_error("CSM: `data` is a vector", context=[describe(values)], hint="pass one dimension")
            )
        for name, part in zip(("indices", "indptr", "shape"), others, strict=True):
            if part.type.ndim != 1 or not part.type.dtype.startswith(("int", "uint")):
                raise TypeError(
                    format_error(
                        f"CSM: `{name}` is a vector of integers", context=[describe(part)], hint="pass integers"
                    )
                )
        inputs = [
            values,
            *(as_int32(part) for part in others[:2]),
            others[2] if others[2].type.dtype == "int64" else others[2].astype("int64"),
        ]
        return Apply(self, inputs, [SparseType(self.format, values.type.dtype).make_variable()])

    def lengths(self, node: Apply[Self]) -> Any:
        """Return the last input."""
        return node.inputs[3]

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Put the matrix together; ValueError where the arrays do not fit each other."""
        data, indices, indptr, shape = values
        if len(shape) != 2:
            raise ValueError(format_error(f"CSM: a shape has 2 lengths, not {len(shape)}", hint="pass (rows, columns)"))
        if self.kmap is not None:
            data = data[self.kmap]
        n_major, length = (int(n) for n in (shape if self.format == "csr" else shape[::-1]))
        check_arrays(data, indices, indptr, n_major, length)
        # Only the elements are a view: the positions must not change with other matrices made of them.
        return CLASSES[self.format]((data, indices.copy(), indptr.copy()), shape=tuple(int(n) for n in shape))

    def __str__(self) -> str:
        return f"CSM{{{self.format}}}"


class TrustedCSM(CSM):
    """:class:`CSM` of arrays that are known to make a matrix. Put in by rewrites.

    Parameters
    ----------
    format : {"csc", "csr"}
    owns : bool
        Whether nothing else uses the arrays, so that the matrix consists of them and not of copies.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("format", "owns")

    def __init__(self, format: str, owns: bool = False) -> None:
        super().__init__(format)
        self.owns = bool(owns)

    def compute(self, node: Apply, *values: Any) -> Any:
        """Put the matrix together."""
        data, indices, indptr, shape = values
        if len(data) != len(indices):
            raise ValueError(
                format_error(
                    f"CSM: the arrays do not make a matrix: {len(data)} elements have {len(indices)} positions",
                    hint="make as many elements as the matrix stores",
                )
            )
        if not self.owns:
            indices, indptr = indices.copy(), indptr.copy()
        return CLASSES[self.format]((data, indices, indptr), shape=(int(shape[0]), int(shape[1])))


def check_arrays(data: Any, indices: Any, indptr: Any, n_major: int, length: int) -> None:
    """Raise ValueError where arrays do not make a matrix of `n_major` slices, each of a length."""
    stored = len(indices)
    wrong = None
    if len(data) != stored:
        wrong = f"{len(data)} elements have {stored} positions"
    elif len(indptr) != n_major + 1:
        wrong = f"{n_major} major slices need {n_major + 1} entries in indptr, not {len(indptr)}"
    elif not covers(indptr, stored):
        wrong = f"indptr must grow from 0 to {stored}"
    elif stored and (indices.min() < 0 or indices.max() >= length):
        wrong = f"positions must be from 0 to {length - 1}"
    if wrong is not None:
        raise ValueError(
            format_error(
                f"CSM: the arrays do not make a matrix: {wrong}", hint="take them from csm_properties(x) of one matrix"
            )
        )


csm_properties = CSMProperties()
CSC = CSM("csc")
CSR = CSM("csr")


class CooIndices(SparseOp):
    """Row and column of each stored element, from `indices` and `indptr`; one of the two is a view of `indices`.

    Parameters
    ----------
    format : {"csc", "csr"}
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("format",)

    def __init__(self, format: str) -> None:
        self.format = format
        self.view_map: Mapping[int, Sequence[int]] = {int(format == "csr"): [0]}

    def make_node(self, indices: Operand, indptr: Operand) -> Apply[Self]:
        """Apply to two vectors of integers."""
        inputs = [as_int32(part) for part in (indices, indptr)]
        return Apply(self, inputs, [dense("int32", 1), dense("int32", 1)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Return the vectors of rows and of columns."""
        indices, indptr = values
        major = major_of(indptr, len(indices))
        return (major, indices) if self.format == "csr" else (indices, major)


@native_kernel.register(CooIndices)
def _native_gather(node: Apply[CooIndices]) -> Kernel:
    op: Any = node.op
    return CompressedKernel("major_indices", "float64", op.format == "csr")


class GatherElements(SparseOp):
    """Elements of a sparse matrix at given rows and columns; 0 where nothing is stored."""

    def make_node(self, x: Operand, rows: Operand, columns: Operand) -> Apply[Self]:
        """Apply to a sparse matrix and two vectors of integers of one length."""
        matrix = as_sparse_variable(x)
        positions = [as_tensor_variable(part) for part in (rows, columns)]
        return Apply(self, [matrix, *positions], [dense(matrix.type.dtype, 1)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Look the elements up."""
        x, rows, columns = values
        return np.asarray(x[rows, columns]).ravel() if len(rows) else np.zeros(0, x.dtype)


class ScatterElements(SparseOp):
    """The matrix with given elements at given rows and columns; those at one position add up.

    Parameters
    ----------
    format : {"csc", "csr"}
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("format",)

    def __init__(self, format: str) -> None:
        self.format = format

    def make_node(self, elements: Operand, rows: Operand, columns: Operand, shape: Operand) -> Apply[Self]:
        """Apply to three vectors of one length, and the two lengths of the matrix."""
        inputs = [as_tensor_variable(part) for part in (elements, rows, columns, shape)]
        return Apply(self, inputs, [SparseType(self.format, inputs[0].type.dtype).make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Put the elements in."""
        elements, rows, columns, shape = values
        return scipy.sparse.coo_matrix((elements, (rows, columns)), shape=tuple(int(n) for n in shape))


gather_elements = GatherElements()


def stored_positions(x: Any) -> tuple[Any, Any]:
    """Return the rows and the columns of the stored elements of a sparse matrix, in order."""
    matrix = as_sparse_variable(x)
    _, indices, indptr, _ = csm_properties(matrix)
    rows, columns = CooIndices(matrix.type.format)(indices, indptr)
    return rows, columns


def elements_where_stored(g: Any, x: Any) -> Any:
    """Return the elements of `g`, sparse or dense, wherever `x` stores one: a vector like ``csm_data(x)``."""
    rows, columns = stored_positions(x)
    return gather_elements(g, rows, columns) if is_sparse(g) else as_tensor_variable(g)[rows, columns]


def with_data(x: Any, data: Any) -> Any:
    """Return the matrix that stores `data` wherever `x` stores something."""
    matrix = as_sparse_variable(x)
    _, indices, indptr, shape = csm_properties(matrix)
    return CSM(matrix.type.format)(data, indices, indptr, shape)


def csm_data(x: Operand) -> Any:
    """Return the stored elements of a sparse matrix, a vector."""
    return csm_properties(x)[0]


def csm_indices(x: Operand) -> Any:
    """Return, for each stored element, its minor index: the row in csc, the column in csr format."""
    return csm_properties(x)[1]


def csm_indptr(x: Operand) -> Any:
    """Return where each row (csr) or column (csc) begins among the stored elements, and their number at the end."""
    return csm_properties(x)[2]


def csm_shape(x: Operand) -> Any:
    """Return the number of rows and of columns, a vector of 2 integers; the matrix's node gives it if it can."""
    matrix = as_sparse_variable(x)
    op: Any = matrix.owner.op if matrix.owner is not None else None
    if isinstance(op, SparseOp):
        if op.like is not None:
            return csm_shape(matrix.owner.inputs[op.like])
        lengths = op.lengths(matrix.owner)
        if lengths is not None:
            return lengths
    if isinstance(op, SpecifyShape):
        source, *said = matrix.owner.inputs
        by_axis = dict(zip(op.axes, said, strict=True))
        return stack([by_axis[i] if i in by_axis else csm_shape(source)[i] for i in range(2)])
    return csm_properties(matrix)[3]


def sp_ones_like(x: Operand, dtype: str | None = None) -> Any:
    """Return a matrix of ones that stores the same positions as `x`. Regular gradient."""
    matrix = as_sparse_variable(x)
    data = csm_data(matrix)
    return with_data(matrix, data.ones_like(dtype=dtype or matrix.type.dtype))


def sp_zeros_like(x: Operand, dtype: str | None = None) -> Any:
    """Return a matrix of the shape of `x` that stores nothing. Regular gradient."""
    matrix = as_sparse_variable(x)
    _, indices, indptr, shape = csm_properties(matrix)
    data = constant(np.zeros(0, dtype or matrix.type.dtype))
    return CSM(matrix.type.format)(data, indices[:0], indptr.zeros_like(), shape)


_Operators.table |= {
    "shape": csm_shape,
    "size": lambda x: csm_data(x).size,
    "zeros_like": sp_zeros_like,
    "ones_like": sp_ones_like,
}


def connected(cotangent: Variable) -> bool:
    """Tell whether anything depends on the output that has this cotangent."""
    return not isinstance(cotangent.type, DisconnectedType)


@pullback.register(CSMProperties)
def _pullback_properties(node: Apply[CSMProperties], cotangents: list[Variable]) -> list[Variable | None]:
    data = cotangents[0]
    return [with_data(node.inputs[0], data) if connected(data) else None]


@pushforward.register(CSMProperties)
def _pushforward_properties(node: Apply[CSMProperties], tangents: list[Variable | None]) -> list[Variable | None]:
    tangent = tangents[0]
    if tangent is None:
        return [None] * 4
    return [elements_where_stored(tangent, node.inputs[0]), None, None, None]


@pullback.register(CSM)
def _pullback_csm(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    data, indices, indptr, _ = node.inputs
    rows, columns = CooIndices(node.op.format)(indices, indptr)
    g = as_sparse_or_tensor_variable(cotangents[0])
    result = gather_elements(g, rows, columns) if is_sparse(g) else g[rows, columns]
    if node.op.kmap is not None:
        result = inc_subtensor(as_tensor_variable(data).zeros_like(dtype=result.dtype)[node.op.kmap], result)
    return [result, None, None, None]


@pushforward.register(CSM)
def _pushforward_csm(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    if tangents[0] is None:
        return [None]
    result: Variable = node.op(tangents[0], *node.inputs[1:])
    return [result]


@pullback.register(CooIndices)
def _pullback_gather(node: Apply[CooIndices], cotangents: list[Variable]) -> list[Variable | None]:
    return [None, None]


@pushforward.register(CooIndices)
def _pushforward_gather(node: Apply[CooIndices], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None, None]


@pullback.register(GatherElements)
def _pullback_elements(node: Apply[GatherElements], cotangents: list[Variable]) -> list[Variable | None]:
    x, rows, columns = node.inputs
    scattered = ScatterElements(as_sparse_variable(x).type.format)(cotangents[0], rows, columns, csm_shape(x))
    return [scattered, None, None]


@pushforward.register(GatherElements)
def _pushforward_elements(node: Apply[GatherElements], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else gather_elements(tangents[0], *node.inputs[1:])]


@pullback.register(ScatterElements)
def _pullback_scatter(node: Apply[ScatterElements], cotangents: list[Variable]) -> list[Variable | None]:
    _, rows, columns, _ = node.inputs
    g = as_sparse_or_tensor_variable(cotangents[0])
    return [gather_elements(g, rows, columns) if is_sparse(g) else g[rows, columns], None, None, None]


@pushforward.register(ScatterElements)
def _pushforward_scatter(node: Apply[ScatterElements], tangents: list[Variable | None]) -> list[Variable | None]:
    result: Variable | None = None if tangents[0] is None else node.op(tangents[0], *node.inputs[1:])
    return [result]


@shape_rule.register(CooIndices)
def _shape_gather(node: Apply[CooIndices], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0], input_shapes[0]]


@shape_rule.register(GatherElements)
def _shape_elements(node: Apply[GatherElements], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[1]]
