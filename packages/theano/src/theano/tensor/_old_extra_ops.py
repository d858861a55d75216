"""Cumulative sums, differences and repetitions as the ops that Theano 1.0 had for them."""

from __future__ import annotations

from typing import Any

from theano_graph import describe, format_error
from theano_tensor import Tensor, TensorConstant, addbroadcast, as_tensor_variable, cumprod, cumsum, diff, repeat

from ._expression_ops import ExpressionOp

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
