"""From the body of a kernel to its whole text: what it calls is defined before it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from theano_graph import format_error
from theano_linker_c.codegen import named, verify_if_wanted
from theano_linker_c.codegen.ir import Let, Opaque, Statement, value_of_text
from theano_linker_c.codegen.print import device_lines
from theano_linker_c.kernels import memory_type
from theano_linker_c.scalar import (
    CValue,
    c_stored,
    named_helpers,
    special_definitions,
)

from .._form import NoDeviceForm
from .._kernel_text import DeviceKernel, KernelText, LocalArray, Parameter
from ._atomics import atomic_definitions
from ._vectors import vector_definitions

__all__ = ["Signature", "build_text", "memory_type", "store", "with_helpers"]

#: Helpers that the prelude defines, and headers whose functions and types it has.
_IN_PRELUDE = frozenset({"theano_from_half_uint16", "theano_to_half_float32"})
_HEADERS = frozenset({"math.h", "stdint.h", "stdlib.h", "stddef.h"})
_SPECIAL = "theano_special_"
#: Stands for the name of a kernel, which follows from the rest of its text.
_NAME = "THEANO_KERNEL"


class Signature:
    """Collects the parameters of a kernel, in order, and its local memory.

    Parameters
    ----------
    apart : bool
        Whether what is written is reached through no other parameter.
    """

    def __init__(self, *, apart: bool = False) -> None:
        self.parameters: list[Parameter] = []
        self._local: list[LocalArray] = []
        self._starts: list[Statement] = []
        self._apart = apart

    def number(self, letter: str, *names: str) -> None:
        """Add numbers."""
        self.parameters += [Parameter(letter, name) for name in names]

    def pointer(self, name: str, *, written: bool) -> None:
        """Add a pointer to bytes."""
        self.parameters.append(Parameter("P", name, "char", written, self._apart))

    def array(self, name: str, memory: str = "char", *, written: bool = False) -> None:
        """Add an array: a pointer to its memory, and how many bytes lie before its first element."""
        self.pointer(f"{name}_memory", written=written)
        self.number("q", f"{name}_offset")
        kind = f"GLOBAL_MEM {'' if written else 'const '}{memory} *"
        self._starts.append(Let(name, kind, value_of_text(f"({kind})({name}_memory + {name}_offset)")))

    def local(self, kind: str, name: str, *lengths: int) -> None:
        """Add an array in local memory."""
        self._local.append(LocalArray(kind, name, lengths))

    def text(
        self,
        stem: str,
        body: Iterable[Statement | str],
        functions: Iterable[str] = (),
        preamble: Iterable[str] = (),
        *,
        single_item: bool = False,
        light: bool = False,
    ) -> KernelText:
        """Return a kernel function, with the definitions of all that it calls.

        Parameters
        ----------
        stem : str
            The beginning of its name; a digest of the text follows.
        body : iterable of Statement or str
            Statements, and lines of opaque ones.
        functions, preamble, single_item, light
            See :class:`DeviceKernel`.

        Raises
        ------
        NoDeviceForm
            If something has no text for devices.
        """
        statements = tuple(Opaque((part,)) if isinstance(part, str) else part for part in (*self._starts, *body))
        verify_if_wanted(statements)
        parts = tuple(self.parameters), statements, tuple(self._local), tuple(functions), tuple(preamble)
        return build_text(stem, DeviceKernel(*parts, single_item, light))


def store(address: str, value: CValue, dtype: str) -> str:
    """Return the statement that stores a value as an element of `dtype`."""
    return f"{address} = {c_stored(value, dtype)};"


def build_text(stem: str, kernel: DeviceKernel) -> KernelText:
    """Return the text of a kernel.

    Parameters
    ----------
    stem : str
        The beginning of its name; a digest of the text follows.
    kernel : DeviceKernel

    Raises
    ------
    NoDeviceForm
        If something has no text for devices.
    """
    parameters = ", ".join(parameter.declaration for parameter in kernel.parameters)
    head = f"KERNEL {'SINGLE_ITEM ' * kernel.single_item}void {_NAME}({parameters}) {{"
    lines = (f"  {line}" for line in (*(array.declaration for array in kernel.local), *device_lines(kernel.body)))
    text = with_helpers("\n".join([*kernel.functions, head, *lines, "}", ""]), kernel.preamble)
    name = f"{stem}_{hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:12]}"
    letters = "".join(parameter.letter for parameter in kernel.parameters)
    writes = tuple(parameter.written for parameter in kernel.parameters if parameter.letter == "P")
    return KernelText(name, text.replace(_NAME, name).lstrip("\n"), letters, writes, kernel)


def with_helpers(text: str, preamble: Iterable[str] = ()) -> str:
    """Return text with the definitions of the functions that it calls before it, an empty line between.

    Known are the helpers of scalar code, special functions (``theano_special_<name>``), atomic operations and vectors.

    Parameters
    ----------
    text : str
    preamble : iterable of str
        More functions; they stand after those that they call.

    Raises
    ------
    NoDeviceForm
        If a special function has no text for devices, or something is complex.
    """
    sources = [_plain(part) for part in preamble]
    names = frozenset(named("\n".join([*sources, text]) if sources else text))
    if "_Complex" in names:
        raise NoDeviceForm(format_error("complex numbers have no form on devices", hint="leave these nodes to the CPU"))
    definitions = [
        *vector_definitions(names),
        *_special(names),
        *named_helpers(names, _IN_PRELUDE),
        *atomic_definitions(names),
        *sources,
    ]
    return "\n".join([*definitions, "", text]) if definitions else text


def _special(names: Iterable[str]) -> list[str]:
    wanted = (name for name in sorted(names) if name.startswith(_SPECIAL))
    try:
        return special_definitions(name.removeprefix(_SPECIAL) for name in wanted)
    except KeyError as error:
        raise NoDeviceForm(
            format_error(
                f"the special function {error.args[0]} has no form on devices", hint="leave this operation to the CPU"
            )
        ) from None


def _plain(part: str) -> str:
    """Return a piece of a preamble without headers: what they declare is there on devices."""
    lines = []
    for line in part.splitlines():
        if line.lstrip().startswith("#") and named(line)[:1] == ("include",):
            if line.partition("<")[2].partition(">")[0] not in _HEADERS:
                raise NoDeviceForm(
                    format_error(f"a header is no part of device code: {line.strip()[:80]}", hint="use plain C")
                )
        elif line:
            lines.append(line)
    return "\n".join(lines)
