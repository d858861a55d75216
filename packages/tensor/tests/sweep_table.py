"""Expected values of elementwise functions: forms in NumPy and SciPy, values to try, and tolerances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

import theano_tensor as T
from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarRecord

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
#: The dtype in which expected values are computed, by the kind of the arguments.
_WIDE = {"f": "float64", "c": "complex128"}


@dataclass(frozen=True)
class Form:
    """The expected values of a function.

    ``like(*arguments)`` computes it in wide dtypes; ``valid(*arguments)`` tells which elements are compared. The error
    that is permitted is ``steps`` roundings; ``zeros`` says whether the signs of zeros count.
    """

    like: Callable[..., Any]
    kinds: str = "biufc"
    valid: Callable[..., Any] | None = None
    steps: float = 64
    zeros: bool = True


def _finite(*arguments: Any) -> Any:
    return np.logical_and.reduce([np.isfinite(x) for x in arguments])


def _ordered(_: Any, low: Any, high: Any) -> Any:
    return low <= high


def _log1mexp(x: Any) -> Any:
    return np.where(x > -np.log(2), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def _half_away(x: Any) -> Any:
    return x if x.dtype.kind in "biu" else np.copysign(np.floor(np.abs(x) + 0.5), x)


def _half_to_even(x: Any) -> Any:
    return x if x.dtype.kind in "biu" else np.rint(x)


def _power(x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    # NumPy refuses negative powers of integers; their values are those of the quotient, rounded towards zero.
    inverse = np.where(x == 1, 1, 0) if x.dtype.kind == "u" else np.where(np.abs(x) == 1, x ** (y & 1), 0)
    return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0))).astype(x.dtype)


def _power_fits(x: Any, y: Any) -> Any:
    # Parts of complex numbers are not said where they are infinite or too large.
    return _finite(x, y, np.power(x, y)) if x.dtype.kind == "c" else np.ones(x.shape, bool)


def _sign(x: Any) -> Any:
    return x / np.where(x == 0, 1, np.abs(x)) if x.dtype.kind == "c" else np.sign(x)


def _floats(like: Callable[..., Any], steps: float = 64, valid: Any = None) -> Form:
    return Form(like, "biuf", valid, steps)


def _iv(order: Any, x: Any) -> Any:
    """Return modified Bessel functions, with the first term of the series where SciPy's squares vanish."""
    order, x = np.asarray(order, float), np.asarray(x, float)
    integral = order == np.floor(order)
    size = np.where(integral, np.abs(order), order)
    is_tiny = (np.abs(x) < 1e-150) & (x != 0) & (order > -20) & (integral | (x > 0))
    sign = np.where(integral & (x < 0) & (size % 2 == 1), -1.0, 1.0)
    term = sign * np.abs(x) ** size * 0.5**size / special.gamma(size + 1)
    return np.where(is_tiny, term, special.iv(order, x))


def _chosen(condition: Any, yes: Any, no: Any) -> Any:
    return np.where(condition != 0, yes, no)


_INVERSE = Form(lambda x: 1 / x, valid=lambda x: _finite(x) & (x != 0), zeros=False)
_SWITCH = Form(_chosen)

#: Special values of SciPy are as near as SciPy's own forms of them.
UNARY: dict[str, Form] = {
    **{name: Form(getattr(np, name)) for name in ("exp", "expm1", "log", "log2", "log10", "sqrt", "sin", "cos", "tan")},
    **{name: Form(getattr(np, name)) for name in ("sinh", "cosh", "tanh", "isnan", "isinf")},
    **{name: Form(getattr(np, name)) for name in ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")},
    **{name: _floats(getattr(np, name)) for name in ("ceil", "floor", "trunc", "cbrt", "deg2rad", "rad2deg")},
    "abs_": Form(np.abs),
    "exp2": Form(np.exp2, steps=4096, valid=_finite),
    "log1p": Form(np.log1p, steps=4096, valid=lambda x: ~((np.abs(x) < 1e-2) & (x.dtype.kind == "c"))),
    "neg": Form(np.negative, "iufc"),
    "sqr": Form(lambda x: x * x, "iufc"),
    "square": Form(np.square, "iufc"),
    "sgn": Form(_sign, "iufc", valid=lambda x: _finite(x) | (x.dtype.kind != "c"), zeros=False),
    "inv": _INVERSE,
    "reciprocal": _INVERSE,
    "tensor_copy": Form(lambda x: x),
    "bitwise_not": Form(np.invert, "biu"),
    "invert": Form(np.invert, "biu"),
    "round_half_away_from_zero": _floats(_half_away),
    "round_half_to_even": _floats(_half_to_even),
    "sigmoid": _floats(special.expit),
    "softplus": _floats(lambda x: np.logaddexp(x, 0)),
    "log1mexp": _floats(_log1mexp),
    "erf": _floats(special.erf),
    "erfc": _floats(special.erfc, 1024),
    "erfcx": _floats(special.erfcx),
    "erfinv": _floats(special.erfinv),
    "erfcinv": _floats(special.erfcinv),
    "gamma": _floats(special.gamma),
    "gammaln": _floats(special.gammaln),
    "psi": _floats(special.psi, 4096),
    # SciPy's own sum loses digits near its poles.
    "tri_gamma": _floats(lambda x: special.polygamma(1, x), 65536, lambda x: x > 0),
    "i0": _floats(special.i0),
    "i1": _floats(special.i1),
    "j0": _floats(special.j0, 4096),
    "j1": _floats(special.j1, 4096),
}
BINARY: dict[str, Form] = {
    **{name: Form(getattr(np, like)) for name, like in (("add", "add"), ("mul", "multiply"), ("eq", "equal"))},
    **{name: Form(getattr(np, like)) for name, like in (("neq", "not_equal"), ("true_div", "true_divide"))},
    **{name: Form(np.bitwise_and, "biu") for name in ("and_", "bitwise_and")},
    **{name: Form(np.bitwise_or, "biu") for name in ("or_", "bitwise_or")},
    **{name: Form(np.bitwise_xor, "biu") for name in ("xor", "bitwise_xor")},
    **{name: _floats(np.floor_divide) for name in ("floor_div", "int_div", "intdiv")},
    **{name: Form(lambda x, y: y) for name in ("fill", "second")},
    **{name: Form(like, "biuf") for name, like in (("lt", np.less), ("le", np.less_equal), ("gt", np.greater))},
    "ge": Form(np.greater_equal, "biuf"),
    # Which zero is the larger one is not said.
    "maximum": Form(np.maximum, "biuf", zeros=False),
    "minimum": Form(np.minimum, "biuf", zeros=False),
    "sub": Form(np.subtract, "iufc"),
    "truediv": Form(np.true_divide),
    "mod": _floats(np.mod),
    "pow": Form(_power, valid=_power_fits, steps=256, zeros=False),
    "arctan2": _floats(np.arctan2),
    "hypot": _floats(np.hypot),
    "logaddexp": _floats(np.logaddexp),
    "betaln": _floats(special.betaln, 4096),
    # Versions of SciPy differ below 0.
    "chi2sf": _floats(lambda x, k: special.chdtrc(k, x), 4096, lambda x, k: (x >= 0) & (k >= 0)),
    "gammainc": _floats(special.gammainc, 4096),
    "gammaincc": _floats(special.gammaincc, 4096),
    "gammal": _floats(lambda k, x: special.gammainc(k, x) * special.gamma(k), 4096),
    "gammau": _floats(lambda k, x: special.gammaincc(k, x) * special.gamma(k), 4096),
    "iv": _floats(_iv, 4096),
    "jv": _floats(special.jv, 4096),
}
TERNARY: dict[str, Form] = {
    "betainc": _floats(special.betainc, 4096),
    "clip": Form(lambda x, low, high: np.minimum(np.maximum(x, low), high), "biuf", _ordered, zeros=False),
    "switch": _SWITCH,
    "where": _SWITCH,
}
TABLES: dict[int, dict[str, Form]] = {1: UNARY, 2: BINARY, 3: TERNARY, 4: {}}


def form_of_record(record: ScalarRecord) -> Form:
    """Return the expected values of a function, from the record of its scalar op."""
    kinds = "".join(sorted({np.dtype(dtype).kind for dtype in record.dtypes}))
    return Form(record.reference, kinds, steps=16 * record.ulp, zeros=False)


def complete() -> None:
    """Put functions that no table names into those of their number of arguments."""
    functions = {function.scalar_op: name for name, function in vars(T).items() if isinstance(function, T.Elemwise)}
    for record in scalar.records:
        name = functions.get(record.op)
        if name is not None and not any(name in table for table in TABLES.values()):
            TABLES[record.nin][name] = form_of_record(record)


complete()
#: Functions that are several nodes, or a node and parameters.
COMPOSED: dict[str, tuple[Callable[..., Any], Form]] = {
    "real": (T.real, Form(np.real)),
    "imag": (T.imag, Form(np.imag)),
    "conj": (T.conj, Form(np.conj)),
    "angle": (T.angle, Form(lambda x: np.angle(x).astype("float64"), valid=lambda x: ~np.isnan(x))),
    # Near its zeros the rounding of the product with pi counts, as in NumPy.
    "sinc": (T.sinc, _floats(np.sinc, valid=lambda x: np.abs(x.astype("float64")) < 0.75)),
    "round": (T.round, _floats(_half_away)),
    "iround": (T.iround, _floats(_half_away, valid=lambda x: np.abs(x.astype("float64")) < 1e4)),
    "zeros_like": (T.zeros_like, Form(np.zeros_like)),
    "ones_like": (T.ones_like, Form(np.ones_like)),
}


def _numbers(dtype: str, arguments: int) -> list[Any]:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return [False, True]
    if kind in "iu":
        ends = np.iinfo(dtype)
        signed = [-1, -2, -3, ends.min, ends.min + 1] if kind == "i" else []
        return [0, 1, 2, 3, 7, ends.max, ends.max - 1, ends.max // 2 + 1, *signed]
    common = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 30.0, np.inf, -np.inf, np.nan]
    if kind == "c":
        parts = [*common, -30.0, 1e-5, 80.0] if arguments == 1 else [0.0, 1.0, -1.0, 0.5, -2.5, 30.0, np.inf, np.nan]
        return [complex(real, imaginary) for real in parts for imaginary in parts]
    if arguments >= 3:
        return [*common, 2.0]
    limits = np.finfo(dtype)
    near_one = [1 - limits.eps, 1 + limits.eps]
    return [
        *(*common, -0.5, 1.5, 2.5, 2.0, 3.0, -3.0, 0.3, 1e-3, 1e-7, -30.0, 170.7, -170.7, 88.7, 710.0, 1e5, 1 / 3),
        *(limits.max, -limits.max, limits.tiny, limits.smallest_subnormal, *near_one),
    ]


def arguments_for(dtype: str, count: int, more: int = 0) -> list[Any]:
    """Return arrays with all combinations of special values, and `more` random ones for functions of one argument."""
    with np.errstate(over="ignore"):
        values = np.array(_numbers(dtype, count)).astype(dtype)
    grids = np.meshgrid(*[values] * count, indexing="ij")
    if count == 1 and values.dtype.kind == "f" and more:
        random = np.random.default_rng(1)
        parts = [values, random.normal(size=more) * 10, np.minimum(np.exp(random.normal(size=more) * 3), 6e4)]
        return [np.concatenate([part.astype(dtype) for part in parts])]
    return [grid.ravel().copy() for grid in grids]


def wanted(form: Form, arguments: list[Any]) -> Any:
    """Compute the expected values of a function: integers as NumPy does, others in the widest dtype there is."""
    kind = arguments[0].dtype.kind
    exact = [x.astype(_WIDE.get(kind, x.dtype)) for x in arguments]
    with np.errstate(all="ignore"):
        result = np.asarray(form.like(*exact))
        if kind in "biu" and result.dtype.kind == "f":
            result = np.asarray(form.like(*(x.astype("float64") for x in exact)))
    return result


def faults(form: Form, result: Any, arguments: list[Any]) -> Any:
    """Return the places at which `result` differs from a form."""
    with np.errstate(all="ignore"):
        exact = wanted(form, arguments).astype(result.dtype)
        if result.shape != exact.shape:
            return np.arange(result.size)
        if result.dtype.kind not in "fc":
            wrong = result != exact
        elif result.dtype.kind == "c":
            # An error of one part is measured by the modulus.
            size = np.abs(exact.astype("complex128"))
            wrong = _far(result.real, exact.real, form, size) | _far(result.imag, exact.imag, form, size)
            # The sign of a part that is NaN depends on the version of NumPy, as C does not say it.
            wrong &= ~np.logical_or.reduce([np.isnan(x) for x in arguments])
        else:
            wrong = _far(result, exact, form, np.abs(exact.astype("float64")))
        if form.valid is not None:
            wrong &= form.valid(*arguments)
    return np.flatnonzero(wrong)


def _far(result: Any, exact: Any, form: Form, size: Any) -> Any:
    limits = np.finfo(result.dtype)
    left, right = result.astype("float64"), exact.astype("float64")
    near = np.abs(left - right) <= form.steps * float(limits.eps) * size + 8 * float(limits.tiny)
    same = (left == right) | (np.isnan(left) & np.isnan(right)) | (np.isfinite(left) & np.isfinite(right) & near)
    if not form.zeros:
        return ~same
    return ~same | ((left == 0) & (right == 0) & (np.signbit(left) != np.signbit(right)))
