"""Matrix products as BLAS computes them: with factors, added to a matrix, in its memory where that is allowed.

Rewriting puts these ops in place of :class:`Dot` and of sums around it. They can be used directly, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np

from theano_graph import (
    Apply,
    InconsistencyError,
    Op,
    Variable,
    batch_rule,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
    walk,
)
from theano_linker_c.kernels import Kernel, MatrixProductKernel, native_kernel
from theano_linker_c.program import overwriting_form

from .._core._convert import as_tensor_variable
from .._core._dtypes import Array, TensorLike
from .._core._ops import TensorOp, batch_of_expression, refused
from .._core._type import Tensor, tensor_type
from .._errors import ShapeError
from ..elemwise import conj, dimshuffle, eq, switch
from ..gradient import derived_pushforward
from ..reduce import sum as sum_over
from ._dot import BLAS_DTYPES, fitting, matrix_product

#: Dtypes that these ops take; those of BLAS run in C.
_DTYPES = BLAS_DTYPES | {"complex64", "complex128"}

RANK = "gemm only works for rank 2"
SCALAR = "gemm requires scalar argument"
UNIQUE = "argument z aliased to x or y"
MIXED = "gemm requires matching dtypes"
FLOAT = "gemm requires floating-point dtypes"


class _OperandError(TypeError):
    """Operands that an op does not take: the first argument tells the kind of fault, the text all about it."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind)
        self._text = text

    def __str__(self) -> str:
        return self._text


class OperandRankError(_OperandError, ShapeError):
    """An operand has another number of dimensions than the op takes."""


class AliasedOperandError(InconsistencyError):
    """The addend of a product shares its memory with a factor."""

    def __str__(self) -> str:
        return format_error(
            "a product cannot be added in place to one of its factors",
            hint="add it to a copy: use gemm_no_inplace",
        )


def _tensors(name: str, values: Sequence[Any], ndims: Sequence[int]) -> list[Tensor]:
    """Return the operands of an op as tensors of one dtype, a real or complex one of single or double precision.

    Raises
    ------
    ShapeError
        If an operand has another number of dimensions.
    TypeError
        If dtypes differ, or are of another kind.
    """
    if len(values) != len(ndims):
        raise TypeError(format_error(f"{name} takes {len(ndims)} operands, got {len(values)}"))
    tensors = [as_tensor_variable(v) for v in values]
    if any(v.type.ndim != ndim for v, ndim in zip(tensors, ndims, strict=True)):
        bad = next(ndim for v, ndim in zip(tensors, ndims, strict=True) if v.type.ndim != ndim)
        raise OperandRankError(
            RANK if bad else SCALAR,
            format_error(
                f"{name} takes operands of {', '.join(map(str, ndims))} dimensions, "
                f"not {', '.join(str(v.type.ndim) for v in tensors)}",
                context=[describe(v) for v in tensors],
                hint="use T.dot and operators, which take any number of dimensions",
            ),
        )
    dtype = tensors[0].type.dtype
    mixed = any(v.type.dtype != dtype for v in tensors)
    if mixed or dtype not in _DTYPES:
        raise _OperandError(
            MIXED if mixed else FLOAT,
            format_error(
                f"{name} takes operands of one dtype, float32, float64, complex64 or complex128, "
                f"not {', '.join(v.type.dtype for v in tensors)}",
                context=[describe(v) for v in tensors],
                hint="cast them, or use T.dot and operators, which take any dtypes",
            ),
        )
    return tensors


def _check_alias(z: Tensor, *factors: Tensor) -> None:
    """Refuse to overwrite an array of which a factor is a view."""
    roots = view_roots(z)
    if any(root in roots for factor in factors for root in view_roots(factor)):
        raise AliasedOperandError(UNIQUE)


def view_roots(variable: Variable) -> list[Variable]:
    """Return the variables in whose memory the value of `variable` may lie, as far as ops say that they make views.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> T.blas.view_roots(x.T[0])
    [x]
    """
    return [v for v in walk([variable], _view_sources) if not _view_sources(v)]


def _view_sources(variable: Variable) -> list[Variable]:
    node, index = variable.owner, variable.index
    return [] if node is None or index is None else [node.inputs[i] for i in node.op.view_map.get(index, ())]


def _sum(name: str, z: Tensor, product: Sequence[int | None]) -> tuple[Tensor, Tensor]:
    """Return z, or a node that raises in its place, and a variable for the sum with a product of a static shape."""
    shape, error = [], None
    for length, other in zip(z.type.shape, product, strict=True):
        if length is not None and other is not None and length != other:
            error = ShapeError(
                format_error(
                    f"{name}: a product of shape {tuple(product)} cannot be added to one of shape {z.type.shape}",
                    context=[describe(z)],
                    hint="give both the same shape: no dimension broadcasts here",
                )
            )
        shape.append(length if other is None else other)
    result_type = tensor_type(z.type.dtype, shape)
    return (z if error is None else refused(error, z, shape)), result_type.make_variable()


def _accumulate(name: str, node: Apply, z: Any, beta: Any, product: Any, in_place: bool) -> Any:
    """Return ``beta z + product``; z is not read where beta is 0."""
    if z.shape != product.shape:
        raise ValueError(
            format_error(
                f"{name}: a product of shape {product.shape} cannot be added to an array of shape {z.shape}",
                context=[describe(v) for v in node.inputs],
                hint="give both the same shape: no dimension broadcasts here",
            )
        )
    target = z if in_place else np.empty_like(z, order="C")
    with np.errstate(all="ignore"):
        if beta == 0:
            target[...] = product
        else:
            np.add(z if beta == 1 else z * beta, product, out=target)
    return target


def _check_matrices(node: Apply, x: Array, y: Array) -> None:
    if x.shape[1] != y.shape[0]:
        raise ValueError(
            format_error(
                f"Shape mismatch: x has {x.shape[1]} cols (and {x.shape[0]} rows) but y has {y.shape[0]} rows "
                f"(and {y.shape[1]} cols)",
                context=[describe(v) for v in node.inputs],
                hint="the columns of x and the rows of y must be as many; transpose one of them",
            )
        )


class Dot22(TensorOp):
    """Product of two matrices of one dtype, of floats or complex numbers: ``x y``."""

    __props__ = ()

    def make_node(self, x: TensorLike, y: TensorLike) -> Apply[Self, Tensor]:
        """Apply to matrices of shapes (m, k) and (k, n).

        Raises
        ------
        TypeError
            If dtypes differ, or are neither floats nor complex numbers.
        ShapeError
            If there are other numbers of dimensions, or the inner lengths are known and differ.
        """
        a, b = _tensors("Dot22", (x, y), (2, 2))
        b = fitting("Dot22", a, b, 1, 0)
        shape = (a.type.shape[0], b.type.shape[1])
        return Apply(self, [a, b], [tensor_type(a.type.dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Multiply with NumPy; ValueError if the inner lengths differ."""
        x, y = inputs
        _check_matrices(node, x, y)
        output_storage[0][0] = np.dot(x, y)

    def __str__(self) -> str:
        return "Dot22"


class Dot22Scalar(TensorOp):
    """Product of two matrices and a number: ``a x y``."""

    __props__ = ()

    def make_node(self, x: TensorLike, y: TensorLike, a: TensorLike) -> Apply[Self, Tensor]:
        """Apply to matrices of shapes (m, k) and (k, n), and a 0-d tensor; errors as for :class:`Dot22`."""
        left, right, alpha = _tensors("Dot22Scalar", (x, y, a), (2, 2, 0))
        right = fitting("Dot22Scalar", left, right, 1, 0)
        shape = (left.type.shape[0], right.type.shape[1])
        return Apply(self, [left, right, alpha], [tensor_type(left.type.dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Multiply with NumPy; ValueError if the inner lengths differ."""
        x, y, alpha = inputs
        _check_matrices(node, x, y)
        product = np.dot(x, y)
        with np.errstate(all="ignore"):
            product *= alpha
        output_storage[0][0] = product

    def __str__(self) -> str:
        return "Dot22Scalar"


class _Accumulation(TensorOp):
    """Adds a product to its first input; with `inplace`, in the memory of that input."""

    __props__ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [0]}

    def in_place(self) -> _Accumulation:
        """Return the op that overwrites its first input."""
        return type(self)(True)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{'inplace' if self.inplace else 'no_inplace'}}}"


class Gemm(_Accumulation):
    """General matrix product: ``b z + a x y`` for matrices x, y, z and numbers a, b.

    z is not read where b is 0, so that its elements do not matter then. Nothing broadcasts.

    Parameters
    ----------
    inplace : bool
        Whether the result is put into the memory of z.
    """

    #: The kinds of faults: the first arguments of the exceptions of :meth:`make_node`.
    E_rank, E_scalar, E_z_uniq, E_mixed, E_float = RANK, SCALAR, UNIQUE, MIXED, FLOAT

    def make_node(self, *operands: Any) -> Apply[Self, Tensor]:
        """Apply to z, a, x, y, b: matrices of shapes (m, n), (m, k) and (k, n), and 0-d tensors a and b.

        Raises
        ------
        TypeError
            If dtypes differ, or are neither floats nor complex numbers.
        ShapeError
            If there are other numbers of dimensions, or lengths are known and do not fit.
        InconsistencyError
            If the op overwrites z, and a factor is a view of it.
        """
        operands = tuple(map(as_tensor_variable, operands))
        if self.inplace and len(operands) == 5:
            _check_alias(operands[0], *operands[2:4])
        inputs = _tensors("Gemm", operands, (2, 0, 2, 2, 0))
        inputs[3] = fitting("Gemm", inputs[2], inputs[3], 1, 0)
        shape = (inputs[2].type.shape[0], inputs[3].type.shape[1])
        inputs[0], result = _sum("Gemm", inputs[0], shape)
        return Apply(self, inputs, [result])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy; ValueError if lengths do not fit."""
        z, a, x, y, b = inputs
        _check_matrices(node, x, y)
        with np.errstate(all="ignore"):
            product = np.dot(x, y) * a
        output_storage[0][0] = _accumulate("Gemm", node, z, b, product, self.inplace)


class Gemv(_Accumulation):
    """General product of a matrix and a vector: ``beta y + alpha A x``.

    y is not read where beta is 0. Nothing broadcasts.

    Parameters
    ----------
    inplace : bool
        Whether the result is put into the memory of y.
    """

    def make_node(
        self, y: TensorLike, alpha: TensorLike, A: TensorLike, x: TensorLike, beta: TensorLike
    ) -> Apply[Self, Tensor]:
        """Apply to y of shape (m,), A of shape (m, n), x of shape (n,), and 0-d tensors; errors as for Gemm."""
        inputs = _tensors("Gemv", (y, alpha, A, x, beta), (1, 0, 2, 1, 0))
        inputs[3] = fitting("Gemv", inputs[2], inputs[3], 1, 0)
        inputs[0], result = _sum("Gemv", inputs[0], inputs[2].type.shape[:1])
        return Apply(self, inputs, [result])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy; ValueError if lengths do not fit."""
        y, alpha, matrix, x, beta = inputs
        if matrix.shape[1] != x.shape[0]:
            raise ValueError(
                format_error(
                    f"Shape mismatch: A has {matrix.shape[1]} cols (shape {matrix.shape}) but x has "
                    f"{x.shape[0]} elements",
                    context=[describe(v) for v in node.inputs],
                    hint="the columns of A and the elements of x must be as many; transpose A",
                )
            )
        with np.errstate(all="ignore"):
            product = np.dot(matrix, x) * alpha
        output_storage[0][0] = _accumulate("Gemv", node, y, beta, product, self.inplace)


class Ger(_Accumulation):
    """Rank-1 update: ``A + alpha x y'``. Nothing broadcasts.

    Parameters
    ----------
    destructive : bool
        Whether the result is put into the memory of A.
    """

    __props__ = ("destructive",)

    def __init__(self, destructive: bool = False) -> None:
        super().__init__(destructive)
        self.destructive = destructive

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{'destructive' if self.destructive else 'non-destructive'}}}"

    def make_node(self, A: TensorLike, alpha: TensorLike, x: TensorLike, y: TensorLike) -> Apply[Self, Tensor]:
        """Apply to A of shape (m, n), a 0-d tensor, and vectors of lengths m and n; errors as for Gemm."""
        inputs = _tensors("Ger", (A, alpha, x, y), (2, 0, 1, 1))
        shape = inputs[2].type.shape + inputs[3].type.shape
        inputs[0], result = _sum("Ger", inputs[0], shape)
        return Apply(self, inputs, [result])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy; ValueError if lengths do not fit."""
        matrix, alpha, x, y = inputs
        with np.errstate(all="ignore"):
            product = np.outer(x, y) * alpha
        output_storage[0][0] = _accumulate("Ger", node, matrix, 1, product, self.inplace)


def _dot(a: Variable, b: Variable) -> Tensor:
    return matrix_product(a, b)


@pullback.register(Dot22)
def _dot22_pullback(node: Apply[Dot22, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    x, y = map(conj, node.inputs)
    g = cotangents[0]
    return [_dot(g, y.T), _dot(x.T, g)]


@pullback.register(Dot22Scalar)
def _dot22_scalar_pullback(node: Apply[Dot22Scalar], cotangents: list[Variable]) -> list[Variable | None]:
    x, y, alpha = map(conj, node.inputs)
    g = cotangents[0]
    return [alpha * _dot(g, y.T), alpha * _dot(x.T, g), sum_over(g * _dot(x, y))]


@pullback.register(Gemm)
def _gemm_pullback(node: Apply[Gemm, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    z, a, x, y, b = map(conj, node.inputs)
    g = cotangents[0]
    return [b * g, sum_over(g * _dot(x, y)), a * _dot(g, y.T), a * _dot(x.T, g), sum_over(g * z)]


@pullback.register(Gemv)
def _gemv_pullback(node: Apply[Gemv, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    y, alpha, matrix, x, beta = map(conj, node.inputs)
    g = as_tensor_variable(cotangents[0])
    outer = dimshuffle(g, (0, "x")) * dimshuffle(x, ("x", 0))
    return [beta * g, sum_over(g * _dot(matrix, x)), alpha * outer, alpha * _dot(matrix.T, g), sum_over(g * y)]


@pullback.register(Ger)
def _ger_pullback(node: Apply[Ger, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    _, alpha, x, y = map(conj, node.inputs)
    g = cotangents[0]
    return [g, _dot(x, _dot(g, y)), alpha * _dot(g, y), alpha * _dot(x, g)]


@batch_rule.register(Dot22, Dot22Scalar, Gemm, Gemv, Ger)
def _batch(node: Apply, inputs: list[Any], stacked: Sequence[bool]) -> Sequence[Any]:
    """Return the batch of the expression that the op computes."""
    op: Any = node.op
    match op:
        case Dot22():
            expression = _dot(*node.inputs)
        case Dot22Scalar():
            x, y, alpha = node.inputs
            expression = as_tensor_variable(alpha) * _dot(x, y)
        case Ger():
            a, alpha, x, y = map(as_tensor_variable, node.inputs)
            expression = a + alpha * dimshuffle(x, (0, "x")) * dimshuffle(y, ("x", 0))
        case _:
            z, alpha, x, y, beta = map(as_tensor_variable, node.inputs)
            # BLAS does not read z where its factor beta is 0.
            expression = switch(eq(beta, 0), 0, beta * z).astype(z.type.dtype) + alpha * _dot(x, y)
    return batch_of_expression(node, inputs, stacked, [expression])


pushforward.register(Dot22, Dot22Scalar, Gemm, Gemv, Ger)(derived_pushforward)


@shape_rule.register(Dot22)
@shape_rule.register(Dot22Scalar)
def _product_shape(node: Apply[Dot22 | Dot22Scalar], input_shapes: list[Any]) -> list[Any]:
    return [(input_shapes[0][0], input_shapes[1][1])]


@shape_rule.register(_Accumulation)
def _accumulated_shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


def _product(kind: Literal["gemm", "gemv", "ger"], node: Apply) -> Kernel | None:
    dtype = node.outputs[0].type.dtype
    return MatrixProductKernel(kind, dtype) if dtype in BLAS_DTYPES else None


@native_kernel.register(Dot22)
@native_kernel.register(Dot22Scalar)
@native_kernel.register(Gemm)
def _native_gemm(node: Apply[Dot22 | Dot22Scalar | Gemm]) -> Kernel | None:
    return _product("gemm", node)


@native_kernel.register(Gemv)
def _native_gemv(node: Apply[Gemv, Tensor]) -> Kernel | None:
    return _product("gemv", node)


@native_kernel.register(Ger)
def _native_ger(node: Apply[Ger, Tensor]) -> Kernel | None:
    return _product("ger", node)


@overwriting_form.register(_Accumulation)
def _overwriting(op: Op, given: int) -> Op | None:
    return op.in_place() if isinstance(op, _Accumulation) and not given else None


#: Instances for direct use.
dot22 = Dot22()
dot22_scalar = Dot22Scalar()
gemm_no_inplace = Gemm(False)
gemm_inplace = Gemm(True)
gemv_no_inplace = Gemv(False)
gemv_inplace = Gemv(True)
ger = Ger(False)
ger_destructive = Ger(True)
