"""Small C functions that expressions call by name, on numbers and complex numbers; forms of users' scalar ops."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from theano_graph import Apply

from .._c_interface import named
from ._dtypes import (
    C_TYPES,
    DISCRETE_DTYPES,
    SIGNED_DTYPES,
    UNSIGNED_DTYPES,
    CValue,
    NoNativeForm,
    c_type,
    c_wrapped,
    is_complex,
    part_dtype,
)
from ._type import ScalarType

# ---- C functions on complex numbers, written out in parts
#
# C's own ``*`` and ``/`` call routines of the compiler's library that look after infinite parts; NumPy's formulas do
# not,
# and these follow NumPy's.


def _complex_function(family: str, dtype: str, parameters: str, body: str) -> str:
    scalar, part = c_type(dtype), c_type(part_dtype(dtype))
    f = "f" if dtype == "complex64" else ""
    text = body.replace("PART", part).replace("NUMBER", scalar).replace("DTYPE", dtype).replace("$", f)
    declared = parameters.replace("PART", part).replace("NUMBER", scalar)
    return f"static inline {scalar} theano_{family}_{dtype}({declared}) {{ {text} }}"


def _complex(dtype: str) -> str:
    return _complex_function("complex", dtype, "PART a, PART b", "NUMBER z; __real__ z = a; __imag__ z = b; return z;")


def _mul(dtype: str) -> str:
    body = (
        "const PART ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;"
        " return theano_complex_DTYPE(ar * br - ai * bi, ar * bi + ai * br);"
    )
    return _complex_function("mul", dtype, "NUMBER a, NUMBER b", body)


def _true_div(dtype: str) -> str:
    # R. L. Smith, "Algorithm 116: complex division", 1962: dividing by the larger part first does not overflow.
    body = (
        "const PART ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;"
        " const PART size = __builtin_fabs$(br), other = __builtin_fabs$(bi);"
        " if (size >= other) {"
        " if (size == 0 && other == 0) return theano_complex_DTYPE(ar / size, ai / size);"
        " const PART q = bi / br, s = 1 / (br + bi * q);"
        " return theano_complex_DTYPE((ar + ai * q) * s, (ai - ar * q) * s); }"
        " const PART q = br / bi, s = 1 / (bi + br * q);"
        " return theano_complex_DTYPE((ar * q + ai) * s, (ai * q - ar) * s);"
    )
    return _complex_function("true_div", dtype, "NUMBER a, NUMBER b", body)


def _inv(dtype: str) -> str:
    body = (
        "const PART ar = __real__ a, ai = __imag__ a;"
        " if (__builtin_fabs$(ar) >= __builtin_fabs$(ai)) {"
        " const PART q = ai / ar, d = ar + ai * q; return theano_complex_DTYPE(1 / d, -q / d); }"
        " const PART q = ar / ai, d = ar * q + ai; return theano_complex_DTYPE(q / d, -1 / d);"
    )
    return _complex_function("inv", dtype, "NUMBER a", body)


def _sgn(dtype: str) -> str:
    body = (
        "const PART ar = __real__ a, ai = __imag__ a, r = theano_length_DTYPE(a);"
        " return r == 0 ? theano_complex_DTYPE(0, 0) : theano_complex_DTYPE(ar / r, ai / r);"
    )
    return _complex_function("sgn", dtype, "NUMBER a", body)


def _length(dtype: str) -> str:
    # Squares of floats neither overflow nor vanish in double precision; this form fills vectors, which hypot does not.
    if dtype == "complex128":
        return (
            "static inline double theano_length_complex128(double _Complex a) { return hypot(__real__ a, __imag__ a); }"
        )
    body = (
        "const double ar = __real__ a, ai = __imag__ a; const float inf = __builtin_inff();"
        " const float size = (float)__builtin_sqrt(ar * ar + ai * ai);"
        " return __builtin_fabs(ar) == inf || __builtin_fabs(ai) == inf ? inf : size;"
    )
    return f"static inline float theano_length_complex64(float _Complex a) {{ {body} }}"


def _power(dtype: str) -> str:
    # Whole exponents by repeated squaring, as NumPy does: exact where the products are.
    body = (
        "const PART br = __real__ b, bi = __imag__ b; if (br == 0 && bi == 0) return theano_complex_DTYPE(1, 0);"
        " if (a == 0) return br > 0 ? theano_complex_DTYPE(0, 0)"
        ' : theano_complex_DTYPE(__builtin_nan$(""), __builtin_nan$(""));'
        " if (bi == 0 && br > -100 && br < 100 && br == __builtin_trunc$(br)) {"
        " int n = (int)br; const int below = n < 0; if (below) n = -n;"
        " NUMBER r = theano_complex_DTYPE(1, 0), p = a;"
        " for (;; p = theano_mul_DTYPE(p, p)) { if (n & 1) r = theano_mul_DTYPE(r, p); n >>= 1; if (!n) break; }"
        " return below ? theano_inv_DTYPE(r) : r; }"
        " return cpow$(a, b);"
    )
    return _complex_function("power", dtype, "NUMBER a, NUMBER b", body)


#: Helpers for complex64 and complex128, by family.
_COMPLEX_FAMILIES: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "complex": _complex,
        "mul": _mul,
        "true_div": _true_div,
        "inv": _inv,
        "sgn": _sgn,
        "length": _length,
        "power": _power,
    }
)


# ---- Small C functions that expressions call by name, such as division with Python's sign rule
#
# An expression that needs one writes ``theano_<family>_<dtype>(...)``; `helper_definitions` finds these names in the
# finished text and gives the definitions, so that an op never has to declare its helpers.

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
        families = _COMPLEX_FAMILIES if dtype.startswith("complex") else _FAMILIES
        if (family, dtype) in definitions or family not in families or dtype not in C_TYPES:
            continue
        text = families[family](dtype)
        _define(named(text.partition("{")[2]), definitions, without)
        definitions[family, dtype] = text


# ---- The forms of users' scalar ops: one number at a time in Python, lines of C

_FAIL = "theano_scalar_fail"
_PYTHON = re.compile(r"\bPy[A-Z_]")
_CPLUSPLUS = re.compile(r"\bstd::|\btemplate\s*<|_cast\s*<|#include\s*<\w+>")
_NUMPY_TYPES = "\n".join(
    f"typedef {c} npy_{dtype};"
    for dtype, c in {
        "bool": "uint8_t",
        **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
        "float32": "float",
        "float64": "double",
    }.items()
)
#: Methods of an op whose C code cannot be part of a loop in plain C.
_BEYOND = ("c_libraries", "c_lib_dirs", "c_header_dirs", "c_compile_args", "c_no_compile_args", "c_init_code")


def number_by_number(op: Any, values: Sequence[Any], dtypes: Sequence[str]) -> Any:
    """Compute a user's op elementwise: with the NumPy function of its ``nfunc_spec``, or its `impl` on each element."""
    function = _numpy_function(op.nfunc_spec, len(values), op.nout)
    if function is not None:
        result = function(*values)
        parts = result if op.nout > 1 else (result,)
        results = [np.asarray(part).astype(dtype)[()] for part, dtype in zip(parts, dtypes, strict=True)]
    else:
        results = _each(op, values, dtypes)
    return tuple(results) if op.nout > 1 else results[0]


def _each(op: Any, values: Sequence[Any], dtypes: Sequence[str]) -> list[Any]:
    arrays = np.broadcast_arrays(*values)
    # NumPy takes functions of small integers in half precision; of Python's numbers in double, like C.
    arrays = tuple(a.astype(object) if a.dtype.kind in "biu" else a for a in arrays)
    results = [np.empty(arrays[0].shape, dtype) for dtype in dtypes]
    for index in np.ndindex(*arrays[0].shape):
        outcome = op.impl(*(array[index] for array in arrays))
        for result, part in zip(results, outcome if op.nout > 1 else (outcome,), strict=True):
            result[index] = part
    return [result[()] for result in results]


def native_statements(op: Any, args: Sequence[CValue], names: Sequence[str]) -> list[str]:
    """Put the C code of a user's op into a block of its own."""
    node = _node(op, [arg.dtype for arg in args])
    statements, arguments = [], []
    for i, arg in enumerate(args):
        text = arg.text
        if not text.isidentifier():
            text = f"{names[0]}_{i}"
            statements.append(f"const {c_type(arg.dtype)} {text} = {arg.text};")
        arguments.append(text)
    statements += [f"{c_type(v.type.dtype)} {name};" for v, name in zip(node.outputs, names, strict=True)]
    return [*statements, f"{{ {_code(op, node, _name(op, node), arguments, list(names))} }}"]


def support_code(op: Any, dtypes: Sequence[str]) -> tuple[str, ...]:
    """Give headers and support code of a user's op."""
    node = _node(op, dtypes)
    code = _sample(op, node)
    own = _ask(op, "c_support_code_apply", node, _name(op, node))
    support = [*_listed(_ask(op, "c_support_code")), *_listed(own)]
    headers = ["<math.h>", *_listed(_ask(op, "c_headers"))]
    includes = [f"#include {h if h[:1] in '<' + chr(34) else f'<{h}>'}" for h in headers]
    types = [_NUMPY_TYPES] if "npy_" in "\n".join([code, *support]) else []
    _check_plain(op, "\n".join([*includes, *support]))
    return (*types, *includes, *support)


def _sample(op: Any, node: Apply) -> str:
    inputs, outputs = (
        [f"{letter}{i}" for i in range(len(side))]
        for letter, side in zip("io", (node.inputs, node.outputs), strict=True)
    )
    return _code(op, node, "n", inputs, outputs)


def _name(op: Any, node: Apply) -> str:
    """Return the name under which a node's code and its support code know each other; other code has other names."""
    support = _ask(op, "c_support_code_apply", node, "n")
    if not support:
        return "n"
    text = "\n".join([_sample(op, node), *_listed(support)])
    return f"n{hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:12]}"


def _node(op: Any, dtypes: Sequence[str]) -> Apply:
    node: Apply = op.make_node(*(ScalarType(dtype).make_variable() for dtype in dtypes))
    kinds = [v.type.dtype for v in (*node.inputs, *node.outputs)]
    if any(is_complex(kind) or kind == "float16" for kind in kinds):
        raise NoNativeForm(f"the C code of {op} is for real numbers of 32 and 64 bits")
    return node


def _code(op: Any, node: Apply, name: str, inputs: list[str], outputs: list[str]) -> str:
    if any(_ask(op, part) for part in _BEYOND):
        raise NoNativeForm(f"{op} has no C code that can be part of a loop")
    try:
        code = str(op.c_code(node, name, inputs, outputs, {"fail": f"{_FAIL};"}))
    except NotImplementedError as error:
        raise NoNativeForm(f"{op} has no C code for these types: {error}") from error
    _check_plain(op, code)
    return code


def _check_plain(op: Any, code: str) -> None:
    """Raise where code cannot be part of a loop in plain C that knows nothing of Python."""
    if _FAIL in code or _PYTHON.search(code):
        raise NoNativeForm(f"the C code of {op} refers to Python")
    if _CPLUSPLUS.search(code):
        raise NoNativeForm(f"the C code of {op} is C++")


def _ask(op: Any, method: str, *arguments: Any) -> Any:
    """Call a method of the op that says something about its C code; None where it has none."""
    function = getattr(op, method, None)
    try:
        return None if function is None else function(*arguments)
    except NotImplementedError:
        return None


def _listed(text: Any) -> list[str]:
    return [] if not text else [text] if isinstance(text, str) else list(text)


def _numpy_function(spec: Any, nin: int, nout: int) -> Callable[..., Any] | None:
    if spec is None:
        return None
    name, count, results = spec
    function: Callable[..., Any] | None = getattr(np, name, None)
    return function if (count, results) == (nin, nout) else None


__all__ = ["helper_definitions", "named_helpers"]
