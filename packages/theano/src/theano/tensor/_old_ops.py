"""Ops of Theano 1.0 for which the layer has functions or other ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error
from theano_tensor import (
    Bartlett,
    DisconnectedType,
    FillDiagonal,
    FillDiagonalOffset,
    Tensor,
    TensorConstant,
    TensorType,
    addbroadcast,
    as_tensor_variable,
    cumprod,
    cumsum,
    diff,
    eq,
    repeat,
    second,
)
from theano_tensor.batching import run_in_a_loop
from theano_tensor.fourier import InverseRealFourier, RealFourier
from theano_tensor.gradient import grad_undefined

from ._expression_ops import ExpressionOp

# ---- Ops of Theano 1.0 for which the layer has functions or other ops

# ---- Ops of Theano 1.0 for which the layer has a composition of others


class Tri(Op):
    """A matrix with ones at and below a diagonal: of N rows and M columns, and the number of the diagonal."""

    __props__ = ("dtype",)

    def __init__(self, dtype: str | None = None) -> None:
        self.dtype = TensorType("floatX" if dtype is None else dtype, ()).dtype

    def make_node(self, N: Any, M: Any, k: Any) -> Apply:
        """Apply to three integers."""
        numbers = [as_tensor_variable(number) for number in (N, M, k)]
        if any(number.type.ndim for number in numbers):
            raise TypeError(
                format_error("Tri takes three numbers", context=[describe(v) for v in numbers], hint="pass scalars")
            )
        return Apply(self, numbers, [TensorType(self.dtype, (None, None)).make_variable()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Compute with NumPy."""
        rows, columns, diagonal = map(int, inputs)
        output_storage[0][0] = np.tri(rows, columns, diagonal, dtype=self.dtype)

    def infer_shape(self, node: Apply, in_shapes: Sequence[Any]) -> list[Any]:
        """Return the numbers of rows and columns."""
        return [[node.inputs[0], node.inputs[1]]]

    def grad(self, inp: Sequence[Any], grads: Sequence[Any]) -> list[Variable]:
        """Say that the numbers have no gradient."""
        return [grad_undefined(self, i, number) for i, number in enumerate(inp)]


class Mean(Op):
    """The mean over axes, all by default, in float64: ``mean(x, op=True)``."""

    __props__ = ("axis",)

    def __init__(self, axis: Any = None) -> None:
        self.axis = (axis,) if isinstance(axis, int) else None if axis is None else tuple(axis)

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor."""
        variable = as_tensor_variable(x)
        gone = self._axes(variable.type.ndim)
        shape = tuple(length for i, length in enumerate(variable.type.shape) if i not in gone)
        return Apply(self, [variable], [TensorType("float64", shape).make_variable()])

    def _axes(self, ndim: int) -> set[int]:
        return set(range(ndim)) if self.axis is None else {axis % ndim for axis in self.axis}

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Compute with NumPy."""
        output_storage[0][0] = np.asarray(np.mean(inputs[0], dtype="float64", axis=self.axis))

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        """Return the lengths that are left."""
        gone = self._axes(len(shapes[0]))
        return [tuple(length for i, length in enumerate(shapes[0]) if i not in gone)]

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        """Hand an equal part to each element."""
        (x,), (g,) = inputs, output_gradients
        gone, remaining = self._axes(x.type.ndim), iter(range(x.type.ndim))
        count: Any = 1
        for axis in gone:
            count = count * x.shape[axis]
        spread = g.dimshuffle(["x" if i in gone else next(remaining) for i in range(x.type.ndim)])
        return [second(x.astype("float64"), spread / count)]

    def __str__(self) -> str:
        return "Mean" if self.axis is None else f"Mean{{{', '.join(map(str, self.axis))}}}"


class Default(Op):
    """The input, or the default value where the input is None."""

    __props__ = ()
    view_map = {0: [0]}

    def make_node(self, x: Any, default: Any) -> Apply:
        """Apply to two variables of one type."""
        operands = [as_tensor_variable(x), as_tensor_variable(default)]
        if operands[0].type != operands[1].type:
            raise TypeError(
                format_error(
                    "default: the two have different types",
                    context=[describe(v) for v in operands],
                    hint="cast one of them",
                )
            )
        return Apply(self, operands, [operands[1].type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Hand the input on, or copy the default."""
        x, default = inputs
        output_storage[0][0] = default.copy() if x is None else x


default = setdefault = Default()


class PermuteRowElements(Op):
    """Elements of rows in another order; the orders are rows of integers.

    Both have as many dimensions; lengths of 1 broadcast. With `inverse`, elements go back to where they came from.
    """

    __props__ = ()

    def make_node(self, x: Any, y: Any, inverse: Any) -> Apply:
        """Apply to a tensor, the orders, and a number that says whether to go back."""
        rows, order = as_tensor_variable(x), as_tensor_variable(y)
        back = as_tensor_variable(int(inverse) if isinstance(inverse, (bool, int)) else inverse)
        if "int" not in order.type.dtype:
            raise TypeError(
                format_error(f"PermuteRowElements: orders are integers, not {order.type.dtype}", hint="cast them")
            )
        ndim = max(rows.type.ndim, order.type.ndim)
        rows, order = as_tensor_variable(rows, ndim=ndim), as_tensor_variable(order, ndim=ndim)
        pairs = zip(rows.type.broadcastable, order.type.broadcastable, strict=True)
        kind = TensorType(rows.type.dtype, tuple(a and b for a, b in pairs))
        return Apply(self, [rows, order, back], [kind.make_variable()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Compute with NumPy."""
        x, y, inverse = inputs
        rows, order = np.broadcast_arrays(x, y)
        if inverse:
            result = np.empty(rows.shape, dtype=x.dtype)
            np.put_along_axis(result, order, rows, axis=-1)
        else:
            result = np.take_along_axis(rows, order, axis=-1)
        output_storage[0][0] = result

    def infer_shape(self, node: Apply, in_shapes: Sequence[Any]) -> list[Any]:
        """Return the broadcast shape."""
        patterns = (node.inputs[0].type.broadcastable, node.inputs[1].type.broadcastable)
        pairs = zip(*patterns, in_shapes[0], in_shapes[1], strict=True)
        return [[m if broadcasted else n for broadcasted, _, n, m in pairs]]

    def grad(self, inp: Sequence[Any], grads: Sequence[Any]) -> list[Variable]:
        """Send each element back, and add where rows were broadcast."""
        x, y, inverse = inp
        (gz,) = grads
        gx = permute_row_elements(gz, y, eq(inverse, 0))
        axes = [
            i for i, (a, b) in enumerate(zip(x.type.broadcastable, gx.type.broadcastable, strict=True)) if a and not b
        ]
        if axes:
            gx = gx.sum(axis=axes, keepdims=True)
        return [gx, grad_undefined(self, 1, y), grad_undefined(self, 2, inverse)]


_permute_row_elements = PermuteRowElements()


def permute_row_elements(x: Any, y: Any, inverse: Any = 0) -> Tensor:
    """Return the elements of each row of `x` in the order of the same row of `y`; see :class:`PermuteRowElements`.

    Parameters
    ----------
    x : tensor_like
        A vector or matrix.
    y : tensor_like
        Permutations, as integers.
    inverse : int
        1 applies the inverse permutation.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> T.permute_row_elements(np.array([[5.0, 6.0, 7.0]]), np.array([[2, 0, 1]])).eval()
    array([[7., 5., 6.]])
    """
    result: Tensor = _permute_row_elements(x, y, inverse)
    return result


class Tile(Op):
    """A tensor repeated along each dimension; the result has `ndim` dimensions."""

    __props__ = ("ndim",)

    def __init__(self, ndim: int) -> None:
        self.ndim = ndim

    def make_node(self, x: Any, reps: Any) -> Apply:
        """Apply to a tensor and a vector of numbers."""
        variable, numbers = as_tensor_variable(x), as_tensor_variable(reps)
        return Apply(self, [variable, numbers], [TensorType(variable.type.dtype, (None,) * self.ndim).make_variable()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Compute with NumPy."""
        x, reps = inputs
        result = np.tile(x, reps)
        if result.ndim != self.ndim:
            raise ValueError(
                format_error(
                    f"Tile: the result has {result.ndim} dimensions, expected {self.ndim}", hint="change ndim or reps"
                )
            )
        output_storage[0][0] = result

    def infer_shape(self, node: Apply, in_shapes: Sequence[Any]) -> list[Any]:
        """Return the products of lengths and numbers."""
        x, reps = node.inputs
        lengths = [1] * (self.ndim - x.type.ndim) + list(in_shapes[0])
        return [[reps[i] * length for i, length in enumerate(lengths)]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Variable]:
        """Add the cotangent of one element."""
        x, reps = inputs
        (g,) = grads
        lengths = [1] * (self.ndim - x.type.ndim) + [x.shape[i] for i in range(x.type.ndim)]
        parts: list[Any] = []
        for i, length in enumerate(lengths):
            parts += [reps[i], length]
        total = g.reshape(parts, ndim=2 * self.ndim).sum(axis=list(range(0, 2 * self.ndim, 2)))
        return [total.reshape(x.shape, ndim=x.type.ndim), grad_undefined(self, 1, reps)]


batch_rule.register(Default, Mean, PermuteRowElements, Tile, Tri)(run_in_a_loop)


# ---- Cumulative sums, differences and repetitions as the ops that Theano 1.0 had for them

_INTEGERS = frozenset([f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)])


def _with_axis(op: Any, x: Any) -> Tensor:
    """Return `x` as a tensor that has the axis of the op.

    Raises
    ------
    ValueError
        If it has not.
    """
    variable = as_tensor_variable(x)
    if op.axis is not None and not -variable.type.ndim <= op.axis < variable.type.ndim:
        raise ValueError(format_error(f"{op}: axis(={op.axis}) out of bounds", context=[describe(variable)]))
    return variable


class CumOp(ExpressionOp):
    """The sums, or products, up to each element along an axis: see :func:`cumsum`, :func:`cumprod`.

    Parameters
    ----------
    axis : int, optional
        By default the elements are taken in the order in which they lie.
    mode : {"add", "mul"}
    """

    __props__ = ("axis", "mode")

    def __init__(self, axis: int | None = None, mode: str = "add") -> None:
        if mode not in ("add", "mul"):
            raise ValueError(format_error(f'{type(self).__name__}: Unknown mode "{mode}"', hint='use "add" or "mul"'))
        self.axis, self.mode = axis, mode

    def operands(self, x: Any) -> list[Any]:
        """Take one tensor."""
        return [_with_axis(self, x)]

    def expression(self, x: Any) -> list[Any]:
        """Accumulate."""
        return [(cumsum if self.mode == "add" else cumprod)(x, self.axis)]

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.axis}, {self.mode}}}"


class CumsumOp(CumOp):
    """Makes a :class:`CumOp` that adds."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return the general op."""
        return CumOp(*args, **{"mode": "add", **kwargs})


class CumprodOp(CumOp):
    """Makes a :class:`CumOp` that multiplies."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return the general op."""
        return CumOp(*args, **{"mode": "mul", **kwargs})


class DiffOp(ExpressionOp):
    """Differences of neighbours along an axis, taken `n` times: see :func:`diff`.

    Parameters
    ----------
    n : int
    axis : int
    """

    __props__ = ("n", "axis")

    def __init__(self, n: int = 1, axis: int = -1) -> None:
        self.n, self.axis = n, axis

    def operands(self, x: Any) -> list[Any]:
        """Take one tensor."""
        return [_with_axis(self, x)]

    def expression(self, x: Any) -> list[Any]:
        """Subtract."""
        return [diff(x, self.n, self.axis)]


class RepeatOp(ExpressionOp):
    """Elements repeated along an axis: see :func:`repeat`.

    Parameters
    ----------
    axis : int, optional
        By default the tensor is flattened.
    """

    __props__ = ("axis",)

    def __init__(self, axis: int | None = None) -> None:
        self.axis = axis

    def operands(self, x: Any, repeats: Any) -> list[Any]:
        """Take a tensor, and a number or a vector of numbers of repetitions."""
        times = as_tensor_variable(repeats)
        if times.type.dtype not in _INTEGERS or times.type.dtype == "uint64":
            raise TypeError(
                format_error(
                    f"repetitions are integers, not {times.type.dtype}", context=[describe(times)], hint="cast them"
                )
            )
        return [_with_axis(self, x), times]

    def expression(self, x: Any, repeats: Any) -> list[Any]:
        """Repeat; a length that is known to be 1 stays so where it is repeated once."""
        result = repeat(x, repeats, self.axis)
        once = isinstance(repeats, TensorConstant) and repeats.type.ndim == 0 and repeats.data == 1
        if once and self.axis is not None and x.type.broadcastable[self.axis]:
            return [addbroadcast(result, self.axis)]
        return [result]


# ---- Instances of ops that functions of `theano.tensor.extra_ops` and `theano.tensor.fft` apply

bartlett_ = Bartlett()
fill_diagonal_ = FillDiagonal()
fill_diagonal_offset_ = FillDiagonalOffset()
disconnected_type = DisconnectedType()
rfft_op, irfft_op = RealFourier(), InverseRealFourier()


# ---- An op that raises when it runs


class Raise(Op):
    """Raises an error when the function comes to it.

    Parameters
    ----------
    msg : str
        Text of the error.
    exc : type of exception

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano import raise_op
    >>> import theano, theano.tensor as T
    >>> x = T.dscalar("x")
    >>> f = theano.function([x], raise_op.Raise("not for me", ValueError)(x))
    >>> f(1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: not for me...
    """

    __props__ = ("msg", "exc")

    def __init__(self, msg: str = "", exc: type[Exception] = NotImplementedError) -> None:
        if not (isinstance(exc, type) and issubclass(exc, Exception)):
            raise TypeError(
                format_error(f"Raise: {exc!r} is no class of exceptions", hint="pass one, as Raise(msg, ValueError)")
            )
        self.msg = msg
        self.exc = exc

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor, whose type the result has."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Raise the error."""
        raise self.exc(self.msg or describe(node.inputs[0]))

    def do_constant_folding(self, node: Apply) -> bool:
        """Compiling the function must not raise."""
        return False

    def __str__(self) -> str:
        return f"Raise{{{self.exc.__name__}({self.msg!r})}}"


batch_rule.register(Raise)(run_in_a_loop)
