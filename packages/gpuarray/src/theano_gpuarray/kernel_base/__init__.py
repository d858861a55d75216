"""Kernels that ops bring along: bases of such ops and their C code, descriptions, launches, helpers for their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from theano_graph import Apply, MissingRuleError, Op, format_error
from theano_linker_c.compiler import digest
from theano_linker_c.cop import COp, ParamsType, version_of

from .. import get_include
from ..arrays import dtype_to_ctype, dtype_to_typecode
from ..contexts import GpuContext
from ..types import GpuArrayType, GpuContextType, gpu_context_type
from ._launches import GpuKernel, Kernel, gemm, parameter_of, text_of_program
from ._text import (
    code_version,
    inline_reduce,
    inline_reduce_fixed_shared,
    inline_reduce_fixed_shared_max,
    inline_reduce_max,
    inline_reduce_min,
    inline_reduce_prod,
    inline_reduce_sum,
    inline_softmax,
    inline_softmax_fixed_shared,
    load_w,
    nvcc_kernel,
    work_dtype,
    write_w,
)

# ---- C code around the kernels of an op: objects, their construction and release, and functions that launch them

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


# ---- Bases of ops

_KERNEL_LINE = re.compile(r"^#kernel[ \t]+(\w+)[ \t]*:([^:\n]*):([^\n]*)$", re.MULTILINE)
_DTYPE_WORD = re.compile(r"\bDTYPE_(INPUT|OUTPUT)_(\d+)\b")


class GpuKernelBase:
    """The base of ops that bring kernels of their own.

    An op defines :meth:`gpu_kernels`. Its `c_code` launches kernel ``k`` with ``k_call`` and ``k_scall``; its `perform`
    launches the result of :meth:`launchable`. The context is its parameter (``sub["params"]`` in C code), unless
    `params_type` is a ParamsType, where one field is the context.
    """

    params_type: Any = gpu_context_type

    def gpu_kernels(self, node: Apply, name: str) -> Iterable[Kernel]:
        """Return the kernels of the op.

        Parameters
        ----------
        node : Apply
        name : str
            A name that no other node has, for names of functions.
        """
        raise MissingRuleError(
            format_error(
                f"{type(self).__qualname__} defines no gpu_kernels",
                hint="define gpu_kernels(node, name), which returns the kernels of the op",
            )
        )

    def context_of_node(self, node: Apply) -> GpuContext:
        """Return the context in which a node runs: that of its first variable on a device."""
        for variable in (*node.inputs, *node.outputs):
            if isinstance(variable.type, GpuArrayType):
                return variable.type.context
        raise TypeError(
            format_error(f"{node}: no variable is on a device", hint="let inputs or outputs have a GpuArrayType")
        )

    def get_gpu_context(self, node: Apply) -> GpuContext:
        """Return the context of the C code of a node: by default the one in which it runs."""
        return self.context_of_node(node)

    def get_params(self, node: Apply) -> Any:
        """Return the parameters of the C code of a node; None for ops with Python code alone."""
        if self.params_type is not gpu_context_type:
            return Op.get_params(self, node)
        return self.get_gpu_context(node) if _has_c_code(self) else None

    def launchable(self, node: Apply) -> dict[str, GpuKernel]:
        """Return the kernels of a node by name, compiled for its context when this is first asked.

        Examples
        --------
        In `perform`::

            k = self.launchable(node)["k"]
            k(x, x.shape[0], n=x.shape[0])
        """
        kernels = _compiled.get(node)
        if kernels is None:
            context = self.context_of_node(node)
            kernels = _compiled[node] = {
                kernel.name: GpuKernel(kernel.code, kernel.name, kernel.params, context)
                for kernel in self.gpu_kernels(node, "node")
            }
        return kernels

    def kernel_version(self, node: Apply) -> tuple[Any, ...]:
        """Return the version of the code around the kernels of a node, which belongs to that of its C code."""
        return (_VERSION, self.context_of_node(node).kind)

    # ---- the C contract of ops

    def c_headers(self) -> list[str]:
        """Return the headers of kernels."""
        return ["<gpuarray/types.h>", "<gpuarray/kernel.h>"]

    def c_header_dirs(self) -> list[str]:
        """Return the folder of the headers."""
        return [get_include()]

    def c_support_code_struct(self, node: Apply, name: str) -> str:
        """Return the kernels of a node, and the functions that launch them."""
        return "".join(kernel_members(kernel) for kernel in self.gpu_kernels(node, name))

    def c_init_code_struct(self, node: Apply, name: str, sub: Mapping[str, str]) -> str:
        """Return code that compiles the kernels."""
        kernels = list(self.gpu_kernels(node, name))
        if not kernels:
            return ""
        context = context_in_c(self.params_type, sub.get("params"), type(self).__qualname__)
        return "".join(kernel_init(kernel, context, sub["fail"], kernels[:i]) for i, kernel in enumerate(kernels))

    def c_cleanup_code_struct(self, node: Apply, name: str) -> str:
        """Return code that frees the kernels."""
        return kernel_cleanup(list(self.gpu_kernels(node, name)))

    def c_code_cache_version_apply(self, node: Apply) -> tuple[Any, ...]:
        """Return the version of the C code of a node; empty where the op gives none."""
        version = version_of(self)
        return (*version, *self.kernel_version(node)) if version else ()


def _has_c_code(op: Any) -> bool:
    """Tell whether an op has C code of its own."""
    method = getattr(op, "c_code", None)
    return method is not None and not hasattr(method, "is_default")


#: Version of the code around kernels of ops in C code.
_VERSION = 1
#: Node -> its kernels, compiled.
_compiled: WeakKeyDictionary[Apply, dict[str, GpuKernel]] = WeakKeyDictionary()


class CGpuKernelBase(COp, GpuKernelBase):
    """The base of ops that bring kernels of their own in a file, in a section ``kernels``.

    A kernel begins with a line ``#kernel name : params : flags``, where params are names of dtypes, ``size``, ``ssize``
    and ``*``, separated by commas, and flags are those of C, separated by ``|``.

    Parameters
    ----------
    func_files : str or sequence of str
    func_name : str, optional
        See :class:`~theano_linker_c.cop.COp`.

    Raises
    ------
    ValueError
        If the section does not begin with a kernel, or a parameter is none.
    """

    params_type: Any = gpu_context_type
    further_sections: ClassVar[tuple[str, ...]] = ("kernels",)

    def __init__(self, func_files: str | Sequence[str], func_name: str | None = None) -> None:
        super().__init__(func_files, func_name)
        self.kernel_code = self.code_sections.pop("kernels", "")
        self._described = _parsed(self.kernel_code, type(self).__qualname__)

    def get_params(self, node: Apply) -> Any:
        """Return the parameters of the C code of a node."""
        return GpuKernelBase.get_params(self, node)

    def c_support_code_struct(self, node: Apply, name: str) -> str:
        """Return the kernels of a node, the functions that launch them, and the section."""
        inherited = super().c_support_code_struct(node, name) if "support_code_struct" in self.code_sections else ""
        return GpuKernelBase.c_support_code_struct(self, node, name) + inherited

    def c_init_code_struct(self, node: Apply, name: str, sub: Mapping[str, str]) -> str:
        """Return code that compiles the kernels, and the section."""
        inherited = super().c_init_code_struct(node, name, sub) if "init_code_struct" in self.code_sections else ""
        return GpuKernelBase.c_init_code_struct(self, node, name, sub) + inherited

    def c_cleanup_code_struct(self, node: Apply, name: str) -> str:
        """Return the section, and code that frees the kernels."""
        inherited = super().c_cleanup_code_struct(node, name) if "cleanup_code_struct" in self.code_sections else ""
        return inherited + GpuKernelBase.c_cleanup_code_struct(self, node, name)

    def c_code_cache_version(self) -> tuple[Any, ...]:
        """Return a version made of the contents of the files."""
        return (*super().c_code_cache_version(), digest(self.kernel_code))

    def gpu_kernels(self, node: Apply, name: str) -> list[Kernel]:
        """Return the kernels of the section, with the dtypes of a node in the place of ``DTYPE_INPUT_0`` and others."""
        return [
            Kernel(_with_dtypes(code, node), [parameter_of(word) for word in words], kernel, {"cflags": flags})
            for kernel, words, flags, code in self._described
        ]


def _parsed(text: str, owner: str) -> list[tuple[str, tuple[str, ...], str, str]]:
    """Return name, parameters, flags and text of each kernel of a section."""
    pieces = _KERNEL_LINE.split(text)
    if pieces[0].strip():
        raise ValueError(
            format_error(
                f"{owner}: the section `kernels` does not begin with a kernel",
                hint="begin it with a line `#kernel name : params : flags`",
            )
        )
    kernels = []
    for name, params, flags, code in zip(pieces[1::4], pieces[2::4], pieces[3::4], pieces[4::4], strict=True):
        words = tuple(word.strip() for word in params.split(",") if word.strip())
        for word in words:
            parameter_of(word)
        kernels.append((name, words, flags.strip(), code))
    return kernels


def _with_dtypes(code: str, node: Apply) -> str:
    """Return the text of a kernel with the types of the elements of inputs and outputs."""

    def named(match: re.Match[str]) -> str:
        side = node.inputs if match[1] == "INPUT" else node.outputs
        kind: Any = side[int(match[2])].type
        type_name: str = kind.c_element_type() if isinstance(kind, GpuArrayType) else kind.dtype_specs()[1]
        return type_name

    return _DTYPE_WORD.sub(named, code)


__all__ = [
    "CGpuKernelBase",
    "GpuKernel",
    "GpuKernelBase",
    "Kernel",
    "code_version",
    "gemm",
    "inline_reduce",
    "inline_reduce_fixed_shared",
    "inline_reduce_fixed_shared_max",
    "inline_reduce_max",
    "inline_reduce_min",
    "inline_reduce_prod",
    "inline_reduce_sum",
    "inline_softmax",
    "inline_softmax_fixed_shared",
    "load_w",
    "nvcc_kernel",
    "text_of_program",
    "work_dtype",
    "write_w",
]
