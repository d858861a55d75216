"""Arithmetic: sums, products, signs and squares; divisions and remainders; rounding to whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from theano_graph import config

from ._derivative import NUMBERS, REALS, ScalarRecord, differentiable, zero_like
from ._dtypes import (
    UNSIGNED_DTYPES,
    CValue,
    c_builtin,
    c_cast,
    c_helper,
    c_wrapped,
    is_complex,
    is_discrete,
    part_dtype,
    upcast,
    upcast_to_float,
)
from ._op import (
    Arithmetic,
    BinaryScalarOp,
    FloatFunction,
    Rounding,
    UfuncOp,
    UnaryScalarOp,
    WholePart,
    arraywise,
    dtype_name,
    quiet,
)
from ._type import OperatorSet, same_out_float_only, upcast_out

# ---- Addition, subtraction, multiplication, negation, absolute value, sign and square


class _Variadic(Arithmetic):
    """Addition or multiplication of any number of values, from left to right."""

    nin = -1
    commutative = True
    associative = True

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Combine the values one after the other in the result's dtype."""
        dtype = self.result_dtypes(*(dtype_name(value) for value in values))[0]
        if len(values) == 1:
            return np.array(values[0], dtype=dtype)[()]
        return reduce(lambda a, b: type(self).ufunc(a, b, dtype=dtype), values)


class Add(_Variadic):
    """Sum of all inputs; of truth values: whether one is true."""

    name = "add"
    ufunc = np.add

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Join with ``+``, or ``|`` for bool."""
        return c_wrapped("|" if result == "bool" else "+", [c_cast(arg, result) for arg in args], result)


class Mul(_Variadic):
    """Product of all inputs; of truth values: whether all are true."""

    name = "mul"
    ufunc = np.multiply

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Join with ``*``, or ``&`` for bool."""
        texts = [c_cast(arg, result) for arg in args]
        if is_complex(result):
            return reduce(lambda a, b: c_helper("mul", result, a, b), texts)
        return c_wrapped("&" if result == "bool" else "*", texts, result)


class Sub(Arithmetic, BinaryScalarOp):
    """Difference of two numbers."""

    name = "sub"
    ufunc = np.subtract
    bool_ok = False

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Write the difference."""
        return c_wrapped("-", [c_cast(arg, result) for arg in args], result)


class Neg(Arithmetic, UnaryScalarOp):
    """The number with the opposite sign."""

    name = "neg"
    exact = True
    nin = 1
    ufunc = np.negative
    bool_ok = False

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Write the negation."""
        text = args[0].text
        return c_wrapped("-", [text], result) if is_discrete(result) else f"-{text}"


class Abs(UnaryScalarOp):
    """Absolute value; of a complex number its length, a float."""

    name = "abs"
    exact = True

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The input's dtype, or the dtype of the parts of a complex number."""
        return (part_dtype(upcast(*dtypes)),)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Take NumPy's absolute value."""
        return np.absolute(values[0])

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Clear the sign."""
        text = args[0].text
        if is_complex(args[0].dtype):
            return c_helper("length", args[0].dtype, text)
        if result == "bool" or result in UNSIGNED_DTYPES:
            return text
        if is_discrete(result):
            return f"{text} < 0 ? {c_wrapped('-', [text], result)} : {text}"
        return c_builtin("fabs", result, text)


class Sgn(Arithmetic, UnaryScalarOp):
    """Sign: -1, 0 or 1, and NaN for NaN; of a complex number the number of length 1 in its direction, or 0."""

    name = "sgn"
    nin = 1
    ufunc = np.sign
    bool_ok = False
    exact = True

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Take NumPy's sign; of complex numbers NumPy's releases differ."""
        (x,) = values
        if not is_complex(dtype_name(x)):
            return super().impl(x)
        size = np.absolute(x)
        return np.where(size == 0, 0, x / size).astype(dtype_name(x))[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Compare with zero; NaN comes through."""
        x = args[0].text
        if is_complex(result):
            return c_helper("sgn", result, x)
        if result in UNSIGNED_DTYPES:
            return f"{x} > 0"
        return f"{x} > 0 ? 1 : ({x} < 0 ? -1 : {'0' if is_discrete(result) else f'({x} == 0 ? 0 : {x})'})"


class MulWithoutZeros(Arithmetic, BinaryScalarOp):
    """Product in which a zero counts as one, so that it is the product of the nonzero ones."""

    name = "mul_without_zeros"
    commutative = True
    associative = True
    bool_ok = False
    ufunc = np.multiply

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Multiply where neither is zero."""
        dtype = self.result_dtypes(*map(dtype_name, values))[0]
        x, y = (np.asarray(value).astype(dtype, copy=False) for value in values)
        return np.where(x == 0, y, np.where(y == 0, x, np.multiply(x, y, dtype=dtype))).astype(dtype, copy=False)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Choose one of the factors or their product."""
        x, y = (c_cast(arg, result) for arg in args)
        product = mul.c_expression([CValue(x, result), CValue(y, result)], result)
        return f"{x} == 0 ? {y} : ({y} == 0 ? {x} : ({product}))"


class Sqr(Arithmetic, UnaryScalarOp):
    """The number times itself."""

    name = "sqr"
    nin = 1
    ufunc = np.square
    bool_ok = False

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Multiply the number with itself."""
        x = args[0].text
        if is_complex(result):
            return c_helper("mul", result, x, x)
        return c_wrapped("*", [x, x], result)


add = Add()
mul = Mul()
sub = Sub()
neg = Neg()
abs_ = Abs()
sgn = Sgn()
mul_without_zeros = MulWithoutZeros()
sqr = Sqr()


@differentiable(Add)
def _add(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed for _ in inputs]


@differentiable(Mul)
def _mul(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    if len(inputs) == 2:
        return [seed * inputs[1], seed * inputs[0]]
    # Products of all inputs before and after each one: linear in their number, and right where one is zero.
    before = [seed]
    for x in inputs[:-1]:
        before.append(before[-1] * x)
    parts: list[Any] = [before[-1]]
    after = inputs[-1]
    for i in range(len(inputs) - 2, -1, -1):
        parts.append(before[i] * after)
        after = inputs[i] * after
    return parts[::-1]


@differentiable(MulWithoutZeros)
def _mul_without_zeros(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # Where a factor is zero, which it is at single points only, the function does not depend on it smoothly.
    switch, eq = OperatorSet.table["switch"], OperatorSet.table["eq"]
    x, y = inputs
    one = seed.type.make_constant(1)
    zero = seed.type.make_constant(0)
    by_x = switch(eq(x, 0), zero, seed * switch(eq(y, 0), one, y))
    return [by_x, switch(eq(y, 0), zero, seed * switch(eq(x, 0), one, x))]


@differentiable(Sub)
def _sub(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed, -seed]


@differentiable(Neg)
def _neg(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [-seed]


@differentiable(Abs)
def _abs(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * (inputs[0] if inputs[0].dtype == "bool" else sgn(inputs[0]))]


@differentiable(Sgn)
def _sgn(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [zero_like(inputs[0])]


@differentiable(Sqr)
def _sqr(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * (2 * inputs[0])]


def _nonzero_product(x: Any, y: Any) -> Any:
    return np.where(x == 0, np.ones_like(x), x) * np.where(y == 0, np.ones_like(y), y) * ((x != 0) | (y != 0))


# ---- True division, reciprocal, and floor division and remainder with Python's rule of signs


class TrueDiv(FloatFunction, BinaryScalarOp):
    """Quotient as a float; that of integers is computed in float64 and has the dtype of the flag ``floatX``."""

    name = "true_div"
    output_types_preference = staticmethod(upcast_out)
    follows_floatx = True
    ufunc = np.true_divide
    cost = 4

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """``floatX`` for integers, else the common dtype of the inputs."""
        return (config.floatX if all(map(is_discrete, dtypes)) else upcast(*dtypes),)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Divide in the common dtype, integers in float64."""
        dtypes = [dtype_name(value) for value in values]
        common = upcast(*dtypes)
        quotient = np.true_divide(*values, dtype="float64" if is_discrete(common) else common)
        return quotient.astype(self.result_dtypes(*dtypes)[0], copy=False)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Divide in the result's dtype, integers in float64."""
        if all(is_discrete(arg.dtype) for arg in args):
            a, b = (c_cast(arg, "float64") for arg in args)
            return c_cast(CValue(f"({a} / {b})", "float64"), result)
        a, b = (c_cast(arg, result) for arg in args)
        return c_helper("true_div", result, a, b) if is_complex(result) else f"{a} / {b}"


class Reciprocal(FloatFunction, UnaryScalarOp):
    """One divided by the number; integers give float64."""

    name = "inv"
    ufunc = np.reciprocal
    cost = 4

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Divide one by the argument."""
        x = c_cast(args[0], result)
        return c_helper("inv", result, x) if is_complex(result) else f"1 / {x}"


class _Division(UfuncOp):
    nin = 2
    cost = 15

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The common dtype; int8 for two truth values."""
        self.refuse_complex(dtypes)
        common = upcast(*dtypes)
        return ("int8" if common == "bool" else common,)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the helper that follows the sign rule and never traps."""
        return c_helper(type(self).name, result, *(c_cast(arg, result) for arg in args))


class IntDiv(_Division, BinaryScalarOp):
    """Quotient rounded down; an integer divided by zero gives 0, as in NumPy."""

    name = "int_div"
    ufunc = np.floor_divide


class Mod(_Division, BinaryScalarOp):
    """Remainder with the sign of the divisor; an integer modulo zero gives 0, as in NumPy."""

    name = "mod"
    ufunc = np.remainder


true_div = TrueDiv()
reciprocal = Reciprocal()
int_div = IntDiv()
mod = Mod()


@differentiable(TrueDiv)
def _true_div(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed / inputs[1], -(seed * output / inputs[1])]


@differentiable(Reciprocal)
def _reciprocal(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [-(seed * output * output)]


@differentiable(IntDiv)
def _int_div(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [zero_like(x) for x in inputs]


@differentiable(Mod)
def _mod(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed, -(seed * int_div(*inputs))]


# ---- Rounding to whole numbers


class Floor(WholePart):
    """Largest whole number that is not above x; of integers a float."""

    name = "floor"
    ufunc = np.floor
    c_function = "floor"


class Ceil(WholePart):
    """Smallest whole number that is not below x; of integers a float."""

    name = "ceil"
    ufunc = np.ceil
    c_function = "ceil"


class Trunc(WholePart):
    """Whole part of x; of integers a float."""

    name = "trunc"
    ufunc = np.trunc
    c_function = "trunc"


class RoundHalfToEven(Rounding):
    """Nearest whole number, the even one of two equally near; integers stay as they are."""

    name = "round_half_to_even"
    output_types_preference = staticmethod(same_out_float_only)
    ufunc = np.rint
    c_function = "rint"


class RoundHalfAwayFromZero(Rounding):
    """Nearest whole number, the one further from zero of two equally near; integers stay as they are."""

    name = "round_half_away_from_zero"
    output_types_preference = staticmethod(same_out_float_only)
    c_function = "round"

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Round the absolute value: its fraction is exact, so 0.5 is recognised reliably."""
        x = np.asarray(values[0])
        if is_discrete(dtype_name(x)):
            return x.copy()[()]
        quotient = np.trunc(x)
        return np.where(np.abs(x - quotient) >= 0.5, quotient + np.sign(x), quotient).astype(x.dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call round."""
        return super().c_expression(args, result)


floor = Floor()
ceil = Ceil()
trunc = Trunc()
round_half_to_even = RoundHalfToEven()
round_half_away_from_zero = RoundHalfAwayFromZero()


@differentiable(Floor, Ceil, Trunc, RoundHalfToEven, RoundHalfAwayFromZero)
def _rounding(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [zero_like(inputs[0])]


def _away(x: Any) -> Any:
    if x.dtype.kind in "iub":
        return x
    wide = np.abs(x.astype(np.longdouble)) + 0.5  # in its own dtype, the largest number below 0.5 would give 1
    return np.copysign(np.floor(wide), x).astype(x.dtype)


def _whole(function: Any) -> Any:
    return lambda x: x if x.dtype.kind in "iub" else function(x)


def _whole_as_float(function: Any) -> Any:
    return lambda x: function(x.astype(upcast_to_float(x.dtype.name)))


RECORDS = (
    ScalarRecord(add, np.add, count=2),
    ScalarRecord(mul, np.multiply, count=2),
    ScalarRecord(sub, np.subtract, NUMBERS),
    ScalarRecord(neg, np.negative, NUMBERS),
    ScalarRecord(abs_, np.absolute, REALS),
    ScalarRecord(sgn, np.sign, NUMBERS, smooth=False),
    ScalarRecord(sqr, np.square, NUMBERS),
    ScalarRecord(mul_without_zeros, _nonzero_product, NUMBERS),
    ScalarRecord(true_div, np.true_divide, REALS),
    ScalarRecord(reciprocal, lambda x: np.true_divide(1, x, dtype=np.result_type(x, np.float32)), REALS),
    ScalarRecord(int_div, np.floor_divide, REALS, smooth=False),
    ScalarRecord(mod, np.remainder, REALS, smooth=False),
    ScalarRecord(floor, _whole_as_float(np.floor), REALS, smooth=False),
    ScalarRecord(ceil, _whole_as_float(np.ceil), REALS, smooth=False),
    ScalarRecord(trunc, _whole_as_float(np.trunc), REALS, smooth=False),
    ScalarRecord(round_half_to_even, _whole(np.rint), REALS, smooth=False),
    ScalarRecord(round_half_away_from_zero, _away, REALS, smooth=False),
)
