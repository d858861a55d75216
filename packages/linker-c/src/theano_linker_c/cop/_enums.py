"""Types for C code: pointers to C data, and enumerations, whose constants Python and C know by the same names."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import Type, config, format_error

from .._c_interface import CLinkerType, Sub, integer_literal
from ..compiler import digest

# ---- Pointers to C data as values of variables, passed between ops without a look at the data

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_CAPSULE = type(_new_capsule(1, None, None))


class CDataType(CLinkerType, Type):
    """C data of any kind, behind a pointer.

    In Python a value is a capsule, or None for a null pointer; in C it is the pointer.

    Parameters
    ----------
    ctype : str
        C type of the pointer, with its ``*``.
    freefunc : str, optional
        Name of a C function that takes the pointer, frees the data and returns nothing.
    headers, header_dirs, libraries, lib_dirs, compile_args : sequence of str
        The compiler's options for the type.
    extra_support_code : str
        C code for the global scope.
    version : hashable, optional
        Version of the code; without it, compiled code with this type is not kept on disk.

    Raises
    ------
    TypeError
        If `ctype` is no string.

    Examples
    --------
    >>> CDataType("double *", "free") == CDataType("double *", "free")
    True
    """

    def __init__(
        self,
        ctype: str,
        freefunc: str | None = None,
        headers: Sequence[str] = (),
        header_dirs: Sequence[str] = (),
        libraries: Sequence[str] = (),
        lib_dirs: Sequence[str] = (),
        compile_args: Sequence[str] = (),
        extra_support_code: str = "",
        version: Hashable = None,
    ) -> None:
        if not isinstance(ctype, str):
            raise TypeError(format_error(f"ctype is a C type as a string, not {ctype!r}", hint='write "double *", say'))
        self.ctype = ctype
        self.freefunc = freefunc
        self.headers = tuple(headers)
        self.header_dirs = tuple(header_dirs)
        self.libraries = tuple(libraries)
        self.lib_dirs = tuple(lib_dirs)
        self.compile_args = tuple(compile_args)
        self.extra_support_code = extra_support_code
        self.version = version

    def _key(self) -> tuple[Hashable, ...]:
        lists = (self.headers, self.header_dirs, self.libraries, self.lib_dirs, self.compile_args)
        return (self.ctype, self.freefunc, *lists, self.extra_support_code, self.version)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, CDataType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.ctype}}}"

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return `value`, a capsule or None; TypeError for anything else."""
        if value is not None and type(value) is not _CAPSULE:
            raise TypeError(
                format_error(
                    f"{value!r} of type {type(value).__name__} is no C data",
                    hint="pass a result of an op of this type, or `make_value(address)`",
                )
            )
        return value

    def make_value(self, ptr: int) -> Any:
        """Return the value for a pointer, given as an integer. Its data is never freed by the value.

        Raises
        ------
        ValueError
            For a null pointer, which None stands for.
        """
        if not ptr:
            raise ValueError(format_error("a null pointer is no value", hint="use None"))
        return _new_capsule(ptr, None, None)

    def c_declare(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Declare the pointer, and whether its data still has to be freed."""
        return f"{self.ctype} {name};\nint owned_{name};\n"

    def c_init(self, name: str, sub: Sub) -> str:
        """Start with null."""
        return f"{name} = NULL;\nowned_{name} = 1;\n"

    def c_extract(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Take the pointer out of the capsule."""
        return f"""
{name} = NULL;
owned_{name} = 0;
if (py_{name} != Py_None) {{
    {name} = ({self.ctype})PyCapsule_GetPointer(py_{name}, NULL);
    if ({name} == NULL)
        {sub["fail"]}
}}
"""

    def c_extract_out(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Start with null: data of an earlier call belongs to its capsule."""
        return self.c_init(name, sub)

    def c_sync(self, name: str, sub: Sub) -> str:
        """Put the pointer in a capsule, which frees the data."""
        free = "NULL" if self.freefunc is None else self._free_name()
        return f"""
{{
    PyObject *theano_capsule = Py_None;
    if ({name} == NULL)
        Py_INCREF(Py_None);
    else if ((theano_capsule = PyCapsule_New((void *){name}, NULL, {free})) == NULL)
        {sub["fail"]}
    owned_{name} = 0;
    Py_XDECREF(py_{name});
    py_{name} = theano_capsule;
}}
"""

    def c_cleanup(self, name: str, sub: Sub) -> str:
        """Free a pointer that did not come into a capsule."""
        return "" if self.freefunc is None else f"if (owned_{name} && {name} != NULL)\n    {self.freefunc}({name});\n"

    def _free_name(self) -> str:
        return "theano_free_" + digest(repr(self._key()))[:16]

    def c_support_code(self) -> str:
        """Return the user's code, and the destructor of capsules."""
        if self.freefunc is None:
            return self.extra_support_code
        return f"""{self.extra_support_code}
static void {self._free_name()}(PyObject *capsule) {{
    void *data = PyCapsule_GetPointer(capsule, NULL);
    if (data != NULL)
        {self.freefunc}(({self.ctype})data);
}}
"""

    def c_headers(self) -> Sequence[str]:
        """Return the headers."""
        return self.headers

    def c_header_dirs(self) -> Sequence[str]:
        """Return the folders of headers."""
        return self.header_dirs

    def c_libraries(self) -> Sequence[str]:
        """Return the libraries."""
        return self.libraries

    def c_lib_dirs(self) -> Sequence[str]:
        """Return the folders of libraries."""
        return self.lib_dirs

    def c_compile_args(self) -> Sequence[str]:
        """Return further arguments for the compiler."""
        return self.compile_args

    def c_code_cache_version(self) -> tuple[Hashable, ...]:
        """Return the version of this code together with the user's; empty if there is none."""
        return () if self.version is None else (1, self.version)


# ---- Enumerations as parameters of ops: constants that Python and C code know by the same names

Number = int | float

_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class EnumNameError(ValueError, AttributeError):
    """A name cannot be that of an enumeration's constant, or would have two meanings."""


class EnumType(CLinkerType, Type):
    """Constants with values that are given.

    Parameters
    ----------
    ctype : str
        C type of the parameter; double by default.
    cname : str, optional
        Name of the enumeration in C, for names of functions; made of `ctype` by default.
    **constants : number, or pair of (str, number)
        Name of each constant and its value, possibly with an alias. Names are written in capital letters, digits and
        underscores. Booleans become integers.

    Raises
    ------
    TypeError
        For a value that is no real number, or an alias that is no string.
    ValueError
        For a bad name, or an alias that is given twice or is the name of another constant.

    Examples
    --------
    >>> enum = EnumType(A=("alpha", 1), B=2.5, C=True)
    >>> enum.A, enum.B, enum.C, enum.fromalias("alpha"), enum.filter("alpha")
    (1, 2.5, 1, 1, 1)
    """

    ctype: str
    cname: str
    constants: Mapping[str, Number]
    aliases: Mapping[str, str]

    def __init__(self, *, ctype: str = "double", cname: str | None = None, **constants: Any) -> None:
        values: dict[str, Number] = {}
        aliases: dict[str, str] = {}
        for name, value in constants.items():
            values[name], alias = _value_and_alias(name, value)
            if alias is not None:
                _check_alias(alias, name, aliases, constants)
                aliases[alias] = name
        self._set(ctype, cname, values, aliases)

    def _set(self, ctype: str, cname: str | None, values: dict[str, Number], aliases: dict[str, str]) -> None:
        for name in values:
            if not isinstance(name, str) or not _CONSTANT.fullmatch(name):
                raise EnumNameError(
                    format_error(
                        f"{name!r} is no name of an enumeration's constant",
                        hint="start with a capital letter, and use capital letters, digits and underscores",
                    )
                )
        self.ctype = ctype
        self.cname = re.sub(r"\s+", "_", ctype) if cname is None else cname
        if not _IDENTIFIER.fullmatch(self.cname):
            raise ValueError(
                format_error(f"{self.cname!r} is no C name for an enumeration", hint="pass a C identifier as `cname`")
            )
        self.constants = dict(sorted(values.items()))
        self.aliases = dict(sorted(aliases.items()))

    def __getattr__(self, name: str) -> Number:
        constants = self.__dict__.get("constants", {})
        if name in constants:
            constant: Number = constants[name]
            return constant
        raise AttributeError(f"{type(self).__name__} has no constant {name}; it has {', '.join(constants)}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, EnumType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def _key(self) -> tuple[Hashable, ...]:
        # Numbers of one value are one constant in C, of any class in Python.
        return (self.ctype, self.cname, tuple(self.constants.items()), tuple(self.aliases.items()))

    def __str__(self) -> str:
        constants = ", ".join(f"{name}:{value}" for name, value in self.constants.items())
        return f"{type(self).__name__}<{self.ctype}>({constants})"

    __repr__ = __str__

    def has_alias(self, alias: str) -> bool:
        """Tell whether a constant has this alias."""
        return alias in self.aliases

    def get_aliases(self) -> tuple[str, ...]:
        """Return all aliases, sorted."""
        return tuple(self.aliases)

    def fromalias(self, alias: str) -> Number:
        """Return the value of the constant with this alias, or with this name.

        Raises
        ------
        ValueError
            If there is none.
        """
        name = self.aliases.get(alias, alias)
        if name not in self.constants:
            raise ValueError(
                format_error(
                    f"{self} has neither an alias nor a constant {alias!r}",
                    hint=f"use one of {', '.join((*self.aliases, *self.constants))}",
                )
            )
        return self.constants[name]

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Number:
        """Return the value of a constant; with ``strict=False`` it may be given by alias or name.

        Raises
        ------
        TypeError
            If `value` is no number.
        ValueError
            If no constant has this value, alias or name.
        """
        if isinstance(value, str) and not strict:
            return self.fromalias(value)
        if isinstance(value, (bool, np.bool_)) and not strict:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise TypeError(
                format_error(
                    f"{value!r} of type {type(value).__name__} is no value of {self}",
                    hint="give one of its constants" + ("" if strict else ", by value, name or alias"),
                )
            )
        for constant in self.constants.values():
            if constant == value:
                return constant
        raise ValueError(
            format_error(f"no constant of {self} has the value {value!r}", hint="use one of its constants by name")
        )

    def values_eq_approx(self, a: Any, b: Any) -> bool:
        """Tell whether two values are the same constant."""
        return self.values_eq(a, b)

    # ---- C

    def c_to_string(self) -> str:
        """Return a C function that writes the name of a constant to a string.

        Its prototype is ``int theano_enum_to_string_<cname>(<ctype> value, char *output_string)``; for an unknown value
        it sets a ValueError and returns a number other than 0. `output_string` must be long enough for every name.
        """
        seen: dict[Number, str] = {}
        for name, value in self.constants.items():
            seen.setdefault(value, name)
        cases = "".join(
            f'    if (value == ({self.ctype}){name}) {{\n        strcpy(output_string, "{name}");\n        return 0;\n'
            "    }\n"
            for name in seen.values()
        )
        return f"""
int theano_enum_to_string_{self.cname}({self.ctype} value, char *output_string) {{
{cases}    PyErr_SetString(PyExc_ValueError, "{self.cname}: a value that no constant of the enumeration has");
    return -1;
}}
"""

    def c_support_code(self) -> str:
        """Return the constants as macros, and, when ``cmodule.debug`` is set, the function of :meth:`c_to_string`."""
        return self._definitions() + (self.c_to_string() if config.cmodule.debug else "")

    def _definitions(self) -> str:
        return "".join(f"#define {name} {_literal(value)}\n" for name, value in self.constants.items())

    def c_declare(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Declare a variable of the C type."""
        return f"{self.ctype} {name};\n"

    def c_init(self, name: str, sub: Sub) -> str:
        """Start with zero."""
        return f"{name} = ({self.ctype})0;\n"

    def c_extract(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Read a Python number."""
        return f"""
{name} = ({self.ctype})0;
if (PyFloat_Check(py_{name}))
    {name} = ({self.ctype})PyFloat_AS_DOUBLE(py_{name});
else
    {name} = ({self.ctype})PyLong_AsLongLong(py_{name});
if (PyErr_Occurred())
    {sub["fail"]}
"""

    def c_cleanup(self, name: str, sub: Sub) -> str:
        """Free nothing."""
        return ""

    def c_element_type(self) -> str:
        """Return the C type."""
        return self.ctype

    def c_is_simple(self) -> bool:
        """A number is small."""
        return True

    def c_code_cache_version(self) -> tuple[Hashable, ...]:
        """Return the version of this code, with the constants."""
        return (1, *self._key())


class EnumList(EnumType):
    """Constants that are numbered from 0 in the order given.

    Parameters
    ----------
    *constants : str, or pair of (str, str)
        Name of each constant, possibly with an alias.
    ctype : str
        C type of the parameter; int by default.
    cname : str, optional

    Raises
    ------
    TypeError
        For anything else than names and pairs.
    ValueError
        As for :class:`EnumType`, and for a name that is given twice.

    Examples
    --------
    >>> enum = EnumList("A", ("B", "beta"), "C")
    >>> enum.A, enum.B, enum.C, enum.fromalias("beta")
    (0, 1, 2, 1)
    """

    def __init__(self, *constants: Any, ctype: str = "int", cname: str | None = None) -> None:
        names = [_name_and_alias(item) for item in constants]
        values: dict[str, Number] = {}
        aliases: dict[str, str] = {}
        for i, (name, alias) in enumerate(names):
            if name in values:
                raise ValueError(format_error(f"the constant {name} is listed twice", hint="give each name once"))
            values[name] = i
            if alias is not None:
                _check_alias(alias, name, aliases, {n: None for n, _ in names})
                aliases[alias] = name
        self._set(ctype, cname, values, aliases)


class CEnumType(EnumList):
    """Constants that C code defines: Python only tells them apart, C has their values.

    Parameters
    ----------
    *constants : str, or pair of (str, str)
        Name of each constant as in C, possibly with an alias.
    ctype : str
        C type of the parameter; int by default.
    cname : str, optional

    Examples
    --------
    >>> CEnumType("SEEK_SET", ("SEEK_END", "end")).filter("end")
    1
    """

    def _definitions(self) -> str:
        return ""

    def c_extract(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Replace Python's number of the constant by the value that C gives it."""
        cases = "".join(
            f"case {value}: {name} = ({self.ctype}){constant}; break;\n" for constant, value in self.constants.items()
        )
        return f"""
{name} = ({self.ctype})0;
switch (PyLong_AsLong(py_{name})) {{
{cases}default:
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "{self.cname}: a number that stands for no constant");
    {sub["fail"]}
}}
"""


def _value_and_alias(name: str, value: Any) -> tuple[Number, str | None]:
    alias = None
    if isinstance(value, tuple):
        texts = [item for item in value if isinstance(item, str)]
        numbers = [item for item in value if not isinstance(item, str)]
        if len(texts) != 1 or len(numbers) != 1:
            raise TypeError(
                format_error(f"the constant {name} is given as {value!r}", hint=f"write {name}=('alias', value)")
            )
        (alias,), (value,) = texts, numbers
    if isinstance(value, (bool, np.bool_)):
        return int(value), alias
    if isinstance(value, (int, np.integer)):
        return int(value), alias
    if isinstance(value, (float, np.floating)):
        return float(value), alias
    raise TypeError(
        format_error(
            f"the constant {name} has a value of type {type(value).__name__}", hint="use an int, a float or a bool"
        )
    )


def _name_and_alias(item: Any) -> tuple[str, str | None]:
    if isinstance(item, str):
        return item, None
    if isinstance(item, (tuple, list)) and len(item) == 2 and all(isinstance(text, str) for text in item):
        return item[0], item[1]
    raise TypeError(
        format_error(f"{item!r} is no constant of an enumeration", hint="give its name, or (name, alias), as strings")
    )


def _check_alias(alias: str, name: str, aliases: Mapping[str, str], constants: Mapping[str, Any]) -> None:
    if alias in aliases:
        raise ValueError(
            format_error(f"{aliases[alias]} and {name} have the same alias {alias!r}", hint="give each alias once")
        )
    if alias == name:
        raise TypeError(format_error(f"{name} has its own name for an alias", hint="give the name alone"))
    if alias in constants:
        raise ValueError(
            format_error(f"the alias {alias!r} of {name} is the name of another constant", hint="choose another alias")
        )


def _literal(value: Number) -> str:
    if isinstance(value, int):
        return f"({value})" if abs(value) < 2**31 else integer_literal(value, "npy_int64")
    return f"({value!r})" if math.isfinite(value) else ("NAN" if value != value else f"({'-' * (value < 0)}INFINITY)")
