"""Ops that choose among their inputs: maximum, minimum, clip, switch, second and identity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._comparison import eq, ge, gt, le, lt
from ._contract._cvalue import CValue, c_cast, c_helper
from ._contract._derivative import differentiable
from ._contract._dtypes import upcast
from ._contract._op import Arithmetic, BinaryScalarOp, ScalarOp, UnaryScalarOp, arraywise, dtype_name, quiet
from ._contract._record import REALS, ScalarRecord
from ._logic import and_


class _Extreme(Arithmetic):
    """One of two numbers; complex ones, as in NumPy, are ordered by their real parts, then by the imaginary ones."""

    exact = True
    commutative = True
    associative = True

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the helper, which lets NaN through."""
        return c_helper(type(self).name, result, *(c_cast(arg, result) for arg in args))


class Maximum(_Extreme, BinaryScalarOp):
    """The larger of two numbers; NaN if one is NaN."""

    name = "maximum"
    ufunc = np.maximum


class Minimum(_Extreme, BinaryScalarOp):
    """The smaller of two numbers; NaN if one is NaN."""

    name = "minimum"
    ufunc = np.minimum


class Clip(ScalarOp):
    """The first number, moved into the interval from the second to the third.

    Where the bounds cross, it is `low` for numbers below that, and at most `high` for others. NaN comes through.
    """

    name = "clip"
    exact = True
    nin = 3
    cost = 2

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The common dtype of the three inputs."""
        self.refuse_complex(dtypes)
        return (upcast(*dtypes),)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Take the maximum of operands that are too small, the minimum of the rest."""
        dtype = self.result_dtypes(*(dtype_name(value) for value in values))[0]
        x, low, high = (np.asarray(value, dtype=dtype) for value in values)
        return np.where(x >= low, np.minimum(x, high), np.maximum(x, low))[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Compute both, so that loops vectorise, and choose."""
        x, low, high = (c_cast(arg, result) for arg in args)
        small, bounds = (c_helper(name, result, x, y) for name, y in (("maximum", low), ("minimum", high)))
        return f"({x}) >= ({low}) ? {bounds} : {small}"


class Switch(ScalarOp):
    """The second number where the first is not zero, otherwise the third."""

    name = "switch"
    exact = True
    nin = 3

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The common dtype of the two choices."""
        return (upcast(*dtypes[1:]),)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Choose with NumPy's where."""
        condition, chosen, other = values
        dtype = self.result_dtypes(*(dtype_name(value) for value in values))[0]
        return np.where(condition, chosen, other).astype(dtype, copy=False)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Use the conditional operator on values that are both computed, so that loops vectorise."""
        return f"{c_cast(args[0], 'bool')} ? {c_cast(args[1], result)} : {c_cast(args[2], result)}"


class Second(BinaryScalarOp):
    """The second number, in the shape of both; the value of the first is not looked at."""

    name = "second"
    exact = True

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The dtype of the second input."""
        return (dtypes[1],)

    @arraywise
    def impl(self, *values: Any) -> Any:
        """Copy the second into the common shape."""
        shape, value = np.broadcast_shapes(np.shape(values[0]), np.shape(values[1])), np.asarray(values[1])
        return np.broadcast_to(value, shape).copy()[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Give the second argument."""
        return args[1].text


class Identity(UnaryScalarOp):
    """The number itself."""

    name = "identity"
    exact = True
    cost = 0

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The dtype of the input."""
        return (upcast(*dtypes),)

    @arraywise
    def impl(self, *values: Any) -> Any:
        """Copy the value."""
        return np.array(values[0])[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Give the argument."""
        return args[0].text


maximum = Maximum()
minimum = Minimum()
clip = Clip()
switch = Switch()
second = Second()
identity = Identity()


@differentiable(Maximum)
def _maximum(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return _of_the_first(ge(*inputs) if _are_real(inputs) else eq(output, inputs[0]), seed)


@differentiable(Minimum)
def _minimum(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return _of_the_first(le(*inputs) if _are_real(inputs) else eq(output, inputs[0]), seed)


def _of_the_first(first: Any, seed: Any) -> list[Any]:
    """Hand the seed to the first input where a condition holds, ties among them: both parts add up to the seed.

    Real inputs are compared with one another, not with the output: a loop's gradient computes them anew, maybe by
    another product that rounds otherwise, and would then find neither of them equal to an output that was kept.
    """
    return [switch(first, seed, _zero(seed)), switch(first, _zero(seed), seed)]


def _are_real(inputs: Sequence[Any]) -> bool:
    return not any(x.type.dtype.startswith("complex") for x in inputs)


@differentiable(Clip)
def _clip(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    x, low, high = inputs
    zero = _zero(seed)
    inside = and_(ge(x, low), le(x, high))
    above = and_(ge(x, low), gt(x, high))
    return [switch(inside, seed, zero), switch(lt(x, low), seed, zero), switch(above, seed, zero)]


def _zero(seed: Any) -> Any:
    return seed.type.make_constant(0)


@differentiable(Switch)
def _switch(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [None, switch(inputs[0], seed, _zero(seed)), switch(inputs[0], _zero(seed), seed)]


@differentiable(Second)
def _second(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [None, seed]


@differentiable(Identity)
def _identity(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed]


def _choose(condition: Any, chosen: Any, other: Any) -> Any:
    return np.where(condition != 0, chosen, other)


def _limit(x: Any, low: Any, high: Any) -> Any:
    return np.where(x >= low, np.minimum(x, high), np.maximum(x, low))


RECORDS = (
    ScalarRecord(maximum, np.maximum, REALS),
    ScalarRecord(minimum, np.minimum, REALS),
    ScalarRecord(clip, _limit, REALS),
    ScalarRecord(switch, _choose, REALS),
    ScalarRecord(second, lambda x, y: y, REALS),
    ScalarRecord(identity, lambda x: x, REALS),
)
