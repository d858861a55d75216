"""C text of kernels: a builder that owns indentation and names, functions in C, and code that kernels share."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from types import MappingProxyType

import numpy as np

from theano_graph import record

from .._c_interface import called, named
from ..scalar import (
    COMPLEX_FUNCTIONS,
    CValue,
    c_loaded,
    c_stored,
    c_type,
    called_special_functions,
    helper_definitions,
    is_complex,
    special_arguments,
)

# ---- Mathematical functions that kernels compute in place, where that takes less than a call of the C library's

# e**x is (2**n * e**r) * 2**n with n the integer nearest to x / (2 log(2)); adding 1.5 * 2**23 rounds to it, and adding
# 127 as well gives the bits of the exponent of 2**n. There are two factors so that subnormal results are right. The
# polynomial is the one with the least relative error of e**r among polynomials that begin with 1 + r, evaluated in
# parts side by side. Outside of the bounds the result is 0 or infinite; a NaN fails both comparisons. The bounds are
# variables, which no compiler folds: for constants gcc does not find the instructions that take the larger and the
# smaller of two.
_EXPF = """\
static float theano_exp_bounds[2] __attribute__((used)) = {-104.0f, 89.0f};
static inline float theano_expf(float x) {
  x = x < theano_exp_bounds[0] ? theano_exp_bounds[0] : x;
  x = theano_exp_bounds[1] < x ? theano_exp_bounds[1] : x;
  const union { float number; uint32_t bits; } near = {__builtin_fmaf(x, 0x1.715476p-1f, 12583039.0f)};
  const union { uint32_t bits; float number; } power = {near.bits << 23};
  const float n = near.number - 12583039.0f;
  const float r = __builtin_fmaf(n, -0x1.7f7d1cp-19f, __builtin_fmaf(n, -0x1.62e4p0f, x)), s = r * r;
  const float high = __builtin_fmaf(r, 0x1.9b4698p-13f, 0x1.71bedep-10f);
  const float middle = __builtin_fmaf(high, s, __builtin_fmaf(r, 0x1.11285cp-7f, 0x1.5549fep-5f));
  const float low = __builtin_fmaf(middle, s, __builtin_fmaf(r, 0x1.55550ep-3f, 0x1.00000cp-1f));
  return __builtin_fmaf(__builtin_fmaf(low, s, r), power.number, power.number) * power.number;
}"""
#: The text of a form by the name of the C library's function; the form has the name behind ``theano_``.
IN_PLACE: Mapping[str, str] = MappingProxyType({"expf": _EXPF})


@record
class InPlace:
    """A form in place of a function of the C library.

    Parameters
    ----------
    text : str
        Its definition; on processors without instructions that multiply and add with one rounding, the C
        library's function is called.
    begin, end : str
        Lines between which the name of the C library's function stands for the form.
    """

    text: str
    begin: str
    end: str


def in_place(name: str, declaration: str) -> InPlace:
    """Return a form; `declaration` is that of the C library's function.

    Examples
    --------
    >>> in_place("expf", "float expf(float);").begin
    '#define expf theano_expf'
    """
    head, form = "#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)", f"theano_{name}"
    text = f"{head}\n{IN_PLACE[name]}\n#else\n{declaration}\n#define {form} {name}\n#endif"
    return InPlace(text, f"#define {name} {form}", f"#undef {name}")


# ---- The runtime's compiled code for all kernels: copies between strided memory and blocks, and loops over blocks
#
# A kernel calls it through pointers of its own, which whoever loads it has to set.

try:
    import theano_linker_c._runtime as _runtime
except ImportError:  # it was not built, so nothing runs kernels
    SHARED_CODE: Mapping[str, int] = MappingProxyType({})
else:
    SHARED_CODE = MappingProxyType(_runtime.SHARED_CODE)

#: How an operand is described to shared code: the bytes of an element, these flags, and ``FIXED << i`` if it is the
#: same for all elements in the kernel's loop i. Same numbers as in c/elementwise/blocks.h.
READ, WRITTEN, FIXED = 32, 64, 128

_DECLARATIONS: Mapping[str, str] = MappingProxyType(
    {
        "theano_pack": "void (*theano_pack)(char *, const char *, int64_t stride, int64_t n, int64_t size);",
        "theano_run": """typedef struct {
  int32_t count, loops;
  int64_t lanes;
  const int32_t *kinds;
  void (*vector[2])(int64_t n, char *const *data);
} theano_loop_nest;
void (*theano_run)(int64_t n, char *const *data, const int64_t *strides, const theano_loop_nest *nest);""",
        "theano_reduce": """typedef struct {
  int32_t count, loops, reductions, whole;
  int64_t lanes, block;
  const int32_t *kinds;
  void (*vector[2])(int64_t n, char *const *data, int64_t skip);
} theano_reduction;
void (*theano_reduce)(int64_t n, char *const *data, const int64_t *strides, const theano_reduction *reduction);""",
    }
)


def shared_names(texts: Sequence[str]) -> tuple[str, ...]:
    """Give the names of shared code that `texts` call."""
    return tuple(name for name in _DECLARATIONS if any(name + "(" in text for text in texts))


def shared_declarations(names: Sequence[str]) -> list[str]:
    """Give the C text that declares the pointers to shared code of these names."""
    return [_DECLARATIONS[name] for name in names]


def set_shared_code(address_of: Callable[[str], int], names: Sequence[str]) -> None:
    """Set the pointers through which loaded code calls shared code; `address_of` gives where they lie."""
    for name in names:
        ctypes.c_void_p.from_address(address_of(name)).value = SHARED_CODE[name]


# ---- Mathematical functions without branches, for compilers that know no form of them for vectors

#: Names in the C library of the functions of ``vector_math.h``, at most 2 units in the last place from the true value.
_NAMES = frozenset(
    {"exp", *(name + suffix for name in ("expm1", "log", "log1p", "tanh", "erf") for suffix in ("", "f"))}
)
#: Functions whose forms are for arguments up to some size: a loop that calls these forms looks at the arguments before.
SINES = frozenset({"sin", "sinf", "cos", "cosf"})


def vector_forms(called: Collection[str], known: Collection[str]) -> list[InPlace]:
    """Return forms that compilers vectorise, under names of their own.

    Parameters
    ----------
    called : collection of str
        Functions that a text calls.
    known : collection of str
        Functions of which the C library has forms for vectors that the compiler calls.

    Returns
    -------
    list of InPlace
        The first one has the definitions of all.

    Examples
    --------
    >>> [form.begin for form in vector_forms({"tanh", "erf"}, {"erf"})]
    ['', '#define tanh theano_tanh']
    """
    unknown = set(called).difference(known)
    forms = [InPlace("", f"#define {name} theano_{name}", f"#undef {name}") for name in sorted(unknown & _NAMES)]
    return [InPlace(_text(), "", ""), *forms] if forms or unknown & SINES else []


@functools.cache
def _text() -> str:
    return resources.files("theano_linker_c").joinpath("c/elementwise/vector_math.h").read_text(encoding="utf-8")


# ---- C text of kernels: a small builder that owns indentation and names, and the text of whole files

#: Functions of the C mathematical library that generated code may call, with their number of arguments.
MATH_FUNCTIONS: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "erf", "erfc", "cbrt"), 1),
        **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan"), 1),
        **dict.fromkeys(("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"), 1),
        **dict.fromkeys(("atan2", "pow", "hypot", "fmod"), 2),
    }
)


#: Stands for the kernel's own symbol in the bodies of its functions.
SYMBOL = "SYMBOL"


class CWriter:
    """Collects lines of C with the right indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 1

    def line(self, text: str) -> None:
        """Add one line."""
        self.lines.append("  " * self._depth + text)

    def directive(self, text: str) -> None:
        """Add a preprocessor line."""
        self.lines.append(text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add ``head {``, the lines that follow, and the closing brace."""
        self.line(head + " {")
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    def vector_loop(self, loop: Callable[[bool], None], clauses: str = "") -> None:
        """Add a loop that compilers vectorise.

        Where sines are computed by forms of ours, a loop before it looks whether an argument is too large for these,
        and then the C library computes all.

        Parameters
        ----------
        loop : callable
            Adds the loop; with False, one that only computes values.
        clauses : str
            The end of the line ``#pragma omp simd``.
        """
        begin = len(self.lines)
        self.directive(f"#pragma omp simd{clauses}")
        loop(True)
        vectors = self.lines[begin:]
        names = [name for name in called("\n".join(vectors)) if name in SINES]
        if not names:
            return
        del self.lines[begin:]
        self.lines += ["#ifdef THEANO_SINES", *(f"#define {name}(x) theano_{name}_far(x, &far)" for name in names)]
        self.line("uint32_t far = 0;")
        self.directive("#pragma omp simd reduction(|:far)")
        loop(False)
        self.lines += [f"#undef {name}" for name in names]
        with self.block("if (far)"):
            self.lines += vectors[1:]
        self.line("else")
        self.lines += [*(f"#define {name} theano_{name}" for name in names), "#endif", *vectors, "#ifdef THEANO_SINES"]
        self.lines += [*(f"#undef {name}" for name in names), "#endif"]


@record
class CFunction:
    """One function of a kernel: the suffix of its name, its parameters and the lines of its body.

    A function with a suffix that starts with two underscores is used by the others only.
    """

    suffix: str
    parameters: str
    body: tuple[str, ...]
    result: str = "void"

    def render(self, symbol: str) -> str:
        """Give the definition under the name ``symbol + suffix``; the body says SYMBOL for `symbol`."""
        private = "static __attribute__((noinline)) " if self.suffix.startswith("__") else ""
        head = f"{private}{self.result} {symbol}{self.suffix}({self.parameters}) {{"
        return "\n".join([head, *(line.replace(SYMBOL, symbol) for line in self.body), "}"])


@record
class KernelSource:
    """The C text of one kernel: its functions, and the includes of users' code before them."""

    functions: tuple[CFunction, ...]
    preamble: tuple[str, ...] = ()

    def has(self, suffix: str) -> bool:
        """Whether there is a function whose name ends so: ``_outer`` is the one for the reduced axis outside."""
        return any(function.suffix == suffix for function in self.functions)

    @property
    def special(self) -> Mapping[str, int]:
        """Functions of `scipy.special` that the kernel calls, with their number of arguments."""
        return special_functions([*self.preamble, *(line for function in self.functions for line in function.body)])

    @property
    def shared(self) -> tuple[str, ...]:
        """Names of the runtime's code that the kernel calls."""
        return shared_names([line for function in self.functions for line in function.body])

    def render(self, symbol: str) -> str:
        """Give the definitions, named after `symbol`."""
        return "\n".join(function.render(symbol) for function in self.functions)


def file_text(
    definitions: Sequence[str],
    vector_functions: Iterable[str] = (),
    preamble: Iterable[str] = (),
    own_forms: bool = False,
) -> str:
    """Put `definitions` into one C file, with declarations of their callees.

    Parameters
    ----------
    definitions : sequence of str
        Function definitions.
    vector_functions : iterable of str
        Mathematical functions (``exp``, ``expf``, ...) that have a form working on vectors.
    preamble : iterable of str
        Text for the beginning of the file, each part once: headers and functions that users' code needs.
    own_forms : bool
        Compute functions without a form in `vector_functions` by forms of ours that compilers vectorise.

    Returns
    -------
    str
    """
    helpers = shared_declarations(shared_names(definitions))
    headers = list(dict.fromkeys(preamble))
    helpers += helper_definitions((*headers, *definitions))
    pointers = [_pointer(name, count) for name, count in special_functions((*headers, *definitions)).items()]
    # Users' code includes the declarations of the library's functions, and calls these, not the forms in place.
    names = {name for text in (*helpers, *definitions) for name in named(text)}
    used = {name for text in headers for name in named(text)}
    vectors = frozenset(vector_functions)
    forms = [in_place(name, _declaration(name, vectors)) for name in IN_PLACE if name in names]
    forms += vector_forms(names, vectors) if own_forms else []
    used |= names.difference(IN_PLACE)
    declared = [_declaration(name, vectors) for name in sorted(used) if _base(name)]
    declared += [form.text for form in forms]
    definitions_in_place = [form.begin for form in forms]
    users = [*(form.end for form in forms), *headers, *definitions_in_place] if headers else []
    return "\n".join(
        ["#include <stdint.h>", *declared, *pointers, *definitions_in_place, *helpers, *users, *definitions, ""]
    )


def special_functions(texts: Iterable[str]) -> dict[str, int]:
    """Give the functions of `scipy.special` that `texts` call, with their number of arguments.

    Each is called through a pointer ``theano_special_<name>``, which whoever loads the code has to set. There is one
    more argument, which Cython adds.
    """
    return {name: special_arguments(name) for text in texts for name in called_special_functions(text)}


def _pointer(name: str, count: int) -> str:
    return f"double (*theano_special_{name})({', '.join(['double'] * count)}, int);"


def _base(name: str) -> str | None:
    """Give the mathematical function of which `name` is the form for one precision, or None."""
    for base in (name, name.removesuffix("f")):
        if base in MATH_FUNCTIONS or (
            base[:1] == "c" and base[1:] in COMPLEX_FUNCTIONS and base not in ("cos", "cosh")
        ):
            return base
    return None


def _declaration(name: str, vector_functions: frozenset[str]) -> str:
    base = _base(name)
    assert base is not None, "only names of mathematical functions are declared"
    scalar = "double" if base == name else "float"
    count = MATH_FUNCTIONS.get(base)
    if count is None:
        scalar, count = f"{scalar} _Complex", MATH_FUNCTIONS.get(base[1:], 1)
    attributes = (
        '__attribute__((simd("notinbranch"), const)) ' if name in vector_functions else "__attribute__((const)) "
    )
    return f"{attributes}{scalar} {name}({', '.join([scalar] * count)});"


def memory_type(dtype: str) -> str:
    """Give the C type of an element in memory: a bool is a byte, a float16 its bits."""
    return {"bool": "uint8_t", "float16": "uint16_t"}.get(dtype) or c_type(dtype)


@record
class Operand:
    """An array that a kernel reads or writes: entry `index` of its pointers and byte strides."""

    index: int
    dtype: str
    read: bool = True
    written: bool = False

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.dtype).itemsize

    @property
    def lanes(self) -> int:
        """Elements in the widest vector that there is, of 64 bytes; complex numbers are pairs."""
        return 64 // (self.itemsize // 2 if is_complex(self.dtype) else self.itemsize)

    def kind(self, layouts: Sequence[Sequence[bool]]) -> int:
        """Return shared code's description of the operand: size, use, and in which of `layouts` it is fixed."""
        flags = READ * self.read | WRITTEN * self.written
        return self.itemsize | flags | sum(FIXED << i for i, fixed in enumerate(layouts) if fixed[self.index])

    def declare(self, writer: CWriter, stride: bool) -> None:
        """Declare the pointer ``p<index>`` and, if asked for, the stride ``s<index>``."""
        writer.line(f"char *const p{self.index} = data[{self.index}];")
        if stride:
            self.declare_stride(writer)

    def declare_stride(self, writer: CWriter) -> None:
        """Declare the stride ``s<index>``."""
        writer.line(f"const int64_t s{self.index} = strides[{self.index}];")

    def place(self, mode: str) -> str:
        """Give the C text of the element: in a "contiguous" loop, a "strided" loop, or "fixed" for all i."""
        memory = memory_type(self.dtype)
        if mode == "contiguous":
            return f"(({memory} *)p{self.index})[i]"
        if mode == "fixed":
            return f"*({memory} *)p{self.index}"
        return f"*({memory} *)(p{self.index} + i * s{self.index})"

    def load(self, writer: CWriter, mode: str) -> CValue:
        """Define ``x<index>`` with the value of the element."""
        writer.line(f"const {c_type(self.dtype)} x{self.index} = {c_loaded(self.place(mode), self.dtype)};")
        return CValue(f"x{self.index}", self.dtype)

    def store(self, writer: CWriter, mode: str, value: CValue) -> None:
        """Write `value` to the element, converted to its dtype."""
        writer.line(f"{self.place(mode)} = {c_stored(value, self.dtype)};")


def vector_layouts(broadcast: Sequence[Sequence[bool]]) -> list[tuple[bool, ...]]:
    """Say for which choices of fixed inputs a vectorised loop is worth its code.

    Scalars are fixed in all of them. Inputs that broadcast along the last axis, which is the inner one of C-ordered
    arrays, are fixed in the second.

    Returns
    -------
    list of tuple of bool
        For each loop, which inputs are fixed; empty if all inputs are scalars.
    """
    scalars = tuple(all(pattern) for pattern in broadcast)
    if all(scalars):
        return []
    last = tuple(pattern[-1] for pattern in broadcast)
    return [scalars] if all(last) or last == scalars else [scalars, last]


__all__ = ["CFunction", "KernelSource", "file_text", "memory_type"]
