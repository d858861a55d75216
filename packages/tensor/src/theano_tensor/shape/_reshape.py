"""The same elements in another shape; lengths that are known while the expression is built."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from math import prod
from typing import Any, Self, TypeAlias

import numpy as np

from theano_graph import (
    Apply,
    Constant,
    Op,
    Variable,
    batch_rule,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c.scalar import Cast

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import INTEGER_DTYPES, AxisLike, ShapeLike, TensorLike
from .._core._ops import TensorOp, one_axis, refused
from .._core._type import StaticShape, Tensor, tensor_type
from .._errors import AxisError, DTypeError, ShapeError
from .._protocols._methods import call, operation
from ..elemwise import DimShuffle, Elemwise, cast, dimshuffle, lt, shuffled, switch
from ._shape import MakeVector, ShapeI, ShapeOf, as_length, is_length, lengths_of, make_vector, static_int

# ---- Known elements of a vector of lengths while the expression is built
#
# Each op says it of its own results, as far as it can: a layer above registers the ops that it defines.

#: Elements in order, None where one is not known.
Integers: TypeAlias = list[int | None]


@singledispatch
def known_integers(op: Op, node: Apply, depth: int) -> Integers | None:
    """Return the known elements of the vector or scalar of integers that a node computes.

    Parameters
    ----------
    op : Op
        Of the node, whose class decides.
    node : Apply
    depth : int
        How many further nodes may be looked at in a row.

    Returns
    -------
    list of (int or None), or None
        None if not even the number of elements is known.
    """
    return None


def integers_in(variable: Variable, depth: int = 16) -> Integers | None:
    """Return the known elements of a vector or scalar of integers.

    Examples
    --------
    >>> from theano_tensor import concatenate, dmatrix
    >>> from theano_tensor.shape import integers_in
    >>> integers_in(concatenate([dmatrix("x").shape, [1]]))
    [None, None, 1]
    """
    dtype, static = getattr(variable.type, "dtype", ""), getattr(variable.type, "shape", (None, None))
    if not dtype.startswith(("int", "uint")) or len(static) > 1:
        return None
    if isinstance(variable, Constant):
        return [int(n) for n in variable.data.flat]
    owner = variable.owner
    integers = known_integers(owner.op, owner, depth - 1) if owner is not None and depth > 0 else None
    length = static[0] if static else 1
    return [None] * length if integers is None and length is not None else integers


def static_lengths(lengths: Sequence[Variable]) -> tuple[int | None, ...]:
    """Return the static shape given by symbolic lengths; a negative constant counts as unknown."""
    values = [(integers_in(v) or [None])[0] for v in lengths]
    return tuple(None if value is None or value < 0 else value for value in values)


@known_integers.register(MakeVector)
def _of_vector(op: MakeVector, node: Apply, depth: int) -> Integers:
    return [(integers_in(x, depth) or [None])[0] for x in node.inputs]


@known_integers.register(ShapeOf)
def _of_shape(op: ShapeOf, node: Apply, depth: int) -> Integers | None:
    static: Sequence[int | None] | None = getattr(node.inputs[0].type, "shape", None)
    return None if static is None else list(static)


@known_integers.register(ShapeI)
def _of_length(op: ShapeI, node: Apply, depth: int) -> Integers | None:
    static: Sequence[int | None] | None = getattr(node.inputs[0].type, "shape", None)
    return None if static is None else [static[op.i]]


@known_integers.register(DimShuffle)
def _of_dimshuffle(op: DimShuffle, node: Apply, depth: int) -> Integers | None:
    return integers_in(node.inputs[0], depth)


@known_integers.register(Elemwise)
def _of_elemwise(op: Elemwise, node: Apply, depth: int) -> Integers | None:
    if not isinstance(op.scalar_op, Cast):
        return None
    integers = integers_in(node.inputs[0], depth)
    narrow = op.scalar_op.o_type.dtype.endswith(("8", "16"))
    return [None] * len(integers) if integers is not None and narrow else integers


# ---- The same elements in another shape


class Reshape(TensorOp):
    """Give the elements of a tensor, in C order, another shape.

    Parameters
    ----------
    ndim : int
        Number of dimensions of the result; the second input is a vector of that length, in which one entry may be -1.
    """

    __props__ = ("ndim",)
    view_map = {0: [0]}

    def __init__(self, ndim: int) -> None:
        self.ndim = int(ndim)

    def make_node(self, x: TensorLike, shape: ShapeLike) -> Apply[Self, Tensor]:
        """Apply to a tensor and a shape.

        Raises
        ------
        ShapeError
            If the numbers of elements are known and differ.
        DTypeError
            If the shape does not consist of integers.
        """
        variable, vector = as_tensor_variable(x), as_tensor_variable(shape)
        if vector.type.dtype not in INTEGER_DTYPES or vector.type.ndim != 1:
            if not (isinstance(vector, Constant) and vector.data.size == 0 and vector.type.ndim == 1):
                raise DTypeError(
                    format_error("reshape: the shape must be a vector of integers", context=[describe(vector)])
                )
            vector = constant(np.zeros(0, dtype="int64"))
        variable, static = _static_result(variable, vector, self.ndim)
        return Apply(self, [variable, vector], [tensor_type(variable.type.dtype, static).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Reshape; ValueError if the number of elements does not fit."""
        x, shape = inputs
        if len(shape) != self.ndim:
            raise ValueError(format_error(f"reshape: the shape has {len(shape)} lengths, expected {self.ndim}"))
        if _is_no_shape([int(n) for n in shape]):
            raise ValueError(
                format_error(
                    f"reshape: {tuple(int(n) for n in shape)} is no shape: at most one length may be -1",
                    context=[describe(node.inputs[0])],
                    hint="write lengths from 0 up, and -1 for one that follows from the others",
                )
            )
        try:
            output_storage[0][0] = np.reshape(x, tuple(int(n) for n in shape))
        except ValueError as error:
            raise ValueError(
                format_error(
                    f"reshape: cannot give an array of shape {x.shape} the shape {tuple(int(n) for n in shape)}",
                    context=[describe(node.inputs[0])],
                    hint="the numbers of elements must be equal; one length may be -1",
                )
            ) from error

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on the shape."""
        return [[True], [False]]

    def __str__(self) -> str:
        return f"Reshape{{{self.ndim}}}"


def _entries(vector: Tensor, ndim: int) -> Integers:
    integers = integers_in(vector)
    return [None] * ndim if integers is None else integers


def _static_result(x: Tensor, vector: Tensor, ndim: int) -> tuple[Tensor, StaticShape]:
    """Return the tensor, or a stand-in that raises if the elements do not fit, and the shape of the result."""
    entries = _entries(vector, ndim)
    if len(entries) != ndim or vector.type.shape[0] not in (None, ndim):
        raise ShapeError(
            format_error(f"reshape: the shape has {len(entries)} lengths, ndim says {ndim}", context=[describe(x)])
        )
    if _is_no_shape(entries):
        return x, tuple(n if n is not None and n >= 0 else None for n in entries)  # refused when it runs
    lengths = [n for n in x.type.shape if n is not None]
    known = prod(lengths) if len(lengths) == x.type.ndim else None
    fixed = [n for n in entries if n is not None and n >= 0]
    if known is not None and None not in entries:
        size = prod(fixed)
        fits = known % size == 0 if -1 in entries and size else known == size
        if not fits:
            error = ShapeError(
                format_error(
                    f"reshape: {known} elements do not fit the shape {tuple(entries)}",
                    context=[describe(x)],
                    hint="the numbers of elements must be equal; one length may be -1",
                )
            )
            return refused(error, x, [None] * x.type.ndim), tuple(None if n == -1 else n for n in entries)
        return x, tuple(known // size if n == -1 and size else (None if n == -1 else n) for n in entries)
    return x, tuple(None if n == -1 else n for n in entries)


def _is_no_shape(entries: Sequence[int | None]) -> bool:
    negative = [n for n in entries if n is not None and n < 0]
    return len(negative) > 1 or any(n != -1 for n in negative)


@pullback.register(Reshape)
def _pullback(node: Apply[Reshape, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    x = node.inputs[0]
    return [reshape(cotangents[0], lengths_of(x)), None]


@pushforward.register(Reshape)
def _pushforward(node: Apply[Reshape, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0], node.inputs[1])]


@batch_rule.register(Reshape)
def _batch(node: Apply[Reshape, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable] | None:
    """A length of -1 is worked out, since entries may have no elements, or there may be no entries."""
    if stacked[1]:
        return None
    x, vector = inputs
    lengths = lengths_of(x)
    entries = _entries(vector, node.op.ndim)
    shape: list[Any] = [call("getitem", vector, i) if entry is None else entry for i, entry in enumerate(entries)]
    if not _is_no_shape(entries):
        static = node.outputs[0].type.shape
        shape = [_length(lengths[1:], shape, i) if n is None else n for i, n in enumerate(static)]
    return [Reshape(node.op.ndim + 1)(x, make_vector(lengths[0], *shape))]


@shape_rule.register(Reshape)
def _shape(node: Apply[Reshape, Tensor], input_shapes: list[Any]) -> list[Any]:
    x_shape, _ = input_shapes
    static, vector = node.outputs[0].type.shape, node.inputs[1]
    entries: list[Any] = list(_entries(vector, node.op.ndim))
    for i, entry in enumerate(entries):
        if entry is None:
            maker = vector.owner
            entries[i] = maker.inputs[i] if maker is not None and isinstance(maker.op, MakeVector) else vector[i]
    return [tuple(_length(x_shape, entries, i) if n is None else n for i, n in enumerate(static))]


def _length(x_shape: Sequence[Any], entries: Sequence[Any], i: int) -> Any:
    """Return the length of dimension `i` of the result; a symbolic entry may turn out to be -1."""
    entry = entries[i]
    if not isinstance(entry, int):
        if -1 in entries or is_length(entry):
            return entry
        return cast(switch(lt(entry, 0), _rest(x_shape, entries, i), entry), "int64")
    return entry if entry >= 0 else _rest(x_shape, entries, i)


def _rest(x_shape: Sequence[Any], entries: Sequence[Any], i: int) -> Any:
    total: Any = 1
    for n in x_shape:
        total = total * n
    divisor: Any = 1
    for n in (*entries[:i], *entries[i + 1 :]):
        divisor = divisor * n
    return total // divisor


@operation("reshape")
def reshape(x: TensorLike, newshape: ShapeLike, ndim: int | None = None) -> Tensor:
    """Return a tensor with the elements of `x`, in C order, in another shape.

    Parameters
    ----------
    x : tensor_like
    newshape : sequence of (int or integer scalar), or symbolic vector
        The lengths; one may be -1, it is then found from the number of elements.
    ndim : int, optional
        Number of dimensions of the result; needed where `newshape` is a vector of unknown length.

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If `ndim` is needed and missing.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.reshape(T.dvector("x"), (2, -1)).type.shape
    (2, None)
    """
    variable = as_tensor_variable(x)
    if isinstance(newshape, Variable):
        vector = as_tensor_variable(newshape)
        if vector.type.ndim == 0:
            vector = make_vector(as_length(vector))
        count = vector.type.shape[0] if vector.type.ndim == 1 else None
        ndim = count if ndim is None else ndim
        if ndim is None:
            raise ShapeError(
                format_error(
                    "reshape: the length of the symbolic shape is not known, so neither is the number of dimensions",
                    context=[describe(variable), describe(vector)],
                    hint="pass ndim=..., or give the shape as a tuple",
                )
            )
    else:
        entries = newshape if isinstance(newshape, (list, tuple, np.ndarray)) else [newshape]
        lengths = [as_length(n) for n in entries]
        values = [static_int(n) for n in lengths]
        if None in values:
            vector = make_vector(*lengths)
        else:
            vector = constant(np.asarray(values, dtype="int64"))
        if ndim is not None and ndim != len(lengths):
            raise ShapeError(
                format_error(
                    f"reshape: the shape has {len(lengths)} lengths, ndim is {ndim}", context=[describe(variable)]
                )
            )
        ndim = len(lengths)
    result: Tensor = Reshape(ndim)(variable, vector)
    return result


@operation("flatten")
def flatten(x: TensorLike, ndim: int = 1, outdim: int | None = None) -> Tensor:
    """Join the last dimensions of `x` so that `ndim` are left.

    Parameters
    ----------
    x : tensor_like
    ndim : int
        Number of dimensions of the result, from 1 to that of `x` (1 also for scalars).

    Raises
    ------
    ShapeError
        If `ndim` is out of range.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.flatten(T.dtensor4("x"), 2).ndim
    2
    """
    variable = as_tensor_variable(x)
    ndim = ndim if outdim is None else outdim
    if not 1 <= ndim <= max(variable.type.ndim, 1):
        raise ShapeError(
            format_error(
                f"flatten: {ndim} dimensions cannot be had of {variable.type.ndim}",
                context=[describe(variable)],
                hint="use 1 up to x.ndim",
            )
        )
    if ndim == variable.type.ndim:
        return variable
    joined = 1 if all(variable.type.broadcastable[ndim - 1 :]) else -1
    return reshape(variable, [*lengths_of(variable)[: ndim - 1], joined])


class Flatten:
    """Joins the last dimensions of the tensor that it is called with, so that `ndim` are left; see :func:`flatten`."""

    def __init__(self, ndim: int = 1) -> None:
        self.ndim = ndim

    def __call__(self, x: TensorLike) -> Tensor:
        """Return `x` with its last dimensions joined."""
        return flatten(x, self.ndim)


@operation("transpose")
def transpose(x: TensorLike, axes: Sequence[int] | None = None) -> Tensor:
    """Return `x` with its dimensions in the order `axes`, reversed by default.

    Parameters
    ----------
    x : tensor_like
    axes : sequence of int, optional
        The order of the dimensions.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.transpose(T.drow("x")).broadcastable
    (False, True)
    """
    variable = as_tensor_variable(x)
    order = range(variable.type.ndim - 1, -1, -1) if axes is None else axes
    if len(order) != variable.type.ndim:
        raise ShapeError(
            format_error(f"transpose: {tuple(order)} does not name each dimension once", context=[describe(variable)])
        )
    # A variable of its own in any case, which a program may name.
    result = shuffled(variable, order)
    if variable.name is not None and axes is None:
        result.name = f"{variable.name}.T"
    return result


@operation("swapaxes")
def swapaxes(x: TensorLike, axis1: int, axis2: int) -> Tensor:
    """Return `x` with two dimensions exchanged.

    Parameters
    ----------
    x : tensor_like
    axis1, axis2 : int

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.swapaxes([[1, 2], [3, 4]], 0, 1).eval()
    array([[1, 3],
           [2, 4]])
    """
    variable = as_tensor_variable(x)
    order = list(range(variable.type.ndim))
    try:
        order[axis1], order[axis2] = order[axis2], order[axis1]
    except IndexError as error:
        raise AxisError(
            format_error(f"swapaxes: no dimensions {axis1} and {axis2}", context=[describe(variable)])
        ) from error
    return dimshuffle(variable, order)


@operation("squeeze")
def squeeze(x: TensorLike, axis: AxisLike = None) -> Tensor:
    """Return `x` without the dimensions that are known to have length 1.

    Parameters
    ----------
    x : tensor_like
    axis : int or tuple of int, optional
        Only these dimensions, which must be broadcastable.

    Raises
    ------
    ShapeError
        If there is no such axis, or its length is not known to be 1.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.squeeze([[[1], [2]]]).eval()
    array([1, 2])
    """
    variable = as_tensor_variable(x)
    if axis is None:
        dropped = {i for i, n in enumerate(variable.type.shape) if n == 1}
    else:
        dropped = {one_axis("squeeze", a, variable) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))}
    return dimshuffle(variable, [i for i in range(variable.type.ndim) if i not in dropped])


def shape_padleft(x: TensorLike, n_ones: int = 1) -> Tensor:
    """Return `x` with `n_ones` broadcastable dimensions added on the left.

    Parameters
    ----------
    x : tensor_like
    n_ones : int

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.shape_padleft([1, 2]).eval()
    array([[1, 2]])
    """
    variable = as_tensor_variable(x)
    return dimshuffle(variable, ["x"] * n_ones + list(range(variable.type.ndim)))


def shape_padright(x: TensorLike, n_ones: int = 1) -> Tensor:
    """Return `x` with `n_ones` broadcastable dimensions added on the right.

    Parameters
    ----------
    x : tensor_like
    n_ones : int

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.shape_padright([1, 2]).eval()
    array([[1],
           [2]])
    """
    variable = as_tensor_variable(x)
    return dimshuffle(variable, list(range(variable.type.ndim)) + ["x"] * n_ones)


def shape_padaxis(t: TensorLike, axis: int) -> Tensor:
    """Return `t` with a broadcastable dimension inserted so that it is dimension `axis` of the result.

    Parameters
    ----------
    t : tensor_like
    axis : int
        Position of the new dimension in the result.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.shape_padaxis([1, 2], 0).eval()
    array([[1, 2]])
    """
    variable = as_tensor_variable(t)
    ndim = variable.type.ndim + 1
    if not -ndim <= axis < ndim:
        raise AxisError(
            format_error(
                f"shape_padaxis: axis {axis} is out of range for {ndim} dimensions", context=[describe(variable)]
            )
        )
    order: list[int | str] = list(range(variable.type.ndim))
    order.insert(axis % ndim, "x")
    return dimshuffle(variable, order)
