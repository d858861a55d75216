"""Sums and products of the elements up to each one, and differences of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import ArrayRoutineKernel, Kernel, native_kernel
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import DISCRETE_DTYPES, AxisLike, TensorLike
from .._core._ops import TensorOp, all_stacked, one_axis
from .._core._type import Tensor, tensor_type
from .._errors import ShapeError
from .._protocols._methods import operation
from ..elemwise import add, cast, conj, dimshuffle, mul, neq, ones_like, second, sub
from ..joining import join
from ..reduce import sum_dtype
from ..shape import flatten, flip, lengths_of, reshape

#: Floats whose totals would stand still where addends are below their last digit, and the dtypes of their totals.
_WIDE = {"float16": "float64", "float32": "float64", "complex64": "complex128"}


class Cumulative(TensorOp):
    """The accumulation up to each element along an axis: cumulative sum or product.

    Parameters
    ----------
    axis : int
        From 0 up.
    mode : {"add", "mul"}
    """

    __props__ = ("axis", "mode")

    def __init__(self, axis: int = 0, mode: str = "add") -> None:
        if mode not in ("add", "mul"):
            raise ValueError(format_error(f"{mode!r} is no way to accumulate", hint='use "add" or "mul"'))
        self.axis, self.mode = int(axis), mode

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor; ShapeError if it has no such axis."""
        variable = as_tensor_variable(x)
        if not 0 <= self.axis < variable.type.ndim:
            raise ShapeError(format_error(f"{self}: there is no axis {self.axis}", context=[describe(variable)]))
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


def _delayed(x: Tensor, axis: int, first: int) -> Tensor:
    """Return the elements one place earlier along an axis; a number at the first place."""
    front: list[slice] = [slice(None)] * axis
    begin = x[(*front, slice(None, 1))]
    return join(axis, second(begin, np.asarray(first, x.type.dtype)), x[(*front, slice(None, -1))])


class Recurrence(TensorOp):
    """The numbers ``y[i] = x[i] + factors[i] * y[i - 1]`` along an axis, beginning with ``y[0] = x[0]``.

    Derivatives of cumulative products are such numbers, and so are theirs.

    Parameters
    ----------
    axis : int
        From 0 up.
    """

    __props__ = ("axis",)

    def __init__(self, axis: int = 0) -> None:
        self.axis = int(axis)

    def make_node(self, x: TensorLike, factors: TensorLike) -> Apply[Self, Tensor]:
        """Apply to two tensors of one shape; ShapeError if they have no such axis."""
        operands = as_tensor_variable(x), as_tensor_variable(factors)
        if not 0 <= self.axis < operands[0].type.ndim or operands[0].type.ndim != operands[1].type.ndim:
            raise ShapeError(
                format_error(f"{self}: no axis {self.axis} of both", context=[describe(v) for v in operands])
            )
        dtype = upcast(*(v.type.dtype for v in operands))
        parts = [cast(v, dtype) for v in operands]
        return Apply(self, parts, [tensor_type(dtype, parts[0].type.shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Go along the axis, with narrow floats in a wide one."""
        if inputs[0].shape != inputs[1].shape:
            raise ValueError(format_error(f"{self}: shapes {inputs[0].shape} and {inputs[1].shape} differ"))
        dtype = node.outputs[0].type.dtype
        result = np.array(np.moveaxis(inputs[0], self.axis, 0), dtype=_WIDE.get(dtype, dtype))
        factors = np.moveaxis(inputs[1], self.axis, 0)
        with np.errstate(all="ignore"):
            for i in range(1, len(result)):
                result[i] += factors[i] * result[i - 1]
            output_storage[0][0] = np.ascontiguousarray(np.moveaxis(result, 0, self.axis)).astype(dtype, copy=False)


def _backwards(x: Tensor, factors: Tensor, axis: int) -> Tensor:
    """Return ``y[i] = x[i] + factors[i + 1] * y[i + 1]``."""
    result: Tensor = Recurrence(axis)(flip(x, axis), _delayed(flip(factors, axis), axis, 0))
    return flip(result, axis)


@pullback.register(Recurrence)
def _pullback_recurrence(node: Apply[Recurrence, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    axis, (y,) = node.op.axis, node.outputs
    by_x = _backwards(as_tensor_variable(cotangents[0]), conj(node.inputs[1]), axis)
    return [by_x, mul(by_x, conj(_delayed(y, axis, 0)))]


@pushforward.register(Recurrence)
def _pushforward_recurrence(node: Apply[Recurrence, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    (_, factors), (y,), axis = node.inputs, node.outputs, node.op.axis
    terms = [None if tangents[0] is None else as_tensor_variable(tangents[0])]
    terms.append(None if tangents[1] is None else mul(tangents[1], _delayed(y, axis, 0)))
    addends = [term for term in terms if term is not None]
    return [Recurrence(axis)(addends[0] if len(addends) == 1 else add(*addends), factors)] if addends else [None]


@operation("product_of_others")
def product_of_others(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Return for each element the product of all others that a reduction of some axes multiplies it with."""
    ndim, gone = x.type.ndim, list(axes)
    if not gone:
        return ones_like(x)
    if len(gone) == 1:
        return mul(_delayed(cumprod(x, gone[0]), gone[0], 1), _product_after(x, gone[0]))
    order = [*(d for d in range(ndim) if d not in gone), *gone]
    moved = dimshuffle(x, order)
    last = ndim - len(gone)
    flat = product_of_others(flatten(moved, last + 1), [last])
    return dimshuffle(reshape(flat, lengths_of(moved), ndim=ndim), [order.index(d) for d in range(ndim)])


def _product_after(x: Tensor, axis: int) -> Tensor:
    return flip(_delayed(cumprod(flip(x, axis), axis), axis, 1), axis)


@pullback.register(Cumulative)
def _pullback(node: Apply[Cumulative, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    x, g, axis = node.inputs[0], as_tensor_variable(cotangents[0]), node.op.axis
    if node.op.mode == "add":
        return [_from_end(g, axis)]
    if x.type.dtype in DISCRETE_DTYPES:
        return [x.zeros_like(dtype=g.type.dtype)]
    # The product before an element, and after it up to each result, without a division: right at zeros, too, and so
    # are further derivatives.
    before = conj(_delayed(node.outputs[0], axis, 1))
    return [mul(before, _backwards(g, conj(x), axis)).astype(x.type.dtype)]


@pushforward.register(Cumulative)
def _pushforward(node: Apply[Cumulative, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    x, axis = node.inputs[0], node.op.axis
    if tangents[0] is None:
        return [None]
    t = as_tensor_variable(tangents[0])
    if node.op.mode == "add":
        result: Tensor = node.op(t)
        return [result]
    change: Tensor = Recurrence(axis)(mul(t, _delayed(node.outputs[0], axis, 1)), x)
    return [change]


@batch_rule.register(Cumulative)
def _batch(node: Apply[Cumulative, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [Cumulative(node.op.axis + 1, node.op.mode)(inputs[0])]


@batch_rule.register(Recurrence)
def _batch_recurrence(node: Apply[Recurrence, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [Recurrence(node.op.axis + 1)(*all_stacked(inputs, stacked))]


@shape_rule.register(Cumulative, Recurrence)
def _shape(node: Apply[Cumulative | Recurrence, Tensor], input_shapes: list[Any]) -> list[Any]:
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
    """Cumulative product along an axis; see :func:`cumsum`. Its gradient is right where elements are zero, too.

    Parameters
    ----------
    x : tensor_like
    axis : int, optional
        By default, `x` is flattened.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.cumprod([1.0, 2.0, 3.0]).eval()
    array([1., 2., 6.])
    """
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
        raise ValueError(format_error(f"diff: differences cannot be taken {n!r} times", hint="use a number from 0 up"))
    where = one_axis("diff", axis, variable)
    before: list[slice] = [slice(None)] * where
    for _ in range(int(n)):
        upper = variable[(*before, slice(1, None))]
        lower = variable[(*before, slice(None, -1))]
        variable = neq(upper, lower) if variable.type.dtype == "bool" else sub(upper, lower)
    return variable


#: The dtypes in which the runtime accumulates; narrower integers are widened by NumPy.
_NATIVE = ("float32", "float64", "int64", "uint64")


@native_kernel.register(Cumulative)
def _native(node: Apply[Cumulative, Tensor]) -> Kernel | None:
    dtype = node.inputs[0].type.dtype
    same = dtype == node.outputs[0].type.dtype
    task = "cumsum" if node.op.mode == "add" else "cumprod"
    return ArrayRoutineKernel(task, dtype, node.op.axis) if same and dtype in _NATIVE else None


@native_kernel.register(Recurrence)
def _native_recurrence(node: Apply[Recurrence, Tensor]) -> Kernel | None:
    dtype = node.outputs[0].type.dtype
    return ArrayRoutineKernel("recurrence", dtype, node.op.axis) if dtype in ("float32", "float64") else None
