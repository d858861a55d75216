"""Forms of Schur, Sylvester's equation, and the matrix exponential."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Variable, format_error, pullback, pushforward, shape_rule
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import COMPLEX_DTYPES, TensorLike
from .._core._type import Tensor, tensor_type
from .._lazy import scipy_linalg
from ..creation import triu
from ..elemwise import cast
from ..gradient import grad_undefined
from ..joining import concatenate
from ..linear import matmul
from ..shape import shape_i
from ._operands import MatrixOp, adjoint, as_matrices, check_square, pulled_through

# ---- Forms of Schur: of a matrix, and of a pair of them

_COMPLEX = {"float32": "complex64", "float64": "complex128"}
_SORTS = (None, "lhp", "rhp", "iuc", "ouc")
_NOT_UNIQUE = "forms of Schur are not unique: their vectors may turn; use eigh, or the solution of the equations"


class SchurOp(MatrixOp):
    """The common part of the forms of one matrix and of two."""

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
def _shape_schur(node: Apply[SchurOp, Tensor], input_shapes: list[Any]) -> list[Any]:
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


# ---- Sylvester's equation with matrices in the form of Schur


class TriangularSylvester(MatrixOp):
    """The solution x of ``a @ x + x @ b == c``, where a and b are forms of Schur.

    What is below the blocks of the diagonals of a and b is not read, and has no gradient.

    Parameters
    ----------
    adjoint : bool
        Whether the equation is that of the adjoints of a and b.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import slinalg
    >>> slinalg.TriangularSylvester(adjoint=True)([[1.0]], [[2.0]], [[6.0]]).eval()
    array([[2.]])
    """

    __props__ = ("adjoint",)

    def __init__(self, adjoint: bool = False) -> None:
        self.adjoint = bool(adjoint)

    def make_node(self, a: TensorLike, b: TensorLike, c: TensorLike) -> Apply[Self, Tensor]:
        """Apply to matrices, or stacks of as many dimensions; ShapeError if a or b is known not to be square."""
        parts = [as_matrices("sylvester", x, square=k < 2) for k, x in enumerate((a, b, c))]
        dtype = upcast(*(part.type.dtype for part in parts))
        parts = [cast(part, dtype) for part in parts]
        return Apply(self, parts, [tensor_type(dtype, parts[2].type.shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Solve with LAPACK."""
        a, b, c = inputs
        check_square("sylvester", node, a)
        check_square("sylvester", node, b)
        result = np.zeros(c.shape, c.dtype)
        if c.size:
            (trsyl,) = scipy_linalg().get_lapack_funcs(("trsyl",), (a, b, c))
            trans = "N" if not self.adjoint else "C" if c.dtype.kind == "c" else "T"
            for place in np.ndindex(c.shape[:-2]):
                x, scale, _ = trsyl(a[place], b[place], c[place], trana=trans, tranb=trans)
                result[place] = x / scale
        output_storage[0][0] = result


@pullback.register(TriangularSylvester)
def _pullback_sylvester(node: Apply[TriangularSylvester, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    a, b, _ = node.inputs
    x = as_tensor_variable(node.outputs[0])
    by_c: Tensor = TriangularSylvester(not node.op.adjoint)(a, b, cotangents[0])
    first = matmul(x, adjoint(by_c)) if node.op.adjoint else matmul(by_c, adjoint(x))
    second = matmul(adjoint(by_c), x) if node.op.adjoint else matmul(adjoint(x), by_c)
    # Real forms have blocks of two rows.
    below = 0 if x.type.dtype in COMPLEX_DTYPES else -1
    return [-triu(first, below), -triu(second, below), by_c]


@shape_rule.register(TriangularSylvester)
def _shape_sylvester(node: Apply[TriangularSylvester, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[2]]


def solve_triangular_sylvester(a: TensorLike, b: TensorLike, c: TensorLike) -> Tensor:
    """Return the solution x of ``a @ x + x @ b == c``, where a and b are forms of Schur.

    Parameters
    ----------
    a : tensor_like, shape (..., M, M)
    b : tensor_like, shape (..., N, N)
    c : tensor_like, shape (..., M, N)

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.solve_triangular_sylvester([[1.0, 1.0], [0.0, 2.0]], [[1.0]], [[4.0], [3.0]]).eval()
    array([[1.5],
           [1. ]])
    """
    result: Tensor = TriangularSylvester()(a, b, c)
    return result


# ---- The matrix exponential


class Expm(MatrixOp):
    """Exponential of a square matrix, or of each one of a stack.

    The derivative is that of Frechet: Al-Mohy and Higham (2009), "Computing the Frechet derivative of the matrix
    exponential, with an application to condition number estimation".

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import slinalg
    >>> slinalg.expm(T.constant([[0.0, 1.0], [0.0, 0.0]])).eval()
    array([[1., 1.],
           [0., 1.]])
    """

    __props__ = ()

    def make_node(self, A: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix or a stack; ShapeError if it is none, or known not to be square."""
        matrix = as_matrices("expm", A, square=True)
        return Apply(self, [matrix], [matrix.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use SciPy: scaling, squaring and a rational approximation; LinAlgError for a matrix that is not square."""
        check_square("expm", node, inputs[0])
        output_storage[0][0] = scipy_linalg().expm(inputs[0]) if inputs[0].ndim == 2 else _of_stack(inputs[0])


class ExpmGrad(MatrixOp):
    """Gradient by a matrix of its exponential: the Frechet derivative at the transposed, conjugated matrix."""

    __props__ = ()

    def make_node(self, A: TensorLike, gw: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix, and the gradient by its exponential."""
        matrix, g = (as_matrices("ExpmGrad", v, square=True) for v in (A, gw))
        return Apply(self, [matrix, g], [matrix.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use SciPy."""
        x, g = inputs
        check_square("expm", node, x)
        a_h, n = np.ascontiguousarray(np.swapaxes(x, -1, -2).conj()), x.shape[-1]
        if x.ndim == 2:
            result = scipy_linalg().expm_frechet(a_h, g, compute_expm=False, check_finite=False)
        else:
            whole = np.concatenate([np.concatenate([a_h, g], -1), np.concatenate([np.zeros_like(a_h), a_h], -1)], -2)
            result = _of_stack(whole)[..., :n, n:]
        output_storage[0][0] = np.ascontiguousarray(result, dtype=x.dtype)

    def expression(self, A: Tensor, gw: Tensor) -> Tensor:
        """Return the same as a block of the exponential of a matrix twice as large, of which derivatives are known."""
        a_h, n = adjoint(A), shape_i(A, -1 % A.type.ndim)
        upper = concatenate([a_h, gw], axis=A.type.ndim - 1)
        lower = concatenate([a_h.zeros_like(), a_h], axis=A.type.ndim - 1)
        exponential: Tensor = expm(concatenate([upper, lower], axis=A.type.ndim - 2))
        return exponential[..., :n, n:]


# The coefficients of the rational approximation of degree 13, and the norm up to which it is exact.
_COEFFICIENTS = tuple(factorial(26 - k) // (factorial(k) * factorial(13 - k)) for k in range(14))
_GREATEST_NORM = 5.371920351148152


def _of_stack(x: Any) -> Any:
    """Return the exponentials of all matrices of a stack; each is scaled and squared as its norm asks for."""
    a = x.astype(np.result_type(x.dtype, np.float64), copy=False)
    with np.errstate(all="ignore"):
        norm = np.abs(a).sum(-2).max(-1, initial=0)
        turns = np.where(np.isfinite(norm), np.ceil(np.log2(norm / _GREATEST_NORM)), 0).clip(0).astype(int)
        a = a * np.exp2(-turns)[..., None, None]
        powers = [np.broadcast_to(np.eye(a.shape[-1]), a.shape), a @ a]
        powers += [powers[1] @ powers[1], powers[1] @ powers[1] @ powers[1]]
        odd, even = (
            powers[3] @ _sum(powers[1:], _COEFFICIENTS[8 + k :: 2]) + _sum(powers, _COEFFICIENTS[k:8:2]) for k in (1, 0)
        )
        odd = a @ odd
        result = np.linalg.solve(even - odd, even + odd)
        for k in range(turns.max(initial=0)):
            result = np.where((turns > k)[..., None, None], result @ result, result)
    return result.astype(x.dtype, copy=False)


def _sum(powers: Sequence[Any], factors: Sequence[int]) -> Any:
    return sum(float(f) / _COEFFICIENTS[0] * p for f, p in zip(factors, powers, strict=True))


@pullback.register(Expm)
def _pullback_exponential(node: Apply[Expm, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [ExpmGrad()(node.inputs[0], cotangents[0])]


@pushforward.register(Expm)
def _pushforward(node: Apply[Expm, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else ExpmGrad()(adjoint(node.inputs[0]), tangents[0])]


@pullback.register(ExpmGrad)
def _pullback_grad(node: Apply[ExpmGrad, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    expression = node.op.expression(*map(as_tensor_variable, node.inputs))
    return pulled_through(expression, node.inputs, cotangents[0])


@shape_rule.register(Expm, ExpmGrad)
def _shape_exponential(node: Apply[Expm | ExpmGrad, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


expm = Expm()
