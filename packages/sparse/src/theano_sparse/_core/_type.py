"""The type of sparse matrices, and annotations for arguments of that type."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, TypeAlias

import numpy as np
import scipy.sparse

from theano_graph import Constant, Type, Variable, format_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from theano_graph import Apply


# ---- Arguments of operations, for type checkers

if TYPE_CHECKING:

    class Matrix(Protocol):
        """A matrix of SciPy, as far as it matters here; SciPy has no types of its own."""

        format: str
        shape: tuple[int, ...]
        dtype: np.dtype[Any]
        nnz: int


#: A sparse or dense variable, or a value for one.
Operand: TypeAlias = "Variable | Apply | Matrix | np.ndarray[Any, Any] | np.generic | complex | Sequence[Any]"


# ---- The type

#: The dtypes that the elements of a sparse matrix may have.
all_dtypes = frozenset(
    f"{kind}{bits}"
    for kind, sizes in (
        ("int", (8, 16, 32, 64)),
        ("uint", (8, 16, 32, 64)),
        ("float", (32, 64)),
        ("complex", (64, 128)),
    )
    for bits in sizes
)

#: Format -> the class of its values.
CLASSES: dict[str, Any] = {"csc": scipy.sparse.csc_matrix, "csr": scipy.sparse.csr_matrix}

#: Tolerances of `values_eq_approx`: relative and absolute, by the precision of the elements.
_TOLERANCES = {"float32": (1e-4, 1e-5), "complex64": (1e-4, 1e-5)}


class SparseType(Type):
    """Matrices in a compressed sparse format, as SciPy has them.

    Parameters
    ----------
    format : {"csc", "csr"}
        Compressed by columns or by rows.
    dtype : str
        Of the elements, one of `all_dtypes`. Both orders of the two arguments are understood.

    Raises
    ------
    ValueError
        For another format.
    TypeError
        For another dtype, or if `broadcastable` is given: sparse matrices do not broadcast.

    Examples
    --------
    >>> from theano import sparse
    >>> x = sparse.SparseType("csc", "float32")("x")
    >>> x.format, x.dtype, x.ndim
    ('csc', 'float32', 2)
    """

    ndim: ClassVar[int] = 2
    dtype_set: ClassVar[set[str]] = set(all_dtypes)
    broadcastable: ClassVar[tuple[bool, bool]] = (False, False)

    def __init__(self, format: str, dtype: str = "float64", broadcastable: Any = None) -> None:
        if format not in CLASSES and dtype in CLASSES:
            format, dtype = dtype, format
        if format not in CLASSES:
            raise ValueError(format_error(f"SparseType: there is no format {format!r}", hint="write 'csc' or 'csr'"))
        if dtype not in all_dtypes:
            raise TypeError(
                format_error(
                    f"SparseType: elements of dtype {dtype!r} are not supported",
                    hint=f"choose one of {', '.join(sorted(all_dtypes))}",
                )
            )
        if broadcastable is not None:
            raise TypeError(
                format_error(
                    "SparseType: sparse matrices always have two dimensions that do not broadcast",
                    hint="leave `broadcastable` away",
                )
            )
        self.format = format
        self.dtype = str(dtype)

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return a matrix of this format and dtype.

        Parameters
        ----------
        value : scipy.sparse matrix, or array with at most two dimensions
            The elements of an array other than zeros are stored; one with less than two dimensions is a row.
        strict : bool
            Whether nothing is converted.
        allow_downcast : bool or None
            Whether elements may lose precision; None: as False.

        Raises
        ------
        TypeError
            If `value` is no matrix, or of another format or dtype that is not converted.
        """
        target = CLASSES[self.format]
        if isinstance(value, target) and value.dtype == self.dtype:
            return value
        if not strict and isinstance(value, (np.ndarray, list)) and np.ndim(value) <= 2:
            value = target(np.atleast_2d(value))
        if not scipy.sparse.issparse(value) or value.ndim != 2:
            raise TypeError(
                format_error(
                    f"a sparse matrix is wanted here, not {type(value).__name__}",
                    context=[f"wanted: {self}"],
                    hint=f"pass scipy.sparse.{self.format}_matrix(value)",
                )
            )
        if strict:
            raise TypeError(
                format_error(
                    f"a {self.format} matrix of {self.dtype} is wanted, not a {value.format} one of {value.dtype}",
                    hint=f"pass scipy.sparse.{self.format}_matrix(value, dtype={self.dtype!r})",
                )
            )
        if not (allow_downcast or np.can_cast(value.dtype, self.dtype)):
            raise TypeError(
                format_error(
                    f"elements of dtype {value.dtype} do not fit into {self.dtype} without loss",
                    hint=f"pass value.astype({self.dtype!r}), or allow_input_downcast=True",
                )
            )
        return target(value, dtype=self.dtype)

    def values_eq(self, a: Any, b: Any) -> bool:
        """Tell whether two matrices have equal elements; stored zeros equal the others."""
        return bool(a.format == b.format and a.shape == b.shape and (a != b).nnz == 0)

    def values_eq_approx(self, a: Any, b: Any, eps: float | None = None) -> bool:
        """Tell whether two matrices have elements that are equal up to rounding; NaN equals NaN."""
        if a.format != b.format or a.shape != b.shape:
            return False
        relative, absolute = _TOLERANCES.get(str(a.dtype), (1e-7, 1e-8)) if eps is None else (eps, eps)
        first, second = (canonical(m) for m in (a, b))
        if np.array_equal(first.indptr, second.indptr) and np.array_equal(first.indices, second.indices):
            return bool(np.allclose(first.data, second.data, relative, absolute, equal_nan=True))
        gap = abs(a - b)
        bound = absolute + relative * (abs(b).max() if b.nnz else 0)
        return not gap.nnz or bool(gap.max() <= bound)

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        """Tell whether two values, matrices or arrays, may be partly the same memory."""
        return any(np.may_share_memory(x, y) for x in _arrays(a) for y in _arrays(b))

    def is_super(self, other: Type) -> bool:
        """Tell whether each value of `other` is a value of this type."""
        return self == other

    def convert_variable(self, var: Variable) -> Variable | None:
        """Return `var` if it is of this type, else None: nothing is converted silently."""
        return var if var.type == self else None

    def get_shape_info(self, obj: Any) -> tuple[int, ...]:
        """Return the lengths of the arrays that a value consists of, and its shape."""
        return (*obj.shape, obj.nnz)

    def get_size(self, shape_info: tuple[int, ...]) -> int:
        """Return how many bytes a value with this shape information takes."""
        rows, columns, stored = shape_info
        n_major = columns if self.format == "csc" else rows
        return int(stored * (np.dtype(self.dtype).itemsize + 4) + (n_major + 1) * 4)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (other.format, other.dtype) == (self.format, self.dtype)

    def __hash__(self) -> int:
        return hash((SparseType, self.format, self.dtype))

    def __str__(self) -> str:
        return f"Sparse[{self.dtype}, {self.format}]"

    def __repr__(self) -> str:
        return f"SparseType({self.format!r}, {self.dtype!r})"


def canonical(matrix: Any) -> Any:
    """Return a matrix with sorted indices, without stored zeros; a copy where something has to change."""
    result = matrix.copy()
    result.sum_duplicates()
    result.eliminate_zeros()
    return result


def _arrays(value: Any) -> list[Any]:
    if scipy.sparse.issparse(value):
        return [value.data, value.indices, value.indptr]
    return [value] if isinstance(value, np.ndarray) else []


class _Operators:
    """The methods of sparse variables; the modules that define the functions behind them put these into `table`."""

    table: ClassVar[dict[str, Any]] = {}
    # NumPy's arrays leave operators with a sparse variable to it.
    __array_ufunc__ = None

    @property
    def _kind(self) -> SparseType:
        kind: Any = self.type  # type: ignore[attr-defined]  # every variable has a type
        result: SparseType = kind
        return result

    @property
    def dtype(self) -> str:
        """The dtype of the elements."""
        return self._kind.dtype

    @property
    def format(self) -> str:
        """How the matrix is stored: ``"csc"`` or ``"csr"``."""
        return self._kind.format

    @property
    def ndim(self) -> int:
        """The number of dimensions, 2."""
        return 2

    @property
    def broadcastable(self) -> tuple[bool, bool]:
        """Sparse matrices do not broadcast."""
        return (False, False)

    @property
    def shape(self) -> Any:
        """The lengths of both dimensions: a vector of 2 integers."""
        return self.table["shape"](self)

    @property
    def size(self) -> Any:
        """How many elements are stored."""
        return self.table["size"](self)

    @property
    def T(self) -> Any:
        """The transpose, in the other format."""
        return self.table["transpose"](self)

    @property
    def real(self) -> Any:
        """The real parts of the elements."""
        return self.table["real"](self)

    def transpose(self) -> Any:
        """Return the transpose, in the other format."""
        return self.table["transpose"](self)

    def toarray(self) -> Any:
        """Return the same matrix as a dense one."""
        return self.table["toarray"](self)

    def astype(self, dtype: str) -> Any:
        """Return the matrix with its elements converted to `dtype`."""
        return self.table["cast"](self, dtype)

    def zeros_like(self, dtype: str | None = None) -> Any:
        """Return a matrix of this shape in which nothing is stored."""
        return self.table["zeros_like"](self, dtype)

    def ones_like(self, dtype: str | None = None) -> Any:
        """Return the matrix with ones wherever something is stored."""
        return self.table["ones_like"](self, dtype)

    def sum(self, axis: int | None = None, sparse_grad: bool = False) -> Any:
        """Return the sum of the elements, dense; see :func:`sp_sum`."""
        return self.table["sum"](self, axis, sparse_grad)

    def dot(self, other: Operand) -> Any:
        """Return the dense product with `other`; see :func:`dot`."""
        return self.table["dot"](self, other)

    def __neg__(self) -> Any:
        return self.table["neg"](self)

    def __abs__(self) -> Any:
        return self.table["abs"](self)

    def __add__(self, other: Operand) -> Any:
        return self.table["add"](self, other)

    def __radd__(self, other: Operand) -> Any:
        return self.table["add"](other, self)

    def __sub__(self, other: Operand) -> Any:
        return self.table["sub"](self, other)

    def __rsub__(self, other: Operand) -> Any:
        return self.table["sub"](other, self)

    def __mul__(self, other: Operand) -> Any:
        return self.table["mul"](self, other)

    def __rmul__(self, other: Operand) -> Any:
        return self.table["mul"](other, self)

    # The hook of `theano.dot`: sparse where both operands are, with a structured gradient.
    def __dot__(self, other: Operand) -> Any:
        return self.table["structured_dot"](self, other)

    def __rdot__(self, other: Operand) -> Any:
        return self.table["structured_dot"](other, self)

    def __matmul__(self, other: Operand) -> Any:
        return self.table["dot"](self, other)

    def __rmatmul__(self, other: Operand) -> Any:
        return self.table["dot"](other, self)

    def __lt__(self, other: Operand) -> Any:
        return self.table["lt"](self, other)

    def __le__(self, other: Operand) -> Any:
        return self.table["le"](self, other)

    def __gt__(self, other: Operand) -> Any:
        return self.table["gt"](self, other)

    def __ge__(self, other: Operand) -> Any:
        return self.table["ge"](self, other)

    def __getitem__(self, index: Any) -> Any:
        return self.table["getitem"](self, index)

    def __len__(self) -> NoReturn:
        raise TypeError(format_error("the length of a symbolic sparse matrix is not known yet", hint="use x.shape[0]"))

    def __iter__(self) -> NoReturn:
        raise TypeError(
            format_error("a symbolic sparse matrix cannot be iterated over", hint="take rows: x[i:i + 1, :]")
        )

    def __bool__(self) -> bool:
        raise TypeError(format_error("the truth of a symbolic sparse matrix is not known yet", hint="compute it first"))


class SparseVariable(_Operators, Variable):
    """A symbolic sparse matrix, with SciPy's operators: ``*`` by elements, ``+``, ``-``, comparisons, slices, ``T``.

    ``dot`` and ``@`` give dense products.
    """

    type: SparseType


class SparseConstant(_Operators, Constant):
    """A sparse matrix that never changes, in an expression."""

    type: SparseType

    def signature(self) -> Hashable:
        """Return a key that is equal for constants of equal type, shape and elements."""
        matrix = canonical(self.data)
        digest = hashlib.blake2b(digest_size=20)
        for part in (matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)):
            digest.update(np.ascontiguousarray(part).data)
        return (self.type, matrix.shape, digest.digest())

    def equals(self, other: object) -> bool:
        """Tell whether `other` is a constant of equal type, shape and elements."""
        return isinstance(other, SparseConstant) and other.signature() == self.signature()

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        rows, columns = self.data.shape
        return f"SparseConstant{{{rows} x {columns} {self.type.format}, {self.data.nnz} stored}}"


SparseType.variable_class = SparseVariable
SparseType.constant_class = SparseConstant
