"""Small C functions that expressions call by name, such as division with Python's sign rule.

An expression that needs one writes ``theano_<family>_<dtype>(...)``; `helper_definitions` finds these names in the
finished text and gives the definitions, so that an op never has to declare its helpers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType

from ..._c_names import named
from ._chelpers_complex import COMPLEX_FAMILIES
from ._cvalue import c_type, c_wrapped
from ._dtypes import C_TYPES, DISCRETE_DTYPES, SIGNED_DTYPES, UNSIGNED_DTYPES

_PREFIX = "theano_"


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
            f"if (b == 0) return 0; if (b == -1) return ({scalar})({c_wrapped('-', ['a'], dtype)});"
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
    wide = "uint64_t" if "64" in dtype else "uint32_t"
    body = f"{negative} {wide} r = 1, p = ({wide})a; while (b) {{ if (b & 1) r *= p; b /= 2; p *= p; }}"
    body += f" return ({scalar})r;"
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


def _ultra_fast_sigmoid(dtype: str) -> str:
    suffix, scalar = ("f" if dtype == "float32" else ""), c_type(dtype)
    body = (
        f"const {scalar} s = __builtin_fabs{suffix}(x) * ({scalar})0.5; const {scalar} d = s < ({scalar})1.7"
        f" ? ({scalar})1.5 * s / (1 + s) : (s >= 3 ? ({scalar})0.99505475368673"
        f" : ({scalar})0.935409070603099 + ({scalar})0.0458812946797165 * (s - ({scalar})1.7));"
        f" return ({scalar})0.5 * (1 + (x < 0 ? -d : d));"
    )
    return _function("ultra_fast_sigmoid", dtype, "x", body)


def _log1mexp(dtype: str) -> str:
    # M. Maechler, "Accurately computing log(1 - exp(-|a|))", 2012: each form is used where it does not cancel.
    suffix = "f" if dtype == "float32" else ""
    half = f"-0x1.62e42fefa39efp-1{suffix}"
    body = f"return x > {half} ? log{suffix}(-expm1{suffix}(x)) : log1p{suffix}(-exp{suffix}(x));"
    return _function("log_one_minus_exp", dtype, "x", body)


def _logaddexp(dtype: str) -> str:
    suffix = "f" if dtype == "float32" else ""
    body = (
        f"const {c_type(dtype)} d = a - b; if (a == b) return a + {'0x1.62e42fefa39efp-1' + suffix};"
        f" if (d > 0) return a + log1p{suffix}(exp{suffix}(-d));"
        f" return d <= 0 ? b + log1p{suffix}(exp{suffix}(d)) : d;"
    )
    return _function("logaddexp", dtype, "a b", body)


def _half(dtype: str) -> str:
    """Round to a float16 that is kept as a float."""
    if dtype == "float64":
        # A double is first rounded to a float "to odd", which the second rounding cannot mistake for a tie.
        body = (
            "float f = (float)x; uint32_t u; __builtin_memcpy(&u, &f, 4);"
            " if ((double)f != x && x == x) { u -= __builtin_fabs((double)f) > __builtin_fabs(x); u |= 1; }"
            " __builtin_memcpy(&f, &u, 4);"
        )
        result = "theano_from_half_uint16(theano_to_half_float32(f))"
        return f"static inline float theano_half_float64(double x) {{ {body} return {result}; }}"
    result = "theano_from_half_uint16(theano_to_half_float32(x))"
    return f"static inline float theano_half_float32(float x) {{ return {result}; }}"


def _to_half(dtype: str) -> str:
    """Give the bits of a float16: subnormal ones by adding 0.5, whose last place is the smallest float16."""
    body = (
        "uint32_t u, v; __builtin_memcpy(&u, &x, 4); const uint32_t sign = u >> 16 & 0x8000; u &= 0x7fffffff;"
        " float small; __builtin_memcpy(&small, &u, 4); small += 0.5f; __builtin_memcpy(&v, &small, 4);"
        " v = u < 0x38800000 ? v - 0x3f000000 : (u + 0xfff + (u >> 13 & 1) - 0x38000000) >> 13;"
        " v = u >= 0x477ff000 ? 0x7c00 : v; v = u > 0x7f800000 ? 0x7e00 : v; return (uint16_t)(sign | v);"
    )
    return f"static inline uint16_t theano_to_half_float32(float x) {{ {body} }}"


def _from_half(dtype: str) -> str:
    """Give the value of the bits of a float16: those of a float whose exponent is too small by 112."""
    body = (
        "const uint32_t m = x & 0x7fff; uint32_t u = m << 13; float f; __builtin_memcpy(&f, &u, 4); f *= 0x1p112f;"
        " __builtin_memcpy(&u, &f, 4); u = m >= 0x7c00 ? 0x7f800000 | m << 13 : u; u |= (uint32_t)(x & 0x8000) << 16;"
        " __builtin_memcpy(&f, &u, 4); return f;"
    )
    return f"static inline float theano_from_half_uint16(uint16_t x) {{ {body} }}"


def _unsigned(dtype: str) -> str:
    """Give the conversion of a float to uint64: modulo 2**64 where it fits, 0 above, and 2**63 for NaN."""
    half = "0x1p63" + ("f" if dtype == "float32" else "")
    body = f"return x >= {half} ? (uint64_t)(int64_t)(x - {half}) ^ 0x8000000000000000ULL : (uint64_t)(int64_t)x;"
    return f"static inline uint64_t theano_unsigned_{dtype}({c_type(dtype)} x) {{ {body} }}"


_FAMILIES: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "maximum": _maximum,
        "minimum": _minimum,
        "int_div": _int_div,
        "mod": _mod,
        "int_pow": _int_pow,
        "sigmoid": _sigmoid,
        "softplus": _softplus,
        "ultra_fast_sigmoid": _ultra_fast_sigmoid,
        "log_one_minus_exp": _log1mexp,
        "logaddexp": _logaddexp,
        "half": _half,
        "to_half": _to_half,
        "from_half": _from_half,
        "unsigned": _unsigned,
    }
)


def _family(name: str) -> tuple[str, str]:
    """Return the family and the dtype in the name of a helper."""
    family, _, dtype = name.removeprefix(_PREFIX).rpartition("_")
    return family, dtype


def helper_definitions(texts: Iterable[str]) -> list[str]:
    """Return the definitions of all helpers that `texts` call, in a stable order; callees come first."""
    definitions: dict[tuple[str, str], str] = {}
    for text in texts:
        _define(named(text), definitions, ())
    return list(definitions.values())


def named_helpers(names: Iterable[str], without: Collection[str] = ()) -> list[str]:
    """Give the definitions of the helpers among `names`, without some; a helper comes after the ones it calls."""
    definitions: dict[tuple[str, str], str] = {}
    _define(names, definitions, without)
    return list(definitions.values())


def _define(names: Iterable[str], definitions: dict[tuple[str, str], str], without: Collection[str]) -> None:
    helpers = {name for name in names if name.startswith(_PREFIX) and name not in without}
    for family, dtype in sorted(map(_family, helpers)):
        families = COMPLEX_FAMILIES if dtype.startswith("complex") else _FAMILIES
        if (family, dtype) in definitions or family not in families or dtype not in C_TYPES:
            continue
        text = families[family](dtype)
        _define(named(text.partition("{")[2]), definitions, without)
        definitions[family, dtype] = text
