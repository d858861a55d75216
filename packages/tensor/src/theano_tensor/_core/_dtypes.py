"""Dtypes: questions about them, flags, types for type checkers, and comparison of values."""

from __future__ import annotations

import struct
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from theano_graph import BoolFlag, EnumFlag, IntFlag, add_flag, config, format_error, warn_user

from .._errors import DTypeError, Float64Error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType

    from theano_graph import Apply, Variable

    from ._type import Tensor


# ---- Types for type checkers: arguments for a tensor, a dtype, axes and lengths

if TYPE_CHECKING:

    class Outputs(Tensor, Any):  # type: ignore[misc]  # which of the two it is, checkers cannot know
        """One tensor, or the list of several: it has the attributes of a tensor and stands wherever a list does."""

    class SupportsArray(Protocol):
        """An object that NumPy can make an array of."""

        def __array__(self) -> np.ndarray[Any, Any]: ...

else:
    Outputs = Any

#: An array, or a NumPy number, while something is computed.
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
#: The arguments of :func:`as_tensor_variable`.
TensorLike: TypeAlias = "Variable | Apply | complex | SupportsArray | Sequence[Any]"
#: The name of a dtype, or NumPy's object for one.
DTypeLike: TypeAlias = "str | np.dtype[Any] | type[Any]"
#: One axis, several, or None where that means all of them.
AxisLike: TypeAlias = "int | np.integer[Any] | Variable | Array | Sequence[Any] | None"
#: A length, or several.
ShapeLike: TypeAlias = "TensorLike"
#: The index in ``x[...]``.
IndexLike: TypeAlias = "TensorLike | slice[Any, Any, Any] | EllipsisType | None"


# ---- Configuration flags of the tensor layer. Public entry points read them, at the call


class Float64Watch:
    """The reaction to new variables of float64: the flag `warn_float64`, kept where each variable can ask.

    Attributes
    ----------
    action : str
    """

    def __init__(self) -> None:
        self.action = "ignore"

    def follow(self, action: str) -> None:
        """Take the value of the flag over."""
        self.action = action


float64_watch = Float64Watch()

add_flag(
    "cast_policy",
    "How dtypes of Python numbers are found: 'custom' takes the smallest that fits, "
    "'numpy+floatX' NumPy's, with floatX for floats.",
    EnumFlag("custom", "numpy+floatX"),
)
add_flag(
    "int_division",
    "The result of `T.int_or_true_div(x, y)` for two integers: 'int' divides as `//`, "
    "'floatX' gives floatX, 'raise' refuses.",
    EnumFlag("int", "raise", "floatX"),
)
add_flag(
    "warn_float64",
    "The reaction to a new float64 tensor variable: 'ignore', 'warn', 'raise' or 'pdb'.",
    EnumFlag("ignore", "warn", "raise", "pdb"),
    on_change=float64_watch.follow,
)
float64_watch.follow(config.warn_float64)
add_flag(
    "warn_integer_gradient",
    "Whether `grad` warns of a gradient that is zero because only integers lead from the variable to the cost.",
    BoolFlag(True),
)
add_flag(
    "tensor.cmp_sloppy",
    "How far apart nearly equal values may be: 0 allows little, 1 ten times and 2 a hundred times as much.",
    IntFlag(0, lambda level: level in (0, 1, 2)),
)
add_flag(
    "on_shape_error",
    "The reaction to a failing shape rule of an op: 'warn' and take the shape from the value, or 'raise' an error of "
    "the rewrite that asked, with which `on_opt_error` deals.",
    EnumFlag("warn", "raise"),
)
add_flag(
    "experimental.local_alloc_elemwise_assert",
    "Whether the rewrite `local_alloc_optimization`, by which a filled tensor gives way to its value, "
    "keeps mistakes in shapes visible. It then takes place only where the shapes are known to agree, so that no "
    "assertion is needed; with False also where they may differ, and nobody hears of it.",
    BoolFlag(True),
)
add_flag(
    "conv.assert_shape",
    "Whether convolutions check at run time that operands have the shapes that were given for them.",
    BoolFlag(False),
)
add_flag(
    "random.truncated_as_1_0",
    "Whether truncated normal draws of `MRG_RandomStreams` are those of Theano 1.0, whose last numbers are larger than "
    "the others.",
    BoolFlag(False),
)


# ---- Questions about dtypes, and the dtype that a Python number takes in an expression

ALL_DTYPES: tuple[str, ...] = (
    "bool",
    *("int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
    *("complex64", "complex128"),
)
_KNOWN = frozenset(ALL_DTYPES)
INTEGER_DTYPES = frozenset(d for d in ALL_DTYPES if "int" in d)
DISCRETE_DTYPES = INTEGER_DTYPES | {"bool"}
FLOAT_DTYPES = frozenset(d for d in ALL_DTYPES if d.startswith("float"))
COMPLEX_DTYPES = frozenset(d for d in ALL_DTYPES if d.startswith("complex"))

_SMALLEST_FIRST = ("int8", "int16", "int32", "int64", "uint64")


def canonical_dtype(dtype: DTypeLike, floatx: str) -> str:
    """Return the name of `dtype` (a name, ``"floatX"``, a NumPy dtype or scalar type).

    Raises
    ------
    DTypeError
        If no tensor can have it.
    """
    if isinstance(dtype, str):
        if dtype in _KNOWN:
            # NumPy takes a text of its own kind for an array of texts.
            return dtype if type(dtype) is str else str(dtype)
        if dtype == "floatX":
            return floatx
    name: str
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in ALL_DTYPES:
        raise DTypeError(
            format_error(f"{dtype!r} is not a dtype of tensors", hint=f"use one of {', '.join(ALL_DTYPES)}")
        )
    return name


@lru_cache(maxsize=256)
def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name of a NumPy dtype; NumPy takes microseconds to make it."""
    return dtype.name


_RANGES = {name: (int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in (*_SMALLEST_FIRST, "uint64")}
_FLOAT32 = struct.Struct("f")


class Autocaster:
    """Which dtype a Python number takes as a constant: the first of `dtypes` that holds it exactly, else the last.

    Parameters
    ----------
    *dtypes : str
        In the order in which they are tried.

    Attributes
    ----------
    dtypes : tuple of str
        May be set, to change the rule for the whole process; see :class:`autocast_float_as` for a while.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.Autocaster("float32", "float64").dtype_of(0.5), T.Autocaster("float32", "float64").dtype_of(0.1)
    ('float32', 'float64')
    """

    def __init__(self, *dtypes: str) -> None:
        self.dtypes = dtypes

    def dtype_of(self, value: Any) -> str:
        """Return the dtype for a number."""
        with np.errstate(all="ignore"):
            for dtype in self.dtypes:
                if _holds(dtype, value):
                    return dtype
        return self.dtypes[-1]

    def __call__(self, value: Any) -> Any:
        """Return a number as an array without dimensions."""
        return np.asarray(value, dtype=self.dtype_of(value))


def _holds(dtype: str, value: Any) -> bool:
    if dtype in INTEGER_DTYPES:
        info = np.iinfo(dtype)
        return bool(info.min <= value <= info.max)
    return bool(value != value or float(np.dtype(dtype).type(value)) == value)


#: The rule for Python ints.
autocast_int = Autocaster(*_SMALLEST_FIRST)
#: The rule for Python floats. If its dtypes contain floatX, and that is not float64, floats take floatX.
autocast_float = Autocaster("float32", "float64")


class autocast_float_as(AbstractContextManager[None]):
    """Lets Python floats take the given dtypes, inside a ``with`` block.

    Parameters
    ----------
    *dtypes : str
        Tried in this order; the last is taken where none holds the number exactly.

    Examples
    --------
    >>> import theano.tensor as T
    >>> with T.autocast_float_as("float32"):
    ...     (T.fvector() + 1.1).dtype
    'float32'
    """

    def __init__(self, *dtypes: str) -> None:
        self.dtypes = tuple(canonical_dtype(dtype, "float64") for dtype in dtypes)
        if not dtypes or set(self.dtypes) - FLOAT_DTYPES:
            raise DTypeError(
                format_error(
                    f"floats cannot be held as {dtypes!r}", hint="use autocast_float_as('float32') or 'float64'"
                )
            )
        self._before: list[tuple[str, ...]] = []

    def __enter__(self) -> None:
        self._before.append(autocast_float.dtypes)
        autocast_float.dtypes = self.dtypes

    def __exit__(self, *error: object) -> None:
        autocast_float.dtypes = self._before.pop()


def dtype_of_number(value: Any, floatx: str, policy: str) -> str:
    """Return the dtype that the Python number `value` takes as a constant.

    With policy ``"custom"``, ints take the smallest dtype that holds them, floats float32 where that is exact (always
    if `floatx` is float32) and float64 otherwise, as `autocast_int` and `autocast_float` say. With
    ``"numpy+floatX"``, ints are int64 and floats are `floatx`.
    """
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise OverflowError(
                format_error(
                    f"the integer {value} does not fit in 64 bits", hint=f"write it as a float: float({value})"
                )
            )
        if policy == "custom":
            return autocast_int.dtype_of(value)
        return "int64" if value < 2**63 else "uint64"
    if isinstance(value, float):
        if policy != "custom" or (floatx != "float64" and floatx in autocast_float.dtypes):
            return floatx
        return autocast_float.dtype_of(value)
    return "complex128"


# ---- Values of tensors: no mask is dropped; comparison of arrays

#: dtype -> (relative, absolute) difference that rounding explains.
TOLERANCES: dict[str, tuple[float, float]] = {
    "float16": (1e-2, 5e-3),
    "float32": (1e-4, 1e-5),
    "float64": (1e-5, 1e-8),
    "complex64": (1e-4, 1e-5),
    "complex128": (1e-5, 1e-8),
}


def refuse_mask(value: object) -> None:
    """Raise TypeError for a masked array, whose mask a conversion would drop without a word."""
    # Told by its attribute: naming numpy.ma.MaskedArray would import numpy.ma.
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray and hasattr(value, "mask"):
        raise TypeError(
            format_error(
                f"a masked array of shape {value.shape} is no value of a tensor: its mask would be lost",
                hint="pass value.filled(...), and the mask as an array of its own where it matters",
            )
        )


def arrays_equal(a: Array, b: Array) -> bool:
    """Tell whether two arrays have the same shape and values; NaN equals NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    same = a == b
    if a.dtype.kind in "fc" and b.dtype.kind in "fc":
        same = same | ((a != a) & (b != b))
    return bool(np.all(same))


def arrays_near(
    a: Array,
    b: Array,
    rtol: float | None,
    atol: float | None,
    allow_remove_inf: bool = False,
    allow_remove_nan: bool = False,
) -> bool:
    """Tell whether two arrays of one shape differ by rounding only.

    NaN equals NaN, infinities must have the same sign. The flag ``tensor.cmp_sloppy`` widens the differences that are
    allowed where the caller gives none.
    """
    slack = 10.0 ** int(config.tensor.cmp_sloppy)
    names = np.asarray(a).dtype.name, np.asarray(b).dtype.name
    relative, absolute = (slack * t for t in max(TOLERANCES[name] for name in names))
    rtol, atol = (relative if rtol is None else rtol), (absolute if atol is None else atol)
    with np.errstate(all="ignore"):
        near = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
        if allow_remove_inf:
            near = near | np.isinf(a)
        if allow_remove_nan:
            near = near | np.isnan(a)
    return bool(np.all(near))


def static_length(length: Any) -> int | None:
    """Return a length of a type: a number, or None where it is known at run time only."""
    if length is None or isinstance(length, (bool, np.bool_)):
        return 1 if length else None
    if isinstance(length, (int, np.integer)) and length >= 0:
        return int(length)
    raise TypeError(
        format_error(
            f"{length!r} is no static length",
            hint="use a number from 0 up, None (known at run time), or True/False (broadcastable)",
        )
    )


def report_float64(action: str) -> None:
    """Warn of a float64 variable, raise, or enter the debugger, as the flag ``warn_float64`` says."""
    text = format_error(
        "a float64 variable was made (flag warn_float64)", hint="use dtype='float32', or set warn_float64='ignore'"
    )
    if action == "raise":
        raise Float64Error(text)
    if action == "pdb":
        breakpoint()
    else:
        warn_user(text)
