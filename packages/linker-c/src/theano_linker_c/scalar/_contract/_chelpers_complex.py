"""C functions on complex numbers, written out in parts.

C's own ``*`` and ``/`` call routines of the compiler's library that look after infinite parts; NumPy's formulas do not,
and these follow NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ._cvalue import c_type
from ._dtypes import part_dtype


def _function(family: str, dtype: str, parameters: str, body: str) -> str:
    scalar, part = c_type(dtype), c_type(part_dtype(dtype))
    f = "f" if dtype == "complex64" else ""
    text = body.replace("PART", part).replace("NUMBER", scalar).replace("DTYPE", dtype).replace("$", f)
    declared = parameters.replace("PART", part).replace("NUMBER", scalar)
    return f"static inline {scalar} theano_{family}_{dtype}({declared}) {{ {text} }}"


def _complex(dtype: str) -> str:
    return _function("complex", dtype, "PART a, PART b", "NUMBER z; __real__ z = a; __imag__ z = b; return z;")


def _mul(dtype: str) -> str:
    body = (
        "const PART ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;"
        " return theano_complex_DTYPE(ar * br - ai * bi, ar * bi + ai * br);"
    )
    return _function("mul", dtype, "NUMBER a, NUMBER b", body)


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
    return _function("true_div", dtype, "NUMBER a, NUMBER b", body)


def _inv(dtype: str) -> str:
    body = (
        "const PART ar = __real__ a, ai = __imag__ a;"
        " if (__builtin_fabs$(ar) >= __builtin_fabs$(ai)) {"
        " const PART q = ai / ar, d = ar + ai * q; return theano_complex_DTYPE(1 / d, -q / d); }"
        " const PART q = ar / ai, d = ar * q + ai; return theano_complex_DTYPE(q / d, -1 / d);"
    )
    return _function("inv", dtype, "NUMBER a", body)


def _sgn(dtype: str) -> str:
    body = (
        "const PART ar = __real__ a, ai = __imag__ a, r = theano_length_DTYPE(a);"
        " return r == 0 ? theano_complex_DTYPE(0, 0) : theano_complex_DTYPE(ar / r, ai / r);"
    )
    return _function("sgn", dtype, "NUMBER a", body)


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
    return _function("power", dtype, "NUMBER a, NUMBER b", body)


#: Helpers for complex64 and complex128, by family.
COMPLEX_FAMILIES: Mapping[str, Callable[[str], str]] = MappingProxyType(
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
