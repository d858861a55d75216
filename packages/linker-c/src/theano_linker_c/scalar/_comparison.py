"""Comparisons and tests, logic of truth values and bits, and ops that choose among their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._derivative import DISCRETE, REALS, ScalarRecord, differentiable, without_derivative
from ._dtypes import CValue, c_builtin, c_cast, c_helper, is_complex, is_discrete, part_dtype, upcast
from ._op import (
    Arithmetic,
    BinaryBitOp,
    BinaryScalarOp,
    Comparison,
    FixedLogicalComparison,
    ScalarOp,
    UnaryBitOp,
    UnaryScalarOp,
    arraywise,
    dtype_name,
    quiet,
)

# ---- Comparisons and tests, which give bool


class LT(Comparison):
    """Whether the first is below the second."""

    name = "lt"
    ufunc = np.less
    symbol = "<"
    complex_ok = True


class LE(Comparison):
    """Whether the first is not above the second."""

    name = "le"
    ufunc = np.less_equal
    symbol = "<="
    complex_ok = True


class GT(Comparison):
    """Whether the first is above the second."""

    name = "gt"
    ufunc = np.greater
    symbol = ">"
    complex_ok = True


class GE(Comparison):
    """Whether the first is not below the second."""

    name = "ge"
    ufunc = np.greater_equal
    symbol = ">="
    complex_ok = True


class EQ(Comparison):
    """Whether the two are equal; NaN equals nothing."""

    name = "eq"
    ufunc = np.equal
    symbol = "=="
    orders = False
    commutative = True


class NEQ(Comparison):
    """Whether the two differ."""

    name = "neq"
    ufunc = np.not_equal
    symbol = "!="
    orders = False
    commutative = True


class IsNan(FixedLogicalComparison):
    """Whether the number is NaN; never for bool and integers."""

    name = "isnan"

    @arraywise
    def impl(self, *values: Any) -> Any:
        """Ask NumPy."""
        return np.isnan(values[0])

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Only NaN differs from itself."""
        return "0" if is_discrete(args[0].dtype) else f"{args[0].text} != {args[0].text}"


class IsInf(FixedLogicalComparison):
    """Whether the number is infinite; never for bool and integers."""

    name = "isinf"

    @arraywise
    def impl(self, *values: Any) -> Any:
        """Ask NumPy."""
        value = values[0]
        return np.zeros(np.shape(value), "bool")[()] if is_discrete(dtype_name(value)) else np.isinf(value)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Compare the absolute value with infinity."""
        (x,) = args
        if is_discrete(x.dtype):
            return "0"
        if is_complex(x.dtype):
            parts = (CValue(f"(__{part}__ {x.text})", part_dtype(x.dtype)) for part in ("real", "imag"))
            return " | ".join(f"({self.c_expression([part], result)})" for part in parts)
        return f"{c_builtin('fabs', x.dtype, x.text)} == {c_builtin('inf', x.dtype)}"


class InRange(Comparison):
    """Whether the first number lies between the second and the third.

    Parameters
    ----------
    openlow, openhi : bool
        Whether an end of the range is no part of it.
    """

    __props__ = ("openlow", "openhi")
    nin = 3

    def __init__(self, openlow: bool, openhi: bool) -> None:
        super().__init__(name=f"InRange{'(' if openlow else '['}{')' if openhi else ']'}")
        self.openlow = openlow
        self.openhi = openhi

    @arraywise
    def impl(self, *values: Any) -> Any:
        """Compare in NumPy."""
        x, low, high = values
        above = np.greater(x, low) if self.openlow else np.greater_equal(x, low)
        return above & (np.less(x, high) if self.openhi else np.less_equal(x, high))

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Compare with both ends."""
        x, low, high = args
        above = (gt if self.openlow else ge).c_expression([x, low], result)
        below = (lt if self.openhi else le).c_expression([x, high], result)
        return f"({above}) & ({below})"


lt = LT()
le = LE()
gt = GT()
ge = GE()
eq = EQ()
neq = NEQ()
isnan = IsNan()
isinf = IsInf()
inopenrange = InRange(True, True)
inclosedrange = InRange(False, False)


@differentiable(LT, LE, GT, GE, EQ, NEQ, InRange)
def _comparison(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # A step: the derivative is 0 wherever there is one.
    return [seed for _ in inputs]


without_derivative(IsNan, IsInf)


# ---- And, or, exclusive or and inversion: of truth values, or of the bits of integers


class And(BinaryBitOp):
    """Bits that are set in both; of truth values, whether both are true."""

    name = "and_"
    ufunc = np.bitwise_and
    symbol = "&"
    commutative = True
    associative = True


class Or(BinaryBitOp):
    """Bits that are set in one of the two; of truth values, whether one is true."""

    name = "or_"
    ufunc = np.bitwise_or
    symbol = "|"
    commutative = True
    associative = True


class Xor(BinaryBitOp):
    """Bits that are set in exactly one of the two; of truth values, whether they differ."""

    name = "xor"
    ufunc = np.bitwise_xor
    symbol = "^"
    commutative = True
    associative = True


class Invert(UnaryBitOp):
    """All bits flipped; of a truth value its negation."""

    name = "invert"
    nin = 1
    ufunc = np.invert

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Write ``!`` for bool and ``~`` for integers."""
        return f"{'!' if result == 'bool' else '~'}{args[0].text}"


and_ = And()
or_ = Or()
xor = Xor()
invert = Invert()

without_derivative(And, Or, Xor, Invert)


# ---- Ops that choose among their inputs: maximum, minimum, clip, switch, second and identity


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
    ScalarRecord(lt, np.less, REALS, smooth=False),
    ScalarRecord(le, np.less_equal, REALS, smooth=False),
    ScalarRecord(gt, np.greater, REALS, smooth=False),
    ScalarRecord(ge, np.greater_equal, REALS, smooth=False),
    ScalarRecord(eq, np.equal, REALS, smooth=False),
    ScalarRecord(neq, np.not_equal, REALS, smooth=False),
    ScalarRecord(isnan, np.isnan, REALS, smooth=False),
    ScalarRecord(isinf, np.isinf, REALS, smooth=False),
    ScalarRecord(and_, np.bitwise_and, DISCRETE, smooth=False),
    ScalarRecord(or_, np.bitwise_or, DISCRETE, smooth=False),
    ScalarRecord(xor, np.bitwise_xor, DISCRETE, smooth=False),
    ScalarRecord(invert, np.invert, DISCRETE, smooth=False),
    ScalarRecord(maximum, np.maximum, REALS),
    ScalarRecord(minimum, np.minimum, REALS),
    ScalarRecord(clip, _limit, REALS),
    ScalarRecord(switch, _choose, REALS),
    ScalarRecord(second, lambda x, y: y, REALS),
    ScalarRecord(identity, lambda x: x, REALS),
)
