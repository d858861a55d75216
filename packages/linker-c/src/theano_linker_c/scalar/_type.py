"""Scalar types with their variables, and preferences for the types of results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from theano_graph import Apply, Constant, TheanoError, Type, Variable, format_error, warn_of_comparison

from .._c_interface import ScalarInterface
from ._dtypes import check_dtype, dtype_of_number, is_complex, is_discrete, upcast, upcast_to_float

if TYPE_CHECKING:
    from ._op import ScalarOp


class ScalarType(ScalarInterface, Type):
    """The type of one number of a fixed dtype.

    Parameters
    ----------
    dtype : str
        NumPy's name of the element type: bool, int8 ... uint64, float16/32/64, complex64/128.

    Raises
    ------
    TypeError
        If `dtype` is no element type.

    Examples
    --------
    >>> ScalarType("float32")
    Scalar(float32)
    >>> str(ScalarType("float32"))
    'float32'
    """

    dtype: str

    def __init__(self, dtype: str) -> None:
        self.dtype = check_dtype(dtype)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, ScalarType) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash((type(self), self.dtype))

    def __str__(self) -> str:
        return self.dtype

    def __repr__(self) -> str:
        return f"Scalar({self.dtype})"

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return `value` as a NumPy scalar of this dtype.

        Raises
        ------
        TypeError
            If it is no scalar, or (with `strict`) no NumPy scalar of this very dtype, or if precision would be lost.
        """
        dtype = np.dtype(self.dtype)
        if isinstance(value, np.generic) and value.dtype == dtype:
            return value
        if strict:
            raise TypeError(self._refusal(value, "strict is set, so only a NumPy scalar of this dtype will do"))
        array = np.asarray(value)
        if array.ndim != 0 or array.dtype.kind not in "biufc":
            raise TypeError(self._refusal(value, "it is not one number"))
        with np.errstate(all="ignore"):
            converted = array.astype(dtype)[()]
        if allow_downcast or np.can_cast(array.dtype, dtype, "safe"):
            return converted
        number = array[()]
        same = bool(converted == number) or (number != number and converted != converted)
        # Of Python's numbers only: NumPy scalars carry a dtype that the user chose.
        if allow_downcast is None and not isinstance(value, (np.generic, np.ndarray)):
            if same or (isinstance(value, float) and dtype.kind == "f"):
                return converted
        raise TypeError(self._refusal(value, f"converting from {array.dtype.name} may lose information"))

    def _refusal(self, value: Any, reason: str) -> str:
        return (
            f"{value!r} of type {type(value).__name__} is no value of {self}: {reason}\n"
            f"  Hint: convert it yourself, for instance numpy.{self.dtype}(value), or pass allow_downcast=True."
        )

    def is_valid_value(self, value: Any) -> bool:
        """Say whether `value` is a NumPy scalar of exactly this dtype."""
        return isinstance(value, np.generic) and value.dtype == np.dtype(self.dtype)

    def values_eq(self, a: Any, b: Any) -> bool:
        """Say whether two values are equal; NaN equals NaN."""
        return bool(a == b) or bool(a != a and b != b)

    def values_eq_approx(self, a: Any, b: Any) -> bool:
        """Say whether two values agree within the tolerance of the dtype."""
        if self.values_eq(a, b) or is_discrete(self.dtype):
            return self.values_eq(a, b)
        scale = max(abs(complex(a)), abs(complex(b)))
        tolerance = 16 * float(np.finfo(self.dtype).eps)
        return math.isfinite(scale) and abs(complex(a) - complex(b)) <= tolerance * max(scale, 1.0)

    def make_variable(self, name: str | None = None) -> ScalarVariable:
        """Make a variable of this type."""
        return ScalarVariable(self, name=name)

    def make_constant(self, value: Any, name: str | None = None) -> ScalarConstant:
        """Make a constant of this type; `value` is converted by `filter`."""
        return ScalarConstant(self, self.filter(value, allow_downcast=True), name=name)

    def __call__(self, name: str | None = None) -> ScalarVariable:
        return self.make_variable(name)


class OperatorSet:
    """The ops behind Python's operators; `scalar/__init__` fills it once all op modules are loaded.

    It exists because variables are needed to define ops, and ops to define ``+`` on variables.
    """

    table: ClassVar[dict[str, ScalarOp]] = {}

    @classmethod
    def apply(cls, name: str, *operands: Any) -> ScalarVariable:
        """Apply the op registered under `name`; Python numbers take the dtype of the variables beside them."""
        op = cls.table[name]
        dtypes = [operand.dtype for operand in operands if isinstance(operand, ScalarOperators)]
        result = op(*(as_scalar(operand, like=upcast(*dtypes)) for operand in operands))
        assert isinstance(result, ScalarVariable), "operators have one result"
        return result


def _unary(name: str) -> Callable[[Any], ScalarVariable]:
    def method(self: Any) -> ScalarVariable:
        return OperatorSet.apply(name, self)

    return method


def _binary(name: str) -> Callable[[Any, Any], ScalarVariable]:
    def method(self: Any, other: Any) -> ScalarVariable:
        return OperatorSet.apply(name, self, other)

    return method


def _reflected(name: str) -> Callable[[Any, Any], ScalarVariable]:
    def method(self: Any, other: Any) -> ScalarVariable:
        return OperatorSet.apply(name, other, self)

    return method


class ScalarOperators:
    """Python's operators on scalar variables. Comparison with ``==`` stays identity; use `eq`."""

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def dtype(self) -> str:
            """NumPy's name of the element type."""

    __neg__ = _unary("neg")
    __abs__ = _unary("abs")
    __invert__ = _unary("invert")
    __add__ = _binary("add")
    __radd__ = _reflected("add")
    __sub__ = _binary("sub")
    __rsub__ = _reflected("sub")
    __mul__ = _binary("mul")
    __rmul__ = _reflected("mul")
    __truediv__ = _binary("true_div")
    __rtruediv__ = _reflected("true_div")
    __floordiv__ = _binary("int_div")
    __rfloordiv__ = _reflected("int_div")
    __mod__ = _binary("mod")
    __rmod__ = _reflected("mod")
    __pow__ = _binary("pow")
    __rpow__ = _reflected("pow")
    __lt__ = _binary("lt")
    __le__ = _binary("le")
    __gt__ = _binary("gt")
    __ge__ = _binary("ge")
    __and__ = _binary("and_")
    __rand__ = _reflected("and_")
    __or__ = _binary("or_")
    __ror__ = _reflected("or_")
    __xor__ = _binary("xor")
    __rxor__ = _reflected("xor")

    def zeros_like(self, dtype: str | None = None) -> ScalarVariable:
        """Return a zero of this dtype, or of `dtype`."""
        return self._filled(0, dtype)

    def ones_like(self, dtype: str | None = None) -> ScalarVariable:
        """Return a one of this dtype, or of `dtype`."""
        return self._filled(1, dtype)

    def _filled(self: Any, value: int, dtype: str | None) -> ScalarVariable:
        return OperatorSet.apply("second", self, ScalarType(dtype or self.dtype).make_constant(value))

    def astype(self, dtype: str) -> ScalarVariable:
        """Return the number converted to `dtype`."""
        return OperatorSet.apply("cast_" + check_dtype(dtype), self)

    def __bool__(self) -> bool:
        raise TypeError(
            "a symbolic scalar has no truth value: it is not computed yet\n"
            "  Hint: use `switch(condition, a, b)` in place of `if`."
        )


class ScalarVariable(ScalarOperators, Variable):
    """A variable standing for one number."""

    __slots__ = ()
    type: ScalarType

    @property
    def dtype(self) -> str:
        """The element type's name."""
        return self.type.dtype


class ScalarConstant(ScalarOperators, Constant):
    """A number in a scalar graph."""

    __slots__ = ()
    type: ScalarType

    @property
    def dtype(self) -> str:
        """The element type's name."""
        return self.type.dtype

    def signature(self) -> tuple[object, ...]:
        """Give a hashable value that is equal for equal constants: type and bytes, so that -0.0 differs from 0.0."""
        return (self.type, np.asarray(self.data).tobytes())


ScalarType.variable_class = ScalarVariable
ScalarType.constant_class = ScalarConstant


_CONVERSIONS: list[Callable[[Variable], ScalarVariable | None]] = []


def register_scalar_conversion(
    conversion: Callable[[Variable], ScalarVariable | None],
) -> Callable[[Variable], ScalarVariable | None]:
    """Set how variables of a higher layer become scalars: called by `as_scalar`, None for unknown objects."""
    _CONVERSIONS.append(conversion)
    return conversion


def as_scalar(value: Any, like: str | None = None) -> ScalarVariable | ScalarConstant:
    """Give `value` as a scalar variable.

    Parameters
    ----------
    value : ScalarVariable or ScalarConstant or number
        The object to convert. A Python int becomes a constant of the smallest integer type that holds it, a float
        becomes float32 if that is exact and float64 otherwise.
    like : str, optional
        Dtype of the operands beside it: a Python number then takes this dtype where its kind allows.

    Returns
    -------
    ScalarVariable or ScalarConstant

    Raises
    ------
    TypeError
        If `value` is neither a number nor a scalar variable.

    Examples
    --------
    >>> as_scalar(3).type
    Scalar(int8)
    """
    if isinstance(value, ScalarOperators):
        # Shared variables with these operators are scalars too.
        scalar: Any = value
        return scalar  # type: ignore[no-any-return]
    if isinstance(value, Apply):
        return as_scalar(value.out)
    if isinstance(value, Variable):
        for conversion in _CONVERSIONS:
            converted = conversion(value)
            if converted is not None:
                return converted
        raise TypeError(
            f"{value} of type {value.type} is not a scalar variable\n"
            "  Hint: use the tensor functions for tensors, or make the variable with ScalarType(dtype)."
        )
    warn_of_comparison(value)
    dtype = dtype_of_number(value)
    if like is not None and not isinstance(value, (np.generic, np.ndarray)):
        dtype = _weak_dtype(value, dtype, like)
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError(
            f"an array of shape {value.shape} is not a scalar\n  Hint: use the tensor functions for arrays."
        )
    return ScalarType(dtype).make_constant(value)


def _weak_dtype(value: Any, own: str, like: str) -> str:
    if isinstance(value, bool):
        return own
    if isinstance(value, int):
        if not is_discrete(like):
            return own if own == "int8" else like
        fits = like != "bool" and np.iinfo(like).min <= value <= np.iinfo(like).max
        return like if fits else upcast(own, like)
    if isinstance(value, float):
        return "float64" if is_discrete(like) else like
    return "complex64" if like in ("float16", "float32", "complex64") else "complex128"


# ---- Preferences for the types of results: functions from the types of the inputs to those of the outputs

TypePreference = Callable[..., Sequence[ScalarType]]


class ScalarTypeError(TheanoError, TypeError):
    """A scalar op was applied to a wrong number of inputs, or to dtypes that it does not work on."""


class ComplexError(ScalarTypeError, NotImplementedError):
    """An op that is for real numbers was applied to complex ones."""


def upcast_out(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs."""
    return (ScalarType(upcast(*(t.dtype for t in types))),)


def upcast_out_nobool(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs; TypeError where that is bool."""
    (result,) = upcast_out(*types)
    if result.dtype == "bool":
        raise ScalarTypeError(format_error("bool is not supported", hint="cast to int8 first"))
    return (result,)


def upcast_out_min8(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs; int8 for bool."""
    (result,) = upcast_out(*types)
    return (ScalarType("int8"),) if result.dtype == "bool" else (result,)


def same_out(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input."""
    return (first,)


def same_out_nobool(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input; TypeError where that is bool."""
    return upcast_out_nobool(first)


def upcast_out_no_complex(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs; TypeError where one is complex."""
    return upcast_out(*map(_not_complex, types))


def same_out_nocomplex(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input; TypeError where it is complex."""
    return same_out(_not_complex(first))


def same_out_float_only(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input; TypeError where it is no float."""
    if is_discrete(_not_complex(first).dtype):
        raise ScalarTypeError(
            format_error(f"only floats are supported, not {first.dtype}", hint="cast to a float first")
        )
    return (first,)


def same_out_min8(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input; int8 for bool."""
    return upcast_out_min8(first)


def upgrade_to_float(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs, where integers up to 16 bits count as float32 and others as float64."""
    return (ScalarType(upcast_to_float(*(t.dtype for t in types))),)


def upgrade_to_float64(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer float64; complex numbers stay."""
    (result,) = upcast_out(*types)
    return (result,) if is_complex(result.dtype) else (ScalarType("float64"),)


def upgrade_to_float_no_complex(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer a float as `upgrade_to_float`; TypeError for complex numbers."""
    return upgrade_to_float(*map(_not_complex, types))


def _not_complex(types: ScalarType) -> ScalarType:
    if is_complex(types.dtype):
        raise ScalarTypeError(format_error("complex numbers are not supported", hint="take the real part first"))
    return types


class transfer_type:  # used as a function, with values that compare
    """Prefer for each output the type of the input of the given number.

    Examples
    --------
    >>> transfer_type(1)(ScalarType("int8"), ScalarType("float32"))
    (Scalar(float32),)
    """

    def __init__(self, *transfer: int) -> None:
        self.transfer = transfer

    def __call__(self, *types: ScalarType) -> tuple[ScalarType, ...]:
        return tuple(types[i] for i in self.transfer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, transfer_type) and other.transfer == self.transfer

    def __hash__(self) -> int:
        return hash((transfer_type, self.transfer))


class specific_out:  # as above
    """Prefer given types, for all inputs.

    Examples
    --------
    >>> specific_out(ScalarType("int8"))(ScalarType("float32"))
    (Scalar(int8),)
    """

    def __init__(self, *spec: ScalarType) -> None:
        self.spec = spec

    def __call__(self, *types: ScalarType) -> tuple[ScalarType, ...]:
        return self.spec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, specific_out) and other.spec == self.spec

    def __hash__(self) -> int:
        return hash((specific_out, self.spec))


class unary_out_lookup:  # as above
    """Prefer the type that a table gives for that of the input.

    Parameters
    ----------
    type_table : mapping of ScalarType to (ScalarType or sequence of ScalarType)
    """

    def __init__(self, type_table: Any) -> None:
        self.type_table = dict(type_table)

    def __call__(self, *types: ScalarType) -> tuple[ScalarType, ...]:
        (given,) = types
        dtypes = self.type_table.get(given)
        if dtypes is None:
            raise ScalarTypeError(
                format_error(f"{given} is not supported", hint=f"cast to one of {', '.join(map(str, self.type_table))}")
            )
        return tuple(dtypes) if isinstance(dtypes, (list, tuple)) else (dtypes,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, unary_out_lookup) and other.type_table == self.type_table

    def __hash__(self) -> int:
        return hash((unary_out_lookup, frozenset(self.type_table)))
