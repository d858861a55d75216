"""C code around the kernels of an op: objects, their construction and release, and functions that launch them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import format_error
from theano_linker_c.cop import ParamsType

from ..arrays import dtype_to_ctype, dtype_to_typecode
from ..types import GpuContextType
from ._description import Kernel

__all__ = ["context_in_c", "kernel_cleanup", "kernel_init", "kernel_members"]

#: Words of parameters -> the constant of C, and the type of the argument.
_WORDS = {"*": ("GA_BUFFER", "gpudata *"), "size": ("GA_SIZE", "size_t"), "ssize": ("GA_SSIZE", "ssize_t")}
#: Type of an element in kernels -> the same on the host.
_HOST = {
    "ga_bool": "uint8_t",
    "ga_byte": "int8_t",
    "ga_ubyte": "uint8_t",
    "ga_short": "int16_t",
    "ga_ushort": "uint16_t",
    "ga_int": "int32_t",
    "ga_uint": "uint32_t",
    "ga_long": "int64_t",
    "ga_ulong": "uint64_t",
    "ga_float": "float",
    "ga_double": "double",
    "ga_half": "ga_half_t",
}


def _parameters(kernel: Kernel) -> list[tuple[str, str]]:
    """Return the constant and the type in C of each parameter.

    Raises
    ------
    TypeError
        If one cannot be passed by value.
    """
    if kernel.flags.get("ctypes"):
        return [_of_constant(kernel, str(constant)) for constant in kernel.params]
    parameters = []
    for word in kernel.parameters:
        if word in _WORDS:
            parameters.append(_WORDS[word])
            continue
        ctype = dtype_to_ctype(word)
        if ctype not in _HOST:
            raise TypeError(
                format_error(f"kernel {kernel.name!r}: a {word} cannot be passed by value", hint="pass an array of one")
            )
        parameters.append((str(dtype_to_typecode(word)), _HOST[ctype]))
    return parameters


def _of_constant(kernel: Kernel, constant: str) -> tuple[str, str]:
    """Return a parameter that is given as a constant of C."""
    words = dict(_WORDS.values())
    words |= {"GA_" + name.removeprefix("ga_").upper(): ctype for name, ctype in _HOST.items()}
    if constant not in words:
        raise TypeError(
            format_error(
                f"kernel {kernel.name!r}: {constant!r} is no type of a parameter", hint=f"use {', '.join(words)}"
            )
        )
    return constant, words[constant]


def _literal(text: str) -> str:
    """Return a text as a literal of C, a line of it on each line."""
    lines = text.splitlines(keepends=True) or [""]
    return "\n        ".join(f'"{_escaped(line)}"' for line in lines)


def _escaped(line: str) -> str:
    parts = []
    for byte in line.encode():
        char = chr(byte)
        if char in '"\\?':
            parts.append("\\" + char)
        else:
            parts.append(char if " " <= char <= "~" else f"\\{byte:03o}")
    return "".join(parts)


def kernel_members(kernel: Kernel) -> str:
    """Return members of the structure of a node: the text, the kernel, and the two functions that launch it."""
    types = [ctype for _, ctype in _parameters(kernel)]
    declared = "".join(f", {ctype} arg{i}" for i, ctype in enumerate(types))
    arguments = "".join(f", arg{i}" for i in range(len(types)))
    values = ", ".join(f"(void *){'' if ctype == 'gpudata *' else '&'}arg{i}" for i, ctype in enumerate(types))
    return f"""
    const char *{kernel.codevar} =
        {_literal(kernel.code)};
    GpuKernel {kernel.objvar} = {{NULL, NULL}};
    int {kernel.fname}(unsigned int nd, const size_t *gdim, const size_t *ldim, size_t shared{declared}) {{
        void *args[] = {{{values or "NULL"}}};
        return GpuKernel_call(&{kernel.objvar}, nd, gdim, ldim, shared, args);
    }}
    int {kernel.sname}(unsigned int nd, const size_t *n, size_t shared{declared}) {{
        size_t gs[3] = {{1, 1, 1}}, ls[3] = {{1, 1, 1}};
        for (unsigned int d = 0; d < nd; d++)
            if (n[d] == 0)
                return GA_NO_ERROR;
        int err = GpuKernel_sched(&{kernel.objvar}, nd, n, gs, ls);
        return err != GA_NO_ERROR ? err : {kernel.fname}(nd, gs, ls, shared{arguments});
    }}
"""


def kernel_init(kernel: Kernel, context: str, fail: str, before: Sequence[Kernel]) -> str:
    """Return code that compiles a kernel.

    Parameters
    ----------
    kernel : Kernel
    context : str
        The ``PyGpuContextObject *`` in C.
    fail : str
        The statement that leaves the code.
    before : sequence of Kernel
        Kernels that have been compiled, and are freed where this one fails.
    """
    constants = [constant for constant, _ in _parameters(kernel)]
    return f"""{{
    const int theano_types[] = {{{", ".join(constants) or "0"}}};
    char *theano_message = NULL;
    int theano_code = GpuKernel_init(&{kernel.objvar}, ({context})->ctx, 1, &{kernel.codevar}, NULL, "{kernel.name}",
                                     {len(constants)}, theano_types, {kernel.c_flags()}, &theano_message);
    if (theano_code != GA_NO_ERROR) {{
        PyErr_Format(PyExc_RuntimeError, "kernel {kernel.name} cannot be compiled: %s",
                     theano_message == NULL ? gpuarray_error_str(theano_code) : theano_message);
        free(theano_message);
        {kernel_cleanup(before)}
        {fail}
    }}
}}
"""


def kernel_cleanup(kernels: Sequence[Kernel]) -> str:
    """Return code that frees kernels."""
    return "\n".join(f"GpuKernel_clear(&{kernel.objvar});" for kernel in kernels)


def context_in_c(params_type: Any, params: str | None, owner: str) -> str:
    """Return the context among the parameters of an op, as C code has it.

    Raises
    ------
    TypeError
        If there is none.
    """
    if params is not None and isinstance(params_type, GpuContextType):
        return params
    if params is not None and isinstance(params_type, ParamsType):
        pairs = zip(params_type.fields, params_type.types, strict=True)
        name = next((field for field, kind in pairs if isinstance(kind, GpuContextType)), None)
        if name is not None:
            return f"{params}->{name}"
    raise TypeError(
        format_error(
            f"{owner}: C code has no context for its kernels",
            hint="let `params_type` be gpu_context_type, or a ParamsType with a field of it, and return the context "
            "from get_params",
        )
    )
