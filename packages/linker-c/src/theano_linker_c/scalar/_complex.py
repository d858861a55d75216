"""Conversion between element types, parts of complex numbers, and complex numbers made of parts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ._arithmetic import Abs, Sgn, abs_, sgn
from ._derivative import REALS, ComplexRule, ScalarRecord, complex_rules, differentiable, zero_like
from ._dtypes import (
    CValue,
    c_call,
    c_cast,
    c_helper,
    check_dtype,
    converted,
    is_complex,
    is_discrete,
    part_dtype,
    upcast_to_float,
)
from ._exponential import direction_cosine
from ._op import BinaryScalarOp, FloatFunction, UnaryScalarOp, arraywise, dtype_name, quiet
from ._type import ScalarType, specific_out

# ---- Conversion between element types


class Cast(UnaryScalarOp):
    """The number converted to another dtype.

    Parameters
    ----------
    dtype : str or ScalarType
        The dtype of the result.
    name : str, optional
        Name for printing.

    Raises
    ------
    TypeError
        If `dtype` is no element type, or when a complex number is converted to a real one.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("dtype",)
    exact = True

    def __init__(self, dtype: str | ScalarType, name: str | None = None) -> None:
        self.dtype = dtype.dtype if isinstance(dtype, ScalarType) else check_dtype(dtype)
        self.name = name or f"Cast{{{self.dtype}}}"

    @property
    def o_type(self) -> ScalarType:
        """The type of the result."""
        return ScalarType(self.dtype)

    @property
    def output_types_preference(self) -> specific_out:
        """Gives the type of the result, for any input."""
        return specific_out(self.o_type)

    def clone_float32(self) -> Cast:
        """Return the conversion to float32 in place of that to float16."""
        return cast("float32") if self.dtype == "float16" else self

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The dtype that the op was made for."""
        if is_complex(dtypes[0]) and not is_complex(self.dtype):
            raise self.refuse(dtypes, "a complex number has no real value", "take the real part, or abs, first")
        return (self.dtype,)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Convert with NumPy."""
        return converted(np.asarray(values[0]), self.dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Convert in C, to the numbers that `impl` gives."""
        return c_cast(args[0], result)


@cache
def cast(dtype: str) -> Cast:
    """Give the op that converts to `dtype`.

    Parameters
    ----------
    dtype : str
        The dtype of the result.

    Returns
    -------
    Cast

    Examples
    --------
    >>> cast("float32").impl(1).dtype.name
    'float32'
    """
    return Cast(dtype)


@differentiable(Cast)
def _cast(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed]


def _converted(dtype: str) -> Any:
    return lambda x: x.astype(dtype)


# ---- Parts of complex numbers, and complex numbers made of parts


class Real(UnaryScalarOp):
    """The real part."""

    name = "real"
    exact = True

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The dtype of the parts."""
        return (part_dtype(dtypes[0]),)

    @arraywise
    def impl(self, *values: Any) -> Any:
        """Take the part."""
        return np.real(values[0]).copy()

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Take the part."""
        return f"__real__ {args[0].text}" if is_complex(args[0].dtype) else args[0].text


class Imag(UnaryScalarOp):
    """The imaginary part; 0 where the number is real."""

    name = "imag"
    exact = True

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The dtype of the parts."""
        return (part_dtype(dtypes[0]),)

    @arraywise
    def impl(self, *values: Any) -> Any:
        """Take the part."""
        return np.imag(values[0]).copy()

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Take the part."""
        return f"__imag__ {args[0].text}" if is_complex(args[0].dtype) else "0"


class Conj(UnaryScalarOp):
    """The complex conjugate."""

    name = "conj"
    exact = True

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The dtype of the number."""
        return (dtypes[0],)

    @arraywise
    def impl(self, *values: Any) -> Any:
        """Conjugate."""
        return np.conj(values[0]) if is_complex(dtype_name(values[0])) else np.array(values[0])[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Flip the sign of the imaginary part."""
        x = args[0].text
        return c_helper("complex", result, f"__real__ {x}", f"-__imag__ {x}") if is_complex(result) else x


class Angle(UnaryScalarOp):
    """The angle of a complex number in the plane, from -pi to pi."""

    name = "angle"
    cost = 25

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The dtype of the parts; float64 for integers."""
        return ("float64" if is_discrete(dtypes[0]) else part_dtype(dtypes[0]),)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Ask NumPy."""
        dtype = self.result_dtypes(dtype_name(values[0]))[0]
        return np.arctan2(np.imag(values[0]), np.real(values[0]), dtype=dtype)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call atan2 of the parts."""
        (x,) = args
        if is_complex(x.dtype):
            return c_call("atan2", result, f"__imag__ {x.text}", f"__real__ {x.text}")
        return c_call("atan2", result, "0", c_cast(x, result))


class _FromParts(FloatFunction):
    nin = 2

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The complex dtype whose parts hold the inputs."""
        self.refuse_complex(dtypes)
        return ("complex128" if upcast_to_float(*dtypes) == "float64" else "complex64",)

    def parts(self, values: Sequence[Any]) -> tuple[str, list[Any]]:
        """Give the dtype of the result, and the values in the dtype of its parts."""
        dtype = self.result_dtypes(*map(dtype_name, values))[0]
        return dtype, [np.asarray(value).astype(part_dtype(dtype), copy=False) for value in values]


class MakeComplex(_FromParts, BinaryScalarOp):
    """The complex number with a real and an imaginary part."""

    name = "complex"
    cost = 1

    @arraywise
    def impl(self, *values: Any) -> Any:
        """Join the parts."""
        dtype, (re, im) = self.parts(values)
        result = np.empty(np.broadcast_shapes(re.shape, im.shape), dtype)
        result.real, result.imag = re, im
        return result[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Join the parts."""
        return c_helper("complex", result, *(c_cast(arg, part_dtype(result)) for arg in args))


class ComplexFromPolar(_FromParts, BinaryScalarOp):
    """The complex number with a length and an angle."""

    name = "complex_from_polar"
    cost = 40

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Join the parts."""
        _, (r, theta) = self.parts(values)
        return make_complex.impl(r * np.cos(theta), r * np.sin(theta))

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Join the parts."""
        part = part_dtype(result)
        r, theta = (c_cast(arg, part) for arg in args)
        return c_helper("complex", result, f"{r} * {c_call('cos', part, theta)}", f"{r} * {c_call('sin', part, theta)}")


real = Real()
imag = Imag()
conj = Conj()
angle = Angle()
make_complex = MakeComplex()
complex_from_polar = ComplexFromPolar()


@differentiable(Real, Conj)
def _same(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed]


@differentiable(Imag, Angle)
def _constant(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # Of real numbers: no imaginary part, and an angle that jumps at zero only.
    return [zero_like(inputs[0])]


@differentiable(MakeComplex)
def _make_complex(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [real(seed), imag(seed)]


@differentiable(ComplexFromPolar)
def _complex_from_polar(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [real(seed), imag(seed)]


def _zero(x: Any) -> Any:
    return x.type.make_constant(0)


def _along(a: Any, b: Any) -> Any:
    """Give the inner product of two complex numbers, as vectors of the plane."""
    return real(conj(a) * b)


def _angle_back(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    (z,) = inputs
    a, b = real(z), imag(z)
    return [make_complex(-direction_cosine(b, a), direction_cosine(a, b)) * (seed / abs_(z))]


def _angle_forth(inputs: Sequence[Any], output: Any, tangents: Sequence[Any]) -> Any:
    (z,), (t,) = inputs, tangents
    a, b, length = real(z), imag(z), abs_(z)
    return direction_cosine(a, b) * (imag(t) / length) - direction_cosine(b, a) * (real(t) / length)


def _polar_back(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    direction = complex_from_polar(inputs[0] * 0.0 + 1.0, inputs[1])
    return [_along(direction, seed), _along(_rotated(output), seed)]


def _polar_forth(inputs: Sequence[Any], output: Any, tangents: Sequence[Any]) -> Any:
    by_length, by_angle = tangents
    parts = []
    if by_length is not None:
        parts.append(complex_from_polar(by_length, inputs[1]))
    if by_angle is not None:
        parts.append(_rotated(output) * by_angle)
    return parts[0] if len(parts) == 1 else parts[0] + parts[1] if parts else None


def _rotated(z: Any) -> Any:
    """Give the number times i."""
    return make_complex(-imag(z), real(z))


def _sgn_along(z: Any, direction: Any, change: Any) -> Any:
    """Return the part of `change` across `direction`, which rotates it, divided by the length."""
    return (change - direction * _along(direction, change)) / abs_(z)


complex_rules.register(Real)(
    ComplexRule(lambda x, y, g: [make_complex(g, _zero(g))], lambda x, y, t: None if t[0] is None else real(t[0]))
)
complex_rules.register(Imag)(
    ComplexRule(lambda x, y, g: [make_complex(_zero(g), g)], lambda x, y, t: None if t[0] is None else imag(t[0]))
)
complex_rules.register(Conj)(
    ComplexRule(lambda x, y, g: [conj(g)], lambda x, y, t: None if t[0] is None else conj(t[0]))
)
complex_rules.register(Angle)(ComplexRule(_angle_back, lambda x, y, t: t[0] if t[0] is None else _angle_forth(x, y, t)))
complex_rules.register(MakeComplex)(
    ComplexRule(
        lambda x, y, g: [real(g), imag(g)],
        lambda x, y, t: make_complex(*(_zero(a) if b is None else b for a, b in zip(x, t, strict=True))),
    )
)
complex_rules.register(ComplexFromPolar)(ComplexRule(_polar_back, _polar_forth))
complex_rules.register(Abs)(
    ComplexRule(lambda x, y, g: [sgn(x[0]) * g], lambda x, y, t: None if t[0] is None else _along(sgn(x[0]), t[0]))
)
complex_rules.register(Sgn)(
    ComplexRule(
        lambda x, y, g: [_sgn_along(x[0], y, g)], lambda x, y, t: None if t[0] is None else _sgn_along(x[0], y, t[0])
    )
)

#: Real numbers only: complex ones have tests of their own.


RECORDS = (
    *(
        ScalarRecord(cast(dtype), _converted(dtype), REALS, smooth=dtype.startswith("float"))
        for dtype in ("bool", "int8", "uint8", "int32", "int64", "float32", "float64")
    ),
    ScalarRecord(real, lambda x: x, REALS),
    ScalarRecord(imag, np.zeros_like, REALS, smooth=False),
    ScalarRecord(conj, lambda x: x, REALS),
    ScalarRecord(angle, np.angle, REALS, smooth=False),
)
