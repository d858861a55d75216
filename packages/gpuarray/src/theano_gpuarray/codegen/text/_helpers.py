"""From the body of a kernel to its whole text: what it calls is defined before it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from theano_graph import format_error, record
from theano_linker_c.kernels import memory_type
from theano_linker_c.scalar import (
    CValue,
    c_stored,
    c_type,
    called_special_functions,
    helper_definitions,
    special_definitions,
)

from .._form import KernelSource, KernelText, NoDeviceForm
from ._atomics import atomic_definitions
from ._vectors import vector_definitions

__all__ = ["Parameter", "Signature", "build_text", "kernel_text", "store", "with_helpers"]

#: Defined by the prelude.
_IN_PRELUDE = re.compile(r"\btheano_(?:from_half_uint16|to_half_float32)\(\w+ x\) \{")
_ATOMIC = re.compile(r"\btheano_atomic_[a-z]+_\w+")
_INCLUDE = re.compile(r"^\s*#\s*include\s*<(math|stdint|stdlib|stddef)\.h>\s*$", re.MULTILINE)
#: Stands for the name of a kernel, which follows from the rest of its text.
_NAME = "THEANO_KERNEL"
_C_TYPES = {"i": "int32_t", "I": "uint32_t", "q": "int64_t", "f": "float", "d": "double"}


@record
class Parameter:
    """A parameter of a kernel: a letter as in :class:`KernelText`, a name, and for a pointer what it points to.

    What is `apart` is reached through no other parameter, if one of them is written to: loads need not wait for stores.
    """

    letter: str
    name: str
    memory: str = "char"
    written: bool = False
    apart: bool = False

    @property
    def declaration(self) -> str:
        """The C text in the head of the kernel."""
        if self.letter == "P":
            qualifier = "restrict " if self.apart else ""
            return f"GLOBAL_MEM {'' if self.written else 'const '}{self.memory} *{qualifier}{self.name}"
        return f"const {_C_TYPES[self.letter]} {self.name}"


class Signature:
    """Collects the parameters of a kernel, in order; `apart` says that what is written has memory of its own."""

    def __init__(self, *, apart: bool = False) -> None:
        self.parameters: list[Parameter] = []
        self._starts: list[tuple[str, str, bool]] = []
        self._apart = apart

    def number(self, letter: str, *names: str) -> None:
        """Add numbers."""
        self.parameters += [Parameter(letter, name) for name in names]

    def array(self, name: str, memory: str = "char", *, written: bool = False) -> None:
        """Add an array: a pointer to its memory, and how many bytes lie before its first element."""
        self.parameters += [
            Parameter("P", f"{name}_memory", "char", written, self._apart),
            Parameter("q", f"{name}_offset"),
        ]
        self._starts.append((name, memory, written))

    @property
    def starts(self) -> list[str]:
        """Statements that declare the pointers to the first elements."""
        lines = []
        for name, memory, written in self._starts:
            kind = f"GLOBAL_MEM {'' if written else 'const '}{memory} *"
            lines.append(f"{kind}const {name} = ({kind})({name}_memory + {name}_offset);")
        return lines

    @property
    def letters(self) -> str:
        """One letter for each parameter."""
        return "".join(parameter.letter for parameter in self.parameters)


def store(place: str, value: CValue, dtype: str) -> str:
    """Return the statement that stores a value as an element of `dtype`."""
    return f"{place} = {c_stored(value, dtype)};"


def declare(name: str, dtype: str, text: str) -> str:
    """Return the statement that defines a temporary."""
    return f"const {c_type(dtype)} {name} = {text};"


def kernel_text(
    stem: str, signature: Signature, body: Sequence[str], preamble: Iterable[str] = (), single_item: bool = False
) -> KernelText:
    """Return a kernel function, with the definitions of all that it calls.

    Parameters
    ----------
    stem : str
        The beginning of its name; a digest of the text follows.
    signature : Signature
    body : sequence of str
        Lines of the function.
    preamble : iterable of str
        Functions that the operations of users bring along.
    single_item : bool
        Whether a group is one work-item: then compilers for CPUs need not look for vectors across work-items, in which
        some fail.

    Raises
    ------
    NoDeviceForm
        If something has no text for devices.
    """
    parameters = tuple(parameter.declaration for parameter in signature.parameters)
    source = KernelSource(parameters, (*signature.starts, *body), (), tuple(preamble), single_item)
    return build_text(stem, source, signature.letters)


def build_text(stem: str, source: KernelSource, letters: str) -> KernelText:
    """Return the text of a kernel that is made of some source.

    Parameters
    ----------
    stem : str
        The beginning of its name; a digest of the text follows.
    source : KernelSource
    letters : str
        One for each parameter.

    Raises
    ------
    NoDeviceForm
        If something has no text for devices.
    """
    head = f"KERNEL {'SINGLE_ITEM ' * source.single_item}void {_NAME}({', '.join(source.parameters)}) {{"
    lines = (f"  {line}" for line in source.lines)
    given = with_helpers("\n".join([*source.functions, head, *lines, "}", ""]), source.preamble)
    name = f"{stem}_{hashlib.sha1(given.encode(), usedforsecurity=False).hexdigest()[:12]}"
    return KernelText(name, given.replace(_NAME, name).lstrip("\n"), letters, source)


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
    own = [_plain(part) for part in preamble]
    if re.search(r"\b_Complex\b", "".join([text, *own])):
        raise NoDeviceForm(format_error("complex numbers have no form on devices", hint="leave these nodes to the CPU"))
    special = _special("\n".join([text, *own]))
    # Names of atomic operations are like those of helpers, which do not know them.
    others = [_ATOMIC.sub("", part) for part in (*own, text)]
    helpers = [part for part in helper_definitions(others) if not _IN_PRELUDE.search(part)]
    found = [*vector_definitions([text]), *special, *helpers, *atomic_definitions([*own, text]), *own]
    return "\n".join([*found, "", text]) if found else text


def _special(text: str) -> list[str]:
    try:
        return special_definitions(called_special_functions(text))
    except KeyError as error:
        raise NoDeviceForm(
            format_error(
                f"the special function {error.args[0]} has no form on devices", hint="leave this operation to the CPU"
            )
        ) from None


def _plain(part: str) -> str:
    """Return a piece of a preamble without headers: what they declare is there on devices."""
    text = _INCLUDE.sub("", part).strip("\n")
    if re.search(r"^\s*#\s*include\b", text, re.MULTILINE):
        raise NoDeviceForm(format_error(f"a header is no part of device code: {text.strip()[:80]}", hint="use plain C"))
    return re.sub(r"\n{2,}", "\n", text)


__all__ += ["declare", "memory_type"]
