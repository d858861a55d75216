"""Bases of ops with kernels of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from theano_graph import Apply, MissingRuleError, Op, format_error
from theano_linker_c.compiler import digest
from theano_linker_c.cop import COp, version_of

from .._include import get_include
from ..contexts import GpuContext
from ..types import GpuArrayType, gpu_context_type
from ._c_code import context_in_c, kernel_cleanup, kernel_init, kernel_members
from ._description import Kernel, parameter_of
from ._launching import GpuKernel

__all__ = ["CGpuKernelBase", "GpuKernelBase"]

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
