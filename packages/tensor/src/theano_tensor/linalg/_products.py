"""Products, powers and norms of matrices; inverses and equations of tensors, and least squares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, shape_rule
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import batch_of_expression, run_in_a_loop
from .._core._type import Tensor, tensor_type
from .._errors import ShapeError
from ..elemwise import abs_, and_, cast, dimshuffle, eq, gt, minimum, switch
from ..gradient import grad_undefined
from ..linear import matmul
from ..reduce import max as max_over, min as min_over, norm as vector_norm, sum as sum_over
from ..shape import flatten, lengths_of, reshape
from ._inverse import matrix_inverse, pinv, trace
from ._operands import MatrixOp, as_matrices, linear_error, present, pulled_through, total_of, unit_like
from ._orthogonal import SVD
from ._solve import solve

# ---- Products, powers and norms of matrices


def matrix_dot(*args: TensorLike) -> Tensor:
    """Return the product of matrices in the given order.

    Parameters
    ----------
    *args : tensor_like
        Matrices.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import nlinalg
    >>> nlinalg.matrix_dot(*T.dmatrices("a", "b", "c")).ndim
    2
    """
    if not args:
        raise ValueError(format_error("matrix_dot: there is nothing to multiply", hint="pass one matrix at least"))
    return reduce(matmul, (as_tensor_variable(x) for x in args))


def matrix_power(M: TensorLike, n: int) -> Tensor:
    """Return a square matrix multiplied `n` times, by repeated squaring; a negative `n` means its inverse.

    Parameters
    ----------
    M : tensor_like
        A square matrix.
    n : int

    Raises
    ------
    TypeError
        If `n` is no Python integer.
    ShapeError
        If `M` is no matrix, or known not to be square.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import nlinalg
    >>> nlinalg.matrix_power(T.constant([[1.0, 1.0], [0.0, 1.0]]), 5).eval()
    array([[1., 5.],
           [0., 1.]])
    """
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(format_error(f"matrix_power: the power must be a Python integer, not {n!r}"))
    base = as_matrices("matrix_power", M, square=True)
    if n < 0:
        base, n = matrix_inverse(base), -n
    if n == 0:
        return base.zeros_like() + unit_like(base)
    result: Tensor | None = None
    while n:
        if n & 1:
            result = base if result is None else matmul(result, base)
        n >>= 1
        if n:
            base = matmul(base, base)
    assert result is not None
    return result


_INFINITE = {float("inf"): max_over, "inf": max_over, float("-inf"): min_over, "-inf": min_over}


def norm(x: TensorLike, ord: float | str | None = None) -> Tensor:
    """Return a norm of a vector or of a matrix, as ``numpy.linalg.norm``.

    Parameters
    ----------
    x : tensor_like
        A vector or a matrix; with `ord` None, of any number of dimensions.
    ord : {None, "fro", "nuc", number, inf, -inf}
        None: the square root of the sum of squares of all elements. For vectors, the order of the sum of powers. For
        matrices: ``"fro"`` as None; ``"nuc"`` the sum of singular values; 2 and -2 the largest and smallest of them; 1
        and -1 the largest and smallest sum of sizes of a column; inf and -inf of a row. "inf" and "-inf" are
        understood, too.

    Raises
    ------
    ValueError
        If there is no such norm for as many dimensions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import nlinalg
    >>> nlinalg.norm(T.constant([3.0, 4.0])).eval()
    array(5.)
    """
    variable = as_tensor_variable(x)
    ndim = variable.type.ndim
    if ndim == 0:
        raise ValueError(
            format_error("norm takes a vector or a matrix", context=[describe(variable)], hint="use abs(x)")
        )
    if ord is None:
        return vector_norm(flatten(variable), 2)
    if ndim == 1 and (ord in _INFINITE or not isinstance(ord, str)):
        return vector_norm(variable, float(ord))
    if ndim == 2:
        result = _matrix_norm(variable, ord)
        if result is not None:
            return result
    raise ValueError(
        format_error(
            f"norm: there is no norm of order {ord!r} of {ndim} dimensions",
            context=[describe(variable)],
            hint="leave ord out to sum over all dimensions",
        )
    )


def _matrix_norm(x: Tensor, ord: float | str | None) -> Tensor | None:
    if ord == "fro":
        return vector_norm(flatten(x), 2)
    if ord in ("nuc", 2, -2):
        s: Tensor = SVD(full_matrices=False, compute_uv=False)(x)
        return sum_over(s) if ord == "nuc" else max_over(s) if ord == 2 else min_over(s)
    if ord in (1, -1):
        return (max_over if ord == 1 else min_over)(sum_over(abs_(x), axis=0))
    pick = _INFINITE.get(ord)
    return None if pick is None else pick(sum_over(abs_(x), axis=1))


def kron(a: TensorLike, b: TensorLike) -> Tensor:
    """Return the Kronecker product of two tensors, with ``a.ndim + b.ndim - 2`` dimensions.

    For two matrices it has the blocks ``a[i, j] * b``. It is the product of SciPy, not of NumPy, which gives other
    shapes where one of them is no matrix.

    Parameters
    ----------
    a, b : tensor_like

    Raises
    ------
    ShapeError
        If there are less than three dimensions together.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import slinalg
    >>> slinalg.kron(T.constant([[1, 2]]), T.constant([[1, 1]])).eval()
    array([[1, 1, 2, 2]])
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    ndim = x.type.ndim + y.type.ndim
    if ndim <= 2:
        raise ShapeError(
            format_error(
                "kron: both together need three dimensions at least",
                context=[describe(x), describe(y)],
                hint="use T.outer for two vectors",
            )
        )
    pairs = dimshuffle(x, [*range(x.type.ndim), *["x"] * y.type.ndim]) * dimshuffle(
        y, [*["x"] * x.type.ndim, *range(y.type.ndim)]
    )
    lengths = [*lengths_of(x), *lengths_of(y)]
    if ndim == 3:
        return flatten(dimshuffle(pairs, [1, 0, 2]))
    order = [0, 2, 1, *range(3, ndim)]
    return reshape(dimshuffle(pairs, order), [lengths[0] * lengths[2], lengths[1] * lengths[3], *lengths[4:]])


def spectral_radius_bound(X: TensorLike, log2_exponent: int) -> Tensor:
    """Return an upper bound of the largest eigenvalue of a symmetric matrix.

    The trace of the power ``2 ** log2_exponent`` of the matrix, and the root of it: Pan (1990), "Estimating the
    extremal eigenvalues of a symmetric matrix", Computers and Mathematics with Applications 20(2).

    Parameters
    ----------
    X : tensor_like, shape (M, M)
    log2_exponent : int
        Positive: how often the matrix is squared. The more often, the tighter; up to 5 is mostly enough.

    Raises
    ------
    TypeError
        If `X` is no matrix, or `log2_exponent` no integer.
    ValueError
        If `log2_exponent` is not positive.
    """
    matrix = as_tensor_variable(X)
    if matrix.type.ndim != 2:
        raise TypeError(format_error("spectral_radius_bound takes a matrix", context=[describe(matrix)]))
    if isinstance(log2_exponent, bool) or not isinstance(log2_exponent, int):
        raise TypeError(format_error(f"spectral_radius_bound: log2_exponent must be an integer, not {log2_exponent!r}"))
    if log2_exponent <= 0:
        raise ValueError(format_error(f"spectral_radius_bound: log2_exponent must be positive, not {log2_exponent}"))
    power = as_matrices("spectral_radius_bound", matrix, square=True)
    for _ in range(log2_exponent):
        power = matmul(power, power)
    result: Tensor = trace(power) ** (2.0**-log2_exponent)
    return result


# ---- Inverses and equations of tensors whose dimensions are split in two groups, and least squares


class TensorInv(MatrixOp):
    """Inverse of a tensor with respect to ``tensordot(a, b, ind)``; see :func:`tensorinv`.

    Parameters
    ----------
    ind : int
        How many of the first dimensions make up the rows.
    """

    __props__ = ("ind",)

    def __init__(self, ind: int = 2) -> None:
        if int(ind) <= 0:
            raise ValueError(format_error(f"tensorinv: ind must be positive, not {ind}"))
        self.ind = int(ind)

    def make_node(self, a: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor with more than `ind` dimensions."""
        x = as_matrices("tensorinv", a, least=1)
        if x.type.ndim <= self.ind:
            raise ShapeError(
                format_error(f"tensorinv: ind={self.ind} leaves no dimensions for columns", context=[describe(x)])
            )
        shape = x.type.shape
        return Apply(self, [x], [tensor_type(x.type.dtype, shape[self.ind :] + shape[: self.ind]).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use NumPy; LinAlgError for a tensor that is singular or not square."""
        try:
            output_storage[0][0] = np.linalg.tensorinv(inputs[0], ind=self.ind)
        except np.linalg.LinAlgError as error:
            raise linear_error(f"tensorinv: {error}", node, "rows and columns must be as many") from None

    def expression(self, a: Tensor) -> Tensor:
        """Return the same as the inverse of a matrix, of which derivatives are known."""
        lengths = lengths_of(a)
        rows, columns = _flat_lengths(lengths, self.ind)
        inverse = matrix_inverse(reshape(a, [rows, columns]))
        return reshape(inverse, [*lengths[self.ind :], *lengths[: self.ind]])


def _flat_lengths(lengths: Sequence[Any], ind: int) -> tuple[Any, Any]:
    rows, columns = lengths[0], lengths[ind]
    for n in lengths[1:ind]:
        rows = rows * n
    for n in lengths[ind + 1 :]:
        columns = columns * n
    return rows, columns


class TensorSolve(MatrixOp):
    """Solution of ``tensordot(a, x, x.ndim) == b``; see :func:`tensorsolve`.

    Parameters
    ----------
    axes : sequence of int, optional
        Dimensions of a that are moved to the end first.
    """

    __props__ = ("axes",)

    def __init__(self, axes: Sequence[int] | None = None) -> None:
        self.axes = None if axes is None else tuple(int(axis) for axis in axes)

    def make_node(self, a: TensorLike, b: TensorLike) -> Apply[Self, Tensor]:
        """Apply to two tensors, the first with more dimensions."""
        x, y = as_matrices("tensorsolve", a, least=1), as_matrices("tensorsolve", b, least=0)
        if x.type.ndim <= y.type.ndim:
            raise ShapeError(
                format_error("tensorsolve: a needs more dimensions than b", context=[describe(x), describe(y)])
            )
        dtype = upcast(x.type.dtype, y.type.dtype)
        x, y = cast(x, dtype), cast(y, dtype)
        order = self.order(x.type.ndim)
        shape = tuple(x.type.shape[i] for i in order[y.type.ndim :])
        return Apply(self, [x, y], [tensor_type(dtype, shape).make_variable()])

    def order(self, ndim: int) -> list[int]:
        """Return the dimensions of a in the order in which the equation takes them."""
        last = [] if self.axes is None else [axis % ndim for axis in self.axes]
        return [axis for axis in range(ndim) if axis not in last] + last

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use NumPy; LinAlgError for a tensor that is singular or not square."""
        a, b = inputs
        try:
            output_storage[0][0] = np.asarray(np.linalg.tensorsolve(a, b, axes=self.axes))
        except np.linalg.LinAlgError as error:
            raise linear_error(f"tensorsolve: {error}", node, "as many unknowns as equations are needed") from None

    def expression(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the same as a system with one matrix, of which derivatives are known."""
        moved = dimshuffle(a, self.order(a.type.ndim))
        lengths = lengths_of(moved)[b.type.ndim :]
        unknowns = lengths[0]
        for n in lengths[1:]:
            unknowns = unknowns * n
        return reshape(solve(reshape(moved, [unknowns, unknowns]), flatten(b)), lengths)


@batch_rule.register(TensorInv, TensorSolve)
def _batch(node: Apply[Any, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> Sequence[Any]:
    return batch_of_expression(node, inputs, stacked, [node.op.expression(*node.inputs)])


class Lstsq(MatrixOp):
    """Least squares: solution, residuals, rank and singular values; see :func:`lstsq`."""

    __props__ = ()

    def make_node(self, a: TensorLike, b: TensorLike, rcond: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix, a vector or matrix, and a number."""
        x, y = as_matrices("lstsq", a), as_matrices("lstsq", b, least=1)
        if x.type.ndim != 2 or y.type.ndim > 2:
            raise ShapeError(
                format_error("lstsq takes a matrix, and a vector or a matrix", context=[describe(x), describe(y)])
            )
        dtype = upcast(x.type.dtype, y.type.dtype)
        x, y = cast(x, dtype), cast(y, dtype)
        real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
        types = [
            tensor_type(dtype, (x.type.shape[1], *y.type.shape[1:])),
            tensor_type(real, (None,)),
            tensor_type("int64", ()),
            tensor_type(real, (None,)),
        ]
        return Apply(self, [x, y, as_tensor_variable(rcond)], [t.make_variable() for t in types])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use NumPy; LinAlgError where it does not converge."""
        a, b, rcond = inputs
        if a.ndim != 2 or b.ndim > 2 or rcond.ndim:
            raise linear_error(
                f"lstsq: operands of {a.ndim}, {b.ndim} and {rcond.ndim} dimensions",
                node,
                "pass a matrix, a vector or a matrix, and a number",
            )
        try:
            results = np.linalg.lstsq(a, b, rcond=float(rcond))
        except np.linalg.LinAlgError as error:
            raise linear_error(f"lstsq: {error}", node, "both need the same number of rows") from None
        for storage, value, output in zip(output_storage, results, node.outputs, strict=True):
            storage[0] = np.asarray(value, dtype=output.type.dtype)

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The rank is a step function; the number is a threshold."""
        return [[True, True, False, True], [True, True, False, False], [False] * 4]


batch_rule.register(Lstsq)(run_in_a_loop)


@pullback.register(TensorInv, TensorSolve)
def _pullback(node: Apply[TensorInv | TensorSolve, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    expression = node.op.expression(*map(as_tensor_variable, node.inputs))
    return pulled_through(expression, node.inputs, cotangents[0])


@pullback.register(Lstsq)
def _pullback_lstsq(node: Apply[Lstsq, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    """The solution is ``pinv(a) @ b``, as long as the rank of a stays the same."""
    a, b = (as_tensor_variable(v) for v in node.inputs[:2])
    gx, residuals, gs = present(cotangents[0]), present(cotangents[1]), present(cotangents[3])
    if residuals is not None:
        why = "they are empty for some matrices; write them as ((dot(a, x) - b) ** 2).sum(0)"
        return [grad_undefined(node.op, i, v, why) for i, v in enumerate((a, b))] + [None]
    by_a: list[Any] = [None, None]
    if gx is not None:
        by_a = list(pulled_through(matmul(pinv(a), b), [a, b], gx))
    if gs is not None:
        s = SVD(full_matrices=False, compute_uv=False)(a)
        by_a[0] = total_of([by_a[0], pulled_through(s, [a], gs)[0]])  # type: ignore[list-item]  # tensors
    return [*by_a, None]


@shape_rule.register(TensorInv)
def _shape_inv(node: Apply[TensorInv, Tensor], input_shapes: list[Any]) -> list[Any]:
    (shape,), ind = input_shapes, node.op.ind
    return [tuple(shape[ind:]) + tuple(shape[:ind])]


@shape_rule.register(TensorSolve)
def _shape_solve(node: Apply[TensorSolve, Tensor], input_shapes: list[Any]) -> list[Any]:
    a, b = input_shapes
    return [tuple(a[i] for i in node.op.order(len(a))[len(b) :])]


@shape_rule.register(Lstsq)
def _shape_lstsq(node: Apply[Lstsq, Tensor], input_shapes: list[Any]) -> list[Any]:
    (rows, columns), b, _ = input_shapes
    # There are residuals only of equations that are too many, and determine the solution.
    complete = and_(eq(node.outputs[2], columns), gt(rows, columns))
    residuals = switch(complete, b[1] if len(b) == 2 else np.int64(1), np.int64(0))
    return [(columns, *b[1:]), (residuals,), (), (cast(minimum(rows, columns), "int64"),)]


def tensorinv(a: TensorLike, ind: int = 2) -> Tensor:
    """Return the inverse of a tensor with respect to ``tensordot(a, b, ind)``.

    Parameters
    ----------
    a : tensor_like
        The product of its first `ind` lengths must be that of the others.
    ind : int
        Positive.

    Returns
    -------
    Tensor
        Of shape ``a.shape[ind:] + a.shape[:ind]``.

    Raises
    ------
    numpy.linalg.LinAlgError
        When it runs, for a tensor that is singular or not square in this sense.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.tensorinv(T.eye(6).reshape((6, 2, 3)), ind=1).shape.eval()
    array([2, 3, 6])
    """
    result: Tensor = TensorInv(ind)(a)
    return result


def tensorsolve(a: TensorLike, b: TensorLike, axes: Sequence[int] | None = None) -> Tensor:
    """Return the solution x of ``tensordot(a, x, x.ndim) == b``.

    Parameters
    ----------
    a : tensor_like, shape ``b.shape + Q``
        The product of the lengths in Q must be that of the shape of `b`.
    b : tensor_like
    axes : sequence of int, optional
        Dimensions of `a` that are moved to the end first.

    Returns
    -------
    Tensor
        Of shape Q.

    Raises
    ------
    numpy.linalg.LinAlgError
        When it runs, for a tensor that is singular or not square in this sense.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.tensorsolve(T.eye(6).reshape((2, 3, 6)), T.ones((2, 3))).eval()
    array([1., 1., 1., 1., 1., 1.])
    """
    result: Tensor = TensorSolve(axes)(a, b)
    return result


def lstsq(a: TensorLike, b: TensorLike, rcond: TensorLike = -1.0) -> list[Tensor]:
    """Return the least-squares solution of ``a @ x == b``, residuals, rank and singular values of `a`.

    Parameters
    ----------
    a : tensor_like, shape (M, N)
    b : tensor_like, shape (M,) or (M, K)
    rcond : float
        Singular values smaller than this times the largest count as zero; -1: those within rounding errors.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import nlinalg
    >>> nlinalg.lstsq(T.constant([[1.0], [1.0]]), T.constant([1.0, 3.0]))[0].eval()
    array([2.])
    """
    results: list[Tensor] = Lstsq()(a, b, rcond)
    return results
