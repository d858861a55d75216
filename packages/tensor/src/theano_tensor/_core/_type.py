"""The type of tensors: dtype and static shape; tensor variables and constants."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from theano_graph import Apply, Constant, Type, Variable, config, describe, format_error
from theano_linker_c.cop import ArrayInterface
from theano_linker_c.program import ArraySpec
from theano_linker_c.scalar import upcast

from .._errors import NotNumericError
from .._protocols._operators import TensorOperators
from ._dtypes import (
    COMPLEX_DTYPES,
    DISCRETE_DTYPES,
    Array,
    DTypeLike,
    arrays_equal,
    arrays_near,
    canonical_dtype,
    dtype_name,
    float64_watch,
    refuse_mask,
    report_float64,
    static_length,
)

StaticShape = tuple[int | None, ...]

#: Attributes that follow from others; pickles leave them out.
_WORKED_OUT = frozenset({"_hash", "_broadcastable", "_exact"})

_PATTERN_NAMES: dict[tuple[bool, ...], str] = {
    (): "scalar",
    (False,): "vector",
    (True, False): "row",
    (False, True): "col",
    (False, False): "matrix",
}


class TensorType(ArrayInterface, Type):
    """Arrays of one dtype, one number of dimensions and, as far as known, one shape.

    Parameters
    ----------
    dtype : str
        ``"bool"``, ``"int8"`` ... ``"uint64"``, ``"float16"``, ``"float32"``, ``"float64"``, ``"complex64"``,
        ``"complex128"``, or ``"floatX"``.
    pattern : sequence of (int or None), or of bool
        The length of each dimension; None where it is known at run time only. Booleans give the broadcastable pattern:
        True stands for length 1, False for an unknown length. So do zeros and ones, where there is no other number.
    name : str, optional
        Name of the type itself, for printing.
    sparse_grad : bool
        Without effect, as it was.
    shape : sequence of (int or None), or of bool
        In place of `pattern`: the same, where 0 is a length.
    broadcastable : sequence of bool
        In place of `pattern`: the same.

    Raises
    ------
    DTypeError
        If there is no such dtype.
    TypeError
        If an entry of `shape` is no length.

    Invariants
    ----------
    Two types are equal if dtype and broadcastable pattern are; further known lengths refine a type
    (:meth:`is_super`, `exact`) without making it unequal. A dimension broadcasts if and only if its static length is 1.

    Examples
    --------
    >>> TensorType("float64", (None, 3))
    TensorType(float64, (None, 3))
    >>> str(TensorType("float64", (False, True)))
    'TensorType(float64, col)'
    """

    dtype: str
    shape: StaticShape
    name: str | None
    #: Whether the lengths were worked out by an op. Declared lengths hold for each variable that the type makes;
    #: computed ones hold for the value that they were computed from.
    found: bool = False
    #: Whether :meth:`filter` refuses values that are not finite; set on the class, it holds for all types.
    filter_checks_isfinite: bool = False

    def __init__(
        self,
        dtype: DTypeLike,
        pattern: Iterable[int | bool | None] | None = None,
        name: Any = None,
        sparse_grad: bool = False,
        *,
        shape: Iterable[int | bool | None] | None = None,
        broadcastable: Iterable[bool] | None = None,
    ) -> None:
        self.dtype = canonical_dtype(dtype, config.floatX if dtype == "floatX" else "float64")
        if (pattern is not None) + (shape is not None) + (broadcastable is not None) != 1:
            raise TypeError(
                format_error(
                    "TensorType needs either a shape or a broadcastable pattern",
                    hint="write TensorType('float64', (None, 3))",
                )
            )
        lengths = tuple(shape if shape is not None else ())
        if shape is None:
            lengths = tuple(pattern if pattern is not None else broadcastable or ())
            if all(isinstance(length, int) and length in (0, 1) for length in lengths):
                lengths = tuple(bool(length) for length in lengths)
        self.shape = tuple(static_length(length) for length in lengths)
        # The manual passes False as third argument in one example; it never meant a name.
        self.name = name if isinstance(name, str) else None
        self.sparse_grad = sparse_grad
        self._work_out()

    def _work_out(self) -> None:
        """Store a frequent answer; pickles leave it out, for the hash is that of this process."""
        self._broadcastable = tuple([length == 1 for length in self.shape])
        self._hash = hash((type(self), self.dtype, self._broadcastable))
        self._exact = (type(self), self.dtype, self.shape)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in _WORKED_OUT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._work_out()

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """For each dimension, whether its length is statically 1."""
        return self._broadcastable

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The dtype as NumPy has it."""
        return np.dtype(self.dtype)

    def clone(
        self,
        dtype: str | None = None,
        shape: Iterable[int | bool | None] | None = None,
        *,
        broadcastable: Iterable[bool] | None = None,
    ) -> TensorType:
        """Return a type with another dtype or another shape (or broadcastable pattern)."""
        lengths: Iterable[int | bool | None] | None = broadcastable if shape is None else shape
        dtype_name = self.dtype if dtype is None else dtype
        lengths_given = self.shape if lengths is None else lengths
        # Classes of programs may take a pattern alone.
        exact = type(self) is TensorType
        kind = (
            TensorType(dtype_name, shape=lengths_given, name=self.name)
            if exact
            else type(self)(dtype_name, lengths_given, self.name)
        )
        kind.found = self.found and lengths is None
        return kind

    # ---- comparison

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(self) is type(other)
            and isinstance(other, TensorType)
            and self._broadcastable == other._broadcastable
            and self.dtype == other.dtype
        )

    def __hash__(self) -> int:
        return self._hash

    @property
    def exact(self) -> Hashable:
        """Class, dtype and static lengths."""
        return self._exact

    def is_super(self, other: Type) -> bool:
        """Tell whether `other` has the same dtype and a shape that equals or refines this one."""
        if self is other:
            return True
        if type(other) is not type(self) or not isinstance(other, TensorType):
            return False
        return (
            self.dtype == other.dtype
            and len(self.shape) == len(other.shape)
            and all(mine is None or mine == length for mine, length in zip(self.shape, other.shape, strict=True))
        )

    # ---- values

    def array_spec(self) -> ArraySpec:
        """Return dtype and static shape, by which machines know a value of this type without asking it."""
        return ArraySpec(self.dtype, self.shape)

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return `value` as an array of this type.

        Parameters
        ----------
        value : array_like
        strict : bool
            If true, only an array of exactly this dtype and number of dimensions is accepted, and returned as it is.
        allow_downcast : bool, optional
            True permits conversions that lose precision; False permits only lossless ones; None is like False
            but a Python float may become floatX.

        Returns
        -------
        numpy.ndarray
            `value` itself where it is of this type already.

        Raises
        ------
        TypeError
            If the dtype or the number of dimensions is wrong, or the value is symbolic, or the shape is not the
            static one.
        """
        refuse_mask(value)
        if isinstance(value, np.ndarray) and value.dtype == np.dtype(self.dtype):
            array = value if type(value) is np.ndarray or isinstance(value, np.memmap) else np.asarray(value)
        elif isinstance(value, Variable):
            raise TypeError(
                format_error(
                    f"expected an array of type {self.describe()}, got a symbolic variable",
                    context=[describe(value)],
                    hint="pass numbers; `v.eval()` computes the value of a variable, `givens` replaces "
                    "one in a function",
                )
            )
        elif strict:
            raise TypeError(self._refusal(value, "strict is set, so only an array of this very dtype will do"))
        else:
            array = self._convert(value, allow_downcast)
        self._check_shape(array)
        if self.filter_checks_isfinite and not np.all(np.isfinite(array)):
            raise ValueError(
                format_error(
                    f"non-finite elements are not values of {self.describe()} now",
                    hint="unset TensorType.filter_checks_isfinite",
                )
            )
        if not strict and not (array.flags.aligned and array.dtype.isnative):
            array = np.array(array, dtype=self.dtype)
        return array

    def _convert(self, value: Any, allow_downcast: bool | None) -> Any:
        if value is None:
            raise TypeError(self._refusal(value, "None is no value"))
        try:
            array = np.asarray(value)
        except (ValueError, TypeError) as error:
            raise NotNumericError(self._refusal(value, f"it cannot be made an array: {error}")) from error
        if array.dtype.kind not in "biufc":
            raise NotNumericError(self._refusal(value, f"an array of dtype {array.dtype} holds no numbers"))
        if self.dtype not in COMPLEX_DTYPES and array.dtype.kind == "c":
            raise TypeError(self._refusal(value, "complex numbers would lose their imaginary part"))
        with np.errstate(all="ignore"):
            if allow_downcast or (allow_downcast is None and type(value) is float and self.dtype == config.floatX):
                return array.astype(self.dtype)
            if upcast(self.dtype, dtype_name(array.dtype)) == self.dtype:
                return array.astype(self.dtype)
            if isinstance(value, np.ndarray):
                raise TypeError(
                    self._refusal(value, f"converting from {array.dtype} to {self.dtype} may lose precision")
                )
            converted = array.astype(self.dtype)
        if not arrays_equal(array, converted):
            raise TypeError(
                self._refusal(value, f"converting from {array.dtype} to {self.dtype} would change the value")
            )
        return converted

    def _check_shape(self, array: Any) -> None:
        shape = array.shape
        if shape == self.shape:
            return
        if len(shape) != len(self.shape):
            raise TypeError(
                self._refusal(
                    array, f"Wrong number of dimensions: expected {self.ndim}, got {len(shape)} with shape {shape}"
                )
            )
        for axis, (length, got) in enumerate(zip(self.shape, shape, strict=True)):
            if length is not None and length != got:
                kind = "broadcastable dimension" if length == 1 else "dimension"
                raise TypeError(
                    self._refusal(array, f"{kind} {axis} must have length {length}, got {got} (shape {shape})")
                )

    def _refusal(self, value: object, reason: str) -> str:
        if isinstance(value, np.ndarray):
            what = f"an array of dtype {value.dtype} and shape {value.shape}"
        else:
            text = repr(value)
            what = f"{text if len(text) < 60 else text[:56] + '...'} ({type(value).__name__})"
        if "dimension" in reason:
            dimensions = "1 dimension" if self.ndim == 1 else f"{self.ndim} dimensions"
            hint = f"pass an array with {dimensions} and shape {_shape_text(self.shape)}"
        elif "imaginary" in reason:
            hint = "pass numpy.real(value), numpy.imag(value) or abs(value), or declare a complex variable"
        elif "is no value" in reason or "holds no numbers" in reason:
            hint = f"pass a number or an array of numbers that {self.dtype} can hold"
        else:
            hint = (
                f"convert it yourself, for instance with numpy.asarray(value, dtype='{self.dtype}'), "
                "or pass allow_input_downcast=True"
            )
        return format_error(f"{what} is not a value of type {self.describe()}: {reason}", hint=hint)

    def is_valid_value(self, value: object, strict: bool = True) -> bool:
        """Tell whether `value` is an array of exactly this type (with ``strict=False``: or convertible to it)."""
        try:
            self.filter(value, strict=strict)
        except (TypeError, ValueError):
            return False
        return True

    def value_zeros(self, shape: tuple[int, ...]) -> Any:
        """Return an array of zeros of this dtype."""
        return np.zeros(shape, dtype=self.dtype)

    @staticmethod
    def values_eq(a: Array, b: Array) -> bool:
        """Tell whether two arrays have the same dtype, shape and values; NaN equals NaN.

        Beside NaN, values need only be near, as `values_eq_approx` has it.
        """
        if a.dtype != b.dtype:
            return False
        if arrays_equal(a, b):
            return True
        missing = bool(a.shape == b.shape and a.dtype.kind in "fc" and np.isnan(a).any())
        return missing and arrays_near(a, b, None, None)

    @staticmethod
    def values_eq_approx(
        a: Array,
        b: Array,
        allow_remove_inf: bool = False,
        allow_remove_nan: bool = False,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> bool:
        """Tell whether two arrays have the same dtype and shape, and values equal up to rounding.

        `allow_remove_inf` and `allow_remove_nan` accept any value of `b` where `a` is infinite or NaN.
        """
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.dtype.name in DISCRETE_DTYPES:
            return arrays_equal(a, b)
        return arrays_near(a, b, rtol, atol, allow_remove_inf, allow_remove_nan)

    @staticmethod
    def may_share_memory(a: object, b: object) -> bool:
        """Tell whether two arrays may use the same memory."""
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.may_share_memory(a, b)

    # ---- variables

    def make_variable(self, name: str | None = None) -> Tensor:
        """Return a new variable of this type.

        Raises
        ------
        Float64Error
            If the type is float64 and the flag ``warn_float64`` is ``"raise"``.
        """
        if float64_watch.action != "ignore" and self.dtype == "float64":
            report_float64(float64_watch.action)
        variable: Tensor = super().make_variable(name)
        return variable

    def make_constant(self, value: object, name: str | None = None) -> TensorConstant:
        """Return a constant of this type."""
        constant: TensorConstant = super().make_constant(value, name)
        return constant

    def __call__(self, name: str | None = None, shape: Iterable[int | None] | None = None) -> Tensor:
        """Return a new variable of this type; see :meth:`make_variable`.

        Lengths that an op computed are not passed on, so that ``x.type()`` makes a vector for
        any vector x; declared lengths are. With `shape` the variable has these lengths.

        Raises
        ------
        ValueError
            If `shape` has another number of lengths.
        """
        if shape is not None:
            return self.with_shape(shape).make_variable(name)
        return self.pattern_type().make_variable(name) if self.found else self.make_variable(name)

    def with_lengths(self, shape: Iterable[int | None]) -> TensorType:
        """Return the type of this dtype and of lengths that an op found out."""
        return tensor_type(self.dtype, shape)

    def with_shape(self, shape: Iterable[int | None]) -> TensorType:
        """Return the type of this dtype and of declared lengths, as many as this type has."""
        lengths = tuple(shape)
        if len(lengths) != self.ndim:
            raise ValueError(
                format_error(
                    f"a variable of {self.ndim} dimensions cannot have the shape {lengths}",
                    hint=f"write a shape with {self.ndim} lengths, or theano.tensor.tensor(dtype, shape={lengths})",
                )
            )
        return TensorType(self.dtype, shape=lengths)

    def pattern_type(self) -> TensorType:
        """Return the type of this dtype and broadcastable pattern of which no other lengths are known."""
        lengths = tuple(1 if length == 1 else None for length in self.shape)
        return self if lengths == self.shape else self.clone(shape=lengths)

    # ---- printing

    def describe(self) -> str:
        """Return the dtype and the static shape, as ``float64[None, 3]``: errors show all that is known."""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        pattern = self.broadcastable
        if self.found or all(length in (1, None) for length in self.shape):
            return f"TensorType({self.dtype}, {_PATTERN_NAMES.get(pattern) or _pattern_text(pattern)})"
        return f"TensorType({self.dtype}, {_shape_text(self.shape)})"

    def filter_variable(self, other: object, allow_convert: bool = True) -> Variable:
        """Return `other`, a variable or a plain value, as a variable of this type; see :meth:`Type.filter_variable`.

        An array on a device is moved here, which is no conversion.
        """
        if "from_device" in CONVERSIONS and isinstance(other, Variable):
            moved = CONVERSIONS["from_device"](other)
            other = other if moved is None else moved
        return super().filter_variable(other, allow_convert)

    def convert_variable(self, var: Variable) -> Variable | None:
        """Return `var` as a variable of this type, or None.

        A variable whose static shape is less precise is wrapped so that its shape is checked at run time.
        """
        if self.is_super(var.type):
            return var
        if not isinstance(var.type, TensorType):
            # Arrays elsewhere, on a device, come here by an op of their own.
            moved = CONVERSIONS["from_device"](var) if "from_device" in CONVERSIONS else None
            return None if moved is None else self.convert_variable(moved)
        if var.type.dtype != self.dtype or var.type.ndim != self.ndim:
            return None
        for mine, theirs in zip(self.shape, var.type.shape, strict=True):
            if mine is not None and theirs is not None and mine != theirs:
                return None
        narrow = CONVERSIONS.get("specify_static_shape")
        return None if narrow is None else narrow(var, self.shape)


#: Conversions that need ops; filled by the modules of these ops.
CONVERSIONS: dict[str, Any] = {}


def tensor_type(dtype: str, shape: Iterable[int | None]) -> TensorType:
    """Return the type of a dtype and the lengths that an op found out; the same object while it is in use."""
    return _kept_type(dtype, tuple(shape))


@lru_cache(maxsize=4096)
def _kept_type(dtype: str, shape: StaticShape) -> TensorType:
    kind = TensorType(dtype, shape=shape)
    kind.found = True
    return kind


def _pattern_text(pattern: tuple[bool, ...]) -> str:
    return str(pattern) if any(pattern) else f"{len(pattern)}D"


def _shape_text(shape: Iterable[Hashable]) -> str:
    lengths = [str(length) for length in shape]
    return f"({lengths[0]},)" if len(lengths) == 1 else f"({', '.join(lengths)})"


#: Constants with at most this many bytes are compared by their bytes, larger ones by a digest of them.
_SMALL_BYTES = 256


class Tensor(TensorOperators, Variable):
    """A symbolic array of any kind: a :class:`TensorVariable`, a constant, or a shared variable.

    Operators, attributes and methods are those of NumPy arrays as far as they make sense for a value that is not known
    yet.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> (x + 1).type
    TensorType(float64, matrix)
    """

    __slots__ = ()
    type: TensorType
    #: The node that makes it. To checkers its inputs are tensors, as they are but for ops that take something else to a
    #: tensor.
    owner: Apply[Any, Tensor] | None

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        if self.owner is not None:
            return f"{self.owner.op}.{self.index}" if len(self.owner.outputs) > 1 else f"{self.owner.op}.0"
        return f"<{self.type!r}>"


if TYPE_CHECKING:
    # The name that programs write in annotations: there a constant or a shared variable is welcome, too.
    TensorVariable = Tensor
else:

    class TensorVariable(Tensor):
        """A symbolic array that is neither a constant nor shared: an input, or the result of an operation."""

        __slots__ = ()


class TensorConstant(Tensor, Constant):
    """An array that never changes, in an expression.

    The array is read-only. Constants with equal dtype, shape and bytes have equal signatures, so that they can be
    merged; 0.0 and -0.0 differ, and NaN equals NaN of the same bits.
    """

    __slots__ = ("_signature",)

    def __init__(self, type: TensorType, data: Any, name: str | None = None) -> None:
        array = type.filter(data)
        if array.flags.writeable:
            if array is data or array.base is not None:
                array = array.copy()
            array.flags.writeable = False
        Constant.__init__(self, type, array, name)
        self._signature: Hashable = None

    def signature(self) -> Hashable:
        """Return a key that is equal for equal constants of one type."""
        if self._signature is None:
            data = np.ascontiguousarray(self.data)
            raw = data.tobytes() if data.nbytes <= _SMALL_BYTES else hashlib.blake2b(data.data, digest_size=20).digest()
            self._signature = (self.type.dtype, self.data.shape, raw)
        return self._signature

    def equals(self, other: object) -> bool:
        """Tell whether `other` is a constant of the same dtype, shape and bytes."""
        return isinstance(other, TensorConstant) and other.signature() == self.signature()

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        data = self.data
        same = 1 < data.size <= 10_000 and bool((data == data.flat[0]).all())
        if same or (data.ndim and data.size == 1):
            text = f"{data.shape} of {data.flat[0]}"
        else:
            text = " ".join(str(data).split())
        if len(text) > 20 and data.ndim:
            text = f"{text[:10]}..{text[-10:]}"
        return f"TensorConstant{{{text}}}"

    def __repr__(self) -> str:
        return str(self)


TensorType.variable_class = TensorVariable
TensorType.constant_class = TensorConstant
