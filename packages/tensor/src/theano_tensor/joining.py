"""Tensors put together and taken apart."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import ConcatenateKernel, Kernel, SplitKernel, native_kernel
from theano_linker_c.scalar import Cast, upcast

from ._core._convert import as_tensor_variable, constant
from ._core._dtypes import AxisLike, TensorLike
from ._core._ops import TensorOp, all_stacked, refused
from ._core._type import Tensor, TensorConstant, tensor_type
from ._errors import AxisError, RankError, ShapeError
from ._protocols._methods import operation
from .elemwise import Elemwise, cast, eq, switch
from .shape import (
    Integers,
    MakeVector,
    as_length,
    integers_in,
    known_integers,
    make_vector,
    shape_i,
    shape_padaxis,
    static_int,
)

#: Earlier names of its parts are found beneath it: see `_module_aliases`.
__path__: list[str] = []


class Join(TensorOp):
    """Tensors one after the other along an axis; inputs are the axis and the tensors.

    Parameters
    ----------
    view : int
        Number of the tensor that is returned itself where all the others are empty; -1 for a copy in any case.
    """

    __props__ = ("view",)

    def __init__(self, view: int = -1) -> None:
        self.view = int(view)
        if self.view != -1:
            self.view_map = {0: [1 + self.view]}

    def make_node(self, axis: TensorLike, *tensors: TensorLike) -> Apply[Self, Tensor]:
        """Apply to an axis and tensors of one number of dimensions.

        Raises
        ------
        ShapeError
            If there is no tensor, numbers of dimensions differ, the axis does not exist, or other lengths are known
            and differ.
        """
        where = as_length(axis, "an axis")
        parts = [as_tensor_variable(t) for t in tensors]
        if not parts:
            raise ShapeError(
                format_error(
                    "join: there is nothing to join, the list of tensors is empty", hint="pass at least one tensor"
                )
            )
        ndim = parts[0].type.ndim
        if ndim == 0 or any(p.type.ndim != ndim for p in parts):
            raise RankError(
                format_error(
                    "join: can only join tensors with the same number of dimensions, at least 1",
                    context=[describe(p) for p in parts],
                    hint="use T.stack for scalars, T.shape_padleft or dimshuffle to add dimensions",
                )
            )
        known = _known_axis(where)
        if known is not None and not -ndim <= known < ndim:
            raise AxisError(
                format_error(
                    f"join: axis {known} is out of range for {ndim} dimensions", context=[describe(p) for p in parts]
                )
            )
        dtype = upcast(*(p.type.dtype for p in parts))
        parts = [cast(p, dtype) for p in parts]
        if known is None:
            shape: list[int | None] = [None] * ndim
        else:
            known %= ndim
            where = constant(np.asarray(known, dtype="int64"))
            parts = _of_one_size(parts, known)
            shape = [_joined_length(parts, i, known) for i in range(ndim)]
        return Apply(self, [where, *parts], [tensor_type(dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Concatenate; ValueError if lengths differ."""
        axis, *parts = inputs
        try:
            if self.view != -1 and not any(part.shape[int(axis)] for i, part in enumerate(parts) if i != self.view):
                self._check_lengths(int(axis), parts)
                output_storage[0][0] = parts[self.view]
                return
            output_storage[0][0] = np.concatenate(parts, axis=int(axis))
        except ValueError as error:
            # NumPy's error of an axis that is not there is an IndexError, too.
            kind = AxisError if isinstance(error, IndexError) else ValueError
            raise kind(
                format_error(
                    f"join: shapes {', '.join(str(p.shape) for p in parts)} do not fit along axis {int(axis)}",
                    context=[describe(v) for v in node.inputs[1:]],
                    hint="all lengths but that of the axis must be equal",
                )
            ) from error

    def _check_lengths(self, axis: int, parts: Sequence[Any]) -> None:
        others = {tuple(n for i, n in enumerate(part.shape) if i != axis % part.ndim) for part in parts}
        if len(others) > 1:
            raise ValueError("lengths differ")

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on the axis."""
        return [[False]] + [[True]] * (len(node.inputs) - 1)

    def __str__(self) -> str:
        return "Join" if self.view == -1 else f"Join{{view={self.view}}}"


@known_integers.register(Join)
def _known_integers(op: Join, node: Apply, depth: int) -> Integers | None:
    integers: Integers = []
    for part in node.inputs[1:]:
        integers_of_part = integers_in(part, depth)
        if integers_of_part is None:
            return None
        integers += integers_of_part
    return integers


def _known_axis(axis: Variable) -> int | None:
    """Return the number of an axis where it is known, also through conversions."""
    while axis.owner is not None and isinstance(axis.owner.op, Elemwise) and isinstance(axis.owner.op.scalar_op, Cast):
        axis = axis.owner.inputs[0]
    return static_int(axis)


def _joined_length(parts: Sequence[Tensor], axis: int, joined: int) -> int | None:
    lengths = [p.type.shape[axis] for p in parts]
    lengths_known = [n for n in lengths if n is not None]
    if axis == joined:
        return sum(lengths_known) if len(lengths_known) == len(lengths) else None
    return lengths_known[0] if lengths_known else None


def _of_one_size(parts: list[Tensor], joined: int) -> list[Tensor]:
    """Return the parts; a part whose known lengths beside the axis do not fit is replaced by a node that raises."""
    for axis in range(parts[0].type.ndim):
        static = [n for p in parts if (n := p.type.shape[axis]) is not None]
        if axis != joined and len(set(static)) > 1:
            error = ShapeError(
                format_error(
                    f"join: the lengths of dimension {axis} differ: {' and '.join(map(str, static))}",
                    context=[describe(p) for p in parts],
                    hint="all lengths but that of the axis must be equal",
                )
            )
            parts = [p if p.type.shape[axis] in (None, static[0]) else _of_length(p, axis, error) for p in parts]
    return parts


def _of_length(part: Tensor, axis: int, error: ShapeError) -> Tensor:
    return refused(error, part, [None if i == axis else n for i, n in enumerate(part.type.shape)])


class Split(Op):
    """A tensor taken apart along an axis; inputs are the tensor, the axis and the vector of lengths.

    Parameters
    ----------
    len_splits : int
        Number of parts.
    """

    __props__ = ("len_splits",)

    def __init__(self, len_splits: int) -> None:
        self.len_splits = int(len_splits)
        #: Parts are views.
        self.view_map = {i: [0] for i in range(self.len_splits)}

    def make_node(self, x: TensorLike, axis: TensorLike, splits: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor, an axis and a vector of lengths."""
        variable, where, vector = as_tensor_variable(x), as_length(axis, "an axis"), as_tensor_variable(splits)
        known = static_int(where)
        ndim = variable.type.ndim
        if known is not None and not -ndim <= known < ndim:
            raise AxisError(
                format_error(f"split: axis {known} is out of range for {ndim} dimensions", context=[describe(variable)])
            )
        lengths: list[int | None] = [None] * self.len_splits
        if isinstance(vector, TensorConstant):
            lengths = [int(n) for n in vector.data]
        elif vector.owner is not None and isinstance(vector.owner.op, MakeVector):
            lengths = [static_int(v) for v in vector.owner.inputs]
        if len(lengths) != self.len_splits:
            raise ShapeError(
                format_error(f"split: {len(lengths)} lengths for {self.len_splits} parts", context=[describe(variable)])
            )
        # Negative lengths are refused when they are computed, also known ones.
        lengths = [None if length is not None and length < 0 else length for length in lengths]
        outputs = []
        for length in lengths:
            shape = (
                [None] * ndim
                if known is None
                else [length if i == known % ndim else n for i, n in enumerate(variable.type.shape)]
            )
            outputs.append(tensor_type(variable.type.dtype, shape).make_variable())
        return Apply(self, [variable, where, vector], outputs)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Return views of the parts; ValueError if the lengths do not add up."""
        x, axis, lengths = inputs
        if len(lengths) != self.len_splits or int(lengths.sum()) != x.shape[int(axis)] or (lengths < 0).any():
            raise ValueError(
                format_error(
                    f"split: lengths {lengths.tolist()} do not add up to {x.shape[int(axis)]} in "
                    f"{self.len_splits} parts",
                    context=[describe(node.inputs[0])],
                )
            )
        for storage, part in zip(output_storage, np.split(x, np.cumsum(lengths)[:-1], axis=int(axis)), strict=True):
            storage[0] = part

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The parts do not depend differentiably on axis and lengths."""
        return [[True] * self.len_splits, [False] * self.len_splits, [False] * self.len_splits]

    def __str__(self) -> str:
        return f"Split{{{self.len_splits}}}"


@batch_rule.register(Join)
def _batch_join(node: Apply[Join, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable] | None:
    axis, *parts = inputs
    if stacked[0]:
        return None
    return [Join()(_shifted(axis), *all_stacked(parts, stacked[1:]))]


@batch_rule.register(Split)
def _batch_split(node: Apply[Split, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable] | None:
    x, axis, lengths = inputs
    if any(stacked[1:]):
        return None
    return list(node.op(x, _shifted(axis), lengths, return_list=True))


def _shifted(axis: Variable) -> Any:
    """Return the number of an axis behind that of a batch; axes counted from the end stay as they are."""
    number = _known_axis(axis)
    if number is not None:
        return number + (number >= 0)
    return axis + switch(as_tensor_variable(axis) < 0, 0, 1).astype("int64")


@pullback.register(Join)
def _pullback_join(node: Apply[Join, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    axis, *parts = node.inputs
    if len(parts) == 1:
        return [None, cotangents[0]]
    axis_number = static_int(axis)
    if axis_number is None:
        lengths = make_vector(*(p.shape[axis] for p in parts))
    else:
        lengths = make_vector(*(shape_i(p, axis_number) for p in parts))
    return [None, *Split(len(parts))(cotangents[0], axis, lengths)]


@pullback.register(Split)
def _pullback_split(node: Apply[Split, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    # A part that the cost does not depend on has no cotangent.
    parts = [g if isinstance(g, Tensor) else y.zeros_like() for g, y in zip(cotangents, node.outputs, strict=True)]
    return [Join()(node.inputs[1], *parts), None, None]


@pushforward.register(Join)
def _pushforward_join(node: Apply[Join, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    axis, *parts = node.inputs
    tangents_of_parts = tangents[1:]
    if all(t is None for t in tangents_of_parts):
        return [None]
    return [Join()(axis, *(p.zeros_like() if t is None else t for p, t in zip(parts, tangents_of_parts, strict=True)))]


@pushforward.register(Split)
def _pushforward_split(node: Apply[Split, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    if tangents[0] is None:
        return [None] * len(node.outputs)
    parts = node.op(tangents[0], *node.inputs[1:], return_list=True)
    return list(parts)


@shape_rule.register(Join)
def _shape_join(node: Apply[Join, Tensor], input_shapes: list[Any]) -> list[Any]:
    parts = input_shapes[1:]
    ndim = node.outputs[0].type.ndim
    axis = 0 if ndim == 1 else static_int(node.inputs[0])
    if axis is None:
        where = [eq(node.inputs[0] % ndim, i) for i in range(ndim)]
        return [tuple(switch(here, _total(parts, i), parts[0][i]) for i, here in enumerate(where))]
    return [tuple(_total(parts, i) if i == axis % ndim else n for i, n in enumerate(parts[0]))]


def _total(shapes: Sequence[Any], axis: int) -> Any:
    total: Any = 0
    for shape in shapes:
        total = total + shape[axis]
    return total


@shape_rule.register(Split)
def _shape_split(node: Apply[Split, Tensor], input_shapes: list[Any]) -> list[Any]:
    x_shape = input_shapes[0]
    ndim = len(x_shape)
    axis = 0 if ndim == 1 else static_int(node.inputs[1])
    parts = [node.inputs[2][k] for k in range(len(node.outputs))]
    if axis is None:
        where = [eq(node.inputs[1] % ndim, i) for i in range(ndim)]
        return [tuple(switch(here, part, n) for here, n in zip(where, x_shape, strict=True)) for part in parts]
    return [tuple(part if i == axis % ndim else n for i, n in enumerate(x_shape)) for part in parts]


def join(axis: AxisLike, *tensors: TensorLike) -> Tensor:
    """Put tensors one after the other along an axis.

    Parameters
    ----------
    axis : int or integer scalar
    *tensors : tensor_like
        Of one number of dimensions; lengths may differ in `axis` only.

    Returns
    -------
    Tensor
        Of the common dtype; a single tensor is returned as it is.

    Raises
    ------
    ShapeError
        If shapes are known not to fit.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.join(0, *T.dmatrices("x", "y")).ndim
    2
    """
    if len(tensors) == 1:
        return as_tensor_variable(tensors[0])
    result: Tensor = Join()(axis, *tensors)
    return result


def concatenate(tensor_list: Sequence[Any], axis: AxisLike = 0) -> Tensor:
    """Put a list of tensors one after the other along an axis; see :func:`join`.

    Parameters
    ----------
    tensor_list : sequence of tensor_like
        With equal lengths in all other dimensions.
    axis : int

    Raises
    ------
    TypeError
        If `tensor_list` is no list or tuple.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.concatenate([[1, 2], [3]]).eval()
    array([1, 2, 3])
    """
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError(
            format_error(
                f"concatenate takes a list or tuple of tensors, not {tensor_list!r}",
                hint="write concatenate([x, y], axis=0)",
            )
        )
    return join(axis, *tensor_list)


@operation("stack")
def stack(tensors: TensorLike, *more: Any, axis: int = 0) -> Tensor:
    """Put tensors of one shape together along a new axis.

    Parameters
    ----------
    tensors : sequence of tensor_like
        The older form ``stack(a, b, c)`` is accepted too.
    axis : int
        Where the new axis stands in the result.

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If there is no tensor or the numbers of dimensions differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.stack(T.dscalars("a", "b")).type.shape
    (2,)
    """
    if isinstance(tensors, (list, tuple)):
        parts = list(tensors)
        if more:
            axis = more[0]
    else:
        warnings.warn("stack(x, y) is the older form: write stack([x, y], axis=0)", DeprecationWarning, stacklevel=2)
        parts = [tensors, *more]
    if not parts:
        raise ShapeError(format_error("stack: there is nothing to stack", hint="pass at least one tensor"))
    variables = [as_tensor_variable(p) for p in parts]
    if all(v.type.ndim == 0 for v in variables) and axis in (0, -1):
        return make_vector(*variables)
    ndim = max(v.type.ndim for v in variables)
    if any(v.type.ndim != ndim for v in variables):
        raise ShapeError(
            format_error(
                "stack: tensors must have the same number of dimensions", context=[describe(v) for v in variables]
            )
        )
    return join(axis % (ndim + 1) if -ndim - 1 <= axis <= ndim else axis, *(shape_padaxis(v, axis) for v in variables))


def stacklists(tensor_list: TensorLike) -> Tensor:
    """Stack nested lists of tensors so that the structure of the lists becomes leading dimensions.

    Parameters
    ----------
    tensor_list : nested list of tensor_like
        The lists of one level have equal lengths.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.stacklists([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [3, 4]], dtype=int8)
    """
    if isinstance(tensor_list, (list, tuple)):
        return stack([stacklists(item) for item in tensor_list])
    return as_tensor_variable(tensor_list)


def split(x: TensorLike, splits_size: Any, n_splits: int, axis: AxisLike = 0) -> Any:
    """Take a tensor apart along an axis.

    Parameters
    ----------
    x : tensor_like
    splits_size : sequence of int, or symbolic vector
        The lengths of the parts.
    n_splits : int
        Their number.
    axis : int or integer scalar

    Returns
    -------
    list of Tensor

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> [a.tolist() for a in theano.function([], T.split(T.arange(5), [2, 3], 2))()]
    [[0, 1], [2, 3, 4]]
    """
    lengths = constant(np.asarray(splits_size, dtype="int64")) if not isinstance(splits_size, Variable) else splits_size
    return Split(n_splits)(x, axis, lengths, return_list=True)


def horizontal_stack(*tensors: Any) -> Tensor:
    """Put matrices side by side.

    Parameters
    ----------
    *tensors : tensor_like
        Matrices with as many rows; or one list of them. Vectors are put one after the other, as NumPy does.

    Raises
    ------
    ShapeError
        If numbers of dimensions differ, or lengths are known not to fit.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.horizontal_stack([[1], [2]], [[3], [4]]).eval()
    array([[1, 3],
           [2, 4]])
    """
    parts = [as_tensor_variable(t) for t in (tensors[0] if _is_list(tensors) else tensors)]
    parts = [v.dimshuffle("x") if v.type.ndim == 0 else v for v in parts]
    return concatenate(parts, axis=0 if parts and parts[0].type.ndim == 1 else 1)


def vertical_stack(*tensors: Any) -> Tensor:
    """Put matrices one below the other; vectors count as rows. See :func:`horizontal_stack`.

    Parameters
    ----------
    *tensors : tensor_like
        Matrices or vectors.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.vertical_stack([1, 2], [3, 4]).eval()
    array([[1, 2],
           [3, 4]])
    """
    parts = [as_tensor_variable(t) for t in (tensors[0] if _is_list(tensors) else tensors)]
    rows: dict[int, tuple[Any, ...]] = {0: ("x", "x"), 1: ("x", 0)}
    return concatenate([v.dimshuffle(*rows[v.type.ndim]) if v.type.ndim < 2 else v for v in parts], axis=0)


def _is_list(tensors: Sequence[Any]) -> bool:
    return len(tensors) == 1 and isinstance(tensors[0], (list, tuple))


# ---- Native forms of joins and of taking apart


@native_kernel.register(Join)
def _joined(node: Apply[Join, Tensor]) -> Kernel | None:
    axis, result = static_int(node.inputs[0]), node.outputs[0].type
    return (
        None if axis is None or node.op.view != -1 else ConcatenateKernel(result.dtype, result.ndim, axis % result.ndim)
    )


@native_kernel.register(Split)
def _parts(node: Apply[Split, Tensor]) -> Kernel | None:
    x, axis, lengths = node.inputs
    where = static_int(axis)
    if where is None or lengths.type.dtype != "int64":
        return None
    return SplitKernel(x.type.dtype, x.type.ndim, where % x.type.ndim)


__all__ = ["Join", "Split", "concatenate", "horizontal_stack", "join", "split", "stack", "stacklists", "vertical_stack"]
