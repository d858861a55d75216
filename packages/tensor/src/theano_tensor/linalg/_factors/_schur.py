"""Forms of Schur: of a matrix, and of a pair of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Variable, format_error, pullback, shape_rule
from theano_linker_c.scalar import upcast

from ..._core._dtypes import COMPLEX_DTYPES, TensorLike
from ..._core._type import Tensor, tensor_type
from ...elemwise import cast
from ...gradient import grad_undefined
from .._matrices._lazy import scipy_linalg
from .._matrices._operands import MatrixOp, as_matrices, check_square

_COMPLEX = {"float32": "complex64", "float64": "complex128"}
_SORTS = (None, "lhp", "rhp", "iuc", "ouc")
_NOT_UNIQUE = "forms of Schur are not unique: their vectors may turn; use eigh, or the solution of the equations"


class SchurOp(MatrixOp):
    """What the forms of one matrix and of two have in common."""

    __props__: ClassVar[tuple[str, ...] | None] = ("output", "sort")

    def __init__(self, output: str = "real", sort: str | None = None) -> None:
        if output not in ("real", "complex") or sort not in _SORTS:
            raise ValueError(
                format_error(
                    f"{type(self).__name__}: unknown output={output!r} or sort={sort!r}",
                    hint="output is 'real' or 'complex', sort None, 'lhp', 'rhp', 'iuc' or 'ouc'",
                )
            )
        self.output, self.sort = output, sort

    def dtype_of(self, dtype: str) -> str:
        """Return the dtype of the form of matrices of some dtype."""
        return _COMPLEX.get(dtype, dtype) if self.output == "complex" else dtype


class Schur(SchurOp):
    """The form t and the vectors z of a square matrix, or of each one of a stack: ``x == z @ t @ z.conj().T``.

    Parameters
    ----------
    output : {"real", "complex"}
        Whether the form of a real matrix has blocks for pairs of complex eigenvalues, or is triangular and complex.
    sort : {None, "lhp", "rhp", "iuc", "ouc"}
        Which eigenvalues come first: those in the left or right half of the plane, in or out of the unit circle.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import slinalg
    >>> slinalg.schur(T.constant([[1.0, 2.0], [0.0, 3.0]]))[0].eval()
    array([[1., 2.],
           [0., 3.]])
    """

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack; ShapeError if it is none, or known not to be square."""
        matrix = as_matrices("schur", x, square=True)
        kind = tensor_type(self.dtype_of(matrix.type.dtype), matrix.type.shape)
        return Apply(self, [matrix], [kind.make_variable(), kind.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use LAPACK by SciPy."""
        (x,) = inputs
        check_square("schur", node, x)
        form, vectors = (np.empty(x.shape, v.type.dtype) for v in node.outputs)
        if x.size:
            for place in np.ndindex(x.shape[:-2]):
                parts = scipy_linalg().schur(x[place], output=self.output, sort=self.sort)
                form[place], vectors[place] = parts[:2]
        output_storage[0][0], output_storage[1][0] = form, vectors


class QZ(SchurOp):
    """The forms of two square matrices with the same vectors, or of each pair of two stacks.

    The outputs are s, t, q, z with ``a == q @ s @ z.conj().T`` and ``b == q @ t @ z.conj().T``.

    Parameters
    ----------
    output : {"real", "complex"}
        As of :class:`Schur`.
    sort : {None, "lhp", "rhp", "iuc", "ouc"}
        Which eigenvalues come first.
    return_eigenvalues : bool
        Whether the eigenvalues, as numerators and denominators, are outputs behind s and t.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("output", "return_eigenvalues", "sort")

    def __init__(self, output: str = "real", sort: str | None = None, return_eigenvalues: bool = False) -> None:
        super().__init__(output, sort)
        self.return_eigenvalues = bool(return_eigenvalues)

    def make_node(self, a: TensorLike, b: TensorLike) -> Apply[Self, Tensor]:
        """Apply to two matrices or stacks of as many dimensions; ShapeError if they are known not to be square."""
        first, second = (as_matrices("qz", x, square=True) for x in (a, b))
        dtype = upcast(first.type.dtype, second.type.dtype)
        kind = tensor_type(self.dtype_of(dtype), first.type.shape)
        values = []
        if self.return_eigenvalues:
            complex_dtype = _COMPLEX.get(kind.dtype, kind.dtype)
            values = [tensor_type(part, kind.shape[:-1]) for part in (complex_dtype, kind.dtype)]
        kinds = [kind, kind, *values, kind, kind]
        return Apply(self, [cast(first, dtype), cast(second, dtype)], [one.make_variable() for one in kinds])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use LAPACK by SciPy."""
        a, b = inputs
        check_square("qz", node, a)
        shapes = [a.shape, a.shape, *[a.shape[:-1]] * (2 * self.return_eigenvalues), a.shape, a.shape]
        results = [np.empty(shape, v.type.dtype) for shape, v in zip(shapes, node.outputs, strict=True)]
        if a.size:
            for place in np.ndindex(a.shape[:-2]):
                for result, part in zip(results, self._forms(a[place], b[place]), strict=True):
                    result[place] = part
        for cell, result in zip(output_storage, results, strict=True):
            cell[0] = result

    def _forms(self, a: Any, b: Any) -> Sequence[Any]:
        linalg = scipy_linalg()
        if self.sort is not None:
            s, t, alpha, beta, q, z = linalg.ordqz(a, b, sort=self.sort, output=self.output)
            return (s, t, alpha, beta, q, z) if self.return_eigenvalues else (s, t, q, z)
        dtype = self.dtype_of(a.dtype.name)
        a, b = a.astype(dtype), b.astype(dtype)
        (gges,) = linalg.get_lapack_funcs(("gges",), (a, b))
        size = int(gges(lambda x: None, a, b, lwork=-1)[-2][0].real)
        s, t, _, *values, q, z, _, info = gges(lambda x: None, a, b, lwork=size, sort_t=0)
        if info:
            raise np.linalg.LinAlgError(f"qz: LAPACK's gges ended with {info}")
        if not self.return_eigenvalues:
            return s, t, q, z
        alpha = values[0] if dtype in COMPLEX_DTYPES else values[0] + 1j * values[1]
        return s, t, alpha, values[-1], q, z


@pullback.register(SchurOp)
def _no_pullback(node: Apply[SchurOp, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [grad_undefined(node.op, i, x, _NOT_UNIQUE) for i, x in enumerate(node.inputs)]


@shape_rule.register(SchurOp)
def _shape(node: Apply[SchurOp, Tensor], input_shapes: list[Any]) -> list[Any]:
    shape = input_shapes[0]
    return [shape if v.type.ndim == len(shape) else shape[:-1] for v in node.outputs]


def schur(x: TensorLike, output: str = "real", sort: str | None = None) -> list[Tensor]:
    """Return the form t of Schur and its vectors z: ``x == z @ t @ z.conj().T``.

    Parameters
    ----------
    x : tensor_like, shape (..., M, M)
    output : {"real", "complex"}
    sort : {None, "lhp", "rhp", "iuc", "ouc"}
        Which eigenvalues come first.

    Returns
    -------
    list of Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.schur(T.constant([[1.0, 2.0], [0.0, 3.0]]))[0].eval()
    array([[1., 2.],
           [0., 3.]])
    """
    return list(Schur(output, sort)(x, return_list=True))


def qz(a: TensorLike, b: TensorLike, output: str = "real", sort: str | None = None) -> list[Tensor]:
    """Return the forms s and t of two matrices and their vectors q and z, as :class:`QZ` describes them.

    Parameters
    ----------
    a, b : tensor_like, shape (..., M, M)
    output : {"real", "complex"}
    sort : {None, "lhp", "rhp", "iuc", "ouc"}

    Returns
    -------
    list of Tensor

    Examples
    --------
    >>> import numpy
    >>> import theano.tensor as T
    >>> s, t, q, z = (part.eval() for part in T.slinalg.qz([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]))
    >>> numpy.allclose(q @ s @ z.T, [[1.0, 2.0], [3.0, 4.0]])
    True
    """
    return list(QZ(output, sort)(a, b, return_list=True))
