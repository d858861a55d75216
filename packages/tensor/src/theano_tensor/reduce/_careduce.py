"""Reductions by any scalar op that is commutative and associative."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from theano_graph import Apply, Variable, config, format_error, pullback, pushforward
from theano_linker_c import scalar as scalars
from theano_linker_c.scalar import ScalarOp, ScalarTypeError

from .._core._convert import as_tensor_variable
from .._core._dtypes import Array, AxisLike, DTypeLike, canonical_dtype
from .._core._type import Tensor
from .._protocols._methods import call
from ..elemwise import conj, eq, switch
from ..gradient import derived_pushforward
from ._axes import accumulator_dtype, normal_axes, sum_dtype
from ._reduce import AccumulatingReduce, Prod, Reduce, refuse_narrow_accumulator, restore, scaled

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
