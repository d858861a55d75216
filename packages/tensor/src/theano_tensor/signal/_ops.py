"""Pooling and the parts of its derivatives, as ops. All but the choice of the largest element are linear."""

from __future__ import annotations

import operator
from collections.abc import Sequence, Set
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import (
    Apply,
    Op,
    TheanoError,
    Variable,
    batch_rule,
    config,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c.kernels import Kernel, PoolingKernel, PoolingTask, native_kernel

from .._core._convert import as_tensor_variable
from .._core._dtypes import COMPLEX_DTYPES, DISCRETE_DTYPES, Array, TensorLike
from .._core._ops import batch_length, stack_of
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError, ShapeError
from ..elemwise import cast, maximum, minimum
from ..shape import as_lengths, lengths_of, make_vector, static_lengths
from ._core import (
    Axis,
    axes_of,
    count_of,
    elements,
    largest,
    max_pool_grad,
    max_pool_grad_grad,
    shape_of_pooled,
    sum_pool_grad,
    total,
)

MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")
#: Modes in which windows may see nothing but the padding.
_WITHOUT_ELEMENTS = ("sum", "average_inc_pad")
#: Numbers of the inputs that say how windows lie: their lengths, steps and padding, after the arrays.
_LAYOUT = 3


class WindowRankError(ShapeError, NotImplementedError):
    """A tensor has fewer dimensions than the windows."""


class PaddingError(TheanoError, ValueError, NotImplementedError):
    """A padding that pooling cannot have."""


class PoolingOp(Op):
    """Base of ops on windows of the last axes of tensors.

    Parameters
    ----------
    ignore_border : bool
        Whether windows that reach over the border are left out.
    mode : {'max', 'sum', 'average_inc_pad', 'average_exc_pad'}
    ndim : int
        Number of axes of the windows.
    openmp : optional
        Accepted for old programs; the runtime shares work out as its flags say.

    Raises
    ------
    ValueError
        If the mode is unknown.
    """

    __props__: ClassVar[tuple[str, ...]] = ("ignore_border", "mode", "ndim")

    def __init__(self, ignore_border: bool = False, mode: str = "max", ndim: int = 2, openmp: object = None) -> None:
        mode_name = {"average": "average_inc_pad", "max_deterministic": "max"}.get(mode, mode)
        if mode_name not in MODES:
            raise ValueError(format_error(f"pooling: unknown mode {mode!r}", hint=f"use one of {', '.join(MODES)}"))
        self.ignore_border, self.mode, self.ndim = bool(ignore_border), mode_name, int(ndim)

    def layout(self, ws: TensorLike, stride: TensorLike | None = None, pad: TensorLike | None = None) -> list[Tensor]:
        """Return lengths, steps and padding of the windows as vectors.

        Raises
        ------
        ShapeError
            If one has a wrong length.
        PaddingError
            If numbers are given, and there cannot be such padding.
        """
        layouts = []
        stride, pad = ws if stride is None else stride, (0,) * self.ndim if pad is None else pad
        self._refuse_padding(ws, pad)
        for name, value in (("ws", ws), ("stride", stride), ("pad", pad)):
            lengths = as_lengths(value, self.ndim)
            if len(lengths) != self.ndim:
                raise ShapeError(
                    format_error(
                        f"pooling: {name} has {len(lengths)} entries for {self.ndim} axes",
                        hint="give one for each axis",
                    )
                )
            layouts.append(make_vector(*(cast(n, "int64") for n in lengths)))
        return layouts

    def _refuse_padding(self, ws: Any, pad: Any) -> None:
        """Raise where numbers, given as sequences, say that windows would see nothing but the padding."""
        if not isinstance(pad, (tuple, list)) or not all(isinstance(p, (int, np.integer)) for p in pad) or not any(pad):
            return
        problem = None if self.ignore_border else "padding needs ignore_border=True"
        has_many = isinstance(ws, (tuple, list)) and len(ws) == len(pad) and self.mode not in _WITHOUT_ELEMENTS
        if has_many and all(isinstance(w, (int, np.integer)) for w in ws) and any(map(operator.ge, pad, ws)):
            problem = "the padding must be smaller than the windows"
        if problem is not None:
            raise PaddingError(format_error(f"pooling: {problem}", context=[f"ws={ws}, pad={pad}"], hint="change them"))

    def counted(self, lengths: Sequence[Any], layout: Sequence[Any]) -> list[Any]:
        """Return the static numbers of windows along the axes, None where they are not known."""
        known = [static_lengths(as_lengths(v, self.ndim)) for v in layout]
        return [
            None if None in (n, w, s, p) or not s else count_of(n, w, s, p, self.ignore_border)
            for n, w, s, p in zip(lengths, *known, strict=True)
        ]

    def axes(self, lengths: Sequence[int], layout: Sequence[Any]) -> list[Axis]:
        """Return how windows lie along axes of such lengths; ValueError if they cannot."""
        windows, steps, pads = ([int(n) for n in v] for v in layout)
        problem = None
        if min(windows) < 1 or min(steps) < 1 or min(pads) < 0:
            problem = "windows and steps must be at least 1, padding at least 0"
        elif self.mode not in _WITHOUT_ELEMENTS and any(p >= w for p, w in zip(pads, windows, strict=True)):
            problem = "the padding must be smaller than the windows, or some of them would see nothing else"
        elif any(pads) and not self.ignore_border:
            problem = "padding needs ignore_border=True"
        if problem is not None:
            raise ValueError(
                format_error(
                    f"pooling: {problem}", context=[f"ws={windows}, stride={steps}, pad={pads}"], hint="change them"
                )
            )
        return axes_of(lengths, windows, steps, pads, self.ignore_border)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Nothing depends differentiably on the layout of the windows."""
        return [[True]] * (len(node.inputs) - _LAYOUT) + [[False]] * _LAYOUT

    def __str__(self) -> str:
        return f"{type(self).__name__}{{ignore_border={self.ignore_border}, mode={self.mode!r}, ndim={self.ndim}}}"

    def _operand(self, x: TensorLike) -> Tensor:
        variable = as_tensor_variable(x)
        if variable.type.ndim < self.ndim:
            raise WindowRankError(
                format_error(
                    f"pooling over {self.ndim} axes requires a dimension >= {self.ndim}, not {variable.type.ndim}",
                    context=[describe(variable)],
                    hint="add dimensions with dimshuffle",
                )
            )
        if variable.type.dtype in COMPLEX_DTYPES:
            raise DTypeError(
                format_error(
                    "pooling: complex numbers have no order", context=[describe(variable)], hint="take the real part"
                )
            )
        return variable

    def _typed(self, inputs: list[Any], dtype: str, shape: Sequence[int | None]) -> Apply:
        return Apply(self, inputs, [tensor_type(dtype, tuple(shape)).make_variable()])


def _store(storage: Sequence[list[Any]], node: Apply, value: Any) -> None:
    storage[0][0] = np.asarray(value, dtype=node.outputs[0].type.dtype)


class Pool(PoolingOp):
    """The largest element, the sum or the mean of windows; inputs are the tensor, and vectors ws, stride and pad.

    The mean of integers is of the dtype ``floatX``.

    Examples
    --------
    >>> from theano.tensor.signal import pool
    >>> pool.Pool()([[1.0, 2.0], [3.0, 4.0]], (2, 2), (2, 2), (0, 0)).eval()
    array([[4.]])
    """

    @staticmethod
    def out_shape(
        imgshape: Sequence[Any],
        ws: Any = None,
        ignore_border: bool = False,
        stride: Any = None,
        pad: Any = None,
        ndim: int = 2,
        ds: Any = None,
        st: Any = None,
        padding: Any = None,
    ) -> list[Any]:
        """Return the shape of the result for a tensor of some shape.

        Parameters
        ----------
        imgshape : sequence of (int or scalar)
            The windows lie on the last axes.
        ws, ignore_border, stride, pad : optional
            As for the op; numbers or scalars.
        ndim : int
            Number of axes of the windows.
        ds, st, padding : optional
            Former names of `ws`, `stride` and `pad`.

        Raises
        ------
        TypeError
            If the shape has too few entries.
        ValueError
            If `ws` is missing, or an argument given twice.

        Examples
        --------
        >>> from theano.tensor.signal import pool
        >>> pool.Pool.out_shape((9, 8, 6), (2, 2))
        [9, 4, 3]
        """
        return shape_of_pooled(imgshape, ws, ignore_border, stride, pad, ndim, (ds, st, padding))

    def make_node(
        self, x: TensorLike, ws: TensorLike, stride: TensorLike | None = None, pad: TensorLike | None = None
    ) -> Apply[Self, Tensor]:
        """Apply to a tensor and the layout of the windows; their own size is the default of the steps.

        Raises
        ------
        ShapeError
            If the tensor has too few dimensions, or the layout a wrong number of entries.
        DTypeError
            For complex numbers.
        """
        variable, layout = self._operand(x), self.layout(ws, stride, pad)
        if self.mode.startswith("average") and variable.type.dtype in DISCRETE_DTYPES:
            variable = cast(variable, config.floatX)
        shape = variable.type.shape
        counts = self.counted(shape[-self.ndim :], layout)
        return self._typed([variable, *layout], variable.type.dtype, (*shape[: -self.ndim], *counts))

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Pool with NumPy, one axis after the other; ValueError if the layout cannot be."""
        x, *layout = inputs
        axes = self.axes(x.shape[-self.ndim :], layout)
        if self.mode == "max":
            result = largest(x, axes)
        else:
            result = total(x, axes)
            if self.mode != "sum":
                result = result / elements(axes, self.mode == "average_inc_pad")
        _store(output_storage, node, result)


class AveragePoolGrad(PoolingOp):
    """The gradients of elements from the numbers of windows, for sums and means.

    Inputs are the numbers, a vector with the lengths of the axes, and ws, stride and pad.
    """

    def __init__(self, ignore_border: bool = False, mode: str = "average_inc_pad", ndim: int = 2) -> None:
        super().__init__(ignore_border, mode, ndim)

    def make_node(
        self,
        x: TensorLike,
        gz: TensorLike,
        ws: TensorLike,
        stride: TensorLike | None = None,
        pad: TensorLike | None = None,
        dummy: TensorLike | None = None,
    ) -> Apply[Self, Tensor]:
        """Apply to numbers of windows, the lengths of the axes that these lie on, and their layout.

        Or, in the order that programs for Theano 1.0 use, to the tensor that was pooled, the numbers of its windows,
        and their layout.
        """
        g, lengths = self._in_order(x, gz)
        variable, layout = self._operand(g), self.layout(ws, stride, pad)
        lengths_given = as_lengths(lengths, self.ndim)
        shape = (*variable.type.shape[: -self.ndim], *static_lengths(lengths_given))
        return self._typed([variable, make_vector(*lengths_given), *layout], variable.type.dtype, shape)

    def _in_order(self, first: TensorLike, second: TensorLike) -> tuple[Any, Any]:
        """Return numbers of windows and the lengths of axes, which are integers."""
        if isinstance(second, (tuple, list)) and len(second) == self.ndim and np.ndim(second[0]) == 0:
            return first, second
        other = as_tensor_variable(second)
        if other.type.dtype in DISCRETE_DTYPES and other.type.ndim <= 1:
            return first, second
        return second, lengths_of(as_tensor_variable(first))[-self.ndim :]

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Add with NumPy; ValueError if the numbers of windows do not fit."""
        g, lengths, *layout = inputs
        axes = self.axes([int(n) for n in lengths], layout)
        counts = tuple(axis.windows for axis in axes)
        if g.shape[-self.ndim :] != counts:
            raise ValueError(
                format_error(
                    f"pooling: there are {counts} windows, got numbers for {g.shape[-self.ndim :]}",
                    context=[describe(node.inputs[0])],
                    hint="give one number for each window",
                )
            )
        if self.mode != "sum":
            g = (g / elements(axes, self.mode == "average_inc_pad")).astype(g.dtype)
        _store(output_storage, node, sum_pool_grad(g, axes))

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """Nothing depends differentiably on lengths and layout."""
        return [[True], *[[False]] * (1 + _LAYOUT)]


class _OfLargest(PoolingOp):
    """Base of the linear maps that belong to the choice of the first largest element of each window.

    Inputs are the tensor, the largest elements, a third tensor, and ws, stride and pad.
    """

    def __init__(self, ignore_border: bool = False, ndim: int = 2, openmp: object = None) -> None:
        super().__init__(ignore_border, "max", ndim)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Only the third tensor counts: which element is largest does not change nearby."""
        return [[False], [False], [True], *[[False]] * _LAYOUT]

    def _arrays(self, x: TensorLike, y: TensorLike, third: TensorLike) -> list[Tensor]:
        return [self._operand(v) for v in (x, y, third)]

    def _fitting(self, axes: Sequence[Axis], x: Array, y: Array, third: Array, like: Array) -> None:
        counts = (*x.shape[: -self.ndim], *(axis.windows for axis in axes))
        if y.shape != counts or third.shape != like.shape:
            raise ValueError(
                format_error(
                    f"pooling: shapes {x.shape}, {y.shape} and {third.shape} do not belong together",
                    hint=f"the windows have the shape {counts}",
                )
            )


class MaxPoolGrad(_OfLargest):
    """The gradients of windows' first largest elements from the numbers of windows."""

    def make_node(
        self,
        x: TensorLike,
        maxout: TensorLike,
        gz: TensorLike,
        ws: TensorLike,
        stride: TensorLike | None = None,
        pad: TensorLike | None = None,
    ) -> Apply[Self, Tensor]:
        """Apply to a tensor, the largest elements, a number for each window, and the layout of the windows."""
        arrays = self._arrays(x, maxout, gz)
        return self._typed([*arrays, *self.layout(ws, stride, pad)], arrays[2].type.dtype, arrays[0].type.shape)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Add with NumPy; ValueError if shapes do not fit."""
        x, y, g, *layout = inputs
        axes = self.axes(x.shape[-self.ndim :], layout)
        self._fitting(axes, x, y, g, y)
        _store(output_storage, node, max_pool_grad(x, y, g, axes))


class MaxPoolGradGrad(_OfLargest):
    """The elements of another tensor at the first largest element of each window."""

    def make_node(
        self,
        x: TensorLike,
        maxout: TensorLike,
        gz: TensorLike,
        ws: TensorLike,
        stride: TensorLike | None = None,
        pad: TensorLike | None = None,
    ) -> Apply[Self, Tensor]:
        """Apply to a tensor, the largest elements, a tensor of the shape of the first, and the layout."""
        arrays = self._arrays(x, maxout, gz)
        return self._typed([*arrays, *self.layout(ws, stride, pad)], arrays[2].type.dtype, arrays[1].type.shape)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Take with NumPy; ValueError if shapes do not fit."""
        x, y, t, *layout = inputs
        axes = self.axes(x.shape[-self.ndim :], layout)
        self._fitting(axes, x, y, t, x)
        _store(output_storage, node, max_pool_grad_grad(x, y, t, axes))


_NOTHING: tuple[None, ...] = (None,) * _LAYOUT


@pullback.register(Pool)
def _pullback_pool(node: Apply[Pool, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    op, (x, *layout), (g,) = node.op, node.inputs, cotangents
    if op.mode == "max":
        return [MaxPoolGrad(op.ignore_border, op.ndim)(x, node.outputs[0], g, *layout), *_NOTHING]
    lengths = lengths_of(x)[-op.ndim :]
    return [AveragePoolGrad(op.ignore_border, op.mode, op.ndim)(g, lengths, *layout), *_NOTHING]


@batch_rule.register(PoolingOp)
def _batch(node: Apply[PoolingOp, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable] | None:
    """Dimensions before those of the windows may be any; the layout has to be the same for all entries."""
    tensors = range(3 if isinstance(node.op, _OfLargest) else 1)
    if any(flag and k not in tensors for k, flag in enumerate(stacked)):
        return None
    length = batch_length(inputs, stacked)
    wide = [v if stacked[k] or k not in tensors else stack_of(v, length) for k, v in enumerate(inputs)]
    kind = node.outputs[0].type
    return list(node.op._typed(wide, kind.dtype, (wide[0].type.shape[0], *kind.shape)).outputs)


@pushforward.register(Pool)
def _pushforward_pool(node: Apply[Pool, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    op, (x, *layout), t = node.op, node.inputs, tangents[0]
    if t is None:
        return [None]
    if op.mode == "max":
        return [MaxPoolGradGrad(op.ignore_border, op.ndim)(x, node.outputs[0], t, *layout)]
    return [op(t, *layout)]


@pullback.register(AveragePoolGrad)
def _pullback_average(node: Apply[AveragePoolGrad, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    op = node.op
    return [Pool(op.ignore_border, op.mode, op.ndim)(cotangents[0], *node.inputs[2:]), None, *_NOTHING]


@pushforward.register(AveragePoolGrad)
def _pushforward_average(
    node: Apply[AveragePoolGrad, Tensor], tangents: list[Variable | None]
) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0], *node.inputs[1:])]


@pullback.register(MaxPoolGrad)
def _pullback_largest(node: Apply[MaxPoolGrad, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    op, (x, y, _, *layout) = node.op, node.inputs
    return [None, None, MaxPoolGradGrad(op.ignore_border, op.ndim)(x, y, cotangents[0], *layout), *_NOTHING]


@pullback.register(MaxPoolGradGrad)
def _pullback_pick(node: Apply[MaxPoolGradGrad, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    op, (x, y, _, *layout) = node.op, node.inputs
    return [None, None, MaxPoolGrad(op.ignore_border, op.ndim)(x, y, cotangents[0], *layout), *_NOTHING]


@pushforward.register(_OfLargest)
def _pushforward_largest(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    (x, y, _, *layout), t = node.inputs, tangents[2]
    return [None if t is None else node.op(x, y, t, *layout)]


@shape_rule.register(Pool)
def _shape_pool(node: Apply[Pool, Tensor], input_shapes: list[Any]) -> list[Any]:
    op, (shape, *_) = node.op, input_shapes
    layout = [as_lengths(v, op.ndim) for v in node.inputs[1:]]
    counts = [
        count_of(n, w, s, p, op.ignore_border, (minimum, maximum))
        for n, w, s, p in zip(shape[-op.ndim :], *layout, strict=True)
    ]
    return [(*shape[: -op.ndim], *counts)]


@shape_rule.register(AveragePoolGrad)
def _shape_average(node: Apply[AveragePoolGrad, Tensor], input_shapes: list[Any]) -> list[Any]:
    op = node.op
    return [(*input_shapes[0][: -op.ndim], *as_lengths(node.inputs[1], op.ndim))]


@shape_rule.register(MaxPoolGrad)
def _shape_largest(node: Apply[MaxPoolGrad, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


@shape_rule.register(MaxPoolGradGrad)
def _shape_pick(node: Apply[MaxPoolGradGrad, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[1]]


# ---- Pooling that the runtime does itself: over one to three axes, of floats

_NATIVE_DTYPES = frozenset({"float32", "float64"})
_MOST_AXES = 3
#: Task and number of the tensors among the inputs, by the class of the op.
POOLING_OPS: dict[type[PoolingOp], tuple[PoolingTask, int]] = {
    Pool: ("pool", 1),
    AveragePoolGrad: ("average_pool_grad", 1),
    MaxPoolGrad: ("max_pool_grad", 3),
    MaxPoolGradGrad: ("max_pool_grad_grad", 3),
}


def pooling_kernel(node: Apply[Any, Tensor], dtypes_taken: Set[str]) -> Kernel | None:
    """Return pooling, or a gradient of it, as a kernel where its dtype is one of those."""
    op: PoolingOp = node.op
    if type(op) not in POOLING_OPS or not 1 <= op.ndim <= _MOST_AXES:
        return None
    task, count = POOLING_OPS[type(op)]
    dtypes = {v.type.dtype for v in (*node.inputs[:count], *node.outputs)}
    if len(dtypes) != 1 or not dtypes <= dtypes_taken:
        return None
    mode: Any = op.mode
    return PoolingKernel(task, dtypes.pop(), op.ndim, mode, op.ignore_border)


@native_kernel.register(*POOLING_OPS)
def _pooling(node: Apply[Any, Tensor]) -> Kernel | None:
    return pooling_kernel(node, _NATIVE_DTYPES)
