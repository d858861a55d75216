"""Reductions of axes by one scalar op."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import (
    Apply,
    Constant,
    Variable,
    batch_rule,
    config,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c import scalar as scalars
from theano_linker_c.kernels import Kernel, Reduction, ReductionKernel, native_kernel
from theano_linker_c.scalar import ScalarOp, upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import (
    COMPLEX_DTYPES,
    DISCRETE_DTYPES,
    Array,
    AxisLike,
    DTypeLike,
    TensorLike,
    canonical_dtype,
    dtype_name,
)
from .._core._ops import TensorOp
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError, ShapeError
from .._protocols._methods import call
from ..elemwise import cast, conj, dimshuffle, eq, neq, real, second

# ---- Axes of reductions, and the dtypes of sums

Axes = tuple[int, ...]


def as_axes(axis: AxisLike) -> Axes | None:
    """Return `axis` (None, an int, a constant, or several of these) as a tuple, or None for all axes."""
    if isinstance(axis, Constant):
        axis = axis.data
    if axis is None:
        return None
    if isinstance(axis, (int, np.number)) or (isinstance(axis, np.ndarray) and axis.ndim == 0):
        return (_as_int(axis),)
    if isinstance(axis, Iterable) and not isinstance(axis, (str, bytes)):
        return tuple(_as_int(a.data if isinstance(a, Constant) else a) for a in axis)
    raise TypeError(format_error(f"{axis!r} is no axis", hint="use None (all axes), a number, or a tuple of numbers"))


def _as_int(axis: object) -> int:
    if (not isinstance(axis, bool) and isinstance(axis, (int, np.integer))) or (
        isinstance(axis, np.ndarray) and axis.ndim == 0 and axis.dtype.kind in "iu"
    ):
        return int(axis)
    if isinstance(axis, (float, np.floating)) and float(axis).is_integer():
        return int(axis)
    raise TypeError(
        format_error(f"{axis!r} is no axis: it must be known while the expression is built", hint="use a Python int")
    )


def normal_axes(name: str, axes: Axes | None, x: Tensor) -> Axes | None:
    """Return `axes` without negative numbers, sorted; None if they are all axes of `x`.

    Raises
    ------
    ShapeError
        If an axis is out of range or given twice.
    """
    if axes is None:
        return None
    ndim = x.type.ndim
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise ShapeError(
                format_error(
                    f"{name}: axis {axis} is out of range for {ndim} dimensions",
                    context=[describe(x)],
                    hint=f"use an axis from {-ndim} to {ndim - 1}"
                    if ndim
                    else "leave the axis out: the tensor is a scalar",
                )
            )
    normal = tuple(sorted(axis % ndim for axis in axes))
    if len(set(normal)) != len(normal):
        raise ShapeError(
            format_error(f"{name}: an axis is given twice in {axes}", context=[describe(x)], hint="name each axis once")
        )
    return None if len(normal) == ndim and ndim else normal


def sum_dtype(dtype: str) -> str:
    """Return the default dtype of a sum or product: small integers and bool become int64 or uint64, others stay."""
    if dtype in ("bool", "int8", "int16", "int32"):
        return "int64"
    if dtype in ("uint8", "uint16", "uint32"):
        return "uint64"
    return dtype


def accumulator_dtype(dtype: str) -> str:
    """Return the default dtype of an accumulator: the next wider one of floats, 64 bits for others."""
    if dtype == "float16":
        return "float32"
    if dtype == "float32":
        return "float64"
    if dtype == "complex64":
        return "complex128"
    return sum_dtype(dtype)


def combined_accumulator(dtype: str, result: str) -> str:
    """Return the default accumulator for an input of `dtype` and a result of `result`."""
    return accumulator_dtype(upcast(dtype, result) if result.startswith(("float", "complex")) else dtype)


# ---- Reductions of axes by one scalar op


class Reduce(TensorOp):
    """Base of reductions of `axis` by `combine`.

    Parameters
    ----------
    axis : None, int or sequence of int
        Axes that disappear; None for all.

    Invariants
    ----------
    The op of a node has sorted axes, None where they are all axes of its input, and no dtype left open.
    """

    __props__: ClassVar[tuple[str, ...]] = ("axis",)
    #: Scalar op that reduces; NumPy's ufunc for it; the value of an empty reduction (None: an error).
    combine: ClassVar[ScalarOp]
    ufunc: ClassVar[np.ufunc]
    identity: ClassVar[float | int | None] = None
    label: ClassVar[str]

    def __init__(self, axis: AxisLike = None) -> None:
        self.axis = as_axes(axis)

    @property
    def scalar_op(self) -> ScalarOp:
        """The scalar op that reduces."""
        return self.combine

    def axes(self, ndim: int) -> tuple[int, ...]:
        """Return the reduced axes of an input with `ndim` dimensions."""
        return tuple(range(ndim)) if self.axis is None else self.axis

    def needs_no_native_form(self, node: Apply[Self, Tensor]) -> bool:
        """Tell whether the linker that runs native code only takes a node: over no axes, nothing is reduced."""
        return not self.axes(node.inputs[0].type.ndim)

    def with_axes(self, axis: tuple[int, ...] | None) -> Reduce:
        """Return the same reduction over other axes."""
        return type(self)(axis)

    def resolved(self, x: Tensor) -> Reduce:
        """Return the op with its axes (and dtypes) settled for `x`."""
        axis = normal_axes(self.label, self.axis, x)
        return self if axis == self.axis else self.with_axes(axis)

    def result_dtype(self, dtype: str) -> str:
        """Return the dtype of the result for an input of `dtype`."""
        return dtype

    def accumulator(self, dtype: str) -> str:
        """Return the dtype in which an input of `dtype` is accumulated."""
        return dtype

    def kernel_accumulator(self, dtype: str) -> str:
        """Return the accumulator dtype of compiled code: for float16, of which it has no accumulators, float32."""
        return "float32" if self.accumulator(dtype) == "float16" else self.accumulator(dtype)

    def prepare(self, x: Tensor) -> Tensor:
        """Convert the input where the reduction needs another dtype."""
        return x

    def make_node(self, x: TensorLike) -> Apply:
        """Apply to a tensor; ShapeError if an axis does not exist."""
        variable = self.prepare(as_tensor_variable(x))
        op = self.resolved(variable)
        gone = set(op.axes(variable.type.ndim))
        shape = [length for i, length in enumerate(variable.type.shape) if i not in gone]
        return Apply(op, [variable], [tensor_type(op.result_dtype(variable.type.dtype), tuple(shape)).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy."""
        with np.errstate(all="ignore"):
            output_storage[0][0] = np.array(self.reduce_array(inputs[0]), dtype=node.outputs[0].type.dtype)

    def reduce_array(self, x: Array) -> Any:
        """Reduction the elements of an array, in the dtype of the accumulator or the result."""
        axes = self.axes(x.ndim)
        return self.ufunc.reduce(x, axis=axes, dtype=self.accumulator(dtype_name(x.dtype))) if axes else x

    def __str__(self) -> str:
        return f"{type(self).__name__}{self._details()}"

    def _details(self) -> str:
        return "" if self.axis is None else f"{{{', '.join(map(str, self.axis))}}}"


def refuse_narrow_accumulator(label: str, x: Tensor, acc_dtype: str | None) -> None:
    """Raise DTypeError if the asked accumulator cannot hold the elements of `x`; integers fit into any float."""
    dtype = x.type.dtype
    if acc_dtype is None or upcast(dtype, acc_dtype) == acc_dtype:
        return
    if dtype in DISCRETE_DTYPES and acc_dtype not in DISCRETE_DTYPES:
        return
    raise DTypeError(
        format_error(
            f"{label}: elements of {dtype} would lose precision in an accumulator of {acc_dtype}",
            context=[describe(x)],
            hint="leave acc_dtype out, or cast the tensor first",
        )
    )


class AccumulatingReduce(Reduce):
    """Base of sum and product, whose result and accumulator have dtypes of their own.

    Parameters
    ----------
    axis : None, int or sequence of int
    dtype : str, optional
        Dtype of the result: that of the input by default, int64 or uint64 for smaller integers.
    acc_dtype : str, optional
        Dtype of the accumulator: at least 64 bits by default, so float32 is summed in float64.
    """

    __props__: ClassVar[tuple[str, ...]] = ("axis", "dtype", "acc_dtype")
    identity: ClassVar[float | int | None]

    def __init__(
        self, axis: AxisLike = None, dtype: DTypeLike | None = None, acc_dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(axis)
        self.dtype = None if dtype is None else canonical_dtype(dtype, config.floatX)
        self.acc_dtype = None if acc_dtype is None else canonical_dtype(acc_dtype, config.floatX)

    def resolved(self, x: Tensor) -> Reduce:
        """Return the op with axes and dtypes settled for `x`; DTypeError if complex numbers would become real."""
        axis = normal_axes(self.label, self.axis, x)
        dtype = self.dtype or sum_dtype(x.type.dtype)
        accumulator = self.acc_dtype or combined_accumulator(x.type.dtype, dtype)
        if x.type.dtype in COMPLEX_DTYPES and not (dtype in COMPLEX_DTYPES and accumulator in COMPLEX_DTYPES):
            raise DTypeError(
                format_error(
                    f"{self.label}: complex numbers cannot be reduced into {dtype}",
                    context=[describe(x)],
                    hint="take T.real(x) first",
                )
            )
        if (axis, dtype, accumulator) == (self.axis, self.dtype, self.acc_dtype):
            return self
        return self._with(axis, dtype, accumulator)

    def _with(self, axis: tuple[int, ...] | None, dtype: str | None, accumulator: str | None) -> AccumulatingReduce:
        return type(self)(axis, dtype, accumulator)

    def result_dtype(self, dtype: str) -> str:
        """Return the dtype of the result."""
        return self.dtype or sum_dtype(dtype)

    def accumulator(self, dtype: str) -> str:
        """Return the dtype of the accumulator."""
        return self.acc_dtype or combined_accumulator(dtype, self.result_dtype(dtype))

    def _details(self) -> str:
        parts = [] if self.axis is None else [f"axis=[{', '.join(map(str, self.axis))}]"]
        if self.acc_dtype is not None:
            parts.append(f"acc_dtype={self.acc_dtype}")
        return f"{{{', '.join(parts)}}}" if parts else ""


class Sum(AccumulatingReduce):
    """Sum over axes. The empty sum is 0."""

    combine = scalars.add
    ufunc = np.add
    identity = 0
    label = "sum"


class Prod(AccumulatingReduce):
    """Product over axes. The empty product is 1.

    Parameters
    ----------
    axis, dtype, acc_dtype
        As for :class:`Sum`.
    no_zeros_in_input : bool
        Promise that no element is zero; the gradient is then simpler, and wrong if the promise is broken.
    """

    __props__: ClassVar[tuple[str, ...]] = ("axis", "dtype", "acc_dtype", "no_zeros_in_input")
    combine: ClassVar[ScalarOp] = scalars.mul
    ufunc = np.multiply
    identity = 1
    label = "prod"

    def __init__(
        self,
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
        acc_dtype: DTypeLike | None = None,
        no_zeros_in_input: bool = False,
    ) -> None:
        super().__init__(axis, dtype, acc_dtype)
        self.no_zeros_in_input = bool(no_zeros_in_input)

    def _with(self, axis: tuple[int, ...] | None, dtype: str | None, accumulator: str | None) -> AccumulatingReduce:
        return Prod(axis, dtype, accumulator, self.no_zeros_in_input)


class _Extremum(Reduce):
    def prepare(self, x: Tensor) -> Tensor:
        """Refuse complex numbers."""
        if x.type.dtype in COMPLEX_DTYPES:
            raise DTypeError(
                format_error(f"{self.label}: complex numbers have no order", context=[describe(x)], hint="use abs(x)")
            )
        return x


class Max(_Extremum):
    """Largest element over axes; NaN if there is one. An empty reduction is an error."""

    combine = scalars.maximum
    ufunc = np.maximum
    label = "max"


class Supremum(Max):
    """Largest element over axes as :class:`Max`, but minus infinity for none; for floats only.

    Stable forms of ``log(sum(exp(x)))`` use it, so that a sum over an empty axis keeps its value.
    """

    identity = float("-inf")

    def reduce_array(self, x: Array) -> Any:
        """Reduction with a start, so that nothing has a largest element too."""
        return np.maximum.reduce(x, axis=self.axes(x.ndim), initial=-np.inf) if x.ndim else x


class Min(_Extremum):
    """Smallest element over axes; NaN if there is one. An empty reduction is an error."""

    combine = scalars.minimum
    ufunc = np.minimum
    label = "min"


class LogicalReduce(Reduce):
    """Base of `all` and `any`: works on truth values, gives bool."""

    def prepare(self, x: Tensor) -> Tensor:
        """Compare numbers with zero."""
        return x if x.type.dtype == "bool" else neq(x, 0)


class All(LogicalReduce):
    """Whether all elements are true; true for none."""

    combine = scalars.and_
    ufunc = np.logical_and
    identity = 1
    label = "all"


class Any_(LogicalReduce):
    """Whether any element is true; false for none."""

    combine = scalars.or_
    ufunc = np.logical_or
    identity = 0
    label = "any"

    def __str__(self) -> str:
        return f"Any{self._details()}"


def restore(value: Tensor, node: Apply) -> Tensor:
    """Give `value`, of the form of the node's output, the reduced axes back as dimensions of length 1."""
    ndim = node.inputs[0].type.ndim
    gone = set(node.op.axes(ndim))
    remaining = iter(range(ndim - len(gone)))
    return dimshuffle(value, ["x" if i in gone else next(remaining) for i in range(ndim)])


def scaled(x: Tensor, part: Tensor) -> Tensor:
    """Return a cotangent in the dtype of the input `x` where that is no integer: results may have another."""
    dtype_of_mean = x.type.dtype
    if dtype_of_mean in DISCRETE_DTYPES or part.type.dtype == dtype_of_mean:
        return part
    return cast(real(part) if dtype_of_mean not in COMPLEX_DTYPES else part, dtype_of_mean)


@pullback.register(Sum)
def _pullback_sum(node: Apply[Sum, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    (x,) = node.inputs
    return [scaled(x, second(x, restore(as_tensor_variable(cotangents[0]), node)))]


@pullback.register(Prod)
def _pullback_prod(node: Apply[Prod, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    (x,) = node.inputs
    cotangent = as_tensor_variable(cotangents[0])
    relative = _without_divisor(cotangent, node.outputs[0])
    if relative is not None:
        return [scaled(x, restore(relative, node) / x)]
    return [scaled(x, restore(cotangent, node) * conj(_others(node)))]


def _without_divisor(cotangent: Tensor, product: Tensor) -> Tensor | None:
    """Return g if a cotangent of a product p is ``g / p``, as that of log(p): p may be out of the range of numbers.

    That of ``log(abs(p))`` is ``g / abs(p) * sgn(p)``.
    """
    signed = _operands(cotangent, scalars.mul)
    sign = _operands(signed[1], scalars.sgn) if len(signed) == 2 else []
    of_size = bool(sign) and sign[0] is product
    quotient = _operands(signed[0] if of_size else cotangent, scalars.true_div)
    divisor = quotient[1:] if not of_size or not quotient else _operands(quotient[1], scalars.abs)
    same = bool(divisor) and divisor[0] is product and quotient[0].type.dtype == cotangent.type.dtype
    return quotient[0] if same else None


def _operands(variable: Tensor, op: ScalarOp) -> list[Tensor]:
    node = variable.owner
    return node.inputs if node is not None and getattr(node.op, "scalar_op", None) == op else []


def _others(node: Apply) -> Tensor:
    """D prod / d x_i is the product of the others, which knows no zeros: neither do further derivatives."""
    (x,) = node.inputs
    if node.op.no_zeros_in_input:
        quotient: Tensor = restore(node.outputs[0], node) / x
        return quotient
    others: Tensor = call("product_of_others", cast(x, node.op.accumulator(x.type.dtype)), node.op.axes(x.type.ndim))
    return others


@pullback.register(Max, Min)
def _pullback_extremum(node: Apply[Max | Min, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    """Each element that equals the extremum gets the whole cotangent."""
    (x,) = node.inputs
    g = restore(as_tensor_variable(cotangents[0]), node)
    return [g * eq(restore(node.outputs[0], node), x)]


@pullback.register(LogicalReduce)
def _pullback_logical(node: Apply[LogicalReduce, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    (x,) = node.inputs
    return [x.zeros_like(dtype=config.floatX)]


@pushforward.register(Sum)
def _pushforward_sum(node: Apply[Sum, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    dtype = node.outputs[0].type.dtype
    if tangents[0] is None or dtype in DISCRETE_DTYPES:
        return [None]
    return [Sum(node.op.axis, dtype, node.op.acc_dtype)(tangents[0])]


@pushforward.register(Prod)
def _pushforward_prod(node: Apply[Prod, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    dtype = node.outputs[0].type.dtype
    if tangents[0] is None or dtype in DISCRETE_DTYPES:
        return [None]
    return [Sum(node.op.axis, dtype, node.op.acc_dtype)(as_tensor_variable(tangents[0]) * _others(node))]


@pushforward.register(LogicalReduce)
def _pushforward_logical(node: Apply[LogicalReduce, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None]


@pushforward.register(Max, Min)
def _pushforward_extremum(node: Apply[Max | Min, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    if tangents[0] is None or node.outputs[0].type.dtype in DISCRETE_DTYPES:
        return [None]
    (x,) = node.inputs
    return [Sum(node.op.axis)(as_tensor_variable(tangents[0]) * eq(restore(node.outputs[0], node), x))]


@batch_rule.register(Reduce)
def _batch(node: Apply[Reduce, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    op: Any = node.op
    axes = tuple(axis + 1 for axis in op.axes(node.inputs[0].type.ndim))
    shifted = op._with(axes, op.dtype, op.acc_dtype) if isinstance(op, AccumulatingReduce) else op.with_axes(axes)
    return [shifted(inputs[0])]


@shape_rule.register(Reduce)
def _shape(node: Apply[Reduce, Tensor], input_shapes: list[Any]) -> list[Any]:
    (shape,) = input_shapes
    gone = set(node.op.axes(len(shape)))
    return [tuple(length for i, length in enumerate(shape) if i not in gone)]


@native_kernel.register(Reduce)
def _native(node: Apply[Reduce, Tensor]) -> Kernel | None:
    op, (x,), (y,) = node.op, node.inputs, node.outputs
    axes = op.axes(x.type.ndim)
    if not axes:
        return None
    return ReductionKernel(
        scalar_op=scalars.identity,
        input_dtypes=(x.type.dtype,),
        kept_dtypes=(),
        reductions=(Reduction(op.combine, op.kernel_accumulator(x.type.dtype), y.type.dtype, op.identity),),
        broadcast=(x.type.broadcastable,),
        ndim=x.type.ndim,
        axes=axes,
    )


def keep_dims(x: Tensor, y: Tensor, axis: AxisLike) -> Tensor:
    """Return the reduction `y` of `x` with its reduced axes back, of length 1."""
    axes = normal_axes("keepdims", as_axes(axis), x)
    gone = set(range(x.type.ndim) if axes is None else axes)
    remaining = iter(range(x.type.ndim - len(gone)))
    return dimshuffle(y, ["x" if i in gone else next(remaining) for i in range(x.type.ndim)])
