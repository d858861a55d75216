"""Lengths as symbolic integers, and the shape of a tensor as a value."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import (
    Apply,
    Constant,
    Unstacked,
    Variable,
    batch_rule,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c.scalar import Add, Cast, Mul, upcast

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import INTEGER_DTYPES, ShapeLike, TensorLike, canonical_dtype
from .._core._ops import Assert, TensorOp, all_stacked, refused
from .._core._type import CONVERSIONS, StaticShape, Tensor, TensorType, tensor_type
from .._errors import DTypeError, ShapeError, SpecifiedShapeError
from .._protocols._methods import call, operation
from ..elemwise import Elemwise, cast, eq
from ._rebroadcast import (
    SHAPE_CODE,
    SHAPE_I_CODE,
    SPECIFY_SHAPE_CODE,
    ShapeCode,
    ShapeICode,
    SpecifyShapeCode,
    is_other,
    shaped_operand,
)

# ---- Lengths as symbolic integers, and facts about them while the expression is built


def as_length(value: TensorLike, what: str = "a length") -> Tensor:
    """Return `value` as an integer scalar of dtype int64 (constants) or of its own integer dtype.

    Raises
    ------
    DTypeError
        If it is no integer scalar.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return constant(np.asarray(int(value), dtype="int64"))
    if value is None or isinstance(value, (str, float)):
        raise DTypeError(
            format_error(
                f"{value!r} is no {what.split()[-1]}: it must be an integer", hint="pass an int or an integer scalar"
            )
        )
    variable = as_tensor_variable(value)
    if variable.type.dtype not in INTEGER_DTYPES or any(length != 1 for length in variable.type.shape):
        raise DTypeError(
            format_error(
                f"{what} must be an integer scalar",
                context=[describe(variable)],
                hint="convert it: T.cast(n, 'int64'), or index it: v[0]",
            )
        )
    if variable.type.ndim:
        variable = variable.dimshuffle([])
    return variable


def static_int(variable: Variable) -> int | None:
    """Return the value of an integer scalar where it is a constant, else None."""
    if isinstance(variable, Constant) and variable.data.size == 1 and variable.data.dtype.kind in "iub":
        return int(variable.data.flat[0])
    return None


# ---- The shape of a tensor as a value: vectors and scalars of int64


class ShapeOf(ShapeCode):
    """The shape of a tensor, or of a value of another type that has one, as a vector of int64."""

    __props__ = ()

    def make_node(self, x: TensorLike) -> Apply[Self]:
        """Apply to a tensor."""
        variable = shaped_operand(x, SHAPE_CODE)
        return Apply(self, [variable], [tensor_type("int64", (getattr(variable.type, "ndim", None),)).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Read the shape."""
        output_storage[0][0] = np.array(inputs[0].shape, dtype="int64")

    def needs_no_native_form(self, node: Apply[Self]) -> bool:
        """Say that the linker that runs native code only takes any node: no element is read."""
        return True

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """A shape does not depend on the elements."""
        return [[False]]

    def __str__(self) -> str:
        return "Shape"


class ShapeI(ShapeICode):
    """The length of one dimension, as an int64 scalar.

    Parameters
    ----------
    i : int
        The dimension, counted from 0.
    """

    __props__ = ("i",)

    def __init__(self, i: int) -> None:
        self.i = int(i)

    def make_node(self, x: TensorLike) -> Apply[Self]:
        """Apply to a tensor; ShapeError if it has no such dimension."""
        variable = shaped_operand(x, SHAPE_I_CODE)
        if not 0 <= self.i < getattr(variable.type, "ndim", self.i + 1):
            raise ShapeError(format_error(f"there is no dimension {self.i}", context=[describe(variable)]))
        return Apply(self, [variable], [tensor_type("int64", ()).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Read the length."""
        output_storage[0][0] = np.array(inputs[0].shape[self.i], dtype="int64")

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """A length does not depend on the elements."""
        return [[False]]

    def __str__(self) -> str:
        return f"Shape_i{{{self.i}}}"


class _LossOfPrecisionError(TypeError, AssertionError):
    """Programs for Theano 1.0 expect the second class."""


class MakeVector(TensorOp):
    """A vector of scalars.

    Parameters
    ----------
    dtype : str
        Dtype of the result; the scalars are converted to it.
    """

    __props__ = ("dtype",)

    def __init__(self, dtype: str = "int64") -> None:
        self.dtype = canonical_dtype(dtype, "float64")

    def make_node(self, *inputs: TensorLike) -> Apply[Self]:
        """Apply to scalars; TypeError for tensors with dimensions, or dtypes that would lose precision."""
        scalars = [as_tensor_variable(x) for x in inputs]
        for x in scalars:
            if x.type.ndim:
                raise ShapeError(
                    format_error(
                        "a vector is made of scalars", context=[describe(x)], hint="use T.stack or T.concatenate"
                    )
                )
        if scalars and upcast(self.dtype, *(x.type.dtype for x in scalars)) != self.dtype:
            raise _LossOfPrecisionError(
                format_error(
                    f"a vector of {self.dtype} cannot hold these scalars",
                    context=[describe(x) for x in scalars],
                    hint="convert them with T.cast",
                )
            )
        converted = [cast(x, self.dtype) for x in scalars]
        return Apply(self, converted, [tensor_type(self.dtype, (len(scalars),)).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Collect the scalars."""
        output_storage[0][0] = np.array([x[()] for x in inputs], dtype=self.dtype)

    def __str__(self) -> str:
        return f"MakeVector{{dtype={self.dtype!r}}}"


class SpecifyShape(SpecifyShapeCode):
    """The input itself, with the claim that some of its dimensions have given lengths; checked when it runs.

    Parameters
    ----------
    axes : sequence of int, optional
        The dimensions whose lengths are given; one further input for each. ``SpecifyShape()`` is applied to a tensor
        and its whole shape, as :func:`specify_shape`.
    """

    __props__ = ("axes",)
    view_map = {0: [0]}

    def __init__(self, axes: Sequence[int] | None = None) -> None:
        self.axes = tuple(int(axis) for axis in axes or ())
        self._whole = axes is None

    def make_node(self, x: TensorLike, *lengths: ShapeLike) -> Apply:
        """Apply to a tensor and the lengths of `axes`."""
        variable = shaped_operand(x, SPECIFY_SHAPE_CODE)
        if self._whole and len(lengths) == 1:
            entries = _entries(variable, lengths[0])
            return SpecifyShape(range(len(entries))).make_node(variable, *entries)
        lengths_given = [as_length(n) for n in lengths]
        if not isinstance(variable.type, TensorType):
            return Apply(self, [variable, *lengths_given], [variable.type.make_variable()])
        shape: list[int | None] = list(variable.type.shape)
        for axis, n in zip(self.axes, lengths_given, strict=True):
            length = static_int(n)
            if length is not None and shape[axis] is not None and shape[axis] != length:
                error = SpecifiedShapeError(
                    format_error(
                        f"dimension {axis} has length {shape[axis]}, which cannot be {length}",
                        context=[describe(variable)],
                    )
                )
                unknown = [None if i == axis else n for i, n in enumerate(variable.type.shape)]
                variable = refused(error, variable, unknown)
            shape[axis] = shape[axis] if length is None else length
        return Apply(self, [variable, *lengths_given], [tensor_type(variable.type.dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Check the lengths and return the input."""
        x, *lengths = inputs
        for axis, n in zip(self.axes, lengths, strict=True):
            if x.shape[axis] != n:
                raise AssertionError(
                    format_error(
                        f"SpecifyShape: dimension {axis} has length {x.shape[axis]}, expected {n} (shape {x.shape})",
                        context=[describe(node.inputs[0])],
                        hint="pass an array of the specified shape, or specify another one",
                    )
                )
        output_storage[0][0] = x

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """The lengths are only checked."""
        return [[True]] + [[False]] * (len(node.inputs) - 1)


@pullback.register(ShapeOf, ShapeI)
def _pullback_shape(node: Apply[ShapeOf | ShapeI], cotangents: list[Variable]) -> list[Variable | None]:
    return [None]


@pullback.register(MakeVector)
def _pullback_vector(node: Apply[MakeVector], cotangents: list[Variable]) -> list[Variable | None]:
    g = as_tensor_variable(cotangents[0])
    return [g[i] for i in range(len(node.inputs))]


@pullback.register(SpecifyShape)
def _pullback_specify(node: Apply[SpecifyShape], cotangents: list[Variable]) -> list[Variable | None]:
    return [node.op(cotangents[0], *node.inputs[1:]), *(None for _ in node.inputs[1:])]


@pushforward.register(ShapeOf, ShapeI)
def _pushforward_shape(node: Apply[ShapeOf | ShapeI], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None]


@pushforward.register(MakeVector)
def _pushforward_vector(node: Apply[MakeVector], tangents: list[Variable | None]) -> list[Variable | None]:
    if all(t is None for t in tangents):
        return [None]
    pairs = zip(tangents, node.inputs, strict=True)
    tangents_given = [as_tensor_variable(x).zeros_like(dtype=node.op.dtype) if t is None else t for t, x in pairs]
    return [node.op(*tangents_given)]


@pushforward.register(SpecifyShape)
def _pushforward_specify(node: Apply[SpecifyShape], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0], *node.inputs[1:])]


@batch_rule.register(ShapeOf)
def _batch_shape(node: Apply[ShapeOf], inputs: list[Any], stacked: Sequence[bool]) -> list[Unstacked]:
    return [Unstacked(call("getitem", ShapeOf()(inputs[0]), slice(1, None)))]


@batch_rule.register(ShapeI)
def _batch_length(node: Apply[ShapeI], inputs: list[Any], stacked: Sequence[bool]) -> list[Unstacked]:
    return [Unstacked(shape_i(inputs[0], node.op.i + 1))]


@batch_rule.register(MakeVector)
def _batch_vector(node: Apply[MakeVector], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [call("stack", all_stacked(inputs, stacked), axis=1)]


@batch_rule.register(SpecifyShape)
def _batch_specify(
    node: Apply[SpecifyShape], inputs: list[Any], stacked: Sequence[bool]
) -> Sequence[Variable | Unstacked] | None:
    """Lengths that differ between the entries cannot all be right: they are checked in the loop."""
    if any(stacked[1:]):
        return None
    return [SpecifyShape([axis + 1 for axis in node.op.axes])(*inputs)]


@shape_rule.register(ShapeOf)
def _shape_of_shape(node: Apply[ShapeOf], input_shapes: list[Any]) -> list[Any]:
    return [(len(node.inputs[0].type.shape),)]


@shape_rule.register(ShapeI)
def _shape_of_length(node: Apply[ShapeI], input_shapes: list[Any]) -> list[Any]:
    return [()]


@shape_rule.register(MakeVector)
def _shape_of_vector(node: Apply[MakeVector], input_shapes: list[Any]) -> list[Any]:
    return [(len(node.inputs),)]


@shape_rule.register(SpecifyShape)
def _shape_specified(node: Apply[SpecifyShape], input_shapes: list[Any]) -> list[Any]:
    shape = list(input_shapes[0])
    for axis, n in zip(node.op.axes, node.inputs[1:], strict=True):
        shape[axis] = n
    return [tuple(shape)]


@operation("shape")
def shape(x: TensorLike) -> Tensor:
    """Shape of a tensor, as a vector of int64.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor
        A constant for a constant; otherwise an expression of `x`, also where its type tells the whole shape.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.shape(T.dmatrix("x")).type.shape
    (2,)
    """
    if is_other(x, SHAPE_CODE):
        other: Tensor = ShapeOf()(x)
        return other
    variable = as_tensor_variable(x)
    if isinstance(variable, Constant):
        return constant(np.asarray(variable.type.shape, dtype="int64"))
    result: Tensor = ShapeOf()(variable)
    return result


def shape_i(x: TensorLike, i: int) -> Tensor:
    """Length of one dimension, as an int64 scalar; a constant where it is known."""
    if is_other(x, SHAPE_I_CODE):
        other: Tensor = ShapeI(i)(x)
        return other
    variable = as_tensor_variable(x)
    length = variable.type.shape[i]
    if length is not None:
        return _known(variable, length)
    result: Tensor = ShapeI(i % variable.type.ndim)(variable)
    return result


def _known(variable: Tensor, length: int) -> Tensor:
    """Return a number that says which variable it is a length of: whoever asks for it uses that variable."""
    number: Tensor = constant(np.asarray(length, dtype="int64"))
    number.tag.length_source = weakref.ref(variable)
    return number


@operation("lengths")
def lengths_of(x: TensorLike) -> tuple[Tensor, ...]:
    """Return the lengths of all dimensions, as scalars."""
    variable = as_tensor_variable(x)
    return tuple(shape_i(variable, i) for i in range(variable.type.ndim))


def is_length(variable: Variable) -> bool:
    """Tell whether an integer is known not to be negative, as it is made of lengths by products and sums."""
    stack, steps = [variable], 0
    while stack and steps < 64:
        steps += 1
        value = stack.pop()
        number, owner = static_int(value), value.owner
        if number is not None:
            if number < 0:
                return False
        elif owner is None:
            return False
        elif isinstance(owner.op, Elemwise) and isinstance(owner.op.scalar_op, (Add, Mul, Cast)):
            stack.extend(owner.inputs)
        elif not isinstance(owner.op, ShapeI):
            return False
    return not stack


@operation("size")
def size(x: TensorLike) -> Tensor:
    """Number of elements, as an int64 scalar.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.size(T.zeros((2, 3))).eval()
    array(6)
    """
    variable = as_tensor_variable(x)
    total: Any = _known(variable, 1)
    for n in lengths_of(variable):
        total = n if static_int(total) == 1 else total * n
    result: Tensor = total
    return result


@operation("specify_shape")
def specify_shape(x: TensorLike, shape: ShapeLike) -> Tensor:
    """Return `x` with the claim that it has `shape`; checked when the function runs, if the result is used.

    Parameters
    ----------
    x : tensor_like
    shape : sequence of (int, integer scalar or None), or symbolic vector
        None leaves a dimension open.

    Raises
    ------
    ShapeError
        If the number of dimensions differs, or a static length contradicts.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.specify_shape(T.dmatrix("x"), (2, None)).type.shape
    (2, None)
    """
    variable: Any = shaped_operand(x, SPECIFY_SHAPE_CODE)
    entries = _entries(variable, shape)
    lengths_known = getattr(variable.type, "shape", (None,) * len(entries))
    axes = [i for i, n in enumerate(entries) if n is not None and not (isinstance(n, int) and lengths_known[i] == n)]
    result: Tensor = SpecifyShape(axes)(variable, *(entries[i] for i in axes)) if axes else variable
    return result


def _entries(x: Variable, shape: Any) -> list[Any]:
    """Return the lengths that a shape holds, as many as a variable has dimensions.

    That a vector of unknown length holds as many is checked when the function runs.
    """
    ndim = getattr(x.type, "ndim", None)
    if isinstance(shape, Variable):
        vector = as_tensor_variable(shape)
        count = vector.type.shape[0] if vector.type.ndim else 1
        if ndim is not None and count is None:
            check = Assert(f"SpecifyShape: the shape must hold {ndim} lengths, one for each dimension of the tensor")
            vector, count = check(vector, eq(shape_i(vector, 0), ndim)), ndim
        entries: list[Any] = [vector[i] for i in range(count or 0)] if vector.type.ndim else [vector]
    else:
        entries = list(shape)
    if ndim is not None and len(entries) != ndim:
        raise SpecifiedShapeError(
            format_error(f"{len(entries)} lengths were specified for {ndim} dimensions", context=[describe(x)])
        )
    return entries


def _specify_static(x: Variable, shape: StaticShape) -> Tensor:
    return specify_shape(x, shape)


CONVERSIONS["specify_static_shape"] = _specify_static


def make_vector(*scalars: TensorLike) -> Tensor:
    """Return a vector of scalars, of their common dtype."""
    variables = [as_tensor_variable(x) for x in scalars]
    dtype = upcast(*(x.type.dtype for x in variables)) if variables else "int64"
    result: Tensor = MakeVector(dtype)(*variables)
    return result


def as_lengths(shape: ShapeLike, ndim: int | None = None) -> list[Tensor]:
    """Return a shape, given as a number, a sequence or a symbolic vector, as a list of integer scalars."""
    if isinstance(shape, Variable):
        vector = as_tensor_variable(shape)
        if vector.type.ndim == 0:
            return [as_length(vector)]
        count = vector.type.shape[0] if ndim is None else ndim
        if vector.type.ndim != 1 or count is None:
            raise ShapeError(
                format_error(
                    "a symbolic shape must be a vector of known length",
                    context=[describe(vector)],
                    hint="say how many dimensions there are (ndim=...), or give the lengths as a tuple",
                )
            )
        if isinstance(vector.owner, Apply) and isinstance(vector.owner.op, MakeVector):
            return [as_length(x) for x in vector.owner.inputs]
        if isinstance(vector.owner, Apply) and isinstance(vector.owner.op, ShapeOf):
            return list(lengths_of(vector.owner.inputs[0]))
        data = getattr(vector, "data", None)
        return (
            [as_length(int(n)) for n in data]
            if data is not None
            else [call("getitem", vector, i) for i in range(count)]
        )
    if isinstance(shape, (list, tuple, np.ndarray)):
        return [as_length(n) for n in shape]
    return [as_length(shape)]
