"""Element types, and C text of their values: names, kinds and promotion; arguments of an op, constants and casts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from theano_graph import EnumFlag, TheanoError, add_flag, record

# ---- The configuration flag of scalars. It is read when an op is applied

add_flag(
    "floatX",
    "Default floating-point dtype: of constructors without a dtype, of Python floats, and of quotients of integers.",
    EnumFlag("float64", "float32", "float16"),
)


# ---- Element types: their names, their kinds, their C names and the promotion rule

BOOL_DTYPES: frozenset[str] = frozenset({"bool"})
SIGNED_DTYPES: frozenset[str] = frozenset({"int8", "int16", "int32", "int64"})
UNSIGNED_DTYPES: frozenset[str] = frozenset({"uint8", "uint16", "uint32", "uint64"})
FLOAT_DTYPES: frozenset[str] = frozenset({"float16", "float32", "float64"})
COMPLEX_DTYPES: frozenset[str] = frozenset({"complex64", "complex128"})
DISCRETE_DTYPES: frozenset[str] = BOOL_DTYPES | SIGNED_DTYPES | UNSIGNED_DTYPES
CONTINUOUS_DTYPES: frozenset[str] = FLOAT_DTYPES | COMPLEX_DTYPES
ALL_DTYPES: frozenset[str] = DISCRETE_DTYPES | CONTINUOUS_DTYPES

# Types of C temporaries: in memory a bool is one byte and a float16 its 16 bits, as NumPy stores them. A float16 is
# computed with as a float that is rounded after each operation.
C_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "bool": "_Bool",
        "int8": "int8_t",
        "int16": "int16_t",
        "int32": "int32_t",
        "int64": "int64_t",
        "uint8": "uint8_t",
        "uint16": "uint16_t",
        "uint32": "uint32_t",
        "uint64": "uint64_t",
        "float16": "float",
        "float32": "float",
        "float64": "double",
        "complex64": "float _Complex",
        "complex128": "double _Complex",
    }
)

_SMALLEST_FIRST = ("int8", "int16", "int32", "int64", "uint64")


@lru_cache(maxsize=4096)
def upcast(*dtypes: str) -> str:
    """Give the smallest dtype that NumPy's promotion finds for all of `dtypes`.

    Parameters
    ----------
    *dtypes : str
        Names such as ``"int8"`` or ``"float32"``; at least one.

    Returns
    -------
    str
        The common dtype: arrays of these dtypes add up to an array of it.

    Raises
    ------
    TypeError
        If there is no argument, or one that is no element type.

    Examples
    --------
    >>> upcast("int64", "float32")
    'float64'
    """
    if not dtypes:
        raise TypeError("upcast: no dtype given\n  Hint: pass at least one dtype name, such as 'float64'.")
    for dtype in dtypes:
        check_dtype(dtype if isinstance(dtype, str) else np.dtype(dtype).name)
    return np.result_type(*(str(dtype) if isinstance(dtype, np.str_) else dtype for dtype in dtypes)).name


def check_dtype(dtype: str) -> str:
    """Return `dtype` if it names an element type; TypeError otherwise."""
    if dtype not in ALL_DTYPES:
        raise TypeError(f"{dtype!r} is not an element type\n  Hint: use one of {', '.join(sorted(ALL_DTYPES))}.")
    return dtype if type(dtype) is str else str(dtype)


#: Smaller integers are numbers of float32, larger ones need float64.
_FLOATS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("bool", "int8", "int16", "uint8", "uint16"), "float32"),
        **dict.fromkeys(("int32", "int64", "uint32", "uint64"), "float64"),
    }
)


@lru_cache(maxsize=4096)
def upcast_to_float(*dtypes: str) -> str:
    """Give the dtype in which a function such as ``exp`` works: floats stay, discrete types become floats.

    Integers up to 16 bits and truth values count as float32, longer integers as float64.
    """
    return upcast(*(_FLOATS.get(dtype, dtype) for dtype in dtypes))


def is_discrete(dtype: str) -> bool:
    """Say whether `dtype` is bool or an integer type."""
    return dtype in DISCRETE_DTYPES


def is_complex(dtype: str) -> bool:
    """Say whether `dtype` is complex64 or complex128."""
    return dtype in COMPLEX_DTYPES


def part_dtype(dtype: str) -> str:
    """Give the dtype of the real and imaginary parts of numbers of `dtype`; `dtype` itself where it is not complex."""
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def dtype_of_number(value: Any) -> str:
    """Give the dtype in which a Python number or NumPy scalar is stored as a constant.

    An int takes the smallest type that holds it, a float is float32 if that is exact, otherwise float64.
    """
    if isinstance(value, (np.generic, np.ndarray)):
        return check_dtype(value.dtype.name)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        for name in _SMALLEST_FIRST:
            info = np.iinfo(name)
            if info.min <= value <= info.max:
                return name
        raise OverflowError(
            f"the integer {value} does not fit in 64 bits\n  Hint: write it as a float, for instance float({value})."
        )
    if isinstance(value, float):
        with np.errstate(all="ignore"):
            exact = value != value or float(np.float32(value)) == value
        return "float32" if exact else "float64"
    if isinstance(value, complex):
        return "complex128"
    raise TypeError(f"{value!r} of type {type(value).__name__} is not a number\n  Hint: pass a number or a scalar.")


# ---- C text of values: arguments of an op, constants and casts

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
