"""Every function of the scalar vocabulary on tensors, under the names of NumPy and of the manual.

Each is an :class:`Elemwise`: call it on tensors, numbers or arrays to get a tensor variable.
"""

from __future__ import annotations

import math

from theano_graph import compose, config, describe
from theano_linker_c import scalar
from theano_linker_c.scalar import ComplexError, ScalarOp

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import COMPLEX_DTYPES, DISCRETE_DTYPES, canonical_dtype
from .._core._typing import DTypeLike, TensorLike
from .._core._variable import Tensor
from .._errors import DTypeError
from .._protocols._operators import OPERATIONS, operation
from ._elemwise import Elemwise


def _function(op: ScalarOp, doc: str, *method_names: str) -> Elemwise:
    function = Elemwise(op)
    function.__doc__ = doc
    for name in method_names:
        OPERATIONS[name] = function
    return function


add = _function(scalar.add, "Sum of two or more tensors.", "add")
sub = _function(scalar.sub, "Difference of two tensors.", "sub")
mul = _function(scalar.mul, "Product of two or more tensors, element by element.", "mul")
true_div = _function(scalar.true_div, "Quotient; integers are divided as float64.", "true_div")
int_div = _function(scalar.int_div, "Quotient rounded down, as ``//``.", "int_div")
mod = _function(scalar.mod, "Remainder with the sign of the divisor, as ``%``.", "mod")
pow = _function(scalar.pow, "First argument to the power of the second.", "pow")
neg = _function(scalar.neg, "Negation.", "neg")
abs_ = _function(scalar.abs, "Absolute value.", "abs_")
sgn = _function(scalar.sgn, "Sign: -1, 0 or 1.", "sgn")
inv = _function(scalar.reciprocal, "Reciprocal ``1 / x``.", "inv")
sqr = _function(scalar.sqr, "Square.", "sqr")
sqrt = _function(scalar.sqrt, "Square root; NaN below zero.", "sqrt")
exp = _function(scalar.exp, "e to the power of each element.", "exp")
exp2 = _function(scalar.exp2, "2 to the power of each element.", "exp2")
expm1 = _function(scalar.expm1, "``exp(x) - 1``, accurate near zero.", "expm1")
log = _function(scalar.log, "Natural logarithm.", "log")
log1p = _function(scalar.log1p, "``log(1 + x)``, accurate near zero.", "log1p")
log2 = _function(scalar.log2, "Logarithm to base 2.", "log2")
log10 = _function(scalar.log10, "Logarithm to base 10.", "log10")
sin = _function(scalar.sin, "Sine.", "sin")
cos = _function(scalar.cos, "Cosine.", "cos")
tan = _function(scalar.tan, "Tangent.", "tan")
arcsin = _function(scalar.arcsin, "Inverse sine.", "arcsin")
arccos = _function(scalar.arccos, "Inverse cosine.", "arccos")
arctan = _function(scalar.arctan, "Inverse tangent.", "arctan")
arctan2 = _function(
    scalar.arctan2, "Angle of the point with ordinate the first and abscissa the second argument.", "arctan2"
)
sinh = _function(scalar.sinh, "Hyperbolic sine.", "sinh")
cosh = _function(scalar.cosh, "Hyperbolic cosine.", "cosh")
tanh = _function(scalar.tanh, "Hyperbolic tangent.", "tanh")
arcsinh = _function(scalar.arcsinh, "Inverse hyperbolic sine.", "arcsinh")
arccosh = _function(scalar.arccosh, "Inverse hyperbolic cosine.", "arccosh")
arctanh = _function(scalar.arctanh, "Inverse hyperbolic tangent.", "arctanh")
erf = _function(scalar.erf, "Error function.", "erf")
erfc = _function(scalar.erfc, "Complementary error function.", "erfc")
erfcx = _function(scalar.erfcx, "``exp(x**2) * erfc(x)``, without overflow.", "erfcx")
erfinv = _function(scalar.erfinv, "Inverse of the error function, on (-1, 1).", "erfinv")
erfcinv = _function(scalar.erfcinv, "Inverse of the complementary error function, on (0, 2).", "erfcinv")
gamma = _function(scalar.gamma, "Gamma function.", "gamma")
gammaln = _function(scalar.gammaln, "Logarithm of the absolute value of the gamma function.", "gammaln")
psi = _function(scalar.psi, "Digamma function, the derivative of `gammaln`.", "psi")
tri_gamma = _function(scalar.tri_gamma, "Trigamma function, the derivative of `psi`.")
chi2sf = _function(scalar.chi2sf, "Chance that a chi-squared variable with `k` degrees of freedom exceeds `x`.")
gammainc = _function(scalar.gammainc, "Regularised lower incomplete gamma function P(k, x).")
gammaincc = _function(scalar.gammaincc, "Regularised upper incomplete gamma function Q(k, x).")
gammal = _function(scalar.gammal, "Lower incomplete gamma function.")
gammau = _function(scalar.gammau, "Upper incomplete gamma function.")
betainc = _function(scalar.betainc, "Regularised incomplete beta function of a, b and x.")
betaln = _function(scalar.betaln, "Logarithm of the absolute value of the beta function.")
j0 = _function(scalar.j0, "Bessel function of the first kind of order 0.")
j1 = _function(scalar.j1, "Bessel function of the first kind of order 1.")
jv = _function(scalar.jv, "Bessel function of the first kind of real order: ``jv(order, x)``.")
i0 = _function(scalar.i0, "Modified Bessel function of the first kind of order 0.")
i1 = _function(scalar.i1, "Modified Bessel function of the first kind of order 1.")
iv = _function(scalar.iv, "Modified Bessel function of the first kind of real order: ``iv(order, x)``.")
log1mexp = _function(scalar.log1mexp, "``log(1 - exp(x))`` for negative x, accurate near zero and far from it.")
logaddexp = _function(scalar.logaddexp, "``log(exp(x) + exp(y))``, without overflow.", "logaddexp")
hypot = _function(scalar.hypot, "``sqrt(x**2 + y**2)``, without overflow.", "hypot")
cbrt = _function(scalar.cbrt, "Cube root.", "cbrt")
deg2rad = _function(scalar.deg2rad, "Degrees converted to radians.", "deg2rad")
rad2deg = _function(scalar.rad2deg, "Radians converted to degrees.", "rad2deg")
sigmoid = _function(scalar.sigmoid, "Logistic function ``1 / (1 + exp(-x))``, without overflow.", "sigmoid")
softplus = _function(scalar.softplus, "``log(1 + exp(x))``, without overflow.", "softplus")
ceil = _function(scalar.ceil, "Smallest whole number not below each element.", "ceil")
floor = _function(scalar.floor, "Largest whole number not above each element.", "floor")
trunc = _function(scalar.trunc, "Each element without its fraction.", "trunc")
round_half_to_even = _function(
    scalar.round_half_to_even, "Nearest whole number; halves go to the even one.", "round_half_to_even"
)
round_half_away_from_zero = _function(
    scalar.round_half_away_from_zero, "Nearest whole number; halves go away from zero."
)
lt = _function(scalar.lt, "Whether the first is less than the second; bool.", "lt")
le = _function(scalar.le, "Whether the first is at most the second; bool.", "le")
gt = _function(scalar.gt, "Whether the first is greater than the second; bool.", "gt")
ge = _function(scalar.ge, "Whether the first is at least the second; bool.", "ge")
eq = _function(scalar.eq, "Whether two tensors are equal, element by element; bool.", "eq")
neq = _function(scalar.neq, "Whether two tensors differ, element by element; bool.", "neq")
isnan = _function(scalar.isnan, "Whether each element is NaN; bool.", "isnan")
isinf = _function(scalar.isinf, "Whether each element is infinite; bool.", "isinf")
and_ = _function(scalar.and_, "Bitwise and of integers; logical and of truth values.", "and_")
or_ = _function(scalar.or_, "Bitwise or of integers; logical or of truth values.", "or_")
xor = _function(scalar.xor, "Bitwise exclusive or of integers; whether two truth values differ.", "xor")
invert = _function(scalar.invert, "Bitwise not of integers; logical not of truth values.", "invert")
switch = _function(
    scalar.switch, "The second argument where the first is not zero, elsewhere the third.", "switch", "where"
)
maximum = _function(scalar.maximum, "The larger of two tensors, element by element; NaN if either is.", "maximum")
minimum = _function(scalar.minimum, "The smaller of two tensors, element by element; NaN if either is.", "minimum")
clip = _function(scalar.clip, "Elements limited to the range between the second and the third argument.", "clip")
second = _function(scalar.second, "The second argument, in the common shape of both.", "second", "fill")
tensor_copy = _function(scalar.identity, "The tensor itself, as a new variable.", "tensor_copy")

# NumPy's and older names of the same functions.
where = switch
fill = second
reciprocal = inv
square = sqr
truediv = true_div
intdiv = floor_div = int_div
bitwise_and = and_
bitwise_or = or_
bitwise_xor = xor
bitwise_not = invert


@operation("cast")
def cast(x: TensorLike, dtype: DTypeLike) -> Tensor:
    """Convert the elements to `dtype`.

    Parameters
    ----------
    x : tensor_like
    dtype : str
        Also ``"floatX"``.

    Returns
    -------
    Tensor
        `x` itself if it has that dtype.

    Raises
    ------
    DTypeError
        If `dtype` is none, or complex numbers would become real.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.cast(T.dmatrix("x"), "int32").dtype
    'int32'
    """
    variable = as_tensor_variable(x)
    name = canonical_dtype(dtype, config.floatX)
    if variable.type.dtype == name:
        return variable
    if variable.type.dtype in COMPLEX_DTYPES and name not in COMPLEX_DTYPES:
        raise DTypeError(
            compose(
                f"casting complex to real is ambiguous: {variable.type.dtype} to {name}",
                where=[describe(variable)],
                mend="take T.real(x), T.imag(x), abs(x) or T.angle(x)",
            )
        )
    result: Tensor = _cast_ops(name)(variable)
    return result


def _cast_ops(dtype: str) -> Elemwise:
    found = _CASTS.get(dtype)
    if found is None:
        found = _CASTS[dtype] = Elemwise(scalar.cast(dtype))
    return found


_CASTS: dict[str, Elemwise] = {}


@operation("round")
def round(a: TensorLike, mode: str | None = None) -> Tensor:
    """Round to the nearest whole number, in the dtype of `a`.

    Parameters
    ----------
    a : tensor_like
    mode : {"half_away_from_zero", "half_to_even"}
        Where halves go; away from zero by default.

    Raises
    ------
    ValueError
        If there is no such mode.
    """
    if mode in (None, "half_away_from_zero"):
        return round_half_away_from_zero(a)
    if mode == "half_to_even":
        return round_half_to_even(a)
    raise ValueError(compose(f"round: unknown mode {mode!r}", mend="use 'half_away_from_zero' or 'half_to_even'"))


def iround(a: TensorLike, mode: str | None = None) -> Tensor:
    """Round to the nearest whole number, as int64; see :func:`round`."""
    return cast(round(a, mode), "int64")


@operation("int_or_true_div")
def int_or_true_div(x: TensorLike, y: TensorLike) -> Tensor:
    """Divide as the flag ``int_division`` says where both are integers, and truly otherwise.

    Raises
    ------
    DTypeError
        If both are integers and the flag is ``"raise"``.
    """
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    if a.type.dtype not in DISCRETE_DTYPES or b.type.dtype not in DISCRETE_DTYPES:
        quotient: Tensor = true_div(a, b)
        return quotient
    policy = config.int_division
    if policy == "raise":
        raise DTypeError(
            compose(
                "two integers are divided with / (flag int_division is 'raise')",
                where=[describe(a), describe(b)],
                mend="use // for an integer result, or cast one of them to a float",
            )
        )
    result: Tensor = int_div(a, b) if policy == "int" else true_div(cast(a, config.floatX), cast(b, config.floatX))
    return result


@operation("mod_check")
def mod_check(x: TensorLike, y: TensorLike) -> Tensor:
    """Remainder, as ``%``; ComplexError for complex numbers, which have none."""
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    if {a.type.dtype, b.type.dtype} & COMPLEX_DTYPES:
        raise ComplexError(
            compose("% is not defined for complex numbers", where=[describe(a), describe(b)], mend="use the real part")
        )
    result: Tensor = mod(a, b)
    return result


@operation("zeros_like")
def zeros_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros in the shape of `x`, of its dtype or of `dtype`."""
    return _filled_like(x, 0, dtype)


@operation("ones_like")
def ones_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Ones in the shape of `x`, of its dtype or of `dtype`."""
    return _filled_like(x, 1, dtype)


def _filled_like(x: TensorLike, value: int, dtype: DTypeLike | None) -> Tensor:
    variable = as_tensor_variable(x)
    name = variable.type.dtype if dtype is None else canonical_dtype(dtype, config.floatX)
    result: Tensor = second(variable, constant(value, ndim=variable.type.ndim, dtype=name))
    return result


def isclose(a: TensorLike, b: TensorLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether two tensors are equal within a tolerance, element by element, as ``numpy.isclose``.

    Parameters
    ----------
    a, b : tensor_like
        Integers and truth values are compared as float64.
    rtol, atol : float
        Elements may differ by ``atol + rtol * abs(b)``; infinities must be equal.
    equal_nan : bool
        Whether NaN equals NaN.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.isclose(T.dvector("x"), 1.0).dtype
    'bool'
    """
    x, y = (cast(v, "float64") if v.type.dtype in DISCRETE_DTYPES else v for v in map(as_tensor_variable, (a, b)))
    equal: Tensor = eq(x, y)
    finite = ~(isinf(x) | isinf(y))
    near = equal | (finite & (abs_(x - y) <= atol + rtol * abs_(y)))
    return near | (isnan(x) & isnan(y)) if equal_nan else near


@operation("divmod")
def divmod(x: TensorLike, y: TensorLike) -> tuple[Tensor, Tensor]:
    """Return floor division and remainder, with Python's rule of signs: ``x == y * (x // y) + x % y``."""
    return int_div(x, y), mod(x, y)


def sinc(x: TensorLike) -> Tensor:
    """``sin(pi * x) / (pi * x)``, which is 1 at zero, as ``numpy.sinc``."""
    variable = as_tensor_variable(x)
    if variable.type.dtype in DISCRETE_DTYPES:
        variable = cast(variable, "float64")
    # At zero both branches need a finite slope, so the quotient is taken elsewhere.
    zero: Tensor = eq(variable, 0)
    angle = cast(math.pi, variable.type.dtype) * switch(zero, ones_like(variable), variable)
    return switch(zero, ones_like(variable), sin(angle) / angle)
