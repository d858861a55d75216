"""The text of kernels: from a body to a function with its helpers, and kernels side by side in one launch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from theano_graph import format_error
from theano_linker_c.codegen import named, verify_if_wanted
from theano_linker_c.codegen.ir import Assign, Let, Opaque, Region, Statement, value_of_text
from theano_linker_c.codegen.print import device_lines
from theano_linker_c.kernels import memory_type
from theano_linker_c.scalar import CValue, c_stored, named_helpers, special_definitions

from ._form import DeviceKernel, KernelText, LocalArray, NoDeviceForm, Parameter
from ._prelude import (
    VECTOR_BYTES,
    aligned,
    atomic_definitions,
    compile_options,
    prelude,
    vector_definitions,
    vector_type,
)

# ---- The text of one kernel: helpers are defined before their calls

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
        Whether no other parameter reaches the written memory.
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
        More functions; each stands after the functions that it calls.

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
    """Return a piece of a preamble without headers: devices have their declarations."""
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


# ---- Kernels side by side in one launch: each group does the work of a group of one of them

#: Words for groups: they stand for the device's numbers in a launch of its own, and here for those of a part of one.
_GROUPS = ("GID_0", "GID_1", "GDIM_0", "GDIM_1")
_OWN_GROUPS = tuple(line for word in _GROUPS for line in (f"#undef {word}", f"#define {word} theano_{word.lower()}"))
_PLACE = tuple(
    Let(f"theano_{word}", "uint32_t", value_of_text(text))
    for word, text in (
        ("gid_0", "(theano_flat - theano_begin) % theano_across"),
        ("gid_1", "(theano_flat - theano_begin) / theano_across"),
        ("gdim_0", "theano_across"),
        ("gdim_1", "(theano_end - theano_begin) / theano_across"),
    )
)


@lru_cache(maxsize=256)
def joined_text(kernels: tuple[tuple[KernelText, int], ...]) -> KernelText:
    """Return a kernel that does the work of several launches, whose work-groups have one and the same size.

    Its groups are those of the first launch, then those of the second one, and so on. Launches of one text share its
    statements, and differ in their arguments.

    Parameters
    ----------
    kernels : tuple of (KernelText, int)
        Texts of kernels that are known, and of how many launches each is.

    Returns
    -------
    KernelText
        For each launch there are the number of its first group, how many groups it has along the first dimension, and
        its own parameters.
    """
    parameters: list[Parameter] = []
    body: list[Statement] = [Opaque(("const uint32_t theano_flat = GID_0, theano_all = GDIM_0;", *_OWN_GROUPS))]
    functions: dict[str, None] = {}
    preamble: dict[str, None] = {}
    parts = [(text.kernel, count) for text, count in kernels if text.kernel is not None]
    first, total = 0, sum(count for _, count in parts)
    for kernel, count in parts:
        functions.update(dict.fromkeys(kernel.functions))
        preamble.update(dict.fromkeys(kernel.preamble))
        for k in range(first, first + count):
            parameters += [Parameter("I", f"theano_begin{k}"), Parameter("I", f"theano_across{k}")]
            parameters += [_of_launch(parameter, k) for parameter in kernel.parameters]
        body.append(_block(kernel, first, count, first + count == total))
        first += count
    single = all(kernel.single_item for kernel, _ in parts)
    local = joined_arrays(kernel for kernel, _ in parts)
    return build_text(
        "joined", DeviceKernel(tuple(parameters), tuple(body), local, tuple(functions), tuple(preamble), single)
    )


def joined_arrays(kernels: Iterable[DeviceKernel]) -> tuple[LocalArray, ...]:
    """Return the arrays in local memory of kernels of which a group runs one: those of one name share memory."""
    arrays: dict[str, LocalArray] = {}
    for array in (array for kernel in kernels for array in kernel.local):
        other = arrays.setdefault(array.name, array)
        assert other.kind == array.kind, "arrays of one name have one type"
        arrays[array.name] = max(array, other, key=lambda each: each.lengths)
    return tuple(arrays.values())


def _of_launch(parameter: Parameter, k: int) -> Parameter:
    return replace(parameter, name=f"launch{k}_{parameter.name}")


def _block(kernel: DeviceKernel, first: int, count: int, is_last: bool) -> Region:
    """Return the statements of the groups of all launches of one text."""
    end = "theano_all" if is_last else f"theano_begin{first + count}"
    head = f"{'else ' * (first > 0)}{f'if (theano_flat < {end})' * (not is_last)}".rstrip()
    variables = [(name, "uint32_t") for name in ("theano_begin", "theano_end", "theano_across")]
    variables += [(parameter.name, parameter.kind) for parameter in kernel.parameters]
    body: list[Statement] = [Let(name, kind, None, False) for name, kind in variables]
    for k in range(first, first + count):
        last = k == first + count - 1
        stop = end if last else f"theano_begin{k + 1}"
        values = [f"theano_begin{k}", stop, f"theano_across{k}"]
        values += [_of_launch(parameter, k).name for parameter in kernel.parameters]
        choice = f"{'else ' * (k > first)}{f'if (theano_flat < {stop})' * (not last)}".rstrip()
        pairs = zip(variables, values, strict=True)
        body.append(Region(choice, tuple(Assign(name, value_of_text(value)) for (name, _), value in pairs)))
    return Region(head, (*body, *_PLACE, *kernel.body))


__all__ = [
    "Signature",
    "VECTOR_BYTES",
    "aligned",
    "compile_options",
    "joined_arrays",
    "joined_text",
    "memory_type",
    "prelude",
    "store",
    "vector_type",
    "with_helpers",
]
