"""The arguments and results of an exported function in C, words that mean something there, and signatures as text."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any, SupportsIndex

import numpy as np

from theano_graph import Variable, format_error, record

from .._function import Function
from .._lazy import import_straight_rules
from ..kernels import memory_type
from ..runtime._instructions import ArraySpec, array_spec_of
from ..straight import NoStraightForm, straight_value

# ---- Words that mean something to compilers of C and C++, or in the headers that exported files include

_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool complex
    imaginary alignas alignof constexpr false nullptr static_assert thread_local true typeof typeof_unqual noreturn
    and and_eq asm bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield compl concept
    const_cast consteval constinit decltype delete dynamic_cast explicit export final friend mutable namespace new
    noexcept not not_eq operator or or_eq override private protected public reinterpret_cast requires static_cast
    template this throw try typeid typename using virtual wchar_t xor xor_eq
"""
#: Functions of real numbers; each is there for float and long double, too.
_FUNCTIONS = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax
    fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint
    nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
"""
_OTHERS = """
    fpclassify isfinite isgreater isgreaterequal isinf isless islessequal islessgreater isnan isnormal isunordered
    signbit creal cimag creall cimagl crealf cimagf cabs cabsf
    abort abs alloca assert atexit atof atoi atol bsearch calloc div exit free getenv labs ldiv llabs lldiv malloc qsort
    rand realloc srand strtod strtof strtol system memchr memcmp memcpy memmove memset strcat strchr strcmp strcpy
    strlen strncmp fclose ferror fflush fopen fprintf fputs fread fscanf fseek ftell fwrite getc printf putc puts remove
    rename rewind snprintf sprintf sscanf errno offsetof stderr stdin stdout main linux unix i386 near far
    size_t ptrdiff_t max_align_t float_t double_t intmax_t uintmax_t intptr_t uintptr_t
    I NULL NAN INFINITY EOF BUFSIZ TRUE FALSE BIG_ENDIAN LITTLE_ENDIAN PDP_ENDIAN BYTE_ORDER CHAR_BIT HUGE_VAL HUGE_VALF
    HUGE_VALL FILE FILENAME_MAX MB_CUR_MAX math_errhandling fpos_t L_tmpnam P_tmpdir
    state memory file
"""
_TAKEN = frozenset(
    [*_KEYWORDS.split(), *_OTHERS.split(), *(f"{name}{end}" for name in _FUNCTIONS.split() for end in ("", "f", "l"))]
)
_FAMILIES = re.compile(
    r"[A-Z0-9_]+_(?:MAX|MIN|C)|(?:FP|M|SEEK|EXIT)_[A-Z0-9_]+|u?int\w*_t|theano_\w*|THEANO_\w*|arena\w*"
)


def is_taken(name: str) -> bool:
    """Tell whether a name means something already.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> is_taken("exp"), is_taken("INT64_MAX"), is_taken("template"), is_taken("weights")
    (True, True, True, False)
    """
    return name in _TAKEN or _FAMILIES.fullmatch(name) is not None


# ---- The arguments and results of an exported function: names, dtypes and shapes in C

#: The largest number of the type of lengths in C.
_LONGEST = 2**63 - 1
_GENERATED = re.compile(r"[a-z]+\d+(_\w+)?")

ExportError = NoStraightForm


@record
class Parameter:
    """An argument, a result, or a variable that keeps its value between calls.

    Attributes
    ----------
    name : str
        In C.
    label : str
        As the user calls it.
    dtype : str
    shape : tuple of (int or None)
        None for lengths that a call tells.
    value : ndarray or None
        The first value of a state or constant.
    """

    name: str
    label: str
    dtype: str
    shape: tuple[int | None, ...]
    value: Any = None

    @property
    def fixed(self) -> bool:
        """Whether all lengths are known."""
        return None not in self.shape

    @property
    def size(self) -> int:
        """Number of elements, where all lengths are known."""
        return int(np.prod([length or 0 for length in self.shape], dtype=np.int64)) if self.shape else 1

    @property
    def c_type(self) -> str:
        """Type of an element."""
        return memory_type(self.dtype)

    def as_argument(self) -> list[str]:
        """Return the declarations by which a call gets a value."""
        if not self.shape:
            return [f"{self.c_type} {self.name}"]
        parameters = [f"const {self.c_type} *{self.name}"]
        if not self.fixed:
            parameters.append(f"const int64_t {self.name}_shape[{len(self.shape)}]")
        return parameters

    def as_result(self) -> list[str]:
        """Return the declarations by which a call gives a value."""
        if self.fixed:
            return [f"{self.c_type} *{self.name}"]
        return [f"const {self.c_type} **{self.name}", f"int64_t {self.name}_shape[{len(self.shape)}]"]

    def described(self) -> str:
        """Return a description for a comment."""
        if not self.shape:
            return f"{self.label}: {self.dtype}"
        lengths = " x ".join("?" if length is None else str(length) for length in self.shape)
        return f"{self.label}: {self.dtype}, {lengths}"

    def as_json(self) -> dict[str, Any]:
        """Return the entry of the description for programs."""
        return {"name": self.name, "label": self.label, "dtype": self.dtype, "shape": list(self.shape)}


class Names:
    """Gives each variable a name in C that no other one has."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._used = set(reserved)

    def of(self, label: str | None, otherwise: str) -> str:
        """Return a name that is like a label.

        Examples
        --------
        >>> names = Names()
        >>> names.of("x", "input0"), names.of("x", "input1"), names.of("my weight", "w"), names.of("for", "a")
        ('x', 'x_', 'my_weight', 'for_')
        """
        name = re.sub(r"\W", "_", label or otherwise, flags=re.ASCII)
        if not name or name[0].isdigit() or name.startswith("_"):
            name = f"x{name}"
        while name in self._used or is_taken(name) or _GENERATED.fullmatch(name) or name.endswith("_shape"):
            # With more behind it, it would look like a generated name, or one of the headers, still.
            name = f"v_{name}" if is_taken(f"{name}_") or re.match(r"[a-z]+\d+_", name) else f"{name}_"
        self._used.add(name)
        return name


def spec_of(variable: Variable, what: str) -> ArraySpec:
    """Return dtype and static shape of a variable.

    Raises
    ------
    NoStraightForm
        If its values are no arrays of numbers.
    """
    spec = array_spec_of(variable)
    if spec is None or np.dtype(spec.dtype).kind not in "biuf":
        raise ExportError(
            format_error(
                f"{what} `{variable}` is of type {variable.type}, which has no form in C",
                hint="use arrays of real numbers, integers or truth values",
            )
        )
    return spec


def state_array(variable: Variable, value: Any) -> Any:
    """Return a copy of the value of a shared variable as an array: that of its type, where it is none.

    Raises
    ------
    NoStraightForm
        If its values have no form in C.
    """
    import_straight_rules()
    convert = straight_value.get(variable.type)
    if convert is not None:
        return np.array(convert(value))
    spec_of(variable, "shared variable")
    return value.copy()


def check_function(fn: Any, where: str) -> None:
    """Refuse an object that is no compiled function.

    Raises
    ------
    TypeError
    """
    if not isinstance(fn, Function):
        raise TypeError(
            format_error(
                f"{where}: a compiled function is exported, and an object of type {type(fn).__name__} was given",
                hint="pass a result of theano.function",
            )
        )


def check_shapes(shapes: Any) -> Mapping[Any, tuple[int, ...]]:
    """Return the shapes that the caller gives for inputs, with lengths that are integers.

    Raises
    ------
    TypeError, ValueError
        If they are no mapping to tuples of lengths, or lengths of no array.
    """
    if shapes is None:
        return {}
    if not isinstance(shapes, Mapping):
        raise TypeError(format_error(f"shapes: expected a dict, got {shapes!r}", hint="write {input: (lengths, ...)}"))
    return {key: _lengths_of(key, shape) for key, shape in shapes.items()}


def _lengths_of(key: Any, shape: Any) -> tuple[int, ...]:
    hint = "a shape is a tuple of integers from 0 on, such as (200, 5)"
    if not isinstance(shape, Iterable) or isinstance(shape, str | Variable):
        raise TypeError(format_error(f"shapes: {shape!r}, given for `{key}`, is no shape", hint=hint))
    lengths = tuple(shape)
    for length in lengths:
        if isinstance(length, bool | np.bool_) or not isinstance(length, SupportsIndex):
            raise TypeError(format_error(f"shapes: {length!r}, given for `{key}`, is no length", hint=hint))
        if not 0 <= index(length) <= _LONGEST:
            raise ValueError(format_error(f"shapes: no array has the length {length!r}, given for `{key}`", hint=hint))
    return tuple(index(length) for length in lengths)


def fixed_shape(
    variable: Variable, shape: Sequence[int | None], shapes: Mapping[Any, Sequence[int]], what: str
) -> tuple[int | None, ...]:
    """Return the static shape of a variable, with the lengths that the caller has given for it.

    Raises
    ------
    ValueError
        If the given lengths do not fit the type.
    """
    wanted = shapes.get(variable, shapes.get(variable.name))
    if wanted is None:
        return tuple(shape)
    fits = len(wanted) == len(shape) and all(a is None or a == b for a, b in zip(shape, wanted, strict=True))
    if not fits:
        raise ValueError(
            format_error(
                f"shapes: {what} `{variable}` of type {variable.type} cannot have the shape {tuple(wanted)}",
                hint="give one length for each dimension, 1 where it broadcasts",
            )
        )
    return tuple(wanted)


# ---- Signatures of C functions, as text and as types of ctypes

#: Types of numbers by their names in C.
_NUMBERS: dict[str, Any] = {
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "bool": ctypes.c_bool,
    "_Bool": ctypes.c_bool,
    "signed char": ctypes.c_byte,
    "unsigned char": ctypes.c_ubyte,
    "short": ctypes.c_short,
    "unsigned short": ctypes.c_ushort,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "unsigned int": ctypes.c_uint,
    "long": ctypes.c_long,
    "unsigned long": ctypes.c_ulong,
    "long long": ctypes.c_longlong,
    "unsigned long long": ctypes.c_ulonglong,
    "size_t": ctypes.c_size_t,
    **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_SHAPE = re.compile(r"\s*([^()]*?)\s*\(([^()]*)\)\s*;?\s*", re.ASCII)
_QUALIFIER = re.compile(r"\b(?:const|restrict|volatile)\b")


@record
class CType:
    """Type of a result or an argument.

    Attributes
    ----------
    name : str
        Of a number, or ``void``.
    pointer : bool
        Whether it is a pointer to that.
    const : bool
        Whether the data behind the pointer is only read.
    """

    name: str
    pointer: bool = False
    const: bool = False

    def __str__(self) -> str:
        return f"{'const ' if self.const else ''}{self.name}{' *' if self.pointer else ''}"

    @property
    def dtype(self) -> str:
        """The dtype of the numbers; empty for ``void``."""
        return "" if self.name == "void" else np.dtype(_NUMBERS[self.name]).name

    @property
    def as_ctypes(self) -> Any:
        """The type in ctypes; None for no result."""
        if self.name == "void":
            return ctypes.c_void_p if self.pointer else None
        number = _NUMBERS[self.name]
        return ctypes.POINTER(number) if self.pointer else number


@record
class Signature:
    """Types of the result and the arguments of a C function.

    Attributes
    ----------
    result : CType
    arguments : tuple of CType
    """

    result: CType
    arguments: tuple[CType, ...]

    def __str__(self) -> str:
        return f"{self.result}({', '.join(map(str, self.arguments)) or 'void'})"


def name_of_dtype(dtype: str) -> str | None:
    """Return the name that C has for numbers of a dtype; None if it has none.

    Examples
    --------
    >>> name_of_dtype("float64"), name_of_dtype("int64"), name_of_dtype("float16")
    ('double', 'int64_t', None)
    """
    names = {"float64": "double", "float32": "float", "bool": "bool"}
    return names.get(dtype) or (f"{dtype}_t" if f"{dtype}_t" in _NUMBERS else None)


def parse_signature(text: str) -> Signature:
    """Read the signature of a C function; arguments may have names.

    Raises
    ------
    ValueError
        If it is no signature, or has types other than numbers and pointers to them.

    Examples
    --------
    >>> str(parse_signature("double(int n, double *xx, void* data)"))
    'double(int, double *, void *)'
    """
    match = _SHAPE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(
            format_error(
                f"signature: {text!r} is no signature of a C function",
                hint="write it as 'double(double, const double *)'",
            )
        )
    parts = [part.strip() for part in match.group(2).split(",")]
    parts = [] if parts in ([""], ["void"]) else parts
    result = _type(match.group(1), text, named=False)
    if result.pointer:
        raise ValueError(format_error(f"signature: {text!r} returns a pointer", hint="let arguments point to results"))
    arguments = tuple(_type(part, text) for part in parts)
    if any(argument == CType("void") for argument in arguments):
        raise ValueError(format_error(f"signature: {text!r} has an argument of type void", hint="leave it out"))
    return Signature(result, arguments)


def _type(part: str, text: str, named: bool = True) -> CType:
    const = re.search(r"\bconst\b[^*]*(?:\*|$)", part) is not None
    plain = " ".join(_QUALIFIER.sub(" ", part).replace("*", " * ").split())
    kind, stars, name = plain.partition(" *")
    words = kind.split()
    if not stars and named and kind not in _NUMBERS and len(words) > 1:
        kind, name = " ".join(words[:-1]), words[-1]
    right = kind in _NUMBERS or kind == "void"
    if not right or (name.strip() and not (named and re.fullmatch(r"\s*[A-Za-z_]\w*", name, re.ASCII))):
        raise ValueError(
            format_error(
                f"signature: {text!r} has the type {part!r}, which is no number and no pointer to one",
                hint=f"use {', '.join(list(_NUMBERS)[:2])}, int, int64_t and the like, and pointers to them",
            )
        )
    return CType(kind, bool(stars), const and bool(stars))


__all__ = [
    "is_taken",
    "Parameter",
    "Names",
    "ExportError",
    "check_function",
    "check_shapes",
    "spec_of",
    "state_array",
    "CType",
    "Signature",
    "name_of_dtype",
    "parse_signature",
]
