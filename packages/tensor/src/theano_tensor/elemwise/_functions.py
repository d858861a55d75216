"""Every function of the scalar vocabulary on tensors, under the names of NumPy and of the manual."""

from __future__ import annotations

import math

from theano_graph import config, describe, format_error
from theano_linker_c import scalar
from theano_linker_c.scalar import ComplexError, ScalarOp

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import COMPLEX_DTYPES, DISCRETE_DTYPES, DTypeLike, TensorLike, canonical_dtype
from .._core._type import Tensor
from .._errors import DTypeError
from .._protocols._methods import OPERATIONS, operation
from ._elemwise import Elemwise
from ._signature import described

# ---- Every function of the scalar vocabulary on tensors, under the names of NumPy and of the manual
#
# Each is an :class:`Elemwise`: call it on tensors, numbers or arrays to get a tensor variable.


def _function(name: str, op: ScalarOp) -> Elemwise:
    """Return the function that applies an op to each element, described as the op is."""
    function = OPERATIONS[name] = Elemwise(op)
    function.__doc__ = described(name, op)
    return function


# Functions of scalar ops, written by tools/generate_names.py:
#     abs_=abs inv=reciprocal tensor_copy=identity
#     -angle -complex_from_polar -conj -direction_cosine -gammainc_der -imag -inclosedrange -inopenrange -make_complex
#     -mul_without_zeros -real -relu -sine_quotient -softsign -ultra_fast_sigmoid
# fmt: off
# isort: off
sigmoid = _function("sigmoid", scalar.sigmoid)
softplus = _function("softplus", scalar.softplus)
add = _function("add", scalar.add)
mul = _function("mul", scalar.mul)
sub = _function("sub", scalar.sub)
neg = _function("neg", scalar.neg)
abs_ = _function("abs_", scalar.abs)
sgn = _function("sgn", scalar.sgn)
sqr = _function("sqr", scalar.sqr)
true_div = _function("true_div", scalar.true_div)
inv = _function("inv", scalar.reciprocal)
int_div = _function("int_div", scalar.int_div)
mod = _function("mod", scalar.mod)
floor = _function("floor", scalar.floor)
ceil = _function("ceil", scalar.ceil)
trunc = _function("trunc", scalar.trunc)
round_half_to_even = _function("round_half_to_even", scalar.round_half_to_even)
round_half_away_from_zero = _function("round_half_away_from_zero", scalar.round_half_away_from_zero)
lt = _function("lt", scalar.lt)
le = _function("le", scalar.le)
gt = _function("gt", scalar.gt)
ge = _function("ge", scalar.ge)
eq = _function("eq", scalar.eq)
neq = _function("neq", scalar.neq)
isnan = _function("isnan", scalar.isnan)
isinf = _function("isinf", scalar.isinf)
and_ = _function("and_", scalar.and_)
or_ = _function("or_", scalar.or_)
xor = _function("xor", scalar.xor)
invert = _function("invert", scalar.invert)
maximum = _function("maximum", scalar.maximum)
minimum = _function("minimum", scalar.minimum)
clip = _function("clip", scalar.clip)
switch = _function("switch", scalar.switch)
second = _function("second", scalar.second)
tensor_copy = _function("tensor_copy", scalar.identity)
exp = _function("exp", scalar.exp)
exp2 = _function("exp2", scalar.exp2)
expm1 = _function("expm1", scalar.expm1)
log = _function("log", scalar.log)
log2 = _function("log2", scalar.log2)
log10 = _function("log10", scalar.log10)
log1p = _function("log1p", scalar.log1p)
pow = _function("pow", scalar.pow)
sqrt = _function("sqrt", scalar.sqrt)
log1mexp = _function("log1mexp", scalar.log1mexp)
logaddexp = _function("logaddexp", scalar.logaddexp)
hypot = _function("hypot", scalar.hypot)
cbrt = _function("cbrt", scalar.cbrt)
deg2rad = _function("deg2rad", scalar.deg2rad)
rad2deg = _function("rad2deg", scalar.rad2deg)
sin = _function("sin", scalar.sin)
cos = _function("cos", scalar.cos)
tan = _function("tan", scalar.tan)
arcsin = _function("arcsin", scalar.arcsin)
arccos = _function("arccos", scalar.arccos)
arctan = _function("arctan", scalar.arctan)
arctan2 = _function("arctan2", scalar.arctan2)
sinh = _function("sinh", scalar.sinh)
cosh = _function("cosh", scalar.cosh)
tanh = _function("tanh", scalar.tanh)
arcsinh = _function("arcsinh", scalar.arcsinh)
arccosh = _function("arccosh", scalar.arccosh)
arctanh = _function("arctanh", scalar.arctanh)
erf = _function("erf", scalar.erf)
erfc = _function("erfc", scalar.erfc)
erfcx = _function("erfcx", scalar.erfcx)
erfinv = _function("erfinv", scalar.erfinv)
erfcinv = _function("erfcinv", scalar.erfcinv)
owens_t = _function("owens_t", scalar.owens_t)
hyp2f1 = _function("hyp2f1", scalar.hyp2f1)
zeta = _function("zeta", scalar.zeta)
gamma = _function("gamma", scalar.gamma)
gammaln = _function("gammaln", scalar.gammaln)
psi = _function("psi", scalar.psi)
tri_gamma = _function("tri_gamma", scalar.tri_gamma)
j0 = _function("j0", scalar.j0)
j1 = _function("j1", scalar.j1)
jv = _function("jv", scalar.jv)
i0 = _function("i0", scalar.i0)
i1 = _function("i1", scalar.i1)
iv = _function("iv", scalar.iv)
ive = _function("ive", scalar.ive)
kve = _function("kve", scalar.kve)
gammainc = _function("gammainc", scalar.gammainc)
gammaincc = _function("gammaincc", scalar.gammaincc)
gammal = _function("gammal", scalar.gammal)
gammau = _function("gammau", scalar.gammau)
chi2sf = _function("chi2sf", scalar.chi2sf)
betainc = _function("betainc", scalar.betainc)
betaln = _function("betaln", scalar.betaln)
gammaincinv = _function("gammaincinv", scalar.gammaincinv)
gammainccinv = _function("gammainccinv", scalar.gammainccinv)
betaincinv = _function("betaincinv", scalar.betaincinv)
# isort: on
# fmt: on
# End of the functions of scalar ops.

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
OPERATIONS.update(where=where, fill=fill)


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
            format_error(
                f"casting complex to real is ambiguous: {variable.type.dtype} to {name}",
                context=[describe(variable)],
                hint="take T.real(x), T.imag(x), abs(x) or T.angle(x)",
            )
        )
    result: Tensor = _cast_ops(name)(variable)
    return result


def _cast_ops(dtype: str) -> Elemwise:
    ops = _CASTS.get(dtype)
    if ops is None:
        ops = _CASTS[dtype] = Elemwise(scalar.cast(dtype))
    return ops


_CASTS: dict[str, Elemwise] = {}


@operation("round")
def round(a: TensorLike, mode: str | None = None) -> Tensor:
    """Round to the nearest whole number, in the dtype of `a`.

    Parameters
    ----------
    a : tensor_like
    mode : {"half_away_from_zero", "half_to_even"}
        Where halves go; away from zero by default.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If there is no such mode.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.round([0.5, 1.4, 2.5]).eval()
    array([1., 1., 3.])
    """
    if mode in (None, "half_away_from_zero"):
        return round_half_away_from_zero(a)
    if mode == "half_to_even":
        return round_half_to_even(a)
    raise ValueError(format_error(f"round: unknown mode {mode!r}", hint="use 'half_away_from_zero' or 'half_to_even'"))


def iround(a: TensorLike, mode: str | None = None) -> Tensor:
    """Round to the nearest whole number, as int64; see :func:`round`.

    Parameters
    ----------
    a : tensor_like
    mode : {"half_away_from_zero", "half_to_even"}
        The direction of halves; away from zero by default.

    Returns
    -------
    Tensor
        Of dtype int64.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.iround([0.5, 1.4, 2.5]).eval()
    array([1, 1, 3])
    """
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
            format_error(
                "two integers are divided with / (flag int_division is 'raise')",
                context=[describe(a), describe(b)],
                hint="use // for an integer result, or cast one of them to a float",
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
            format_error(
                "% is not defined for complex numbers", context=[describe(a), describe(b)], hint="use the real part"
            )
        )
    result: Tensor = mod(a, b)
    return result


@operation("zeros_like")
def zeros_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros in the shape of `x`, of its dtype or of `dtype`.

    Parameters
    ----------
    x : tensor_like
    dtype : str, optional
        By default that of `x`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.zeros_like([1.0, 2.0]).eval()
    array([0., 0.])
    """
    return _filled_like(x, 0, dtype)


@operation("ones_like")
def ones_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Ones in the shape of `x`, of its dtype or of `dtype`.

    Parameters
    ----------
    x : tensor_like
    dtype : str, optional
        By default that of `x`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.ones_like([5, 6], dtype="float64").eval()
    array([1., 1.])
    """
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

    Returns
    -------
    Tensor
        Of dtype bool.

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
    """Return floor division and remainder, with Python's rule of signs: ``x == y * (x // y) + x % y``.

    Parameters
    ----------
    x, y : tensor_like
        Broadcast against each other.

    Returns
    -------
    tuple of two Tensor

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> [a.tolist() for a in theano.function([], T.divmod([7, -7], 2))()]
    [[3, -4], [1, 1]]
    """
    return int_div(x, y), mod(x, y)


_sine_quotient = Elemwise(scalar.sine_quotient)


def sinc(x: TensorLike) -> Tensor:
    """``sin(pi * x) / (pi * x)``, which is 1 at zero, as ``numpy.sinc``."""
    variable = as_tensor_variable(x)
    if variable.type.dtype in DISCRETE_DTYPES:
        variable = cast(variable, "float64")
    angle = cast(math.pi, variable.type.dtype) * variable
    if variable.type.dtype not in COMPLEX_DTYPES:
        return _sine_quotient(angle)
    # At zero both branches need a finite slope, so the quotient is taken elsewhere.
    zero: Tensor = eq(angle, 0)
    other = switch(zero, ones_like(angle), angle)
    return switch(zero, ones_like(angle), sin(other) / other)


# ---- Parts of complex numbers, and complex numbers made of parts

_real, _imag, _conj = Elemwise(scalar.real), Elemwise(scalar.imag), Elemwise(scalar.conj)
_angle, _complex = Elemwise(scalar.angle), Elemwise(scalar.make_complex)
_from_polar = Elemwise(scalar.complex_from_polar)


@operation("real")
def real(x: TensorLike) -> Tensor:
    """Real part; `x` itself where it is not complex.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.real([1 + 2j]).eval()
    array([1.])
    """
    variable = as_tensor_variable(x)
    return _real(variable) if variable.type.dtype in COMPLEX_DTYPES else variable


@operation("imag")
def imag(x: TensorLike) -> Tensor:
    """Imaginary part; zeros where `x` is not complex.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.imag([1 + 2j]).eval()
    array([2.])
    """
    variable = as_tensor_variable(x)
    return _imag(variable) if variable.type.dtype in COMPLEX_DTYPES else zeros_like(variable)


@operation("conj")
def conj(x: TensorLike) -> Tensor:
    """Complex conjugate; `x` itself where it is not complex."""
    variable = as_tensor_variable(x)
    return _conj(variable) if variable.type.dtype in COMPLEX_DTYPES else variable


@operation("angle")
def angle(a: TensorLike) -> Tensor:
    """Angle of complex numbers in the plane, from -pi to pi; 0 or pi for real ones.

    Parameters
    ----------
    a : tensor_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.angle([1j, -1.0]).eval()
    array([1.57079633, 3.14159265])
    """
    return _angle(a)


def complex(real: TensorLike, imag: TensorLike) -> Tensor:
    """Complex numbers with the given real and imaginary parts.

    Parameters
    ----------
    real, imag : tensor_like
        Real numbers.

    Returns
    -------
    Tensor
        complex64 for parts of float32 or float16, else complex128.

    Raises
    ------
    TypeError
        If a part is complex.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.complex(T.fvector("x"), T.fvector("y")).dtype
    'complex64'
    """
    return _complex(real, imag)


def complex_from_polar(abs: TensorLike, angle: TensorLike) -> Tensor:
    """Complex numbers with the given lengths and angles; see :func:`complex`."""
    return _from_polar(abs, angle)
