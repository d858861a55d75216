"""The C code of the types of devices, for C code of ops; see the headers in the folder of `get_include`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from theano_linker_c.cop import CLinkerType

from .._include import get_include
from .._version import __version__

__all__ = ["ArrayCode", "ContextCode"]

Sub = Mapping[str, str]

_HEADERS = (
    "<gpuarray/array.h>",
    "<gpuarray/kernel.h>",
    "<gpuarray/error.h>",
    "<gpuarray/buffer.h>",
    "<gpuarray/types.h>",
    "<gpuarray/util.h>",
    "<gpuarray_api.h>",
    "<gpuarray_helper.h>",
)
#: Version of the texts below.
_VERSION = 1


class _DeviceCode(CLinkerType):
    """The common part of arrays and contexts: the C variable is a pointer to an object."""

    _c_type: str

    def c_declare(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Declare the pointer."""
        return f"{self._c_type} *{name};\n"

    def c_init(self, name: str, sub: Sub) -> str:
        """Start without an object."""
        return f"{name} = NULL;\n"

    def c_cleanup(self, name: str, sub: Sub) -> str:
        """Let go of the object."""
        return f"Py_XDECREF((PyObject *){name});\n{name} = NULL;\n"

    def c_headers(self) -> Sequence[str]:
        """Return the headers of arrays, kernels and contexts."""
        return list(_HEADERS)

    def c_header_dirs(self) -> Sequence[str]:
        """Return the folder of the headers."""
        return [get_include()]

    def c_init_code(self) -> Sequence[str]:
        """Return the statement that finds the functions of the headers; where that fails an exception is set."""
        return ["import_pygpu__gpuarray();"]

    def c_code_cache_version(self) -> tuple[Hashable, ...]:
        """Return the version of this code and of the headers."""
        return (_VERSION, __version__)


class ArrayCode(_DeviceCode):
    """The C side of arrays on devices: a variable is a ``PyGpuArrayObject *``, or NULL for an output without value."""

    _c_type = "PyGpuArrayObject"
    typecode: int
    ndim: int

    def c_extract(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Make the object of a GpuArray, of this dtype and number of dimensions."""
        kind, ndim = (self.typecode, self.ndim) if check_input else (-1, -1)
        return f"""
{name} = pygpu_from_object(py_{name}, {kind}, {ndim});
if ({name} == NULL)
    {sub["fail"]}
"""

    def c_sync(self, name: str, sub: Sub) -> str:
        """Make the GpuArray of the object: the same one where nothing has changed but its elements."""
        return f"""
if ({name} != NULL) {{
    PyObject *theano_result = pygpu_as_object({name});
    if (theano_result == NULL)
        {sub["fail"]}
    Py_XDECREF(py_{name});
    py_{name} = theano_result;
}} else {{
    Py_XDECREF(py_{name});
    py_{name} = Py_NewRef(Py_None);
}}
"""


class ContextCode(_DeviceCode):
    """The C side of contexts: a variable is a ``PyGpuContextObject *``, and its member `ctx` a ``gpucontext *``."""

    _c_type = "PyGpuContextObject"

    def c_extract(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Make the object of a GpuContext."""
        return f"""
{name} = pygpu_context_from_object(py_{name});
if ({name} == NULL)
    {sub["fail"]}
"""
