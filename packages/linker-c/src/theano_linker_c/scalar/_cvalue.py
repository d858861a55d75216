"""C text of values: what an op is handed for its arguments, and how constants and casts are written."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from theano_graph import TheanoError

from ._dtypes import C_TYPES


class NoNativeForm(TheanoError, TypeError):
    """An op or a dtype has no C form; its node runs in Python."""


@dataclass(frozen=True, slots=True)
class CValue:
    """An atomic C expression (a name, a literal, or text in parentheses) with its dtype.

    Parameters
    ----------
    text : str
        C text that can stand beside any operator.
    dtype : str
        Element type of the value.
    constant : Any, optional
        The value itself where it is known when the code is generated.
    """

    text: str
    dtype: str
    constant: Any = None


def c_type(dtype: str) -> str:
    """Give the C type of a temporary of `dtype`; `NoNativeForm` for float16 and complex types."""
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
            return c_literal(np.asarray(value.constant).astype(dtype)[()], dtype)
    return f"(({c_type(dtype)}){value.text})"


def c_literal(value: Any, dtype: str) -> str:
    """Write `value` as a C literal of `dtype`, exactly."""
    name = c_type(dtype)
    if dtype in ("float32", "float64"):
        return _float_literal(float(value), "f" if dtype == "float32" else "")
    number = int(value)
    if number == -(2**63):
        return "(-9223372036854775807LL - 1)"
    if dtype == "uint64":
        return f"((uint64_t){number}ULL)"
    if dtype == "int64":
        return f"((int64_t){number}LL)"
    return f"(({name}){number})"


def _float_literal(value: float, suffix: str) -> str:
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value):
        return f"({'-' if value < 0 else ''}__builtin_inf{suffix}())"
    return f"({value.hex()}{suffix})"


def c_call(function: str, dtype: str, *args: str) -> str:
    """Call a function of the C mathematical library in the precision of `dtype`."""
    suffix = "f" if dtype == "float32" else ""
    return f"{function}{suffix}({', '.join(args)})"


def c_builtin(function: str, dtype: str, *args: str) -> str:
    """Call a function that compilers expand in place (``fabs``, ``sqrt``, ``floor``, ...)."""
    return "__builtin_" + c_call(function, dtype, *args)


HelperText = Callable[[str], str]


def c_helper(family: str, dtype: str, *args: str) -> str:
    """Call the helper `family` for `dtype`; the kernel generator adds its definition to the C file."""
    c_type(dtype)
    return f"theano_{family}_{dtype}({', '.join(args)})"
