"""C text of values: arguments of an op, constants and casts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_graph import TheanoError, record

from ._dtypes import C_TYPES, is_complex, is_discrete, part_dtype

#: Functions of the C library that have a complex form, which is named with a "c" in front.
COMPLEX_FUNCTIONS: frozenset[str] = frozenset(
    {"exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh"}
    | {"atanh", "pow"}
)
#: Helpers that are written for complex numbers too.
_COMPLEX_HELPERS = frozenset({"complex", "mul", "true_div", "inv", "sgn", "length", "power"})
#: Unsigned types that signed numbers are computed in.
_WIDE = {"int32": "uint32_t", "int64": "uint64_t"}
_SINGLE = frozenset({"float16", "float32", "complex64"})


class NoNativeForm(TheanoError, TypeError):
    """An op or a dtype has no C form; its node runs in Python."""


@record
class CValue:
    """An atomic C expression (a name, a literal, or text in parentheses) with its dtype.

    Parameters
    ----------
    text : str
        C text that can stand beside any operator.
    dtype : str
        Element type of the value. A float16 is a C float that holds a rounded value.
    constant : Any, optional
        The value itself where it is known when the code is generated.
    truncated : bool
        Whether it is an integer that was made of a floating-point number just before.
    """

    text: str
    dtype: str
    constant: Any = None
    truncated: bool = False


def c_definition(name: str, value: CValue) -> str:
    """Give the statement that defines a constant; the text of its value stands alone, and may be any expression."""
    return f"const {c_type(value.dtype)} {name} = {value.text};"


def c_type(dtype: str) -> str:
    """Give the C type of a temporary of `dtype`; `NoNativeForm` where there is none."""
    try:
        return C_TYPES[dtype]
    except KeyError:
        raise NoNativeForm(f"{dtype} has no C form; nodes of this type run in Python") from None


def c_cast(value: CValue, dtype: str) -> str:
    """Give the text of `value` converted to `dtype`."""
    if value.dtype == dtype:
        return value.text
    if dtype == "bool":
        return f"({value.text} != 0)"
    if value.constant is not None:
        with np.errstate(all="ignore"):
            return c_literal(converted(np.asarray(value.constant), dtype)[()], dtype)
    if dtype == "float16":
        return c_rounded(value.text, value.dtype)
    if value.truncated and dtype in ("float32", "float64"):
        # gcc before 14 makes one truncation of a conversion to integers and back, which keeps the sign of zero.
        return f"({value.text} ? ({c_type(dtype)}){value.text} : 0)"
    if value.dtype in ("float16", "float32", "float64"):
        # Negative numbers keep their low bits, as NumPy's usual loops have it; instructions for vectors may saturate.
        if dtype == "uint32":
            return f"((uint32_t)(int64_t){value.text})"
        if dtype in ("uint8", "uint16", "int8", "int16"):
            return f"(({c_type(dtype)})(int32_t){value.text})"
        if dtype == "uint64":
            return c_helper("unsigned", "float64" if value.dtype == "float64" else "float32", value.text)
    return f"(({c_type(dtype)}){value.text})"


def converted(array: Any, dtype: str) -> Any:
    """Return an array in another dtype; floats beyond the range of an unsigned one become the same as by `c_cast`.

    NumPy leaves those to the processor, and different loops of it give different numbers.

    Parameters
    ----------
    array : ndarray
    dtype : str
    """
    if array.dtype.kind != "f" or dtype not in ("uint32", "uint64"):
        return array.astype(dtype)
    if dtype == "uint32":
        return array.astype("int64").astype("uint32")
    wide = array.astype("float64")
    above = (wide - 2.0**63).astype("int64").astype("uint64") ^ np.uint64(2**63)
    return np.where(wide >= 2.0**63, above, wide.astype("int64").astype("uint64"))


def c_wrapped(symbol: str, texts: Sequence[str], dtype: str) -> str:
    """Give the text of a sum, difference or product, whose overflow is that of NumPy: modulo a power of two.

    Overflow of signed numbers has no meaning in C, so they are converted to unsigned ones, and the result back.

    Parameters
    ----------
    symbol : {"+", "-", "*"}
    texts : sequence of str
        Values of the dtype; a single one is subtracted from zero.
    dtype : str
    """
    texts = ["0", *texts] if len(texts) == 1 and symbol == "-" else texts
    narrow = is_discrete(dtype) and symbol == "*" and (len(texts) > 2 or dtype == "uint16")
    wide = _WIDE.get(dtype, "uint32_t" if narrow and dtype in ("int8", "uint8", "int16", "uint16") else None)
    if wide is not None:
        return f"({c_type(dtype)})({f' {symbol} '.join(f'({wide}){text}' for text in texts)})"
    return f" {symbol} ".join(texts)


def c_rounded(text: str, dtype: str) -> str:
    """Give the text of a real value rounded to float16: once, from the precision that it has."""
    wide = "float32" if dtype in ("float16", "float32") else "float64"
    return c_helper("half", wide, text if dtype in ("float16", wide) else f"(double){text}")


def c_literal(value: Any, dtype: str) -> str:
    """Write `value` as a C literal of `dtype`, exactly."""
    name = c_type(dtype)
    if is_complex(dtype):
        number, part = complex(value), part_dtype(dtype)
        return c_helper("complex", dtype, c_literal(number.real, part), c_literal(number.imag, part))
    if dtype in ("float16", "float32", "float64"):
        return _float_literal(float(value), _suffix(dtype))
    number = int(value)
    if number == -(2**63):
        return "(-9223372036854775807LL - 1)"
    if dtype == "uint64":
        return f"((uint64_t){number}ULL)"
    if dtype == "int64":
        return f"((int64_t){number}LL)"
    return f"(({name}){number})"


def _suffix(dtype: str) -> str:
    return "f" if dtype in _SINGLE else ""


def _float_literal(value: float, suffix: str) -> str:
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value):
        return f"({'-' if value < 0 else ''}__builtin_inf{suffix}())"
    return f"({value!r}{suffix})"  # the shortest text that is exactly this number


def c_call(function: str, dtype: str, *args: str) -> str:
    """Call a function of the C mathematical library in the precision of `dtype`, or its complex form.

    Raises
    ------
    NoNativeForm
        If `dtype` is complex and the library has no such function.
    """
    if is_complex(dtype):
        if function not in COMPLEX_FUNCTIONS:
            raise NoNativeForm(f"{function} of complex numbers has no C form")
        function = "c" + function
    return f"{function}{_suffix(dtype)}({', '.join(args)})"


def c_builtin(function: str, dtype: str, *args: str) -> str:
    """Call a function that compilers expand in place (``fabs``, ``sqrt``, ``floor``, ...)."""
    return ("" if is_complex(dtype) else "__builtin_") + c_call(function, dtype, *args)


def c_special(function: str, dtype: str, *args: CValue) -> str:
    """Call a function of `scipy.special` that works on doubles; the result is converted to `dtype`.

    The kernel calls it through a pointer, which is set when the kernel is loaded.
    """
    arguments = ", ".join(c_cast(arg, "float64") for arg in args)
    return f"({c_type(dtype)})theano_special_{function}({arguments}, 0)"


def c_loaded(text: str, dtype: str) -> str:
    """Give an element of memory as a number: bools are bytes there, and a float16 is its bits."""
    if dtype == "bool":
        return f"({text} != 0)"
    return c_helper("from_half", "uint16", text) if dtype == "float16" else text


def c_stored(value: CValue, dtype: str) -> str:
    """Give a number as it is kept in memory, in an element of `dtype`."""
    text = c_cast(value, dtype)
    return c_helper("to_half", "float32", text) if dtype == "float16" else text


HelperText = Callable[[str], str]


def c_helper(family: str, dtype: str, *args: str) -> str:
    """Call the helper `family` for `dtype`; the kernel generator adds its definition to the C file."""
    c_type(dtype)
    if is_complex(dtype) and family not in _COMPLEX_HELPERS:
        raise NoNativeForm(f"{family} of complex numbers has no C form")
    return f"theano_{family}_{'float32' if dtype == 'float16' else dtype}({', '.join(args)})"
