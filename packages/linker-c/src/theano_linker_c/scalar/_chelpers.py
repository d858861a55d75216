"""Small C functions that expressions call by name, such as division with Python's sign rule.

An expression that needs one writes ``theano_<family>_<dtype>(...)``; `helper_definitions` finds these names in the
finished text and gives the definitions, so that an op never has to declare what it uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from ._cvalue import c_type
from ._dtypes import DISCRETE_DTYPES, SIGNED_DTYPES, UNSIGNED_DTYPES

_CALL = re.compile(r"\btheano_([a-z_]+)_((?:u?int|float)(?:8|16|32|64)|bool)\b")


def _function(family: str, dtype: str, parameters: str, body: str) -> str:
    scalar = c_type(dtype)
    declared = ", ".join(f"{scalar} {name}" for name in parameters.split())
    return f"static inline {scalar} theano_{family}_{dtype}({declared}) {{ {body} }}"


def _maximum(dtype: str) -> str:
    if dtype in DISCRETE_DTYPES:
        return _function("maximum", dtype, "a b", "return a > b ? a : b;")
    # A NaN on the left is taken by the second test; one on the right makes the first test false and is returned.
    return _function("maximum", dtype, "a b", "return ((a > b) | (a != a)) ? a : b;")


def _minimum(dtype: str) -> str:
    if dtype in DISCRETE_DTYPES:
        return _function("minimum", dtype, "a b", "return a < b ? a : b;")
    return _function("minimum", dtype, "a b", "return ((a < b) | (a != a)) ? a : b;")


def _int_div(dtype: str) -> str:
    if dtype in UNSIGNED_DTYPES:
        return _function("int_div", dtype, "a b", "return b == 0 ? 0 : a / b;")
    if dtype in SIGNED_DTYPES:
        scalar = c_type(dtype)
        body = (
            f"if (b == 0) return 0; if (b == -1) return ({scalar})(-a);"
            f" {scalar} q = ({scalar})(a / b);"
            f" return ({scalar})(q - ((a % b != 0) & ((a < 0) != (b < 0))));"
        )
        return _function("int_div", dtype, "a b", body)
    suffix = "f" if dtype == "float32" else ""
    half = "0.5" + suffix
    body = (
        f"if (b == 0) return a / b; {c_type(dtype)} r = fmod{suffix}(a, b), q = (a - r) / b;"
        " if (r != 0 && (b < 0) != (r < 0)) q -= 1;"
        f" if (q == 0) return __builtin_copysign{suffix}(0, a / b);"
        f" {c_type(dtype)} f = __builtin_floor{suffix}(q); return q - f > {half} ? f + 1 : f;"
    )
    return _function("int_div", dtype, "a b", body)


def _mod(dtype: str) -> str:
    if dtype in UNSIGNED_DTYPES:
        return _function("mod", dtype, "a b", "return b == 0 ? 0 : a % b;")
    if dtype in SIGNED_DTYPES:
        scalar = c_type(dtype)
        body = (
            f"if (b == 0 || b == -1) return 0; {scalar} r = ({scalar})(a % b);"
            f" return (r != 0 && (r < 0) != (b < 0)) ? ({scalar})(r + b) : r;"
        )
        return _function("mod", dtype, "a b", body)
    suffix = "f" if dtype == "float32" else ""
    body = (
        f"{c_type(dtype)} r = fmod{suffix}(a, b); if (b == 0) return r;"
        f" if (r == 0) return __builtin_copysign{suffix}(0, b);"
        " return (b < 0) != (r < 0) ? r + b : r;"
    )
    return _function("mod", dtype, "a b", body)


def _int_pow(dtype: str) -> str:
    scalar = c_type(dtype)
    negative = "" if dtype in UNSIGNED_DTYPES else "if (b < 0) return a == 1 ? 1 : (a == -1 ? (b % 2 ? -1 : 1) : 0);"
    body = f"{negative} {scalar} r = 1; while (b) {{ if (b & 1) r *= a; b /= 2; a *= a; }} return r;"
    return _function("int_pow", dtype, "a b", body)


def _sigmoid(dtype: str) -> str:
    # exp of a non-positive number only: no overflow, and full relative accuracy in both tails.
    suffix = "f" if dtype == "float32" else ""
    body = f"{c_type(dtype)} e = exp{suffix}(-__builtin_fabs{suffix}(x)); return (x >= 0 ? 1 : e) / (1 + e);"
    return _function("sigmoid", dtype, "x", body)


def _softplus(dtype: str) -> str:
    suffix = "f" if dtype == "float32" else ""
    body = f"return (x > 0 ? x : 0) + log1p{suffix}(exp{suffix}(-__builtin_fabs{suffix}(x)));"
    return _function("softplus", dtype, "x", body)


_FAMILIES: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "maximum": _maximum,
        "minimum": _minimum,
        "int_div": _int_div,
        "mod": _mod,
        "int_pow": _int_pow,
        "sigmoid": _sigmoid,
        "softplus": _softplus,
    }
)


def helper_definitions(texts: Iterable[str]) -> list[str]:
    """Give the definitions of all helpers that `texts` call, in a stable order."""
    found = {(m.group(1), m.group(2)) for text in texts for m in _CALL.finditer(text)}
    return [_FAMILIES[family](dtype) for family, dtype in sorted(found)]
