"""Reductions by any scalar op that is commutative and associative, and positions of extrema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, config, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c import scalar as scalars
from theano_linker_c.kernels import ArgmaxKernel, Kernel, native_kernel
from theano_linker_c.scalar import ScalarOp, ScalarTypeError

from .._core._convert import as_tensor_variable
from .._core._dtypes import COMPLEX_DTYPES, Array, AxisLike, DTypeLike, TensorLike, canonical_dtype
from .._core._ops import TensorOp
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError
from .._protocols._methods import call, operation
from ..elemwise import conj, eq, switch
from ..gradient import derived_pushforward
from ._functions import max as largest
from ._reduce import (
    AccumulatingReduce,
    Prod,
    Reduce,
    accumulator_dtype,
    as_axes,
    keep_dims,
    normal_axes,
    refuse_narrow_accumulator,
    restore,
    scaled,
    sum_dtype,
)

# ---- Reductions by any scalar op that is commutative and associative

#: NumPy's ufunc for a reduction, by the name of the scalar op.
_UFUNCS = {
    "add": np.add,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
}


class _CAReduceMeta(type):
    """Counts reductions with a name among those by any scalar op: ``isinstance(node.op, CAReduce)`` asks for both."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _NAMED.get(cls.__name__, ())) or super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _NAMED.get(cls.__name__, ())) or super().__subclasscheck__(subclass)


#: The reductions with a name that count as instances of a class.
_NAMED: dict[str, tuple[type, ...]] = {"CAReduce": (Reduce,), "CAReduceDtype": (AccumulatingReduce,)}


class CAReduce(Reduce, metaclass=_CAReduceMeta):
    """Reduce axes by a scalar op.

    Parameters
    ----------
    scalar_op : ScalarOp
        With two inputs and one output, commutative and associative: in which order elements are joined is left open.
    axis : None, int or sequence of int
        Axes that disappear; None for all.

    Raises
    ------
    TypeError
        If `scalar_op` is none, or cannot take two inputs.
    ValueError
        When run: if there is no element and the op has no neutral value (maximum, minimum, ops of users).

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> T.CAReduce(theano.scalar.xor, axis=0)(T.imatrix("x")).type
    TensorType(int32, vector)
    """

    __props__: ClassVar[tuple[str, ...]] = ("scalar_op", "axis")

    def __init__(self, scalar_op: ScalarOp, axis: AxisLike = None) -> None:
        super().__init__(axis)
        if not isinstance(scalar_op, ScalarOp) or scalar_op.nin not in (-1, 2) or scalar_op.nout != 1:
            raise TypeError(
                format_error(
                    f"{type(self).__name__}: {scalar_op!r} does not join two numbers to one",
                    hint="pass a scalar op with two inputs, such as scalar.add",
                )
            )
        self.combine: ScalarOp = scalar_op  # type: ignore[misc]  # of the class in reductions with a name
        self.label = scalar_op.name  # type: ignore[misc]  # as above

    @property
    def identity(self) -> Any:  # type: ignore[override]  # as above
        """Result for no elements; None if that is an error."""
        return {"add": 0, "mul": 1, "or_": 0, "xor": 0, "and_": -1}.get(self.combine.name)

    def with_axes(self, axis: tuple[int, ...] | None) -> Reduce:
        """Return the same reduction over other axes."""
        return CAReduce(self.combine, axis)

    def result_dtype(self, dtype: str) -> str:
        """Return the dtype of the scalar op's result."""
        (dtype_of_result,) = self.combine.result_dtypes(dtype, dtype)
        if self.combine.result_dtypes(dtype_of_result, dtype) != (dtype_of_result,):
            raise ScalarTypeError(
                format_error(
                    f"{self}: a reduction by {self.combine} has no one dtype for elements of {dtype}",
                    hint="use a scalar op whose result has the dtype of its inputs, or cast the tensor first",
                )
            )
        return dtype_of_result

    def reduce_array(self, x: Array) -> Any:
        """Reduce with NumPy: by its own reduction where there is one, else element by element along the axes."""
        axes, accumulator = self.axes(x.ndim), self.accumulator(x.dtype.name)
        ufunc = _UFUNCS.get(self.combine.name)
        if not axes:
            return x
        if ufunc is None:
            return self._reduce_rows(x, axes, accumulator)
        values = x.astype(accumulator, copy=False)
        if self.identity is None:
            return ufunc.reduce(values, axis=axes)
        return ufunc.reduce(values, axis=axes, initial=np.array(self.identity).astype(accumulator)[()])

    def _reduce_rows(self, x: Array, axes: tuple[int, ...], dtype: str) -> Any:
        kept_axes = [i for i in range(x.ndim) if i not in axes]
        rows = x.transpose([*axes, *kept_axes]).reshape([-1, *(x.shape[i] for i in kept_axes)])
        if not len(rows):
            raise ValueError(
                format_error(
                    f"{self}: there is no element and {self.combine} has no neutral value", hint="pass an element"
                )
            )
        total = rows[0].astype(dtype)
        for row in rows[1:]:
            total = self.combine.evaluate(total, row)
        return total

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.combine}}}{self._details()}"


class CAReduceDtype(CAReduce):
    """Reduction a scalar op over axes, with dtypes of its own for result and accumulator.

    Parameters
    ----------
    scalar_op, axis
        As for `CAReduce`.
    dtype : str, optional
        Dtype of the result: that of the input by default, int64 or uint64 for smaller integers.
    acc_dtype : str, optional
        Dtype in which elements are joined: at least 64 bits for each part by default.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> T.CAReduceDtype(theano.scalar.add)(T.imatrix("x")).dtype
    'int64'
    """

    __props__ = ("scalar_op", "axis", "dtype", "acc_dtype")

    def __init__(
        self,
        scalar_op: ScalarOp,
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
        acc_dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(scalar_op, axis)
        self.dtype = None if dtype is None else canonical_dtype(dtype, config.floatX)
        self.acc_dtype = None if acc_dtype is None else canonical_dtype(acc_dtype, config.floatX)

    def with_axes(self, axis: tuple[int, ...] | None) -> Reduce:
        """Return the same reduction over other axes."""
        return CAReduceDtype(self.combine, axis, self.dtype, self.acc_dtype)

    def resolved(self, x: Tensor) -> Reduce:
        """Return the op with axes and dtypes settled for `x`."""
        refuse_narrow_accumulator(self.label, x, self.acc_dtype)
        axis = normal_axes(self.label, self.axis, x)
        dtype = self.dtype or sum_dtype(x.type.dtype)
        accumulator = self.acc_dtype or accumulator_dtype(x.type.dtype)
        return CAReduceDtype(self.combine, axis, dtype, accumulator)

    def result_dtype(self, dtype: str) -> str:
        """Return the dtype of the result."""
        return self.dtype or sum_dtype(dtype)

    def accumulator(self, dtype: str) -> str:
        """Return the dtype of the accumulator."""
        return self.acc_dtype or accumulator_dtype(dtype)


class ProdWithoutZeros(Prod):
    """Product over axes of the elements that are not zero; 1 where there is none.

    Parameters
    ----------
    axis, dtype, acc_dtype
        As for `Sum`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.ProdWithoutZeros()(T.dvector("x")).ndim
    0
    """

    combine: ClassVar[ScalarOp] = scalars.mul_without_zeros
    label = "prod_without_zeros"
    __props__ = ("axis", "dtype", "acc_dtype")

    def __init__(
        self, axis: AxisLike = None, dtype: DTypeLike | None = None, acc_dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(axis, dtype, acc_dtype)

    def resolved(self, x: Tensor) -> Reduce:
        """Return the op with axes and dtypes settled for `x`."""
        refuse_narrow_accumulator(self.label, x, self.acc_dtype)
        return super().resolved(x)

    def _with(self, axis: tuple[int, ...] | None, dtype: str | None, accumulator: str | None) -> ProdWithoutZeros:
        return ProdWithoutZeros(axis, dtype, accumulator)

    def reduce_array(self, x: Array) -> Any:
        """Multiply with ones in place of zeros."""
        return super().reduce_array(np.where(x == 0, np.ones((), x.dtype), x))


@pullback.register(ProdWithoutZeros)
def _pullback_without_zeros(node: Apply[ProdWithoutZeros, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    """Divide the product by the element; a zero has no part in it."""
    (x,) = node.inputs
    g = restore(as_tensor_variable(cotangents[0]), node)
    zero = eq(x, 0)
    return [scaled(x, g * conj(switch(zero, 0, restore(node.outputs[0], node) / switch(zero, 1, x))))]


@pullback.register(CAReduce)
def _pullback_careduce(node: Apply[CAReduce, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    """Follow the reduction with a name that does the same; of others nothing is known but the op."""
    (x,) = node.inputs
    named = {"add": "sum", "mul": "prod", "maximum": "max", "minimum": "min"}.get(node.op.combine.name)
    if named is None:
        reason = f"a reduction by {node.op.combine} says nothing about its derivative"
        return [call("grad_undefined", node.op, 0, x, reason)]
    same = call(named, x, axis=node.op.axes(x.type.ndim))
    if same.owner is None:
        return [cotangents[0]]
    gradients: list[Variable | None] = list(pullback.lookup(same.owner.op)(same.owner, cotangents))
    return [scaled(x, as_tensor_variable(part)) for part in gradients if part is not None]


pushforward.register(CAReduce, ProdWithoutZeros)(derived_pushforward)


# ---- Positions of extrema


class ArgExtremum(TensorOp):
    """Base of `ArgMax` and `ArgMin`: index of the first extremum over axes, counted in the flattened axes."""

    __props__ = ("axis",)
    label: str

    def __init__(self, axis: AxisLike = None) -> None:
        self.axis = as_axes(axis)

    def axes(self, ndim: int) -> tuple[int, ...]:
        """Return the reduced axes of an input with `ndim` dimensions."""
        return tuple(range(ndim)) if self.axis is None else self.axis

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor; the result is int64."""
        variable = as_tensor_variable(x)
        if variable.type.dtype in COMPLEX_DTYPES:
            raise DTypeError(
                format_error(
                    f"{self.label}: complex numbers have no order", context=[describe(variable)], hint="use abs(x)"
                )
            )
        axis = normal_axes(self.label, self.axis, variable)
        op = self if axis == self.axis else type(self)(axis)
        gone = set(op.axes(variable.type.ndim))
        shape = [length for i, length in enumerate(variable.type.shape) if i not in gone]
        return Apply(op, [variable], [tensor_type("int64", shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy."""
        (x,) = inputs
        axes = self.axes(x.ndim)
        kept_axes = [i for i in range(x.ndim) if i not in axes]
        rows = x.transpose([*kept_axes, *axes]).reshape(
            [*(x.shape[i] for i in kept_axes), int(np.prod([x.shape[i] for i in axes]))]
        )
        output_storage[0][0] = np.asarray(self.find(rows), dtype="int64")

    def find(self, rows: Any) -> Any:
        """Return the positions along the last axis."""
        raise TypeError(f"{type(self).__name__} is only a base")

    def __str__(self) -> str:
        return f"{type(self).__name__}{{axis={self.axis}}}"


class ArgMax(ArgExtremum):
    """Index of the first largest element over axes; of the first NaN if there is one."""

    label = "argmax"

    def find(self, rows: Any) -> Any:
        """Return the positions along the last axis."""
        return np.argmax(rows, axis=-1)


class ArgMin(ArgExtremum):
    """Index of the first smallest element over axes; of the first NaN if there is one."""

    label = "argmin"

    def find(self, rows: Any) -> Any:
        """Return the positions along the last axis."""
        return np.argmin(rows, axis=-1)


@pullback.register(ArgExtremum)
def _pullback(node: Apply[ArgExtremum, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    """A position is constant almost everywhere."""
    return [node.inputs[0].zeros_like(dtype=None if "float" in node.inputs[0].dtype else config.floatX)]


@pushforward.register(ArgExtremum)
def _pushforward(node: Apply[ArgExtremum, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None]


@batch_rule.register(ArgExtremum)
def _batch(node: Apply[ArgExtremum, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    op = node.op
    return [type(op)([axis + 1 for axis in op.axes(node.inputs[0].type.ndim)])(inputs[0])]


@native_kernel.register(ArgExtremum)
def _native(node: Apply[ArgExtremum, Tensor]) -> Kernel | None:
    (x,) = node.inputs
    largest = isinstance(node.op, ArgMax)
    return ArgmaxKernel(x.type.dtype, x.type.ndim, node.op.axes(x.type.ndim), largest)


@shape_rule.register(ArgExtremum)
def _shape(node: Apply[ArgExtremum, Tensor], input_shapes: list[Any]) -> list[Any]:
    (shape,) = input_shapes
    gone = set(node.op.axes(len(shape)))
    return [tuple(length for i, length in enumerate(shape) if i not in gone)]


def _apply(op: ArgExtremum, x: TensorLike, axis: AxisLike, keepdims: bool) -> Tensor:
    variable = as_tensor_variable(x)
    result: Tensor = op(variable)
    return keep_dims(variable, result, axis) if keepdims else result


@operation("argmax")
def argmax(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """Index of the first largest element over an axis, int64; over the flattened tensor if `axis` is None.

    Parameters
    ----------
    x : tensor_like
    axis : None, int or sequence of int
    keepdims : bool
        Whether reduced axes stay, with length 1.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.argmax(T.dmatrix("x"), axis=1).type
    TensorType(int64, vector)
    """
    return _apply(ArgMax(axis), x, axis, keepdims)


@operation("argmin")
def argmin(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """Index of the first smallest element over an axis; see :func:`argmax`.

    Parameters
    ----------
    x : tensor_like
    axis : int, sequence of int or None
        The searched axes; all of them by default.
    keepdims : bool
        Keep reduced axes, with length one.

    Returns
    -------
    Tensor
        Of dtype int64.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.argmin([[1.0, 3.0], [6.0, 0.5]], axis=1).eval()
    array([0, 1])
    """
    return _apply(ArgMin(axis), x, axis, keepdims)


def max_and_argmax(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Return the largest element over an axis and its index; see :func:`max` and :func:`argmax`."""
    return largest(x, axis=axis, keepdims=keepdims), argmax(x, axis=axis, keepdims=keepdims)
