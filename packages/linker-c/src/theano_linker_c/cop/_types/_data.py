"""Pointers to C data as values of variables, passed between ops without a look at the data."""

from __future__ import annotations

import ctypes
from collections.abc import Hashable, Sequence
from typing import Any

from theano_graph import Type, format_error

from ..._c_interface import CLinkerType, Sub
from ...compiler import digest

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
