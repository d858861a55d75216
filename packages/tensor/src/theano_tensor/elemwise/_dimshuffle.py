"""Broadcasting, and dimensions permuted, inserted and dropped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import Kernel, TransposeKernel, broadcast_lengths, native_kernel

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import TensorOp, refused_node
from .._core._type import StaticShape, Tensor, tensor_type
from .._errors import ShapeError
from .._protocols._methods import call, operation

# ---- The broadcasting rule, on static shapes and on the shapes of values
#
# A dimension broadcasts only if its static length is 1. A dimension of unknown length that turns out to be 1 does not:
# lengths that are known only at run time must be equal.


def broadcast_static(name: object, inputs: Sequence[Tensor], shown: Sequence[Variable] | None = None) -> StaticShape:
    """Return the static shape of an elementwise result of inputs with one number of dimensions.

    Parameters
    ----------
    name : str or object
        Name of the operation, or an object with it as its text, for errors.
    inputs : sequence of Tensor
    shown : sequence of Variable, optional
        The user's own variables, for errors.

    Raises
    ------
    ShapeError
        If two known lengths differ and neither is 1.
    """
    if not inputs:
        return ()
    result: list[int | None] = []
    for axis, lengths in enumerate(zip(*(x.type.shape for x in inputs), strict=True)):
        longer = {length for length in lengths if length is not None and length != 1}
        if len(longer) > 1:
            raise ShapeError(_conflict(name, inputs if shown is None else shown, inputs, axis))
        result.append(longer.pop() if longer else (None if None in lengths else 1))
    return tuple(result)


def refused_broadcast(error: ShapeError, inputs: Sequence[Tensor], dtypes: Sequence[str]) -> Apply[Any, Tensor]:
    """Return a node that raises `error` when it runs, in the place of an elementwise one."""
    shape = tuple(1 if set(lengths) == {1} else None for lengths in zip(*(x.type.shape for x in inputs), strict=True))
    return refused_node(error, inputs, [tensor_type(dtype, shape) for dtype in dtypes])


def _conflict(name: object, shown: Sequence[Variable], inputs: Sequence[Tensor], axis: int) -> str:
    lengths = [x.type.shape[axis] for x in inputs]
    parts = [f"{length} (`{x}`)" for x, length in zip(shown, lengths, strict=True) if length not in (None, 1)]
    return format_error(
        f"{name}: the lengths of dimension {axis} differ: {' and '.join(parts)}",
        context=[describe(x) for x in shown],
        hint="give both the same length, or transpose, index or reshape one; only a length of 1 broadcasts",
    )


def check_broadcast(shapes: Sequence[Sequence[int]], broadcast: Sequence[Sequence[bool]]) -> tuple[int, ...]:
    """Return the shape of an elementwise result of values.

    Parameters
    ----------
    shapes : sequence of shapes
        One for each input, all of one length.
    broadcast : sequence of patterns
        For each input and dimension, whether the dimension broadcasts (its static length is 1).

    Raises
    ------
    ValueError
        If two lengths that do not broadcast differ, or one that does is not 1.
    """
    return broadcast_lengths(shapes, broadcast, len(shapes[0]) if shapes else 0)


# ---- Dimensions permuted, inserted and dropped: a view of its input


class DimShuffle(TensorOp):
    """Permute the dimensions of a tensor, insert dimensions of length 1, drop such dimensions.

    Parameters
    ----------
    input_broadcastable : int or sequence of bool
        Number of dimensions of the input, or for each of them whether its length is known to be 1.
    new_order : sequence of (int or "x")
        For each dimension of the result, the dimension of the input that it is, or ``"x"`` for a new one of length 1.
    inplace : bool
        Whether the result is a view of the input; otherwise it is a copy.

    Raises
    ------
    ValueError
        If an entry is out of range or given twice, or a dimension is left out whose length is known not to be 1.

    Examples
    --------
    ``DimShuffle(1, ("x", 0))`` makes a row of a vector.
    """

    __props__ = ("input_ndim", "order", "inplace")
    view_map = {0: [0]}

    def __init__(
        self, input_broadcastable: int | Sequence[bool], new_order: Sequence[int | str], inplace: bool = True
    ) -> None:
        pattern, order = input_broadcastable, new_order
        self.input_ndim = pattern if isinstance(pattern, int) else len(pattern)
        self.order: tuple[int | str, ...] = tuple(_entry(entry, self.input_ndim, order) for entry in order)
        self.inplace = bool(inplace)
        if not self.inplace:
            self.view_map = {}
        axes = [entry for entry in self.order if not isinstance(entry, str)]
        if len(set(axes)) != len(axes):
            raise ValueError(
                format_error(f"dimshuffle: a dimension may not appear twice, as in {tuple(order)}", hint="name it once")
            )

        wrong = [] if isinstance(pattern, int) else [axis for axis in self.drop if not pattern[axis]]
        if wrong:
            raise ValueError(
                format_error(
                    f"dimshuffle: dimension {wrong[0]} is left out of {tuple(order)}, its length is not known to be 1",
                    hint="name it in the new order; only broadcastable dimensions can be dropped",
                )
            )

    @property
    def new_order(self) -> tuple[int | str, ...]:
        """The pattern: for each dimension of the result that of the input, or "x"."""
        return self.order

    @property
    def input_broadcastable(self) -> tuple[bool, ...]:
        """For each dimension of the input, whether its length has to be known to be 1: the dropped ones."""
        return tuple(axis in self.drop for axis in range(self.input_ndim))

    @cached_property
    def shuffle(self) -> tuple[int, ...]:
        """The dimensions that are kept, in their new order."""
        return tuple(entry for entry in self.order if isinstance(entry, int))

    @cached_property
    def drop(self) -> tuple[int, ...]:
        """The dimensions that are dropped."""
        axes_left = set(self.shuffle)
        return tuple(axis for axis in range(self.input_ndim) if axis not in axes_left)

    @property
    def augment(self) -> tuple[int, ...]:
        """Where dimensions are inserted, in the result."""
        return tuple(i for i, entry in enumerate(self.order) if entry == "x")

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to `x`; ShapeError if a dimension to drop may be longer than 1."""
        variable = as_tensor_variable(x)
        if variable.type.ndim != self.input_ndim:
            raise ShapeError(
                format_error(
                    f"dimshuffle: the pattern {self.order} is for {self.input_ndim} dimensions, the "
                    f"tensor has {variable.type.ndim}",
                    context=[describe(variable)],
                )
            )
        shape = variable.type.shape
        for axis in self.drop:
            if shape[axis] != 1:
                raise ShapeError(
                    format_error(
                        f"dimshuffle: dimension {axis} cannot be dropped, its length is not known to be 1",
                        context=[describe(variable)],
                        hint="name it in the pattern, index it (x[0]), or reduce over it",
                    )
                )
        lengths = [1 if isinstance(entry, str) else shape[entry] for entry in self.order]
        return Apply(self, [variable], [tensor_type(variable.type.dtype, tuple(lengths)).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Return a view of the input."""
        (x,) = inputs
        index: list[Any] = [None if isinstance(entry, str) else slice(None) for entry in self.order]
        # The ellipsis keeps a result without dimensions an array.
        view = x.transpose(self.shuffle + self.drop)[(*index, *(0 for _ in self.drop), ...)]
        output_storage[0][0] = view if self.inplace else view.copy()

    def __str__(self) -> str:
        return f"{'Inplace' if self.inplace else ''}DimShuffle{{{','.join(map(str, self.order))}}}"


def _entry(entry: int | str, ndim: int, order: Sequence[int | str]) -> int | str:
    if isinstance(entry, str) and entry == "x":
        return entry
    if isinstance(entry, (int, np.integer)) and not isinstance(entry, bool) and -ndim <= entry < ndim:
        return int(entry) % ndim
    raise ValueError(
        format_error(
            f"dimshuffle: {entry!r} in the pattern {tuple(order)} is no dimension of a tensor with {ndim}",
            hint="use numbers below the number of dimensions, and 'x' for a new dimension of length 1",
        )
    )


def _inverse(op: DimShuffle, value: Tensor) -> Tensor:
    """Bring `value`, of the form of the op's output, into the form of its input."""
    broadcasted = [axis for axis in op.augment if value.type.shape[axis] != 1]
    if broadcasted:
        value = call("sum", value, axis=broadcasted, keepdims=True)
    back: list[int | str] = ["x"] * op.input_ndim
    for i, entry in enumerate(op.order):
        if isinstance(entry, int):
            back[entry] = i
    return dimshuffle(value, back)


@pullback.register(DimShuffle)
def _pullback(node: Apply[DimShuffle, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [_inverse(node.op, as_tensor_variable(cotangents[0]))]


@pushforward.register(DimShuffle)
def _pushforward(node: Apply[DimShuffle, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0])]


@batch_rule.register(DimShuffle)
def _batch(node: Apply[DimShuffle, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    op = node.op
    order = (0, *(entry if isinstance(entry, str) else entry + 1 for entry in op.order))
    return [DimShuffle(op.input_ndim + 1, order, op.inplace)(inputs[0])]


@shape_rule.register(DimShuffle)
def _shape(node: Apply[DimShuffle, Tensor], input_shapes: list[Any]) -> list[Any]:
    (shape,) = input_shapes
    return [tuple(1 if isinstance(entry, str) else shape[entry] for entry in node.op.order)]


@native_kernel.register(DimShuffle)
def _native(node: Apply[DimShuffle, Tensor]) -> Kernel | None:
    op = node.op
    if not op.inplace:
        return None
    return TransposeKernel(order=tuple(None if isinstance(e, str) else e for e in op.order), drop=op.drop)


@lru_cache(maxsize=1024)
def _shuffle(ndim: int, order: tuple[int | str, ...]) -> DimShuffle:
    return DimShuffle(ndim, order)


@operation("dimshuffle")
def dimshuffle(x: TensorLike, order: Sequence[int | str]) -> Tensor:
    """Return a view of `x` with dimensions permuted, inserted (``"x"``) or dropped.

    Parameters
    ----------
    x : tensor_like
    order : sequence of (int or "x")
        See :class:`DimShuffle`.

    Returns
    -------
    Tensor
        `x` itself if nothing changes.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.dimshuffle(T.dvector("v"), ("x", 0)).broadcastable
    (True, False)
    """
    variable = as_tensor_variable(x)
    if tuple(order) == tuple(range(variable.type.ndim)):
        return variable
    return shuffled(variable, order)


@operation("shuffled")
def shuffled(x: Tensor, order: Sequence[int | str]) -> Tensor:
    """Return a view as :func:`dimshuffle` does, which is a variable of its own also where nothing changes."""
    result: Tensor = _shuffle(x.type.ndim, tuple(order))(x)
    return result
