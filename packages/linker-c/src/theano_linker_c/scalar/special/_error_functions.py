"""The error function and its relatives, functions of Gauss and Owen, and the common part of special functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from ..._c_interface import called, function_name, functions_of, read_code, with_called
from ..._lazy import scipy_special
from .._derivative import REALS, ScalarRecord, differentiable, real_operands, undefined
from .._dtypes import CValue, c_call, c_cast, c_special, c_type
from .._exponential import exp
from .._op import BinaryScalarOp, FloatFunction, ScalarTypeError, UnaryScalarOp, arraywise, dtype_name, quiet

# ---- Special functions as text in C, for exported code and for devices; on the CPU they are functions of SciPy
#
# They are written from published formulas, whose numbers are those of the Digital Library of Mathematical Functions.
# All
# compute with doubles, without recursion, for which devices have no stack. The text is C99, CUDA and OpenCL alike.

_FILES = ("gamma.h", "errors.h", "bessel.h", "incomplete.h", "hypergeometric.h")
_PREFIX = "theano_special_"
#: Name in `scipy.special` -> number of arguments, as the classes of ops declare it.
_arguments: dict[str, int] = {}


def declare_special(name: str, count: int) -> None:
    """Declare the number of arguments of a special function."""
    _arguments[name] = count


def special_arguments(name: str) -> int:
    """Return how many arguments a special function has, by its name in `scipy.special`.

    Examples
    --------
    >>> special_arguments("gammainc")
    2
    """
    return _arguments.get(name, 1)


@cache
def special_functions() -> Mapping[str, str]:
    """Return the text of each function by its name; their callees have names of their own.

    Examples
    --------
    >>> "theano_special_gammaln" in special_functions()
    True
    """
    parts = [part for name in _FILES for part in functions_of(read_code("special", name))]
    return MappingProxyType({function_name(part): part for part in parts})


def called_special_functions(text: str) -> list[str]:
    """Return the special functions that a text calls, by their names in `scipy.special`.

    Examples
    --------
    >>> called_special_functions("y = theano_special_gammaln(x, 0);")
    ['gammaln']
    """
    return [name.removeprefix(_PREFIX) for name in called(text) if name.startswith(_PREFIX)]


def special_definitions(names: Iterable[str]) -> list[str]:
    """Return the definitions of special functions; callees come first.

    Parameters
    ----------
    names : iterable of str
        As :func:`called_special_functions` gives them.

    Raises
    ------
    KeyError
        If there is no text of one of them: its name.

    Examples
    --------
    >>> len(special_definitions(["gammaln"]))
    2
    """
    names_needed = list(names)
    for name in names_needed:
        if _PREFIX + name not in special_functions():
            raise KeyError(name)
    return with_called([_PREFIX + name for name in names_needed], special_functions())


# ---- The common part of special functions


def checked_order(name: str, order: Any) -> int:
    """Return the order of a derivative; ScalarTypeError if it is no whole number from 1 to 20."""
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= 20:
        raise ScalarTypeError(f"the order of {name} is a whole number from 1 to 20, not {order!r}")
    return order


class SpecialFunction(FloatFunction):
    """A function that SciPy's code computes in double precision, for all dtypes of the result.

    Both machines call the same code. The C library has some of these functions too, but differs from SciPy at poles
    and infinities, and by many units in the last place for large arguments.
    """

    complex_ok = False
    cost = 100

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.name and cls.nin > 0:
            declare_special(cls.name, cls.nin)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Call SciPy's function on doubles."""
        dtype = self.result_dtypes(*map(dtype_name, values))[0]
        doubles = [np.asarray(value).astype("float64", copy=False) for value in values]
        return np.asarray(self.compute(*doubles), dtype=dtype)[()]

    def compute(self, *values: Any) -> Any:
        """Give the values for arrays of doubles."""
        return getattr(scipy_special(), type(self).name)(*values)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call SciPy's function through a pointer."""
        return c_special(type(self).name, result, *args)


# ---- The error function and its relatives; formulas from DLMF, chapter 7


class _ErrorFunction(FloatFunction):
    complex_ok = False
    cost = 20

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Call SciPy's function, which knows float32 and float64."""
        dtype = self.result_dtypes(dtype_name(values[0]))[0]
        x = np.asarray(values[0]).astype("float32" if dtype == "float16" else dtype, copy=False)
        return np.asarray(getattr(scipy_special(), type(self).name)(x), dtype=dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the C library's function in the result's precision."""
        return c_call(type(self).name, result, c_cast(args[0], result))


class Erf(_ErrorFunction, UnaryScalarOp):
    """Error function: twice the integral of ``exp(-t**2) / sqrt(pi)`` from 0 to x."""

    name = "erf"


class Erfc(_ErrorFunction, UnaryScalarOp):
    """``1 - erf(x)``, accurate where erf is near one."""

    name = "erfc"


class Erfcx(SpecialFunction, UnaryScalarOp):
    """``exp(x**2) * erfc(x)``, which neither overflows nor vanishes for large x."""

    name = "erfcx"


class Erfinv(SpecialFunction, UnaryScalarOp):
    """The number whose error function is x, for x from -1 to 1."""

    name = "erfinv"


class Erfcinv(SpecialFunction, UnaryScalarOp):
    """The number whose complementary error function is x, for x from 0 to 2."""

    name = "erfcinv"


class ErfcxIntegral(SpecialFunction, UnaryScalarOp):
    """``exp(x**2)`` times an integral of erfc from x to infinity: repeated, of some order (DLMF 7.18).

    The derivatives of `erfcx` are multiples of it. Written with `erfcx`, they would be the difference of two nearly
    as one another leave.

    Parameters
    ----------
    order : int
        How often is integrated.

    Raises
    ------
    TypeError
        If `order` is no whole number from 1 to 20.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("order",)
    cost = 300

    def __init__(self, order: int) -> None:
        self.order = checked_order("ErfcxIntegral", order)
        self.name = f"erfcx_integral_{order}"

    def compute(self, *values: Any) -> Any:
        """Go upwards (DLMF 7.18.7) from `erfcx` for small and negative numbers, and downwards for others."""
        (x,) = values
        before, here = np.full_like(x, 2 / math.sqrt(math.pi)), scipy_special().erfcx(x)
        ratio, right = np.zeros_like(x), np.array(here)
        for k in range(self.order + _LEVELS, 0, -1):
            ratio = 1 / (2 * x + 2 * (k + 1) * ratio)
            if k <= self.order:
                right = right * ratio
        for k in range(1, self.order + 1):
            before, here = here, (before - 2 * x * here) / (2 * k)
        return np.where(x >= 1, right, here)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the function of the preamble."""
        return f"({c_type(result)})theano_erfcx_integral_{self.order}({c_cast(args[0], 'float64')})"

    def c_preamble(self, dtypes: Sequence[str]) -> tuple[str, ...]:
        """Define the function for this order."""
        return (_integral_text(self.order),)


#: How many ratios of neighbours are gone through, downwards, until they have all digits; far out, some are enough.
_LEVELS, _LEVELS_FAR = 200, 30


@cache
def _integral_text(n: int) -> str:
    return f"""static double theano_erfcx_integral_{n}(double x) {{
  double before = {(2 / math.sqrt(math.pi)).hex()}, here = theano_special_erfcx(x, 0), ratio = 0;
  if (x >= 1) {{
    for (int k = {n} + (x > 5 ? {_LEVELS_FAR} : {_LEVELS}); k > 0; k--) {{
      ratio = 1 / (2 * x + 2 * (k + 1) * ratio);
      if (k <= {n}) here *= ratio;
    }}
    return here;
  }}
  for (int k = 1; k <= {n}; k++) {{
    const double next = (before - 2 * x * here) / (2 * k);
    before = here;
    here = next;
  }}
  return here;
}}"""


erf = Erf()
erfc = Erfc()
erfcx = Erfcx()
erfinv = Erfinv()
erfcinv = Erfcinv()


def _bell(x: Any) -> Any:
    return exp(-(x * x)) * (2.0 / math.sqrt(math.pi))


@differentiable(Erf)
def _erf(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 7.2.1
    (x,) = real_operands(inputs, output)
    return [seed * _bell(x)]


@differentiable(Erfc)
def _erfc(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 7.2.2
    (x,) = real_operands(inputs, output)
    return [-(seed * _bell(x))]


@differentiable(Erfcx)
def _erfcx(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 7.18.7
    (x,) = real_operands(inputs, output)
    return [seed * -2.0 * ErfcxIntegral(1)(x)]


@differentiable(ErfcxIntegral)
def _erfcx_integral(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 7.18.6 and 7.18.7
    (x,) = real_operands(inputs, output)
    n = output.owner.op.order
    return [seed * (-2.0 * (n + 1)) * ErfcxIntegral(n + 1)(x)]


@differentiable(Erfinv)
def _erfinv(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # The reciprocal of the derivative of erf at the result.
    return [seed * exp(output * output) * (math.sqrt(math.pi) / 2)]


@differentiable(Erfcinv)
def _erfcinv(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [-(seed * exp(output * output) * (math.sqrt(math.pi) / 2))]


def _reference(name: str) -> Any:
    def function(x: Any) -> Any:
        return getattr(scipy_special(), name)(np.asarray(x, dtype=np.result_type(x, np.float32)))

    return function


def _first_integral(x: Any) -> Any:
    """Integrate right of 1 (DLMF 7.18.2), where the difference cancels."""
    dtype = np.result_type(x, np.float32)
    x = np.asarray(x, dtype="float64")
    near = 1 / math.sqrt(math.pi) - x * scipy_special().erfcx(x)
    end = np.minimum(7.0, 20 / np.where(x > 1, x, 1))
    far = np.zeros_like(x)
    for node, weight in zip(*np.polynomial.legendre.leggauss(60), strict=True):
        t = end * (node + 1) / 2
        far = far + weight * end / math.sqrt(math.pi) * t * np.exp(-t * t - 2 * np.where(x < np.inf, x, 1) * t)
    return np.where(x > 1, np.where(x == np.inf, 0, far), near).astype(dtype)


# ---- The hypergeometric function of Gauss, and the function of Owen


class OwensT(SpecialFunction, BinaryScalarOp):
    """Owen's function T of h and a: the integral of ``exp(-h**2 * (1 + t**2) / 2) / (1 + t**2) / (2 * pi)`` to a."""

    name = "owens_t"


class Hyp2F1(SpecialFunction):
    """Hypergeometric function of Gauss, of a, b, c and z."""

    name = "hyp2f1"
    nin = 4


owens_t = OwensT()
hyp2f1 = Hyp2F1()


@differentiable(OwensT)
def _owens_t(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    h, a = real_operands(inputs, output)
    square = h * h * -0.5
    by_h = exp(square) * erf(a * h * math.sqrt(0.5)) * (-0.5 / math.sqrt(2 * math.pi))
    ratio = a * a + 1.0
    return [seed * by_h, seed * exp(square * ratio) / ratio * (0.5 / math.pi)]


@differentiable(Hyp2F1)
def _hyp2f1(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 15.5.1
    a, b, c, z = real_operands(inputs, output)
    reason = undefined("the parameters a, b and c of hyp2f1, for which there is no closed form")
    slope = a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, z)
    return [reason, reason, reason, seed * slope]


def _reference_in_doubles(name: str) -> Any:
    def function(*values: Any) -> Any:
        dtype = np.result_type(*values, np.float32)
        return getattr(scipy_special(), name)(*(np.asarray(x, dtype="float64") for x in values)).astype(dtype)

    return function


RECORDS = (
    ScalarRecord(ErfcxIntegral(1), _first_integral, REALS, ulp=256.0),
    ScalarRecord(erf, _reference("erf"), REALS),
    ScalarRecord(erfc, _reference("erfc"), REALS, ulp=16.0),
    ScalarRecord(erfcx, _reference("erfcx"), REALS),
    ScalarRecord(erfinv, _reference("erfinv"), REALS, low=-0.95, high=0.95),
    ScalarRecord(erfcinv, _reference("erfcinv"), REALS, low=0.05, high=1.95),
    ScalarRecord(owens_t, _reference_in_doubles("owens_t"), REALS),
    ScalarRecord(hyp2f1, _reference_in_doubles("hyp2f1"), REALS, low=0.1, high=0.8, parameters=3),
)

__all__ = [
    "Erf",
    "Erfc",
    "Erfcinv",
    "Erfcx",
    "ErfcxIntegral",
    "Erfinv",
    "Hyp2F1",
    "OwensT",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "hyp2f1",
    "owens_t",
]
