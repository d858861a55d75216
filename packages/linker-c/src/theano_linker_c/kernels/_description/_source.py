"""C text of kernels: a small builder that owns indentation and names, and the text of whole files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

import numpy as np

from theano_graph import record

from ..._c_names import called, named
from ...scalar import (
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
from ._own_functions import IN_PLACE, in_place
from ._shared_code import FIXED, READ, WRITTEN, shared_declarations, shared_names
from ._vector_forms import SINES, vector_forms

__all__ = ["CFunction", "KernelSource", "file_text", "memory_type"]

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
