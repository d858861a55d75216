"""Addition, subtraction, multiplication, negation, absolute value, sign and square."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from ._contract._cvalue import CValue, c_builtin, c_cast, c_helper, c_wrapped
from ._contract._derivative import differentiable, zero_like
from ._contract._dtypes import UNSIGNED_DTYPES, is_complex, is_discrete, part_dtype, upcast
from ._contract._op import Arithmetic, BinaryScalarOp, UnaryScalarOp, arraywise, dtype_name, quiet
from ._contract._record import NUMBERS, REALS, ScalarRecord
from ._contract._type import OperatorSet


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


RECORDS = (
    ScalarRecord(add, np.add, count=2),
    ScalarRecord(mul, np.multiply, count=2),
    ScalarRecord(sub, np.subtract, NUMBERS),
    ScalarRecord(neg, np.negative, NUMBERS),
    ScalarRecord(abs_, np.absolute, REALS),
    ScalarRecord(sgn, np.sign, NUMBERS, smooth=False),
    ScalarRecord(sqr, np.square, NUMBERS),
    ScalarRecord(mul_without_zeros, _nonzero_product, NUMBERS),
)
