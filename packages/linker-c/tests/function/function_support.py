"""A small array type and ops for the tests of functions; no layer above is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from theano_graph import Apply, Op, Type, Variable
from theano_linker_c import SharedVariable, shared as share_anything
from theano_linker_c.program import ArraySpec

Array = npt.NDArray[Any]


class ArrayType(Type):
    """Arrays of one dtype and a static shape; None is an unknown length."""

    def __init__(self, dtype: str = "float64", shape: tuple[int | None, ...] = ()) -> None:
        self.dtype = dtype
        self.shape = shape

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayType) and (self.dtype, self.shape) == (other.dtype, other.shape)

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape))

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    def is_super(self, other: Type) -> bool:
        return (
            isinstance(other, ArrayType)
            and self.dtype == other.dtype
            and len(self.shape) == len(other.shape)
            and all(a is None or a == b for a, b in zip(self.shape, other.shape, strict=True))
        )

    def array_spec(self) -> ArraySpec:
        return ArraySpec(self.dtype, self.shape)

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Array:
        if strict and not (isinstance(value, np.ndarray) and value.dtype == self.dtype):
            raise TypeError(f"strict: not an array of {self.dtype}")
        if value is None or isinstance(value, (str, dict, Variable)):
            raise TypeError(f"{value!r} is not a number or an array of numbers")
        array = np.asarray(value)
        down = allow_downcast or (allow_downcast is None and isinstance(value, float))
        small_int = isinstance(value, int) and _holds(self.dtype, value)
        if not (down or small_int or np.can_cast(array.dtype, self.dtype)):
            raise TypeError(f"{array.dtype} cannot be cast to {self.dtype} without loss")
        array = array.astype(self.dtype, copy=False)
        if array.ndim != len(self.shape):
            raise TypeError(f"wrong number of dimensions: {array.ndim} instead of {len(self.shape)}")
        for axis, (expected, item) in enumerate(zip(self.shape, array.shape, strict=True)):
            if expected is not None and expected != item:
                raise ValueError(f"axis {axis} has length {item} instead of {expected}")
        return array

    def values_eq(self, a: Any, b: Any) -> bool:
        return bool(np.array_equal(a, b))


def _holds(dtype: str, value: int) -> bool:
    if np.dtype(dtype).kind == "f":
        return int(np.dtype(dtype).type(value)) == value
    return int(np.iinfo(dtype).min) <= value <= int(np.iinfo(dtype).max)


def pointwise(name: str) -> Pointwise:
    """Return one of the elementwise ops."""
    return POINTWISE[name]


class Pointwise(Op):
    """An elementwise function of NumPy, with NumPy's dtype."""

    __props__ = ("name",)

    def __init__(self, name: str, compute: Callable[..., Any]) -> None:
        self.name = name
        self.compute = compute

    def __reduce__(self) -> Any:
        return (pointwise, (self.name,))

    def make_node(self, *inputs: Any) -> Apply:
        operands: list[Any] = [x if isinstance(x, Variable) else constant(x) for x in inputs]
        dtype = np.result_type(*(x.type.dtype for x in operands)).name
        ndim = max(len(x.type.shape) for x in operands)
        return Apply(self, operands, [ArrayType(dtype, (None,) * ndim)()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = np.asarray(self.compute(*inputs))


def _fail(x: Array) -> Array:
    if np.any(x < 0):
        raise ZeroDivisionError("negative value met")
    return x + 0.0


POINTWISE = {
    op.name: op
    for op in (
        Pointwise("add", np.add),
        Pointwise("mul", np.multiply),
        Pointwise("sub", np.subtract),
        Pointwise("fail_if_negative", _fail),
        Pointwise("to_float32", lambda x: np.asarray(x, "float32")),
    )
}
add, mul, sub = POINTWISE["add"], POINTWISE["mul"], POINTWISE["sub"]
fail_if_negative = POINTWISE["fail_if_negative"]


class ToFloat32(Op):
    """Conversion to float32."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        return Apply(self, [x], [ArrayType("float32", x.type.shape)()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = np.asarray(inputs[0], "float32")


class Transpose(Op):
    """A view."""

    __props__ = ()
    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        return Apply(self, [x], [ArrayType(x.type.dtype, x.type.shape[::-1])()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = inputs[0].T


class AddOneInPlace(Op):
    """Overwrites its input."""

    __props__ = ()
    destroy_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        inputs[0][...] += 1
        output_storage[0][0] = inputs[0]


class Minmax(Op):
    """Two outputs."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        return Apply(self, [x], [scalar(), scalar()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = np.asarray(inputs[0].min())
        output_storage[1][0] = np.asarray(inputs[0].max())


transpose, to_float32, minmax, add_one_in_place = Transpose(), ToFloat32(), Minmax(), AddOneInPlace()


def constant(value: Any, dtype: str | None = None) -> Any:
    """Return a constant with a static shape."""
    array = np.asarray(value, dtype)
    return ArrayType(array.dtype.name, array.shape).make_constant(array)


def scalar(name: str | None = None, dtype: str = "float64") -> Any:
    """Return a variable without axes."""
    return ArrayType(dtype, ())(name)


def vector(name: str | None = None, dtype: str = "float64") -> Any:
    """Return a variable with one axis."""
    return ArrayType(dtype, (None,))(name)


def matrix(name: str | None = None, dtype: str = "float64") -> Any:
    """Return a variable with two axes."""
    return ArrayType(dtype, (None, None))(name)


def shared_array(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    static: bool = False,
) -> SharedVariable:
    """Share arrays and numbers."""
    if not isinstance(value, (np.ndarray, np.generic, int, float)) or isinstance(value, bool):
        raise TypeError("not an array")
    array = np.asarray(value) if borrow else np.array(value)
    shape: tuple[int | None, ...] = array.shape if static else (None,) * array.ndim
    return SharedVariable(ArrayType(array.dtype.name, shape), array, name, strict, allow_downcast)


def shared(value: Any, *arguments: Any, **keywords: Any) -> Any:
    """Share arrays as :class:`ArrayType`, with any constructors that other tests have registered, and anything else."""
    try:
        return shared_array(value, *arguments, **keywords)
    except TypeError:
        return share_anything(value, *arguments, **keywords)
