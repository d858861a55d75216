"""Sums and products of the elements up to each one, and differences of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, compose, describe, pullback, pushforward, shape_rule
from theano_linker_c.kernels import ArrayRoutineKernel, Kernel, native_kernel

from .._core._axis import one_axis
from .._core._convert import as_tensor_variable
from .._core._dtypes import DISCRETE_DTYPES
from .._core._ops import TensorOp
from .._core._type import tensor_type
from .._core._typing import AxisLike, TensorLike
from .._core._variable import Tensor
from .._errors import ShapeError
from .._protocols._operators import operation
from ..elemwise import and_, conj, eq, mul, neq, sub, switch
from ..reduce import sum_dtype
from ..shape import flatten, flip

#: Floats whose totals would stand still where what is added is below their last digit, and what totals are kept in.
_WIDE = {"float16": "float64", "float32": "float64", "complex64": "complex128"}


class Cumulative(TensorOp):
    """What has been accumulated up to each element along an axis: cumulative sum or product.

    Parameters
    ----------
    axis : int
        From 0 up.
    mode : {"add", "mul"}
    """

    __props__ = ("axis", "mode")

    def __init__(self, axis: int = 0, mode: str = "add") -> None:
        if mode not in ("add", "mul"):
            raise ValueError(compose(f"{mode!r} is no way to accumulate", mend='use "add" or "mul"'))
        self.axis, self.mode = int(axis), mode

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor; ShapeError if it has no such axis."""
        variable = as_tensor_variable(x)
        if not 0 <= self.axis < variable.type.ndim:
            raise ShapeError(compose(f"{self}: there is no axis {self.axis}", where=[describe(variable)]))
        dtype = sum_dtype(variable.type.dtype)
        return Apply(self, [variable], [tensor_type(dtype, variable.type.shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Accumulate with NumPy, narrow floats in a wide one."""
        accumulate = np.cumsum if self.mode == "add" else np.cumprod
        dtype = node.outputs[0].type.dtype
        with np.errstate(over="ignore"):
            total = accumulate(inputs[0], axis=self.axis, dtype=_WIDE.get(dtype, dtype))
            output_storage[0][0] = total.astype(dtype, copy=False)

    def __str__(self) -> str:
        return f"Cum{'sum' if self.mode == 'add' else 'prod'}{{{self.axis}}}"


def _from_end(x: Tensor, axis: int) -> Tensor:
    """Sum of each element and all that follow."""
    result: Tensor = Cumulative(axis, "add")(flip(x, axis))
    return flip(result, axis)


@pullback.register(Cumulative)
def _pullback(node: Apply[Cumulative, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    x, g, axis = node.inputs[0], as_tensor_variable(cotangents[0]), node.op.axis
    if node.op.mode == "add":
        return [_from_end(g, axis)]
    if x.type.dtype in DISCRETE_DTYPES:
        return [x.zeros_like(dtype=g.type.dtype)]
    # Of complex numbers the conjugate of the derivative counts, which conjugates go in and come out for.
    g = conj(g)
    # Up to the first zero, products divided by the element are right; at it, products without it; after it, zero.
    zero = eq(x, 0)
    count: Tensor = Cumulative(axis, "add")(zero)
    first = and_(zero, eq(count, 1))
    without: Tensor = Cumulative(axis, "mul")(switch(first, np.ones((), x.type.dtype), x))
    before = _from_end(mul(g, node.outputs[0]), axis) / switch(zero, np.ones((), x.type.dtype), x)
    at = switch(first, _from_end(mul(g, without), axis), np.zeros((), x.type.dtype))
    result: Tensor = switch(eq(count, 0), before, at)
    return [conj(result).astype(x.type.dtype)]


@pushforward.register(Cumulative)
def _pushforward(node: Apply[Cumulative, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    x, axis = node.inputs[0], node.op.axis
    if tangents[0] is None:
        return [None]
    t = as_tensor_variable(tangents[0])
    if node.op.mode == "add":
        result: Tensor = node.op(t)
        return [result]
    # The product without one element x_j, for all j at once: as in the pullback, with the first zero left out.
    one, nothing = np.ones((), x.type.dtype), np.zeros((), x.type.dtype)
    zero = eq(x, 0)
    count: Tensor = Cumulative(axis, "add")(zero)
    first = and_(zero, eq(count, 1))
    add, product = Cumulative(axis, "add"), Cumulative(axis, "mul")
    before = mul(node.outputs[0], add(switch(zero, nothing, t / switch(zero, one, x))))
    after = mul(product(switch(first, one, x)), add(switch(first, t, nothing)))
    return [switch(eq(count, 0), before, switch(eq(count, 1), after, nothing))]


@shape_rule.register(Cumulative)
def _shape(node: Apply[Cumulative, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


def _accumulated(name: str, x: TensorLike, axis: AxisLike, mode: str) -> Tensor:
    variable = as_tensor_variable(x)
    if axis is None or (variable.type.ndim == 0 and axis in (0, -1)):
        variable, axis = flatten(variable), 0
    result: Tensor = Cumulative(one_axis(name, axis, variable), mode)(variable)
    return result


@operation("cumsum")
def cumsum(x: TensorLike, axis: int | None = None) -> Tensor:
    """Cumulative sum along an axis.

    Parameters
    ----------
    x : tensor_like
    axis : int, optional
        By default `x` is flattened.

    Returns
    -------
    Tensor
        In the shape of `x` (a vector without `axis`). Small integers and bool are summed as int64 or uint64.
        Totals of float16, float32 and complex64 are kept in wide numbers, as in :func:`sum`.

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.cumsum(T.constant([1, 2, 3])).eval()
    array([1, 3, 6])
    """
    return _accumulated("cumsum", x, axis, "add")


@operation("cumprod")
def cumprod(x: TensorLike, axis: int | None = None) -> Tensor:
    """Cumulative product along an axis; see :func:`cumsum`. Its gradient is right where elements are zero, too."""
    return _accumulated("cumprod", x, axis, "mul")


@operation("diff")
def diff(x: TensorLike, n: int = 1, axis: int = -1) -> Tensor:
    """Differences of neighbours along an axis, taken `n` times.

    Parameters
    ----------
    x : tensor_like
    n : int
        With 0, `x` itself is returned.
    axis : int

    Returns
    -------
    Tensor
        The axis is shorter by `n` (of length 0 at least). For bool, whether neighbours differ.

    Raises
    ------
    ValueError
        If `n` is negative.
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.diff(T.constant([1, 4, 9, 16]), 2).eval()
    array([2, 2])
    """
    variable = as_tensor_variable(x)
    if not isinstance(n, (int, np.integer)) or n < 0:
        raise ValueError(compose(f"diff: differences cannot be taken {n!r} times", mend="use a number from 0 up"))
    where = one_axis("diff", axis, variable)
    before: list[slice] = [slice(None)] * where
    for _ in range(int(n)):
        upper = variable[(*before, slice(1, None))]
        lower = variable[(*before, slice(None, -1))]
        variable = neq(upper, lower) if variable.type.dtype == "bool" else sub(upper, lower)
    return variable


#: What the runtime accumulates in; narrower integers are widened by NumPy.
_NATIVE = ("float32", "float64", "int64", "uint64")


@native_kernel.register(Cumulative)
def _native(node: Apply[Cumulative, Tensor]) -> Kernel | None:
    dtype = node.inputs[0].type.dtype
    same = dtype == node.outputs[0].type.dtype
    task = "cumsum" if node.op.mode == "add" else "cumprod"
    return ArrayRoutineKernel(task, dtype, node.op.axis) if same and dtype in _NATIVE else None
