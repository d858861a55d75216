"""Products, powers and norms of matrices."""

from __future__ import annotations

from functools import reduce

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._type import Tensor
from .._errors import ShapeError
from ..elemwise import abs_, dimshuffle
from ..linear import matmul
from ..reduce import max as max_over, min as min_over, norm as vector_norm, sum as sum_over
from ..shape import flatten, lengths_of, reshape
from ._equations._inverse import matrix_inverse, trace
from ._factors._orthogonal import SVD
from ._matrices._operands import as_matrices, unit_like


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
