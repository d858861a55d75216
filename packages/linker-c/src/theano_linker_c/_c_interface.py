"""C text: the names in it, functions in a file, and the C interface of types.

The interface says how values become C variables and go back; its forms are those for numbers and for arrays.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any, NoReturn

import numpy as np

from theano_graph import MissingRuleError, format_error

# ---- The names in C text, of variables and of calls
#
# Text is taken apart into words without regard to its grammar, so that a name is never missed: words of comments and
# strings, members of structures and types are names as well.


def _table(brackets: str) -> dict[int, str]:
    """Return the replacement of each ASCII character beside letters, digits and underscores."""
    table = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
    return {**table, ord("("): brackets}


_WORDS, _CALLS = _table(" "), _table("( ")
#: The names in texts of no more characters are remembered.
_SHORT = 200


def named(text: str) -> tuple[str, ...]:
    """Return the names in a text, in the order in which they come first.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> named("x1[3 * n2] + 1.5e3f * expf(x1)")
    ('x1', 'n2', 'expf')
    """
    return _remembered(text) if len(text) <= _SHORT else _names(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in text.translate(_WORDS).split() if not word[0].isdigit()))


#: Passes ask for the names of statements again and again.
_remembered = lru_cache(maxsize=4096)(_names)


def called(text: str) -> tuple[str, ...]:
    """Return the names behind which an opening bracket stands.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> called("y = (double)x + exp(log(x));")
    ('exp', 'log')
    """
    words = text.translate(_CALLS).split()
    calls = (word[:-1] for word in words if word[-1] == "(" and len(word) > 1 and not word[0].isdigit())
    return tuple(dict.fromkeys(calls))


# ---- Functions in C whose text is copied to where they are called: finding them in a file, and their callees

_PREFIX = "theano_"


def read_code(*path: str) -> str:
    """Return the text of a file in the folder ``c``."""
    return resources.files(__package__).joinpath("c", *path).read_text(encoding="utf-8")


def function_name(text: str) -> str:
    """Return the name of the function that a text defines; what stands in ``NAME(...)`` is the name of a template."""
    name = _defined(text)
    assert name is not None, "a text without a function has no name"
    return name


def _defined(text: str) -> str | None:
    """Return the name in the first line that begins a function; None where there is none."""
    for line in text.splitlines():
        head, bracket, tail = line.partition("(")
        if bracket and head.startswith("static "):
            name = named(head)[-1]
            name = named(tail)[0] if name == "NAME" else name
            if name.startswith(_PREFIX):
                return name
    return None


def functions_of(text: str) -> list[str]:
    """Return the functions of a file, each with the comment before it."""
    parts: list[str] = []
    for paragraph in text.split("\n\n"):
        if parts and not paragraph.startswith(("/*", "static ")):
            parts[-1] += f"\n\n{paragraph}"
        else:
            parts.append(paragraph)
    return [part.strip() for part in parts if _defined(part)]


def with_called(names: Iterable[str], definitions: Mapping[str, str]) -> list[str]:
    """Return the text of functions, and before each that of the functions that it calls.

    Parameters
    ----------
    names : iterable of str
    definitions : mapping
        Text by name; other functions that a text calls are left out.
    """
    texts: dict[str, str] = {}

    def enter(name: str) -> None:
        if name in texts:
            return
        for other in named(definitions[name]):
            if other != name and other in definitions:
                enter(other)
        texts[name] = definitions[name]

    for name in names:
        enter(name)
    return list(texts.values())


# ---- The C interface of types: how values become C variables and go back; the forms for numbers and for arrays

Sub = Mapping[str, str]


class CLinkerType:
    """The C side of a type, for values that C code of ops works on.

    A subclass defines at least `c_declare`, `c_init`, `c_extract` and `c_cleanup`, and `c_sync` where the values are
    results. All text is about one variable called `name`; the Python object is in ``py_<name>``. An error is raised by
    setting a Python exception and inserting ``sub["fail"]``.

    Examples
    --------
    >>> class Flag(CLinkerType):
    ...     def c_declare(self, name, sub, check_input=True):
    ...         return f"int {name};"
    >>> Flag().c_declare("V1", {})
    'int V1;'
    """

    def c_declare(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Return declarations of the C variables of one variable, all with `name` in their names."""
        self._undefined("c_declare")

    def c_init(self, name: str, sub: Sub) -> str:
        """Return code that gives the declared variables a first value; run where nothing is extracted."""
        self._undefined("c_init")

    def c_extract(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Return code that sets the declared variables from ``py_<name>``; it checks the value if `check_input`."""
        self._undefined("c_extract")

    def c_extract_out(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Return code like `c_extract` for an output: None stands for no value yet."""
        return f"""
if (py_{name} == Py_None) {{
{self.c_init(name, sub)}
}} else {{
{self.c_extract(name, sub, check_input)}
}}
"""

    def c_sync(self, name: str, sub: Sub) -> str:
        """Return code that makes ``py_<name>`` hold the value of the C variables; run for outputs."""
        self._undefined("c_sync")

    def c_cleanup(self, name: str, sub: Sub) -> str:
        """Return code that frees the results of `c_init` or `c_extract`; run after failures too."""
        self._undefined("c_cleanup")

    def c_code_cache_version(self) -> tuple[Hashable, ...]:
        """Return the version of this code; an empty tuple keeps it out of the cache on disk."""
        return ()

    def c_is_simple(self) -> bool:
        """Tell whether values are small C types that may be copied at no cost."""
        return False

    def c_literal(self, data: Any) -> str:
        """Return a C expression for a value."""
        self._undefined("c_literal")

    def c_element_type(self) -> str:
        """Return the C type of the elements."""
        self._undefined("c_element_type")

    def c_headers(self) -> Sequence[str]:
        """Return headers to include."""
        return []

    def c_header_dirs(self) -> Sequence[str]:
        """Return folders in which headers are searched."""
        return []

    def c_libraries(self) -> Sequence[str]:
        """Return libraries to link with."""
        return []

    def c_lib_dirs(self) -> Sequence[str]:
        """Return folders in which libraries are searched."""
        return []

    def c_compile_args(self) -> Sequence[str]:
        """Return further arguments for the compiler."""
        return []

    def c_no_compile_args(self) -> Sequence[str]:
        """Return arguments that the compiler must not get."""
        return []

    def c_init_code(self) -> Sequence[str]:
        """Return statements to run once, when the compiled code is loaded."""
        return []

    def c_support_code(self) -> str | Sequence[str]:
        """Return functions and structures for the global scope."""
        return ""

    def c_compiler(self) -> Any:
        """Return the compiler that this code asks for, or None."""
        return None

    def _undefined(self, method: str) -> NoReturn:
        raise MissingRuleError(
            format_error(
                f"type {self} has no C form: {type(self).__qualname__} does not define {method}",
                hint=f"define {type(self).__qualname__}.{method}, or give the op a `perform`",
            )
        )


def numpy_c_type(dtype: str) -> str:
    """Return NumPy's C name of a dtype: ``npy_float32`` for ``float32``."""
    return f"npy_{dtype}"


def dtype_specs(dtype: str, *, scalar: bool) -> tuple[type, str, str]:
    """Return the names of a dtype for C code of ops: a Python class, its name in C, and NumPy's name for it.

    Parameters
    ----------
    dtype : str
    scalar : bool
        Whether for numbers, as NumPy's class and the name of it, or for arrays, as Python's class and NumPy's constant.
    """
    kind = np.dtype(dtype)
    c_type = f"theano_{dtype}" if kind.kind == "c" else numpy_c_type(dtype)
    if scalar:
        name = dtype.capitalize().replace("Uint", "UInt")
        return kind.type, c_type, name
    return {"b": bool, "i": int, "u": int, "f": float, "c": complex}[kind.kind], c_type, type_number(dtype)


def type_number(dtype: str) -> str:
    """Return NumPy's C constant for a dtype: ``NPY_FLOAT32`` for ``float32``."""
    return f"NPY_{dtype.upper()}"


class ScalarInterface(CLinkerType):
    """The C side of numbers: the variable is the number itself."""

    dtype: str

    def dtype_specs(self) -> tuple[type, str, str]:
        """Return NumPy's class of its numbers, the name of the dtype in C, and the name of that class."""
        return dtype_specs(self.dtype, scalar=True)

    def c_declare(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Declare the number, and ``dtype_<name>`` as its C type."""
        kind = numpy_c_type(self.dtype)
        return f"typedef {kind} dtype_{name};\n{kind} {name};\n"

    def c_init(self, name: str, sub: Sub) -> str:
        """Start with zero."""
        return f"memset(&{name}, 0, sizeof {name});\n"

    def c_extract(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Read a NumPy scalar or an array without dimensions."""
        constant = type_number(self.dtype)
        return f"""
if (theano_get_scalar(py_{name}, {constant}, "{self.dtype}", &{name}, {int(check_input)}) < 0) {{
    memset(&{name}, 0, sizeof {name});
    {sub["fail"]}
}}
"""

    def c_sync(self, name: str, sub: Sub) -> str:
        """Make a NumPy scalar."""
        return f"""
{{
    PyObject *theano_scalar = theano_make_scalar({type_number(self.dtype)}, &{name});
    if (theano_scalar == NULL)
        {sub["fail"]}
    Py_XDECREF(py_{name});
    py_{name} = theano_scalar;
}}
"""

    def c_cleanup(self, name: str, sub: Sub) -> str:
        """Free nothing."""
        return ""

    def c_literal(self, data: Any) -> str:
        """Return the number as a C constant; complex numbers have none."""
        kind = np.dtype(self.dtype).kind
        if kind == "c":
            self._undefined("c_literal")
        if kind == "b":
            return str(int(bool(data)))
        if kind in "iu":
            return integer_literal(int(data), numpy_c_type(self.dtype))
        value = float(data)
        if math.isnan(value):
            return "NAN"
        if math.isinf(value):
            return "INFINITY" if value > 0 else "-INFINITY"
        return repr(value) + ("f" if self.dtype == "float32" else "")

    def c_element_type(self) -> str:
        """Return the C type of the number."""
        return numpy_c_type(self.dtype)

    def c_is_simple(self) -> bool:
        """A number is small."""
        return True

    def c_headers(self) -> Sequence[str]:
        """Return the header of mathematical functions."""
        return ["<math.h>"]

    def c_code_cache_version(self) -> tuple[Hashable, ...]:
        """Return the version of this code."""
        return (1,)


def integer_literal(value: int, c_type: str) -> str:
    """Return an integer as a C expression of the given type."""
    if value == -(2**63):
        return f"(({c_type})(-9223372036854775807LL - 1))"
    suffix = "ULL" if value >= 2**63 else "LL"
    return f"(({c_type}){value}{suffix})"


class ArrayInterface(CLinkerType):
    """The C side of arrays: the variable is a ``PyArrayObject *``, NULL for an output that does not exist yet."""

    dtype: str
    shape: tuple[int | None, ...]

    def dtype_specs(self) -> tuple[type, str, str]:
        """Return the class of its numbers in Python, the name of the dtype in C, and NumPy's constant for it."""
        return dtype_specs(self.dtype, scalar=False)

    def c_declare(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Declare the pointer, and ``dtype_<name>`` as the C type of the elements."""
        return f"typedef {numpy_c_type(self.dtype)} dtype_{name};\nPyArrayObject *{name};\n"

    def c_init(self, name: str, sub: Sub) -> str:
        """Start without an array."""
        return f"{name} = NULL;\n"

    def c_extract(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Take a reference to the array; with `check_input`, look at dtype, dimensions, alignment and byte order."""
        arguments = f'py_{name}, {type_number(self.dtype)}, "{self.dtype}", {len(self.shape)}, {int(check_input)}'
        return f"""
{name} = NULL;
if (theano_check_array({arguments}) < 0)
    {sub["fail"]}
{name} = (PyArrayObject *)py_{name};
Py_INCREF(py_{name});
"""

    def c_sync(self, name: str, sub: Sub) -> str:
        """Hand the array over; NULL becomes None."""
        return f"""
{{
    PyObject *theano_result = {name} == NULL ? Py_None : (PyObject *){name};
    if ({name} != NULL && !PyArray_ISALIGNED({name})) {{
        PyErr_SetString(PyExc_NotImplementedError, "the op made a non-aligned array of type {self.dtype}");
        {sub["fail"]}
    }}
    Py_INCREF(theano_result);
    Py_XDECREF(py_{name});
    py_{name} = theano_result;
}}
"""

    def c_cleanup(self, name: str, sub: Sub) -> str:
        """Let go of the array."""
        return f"Py_XDECREF((PyObject *){name});\n"

    def c_element_type(self) -> str:
        """Return the C type of the elements."""
        return numpy_c_type(self.dtype)

    def c_code_cache_version(self) -> tuple[Hashable, ...]:
        """Return the version of this code."""
        return (1,)


__all__ = ["called", "named", "function_name", "functions_of", "read_code", "with_called"]
