"""The instructions of a program as the machine in C takes them, told without the addresses of one process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...kernels import LoadedKernel
from ...runtime._instructions import Form, Instruction
from ...runtime._native_machine import Encoded

#: The common part of many instructions: the number of the machine's instruction, its payload without addresses, where
#: the addresses of its machine code belong in that (of the function, of its outer part), the checks of its results, and
#: the number of its form.
Kind: TypeAlias = tuple[int, tuple[Any, ...], tuple[int, ...], tuple[int, ...], Any, int]
#: The number of a kind, and the registers that are read, written and let go of.
Row: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]

#: The kind of an instruction that is encoded again for its node.
BY_NODE = -1
_PLAIN = frozenset((float, bool, str, bytes, type(None)))
#: The remainder of whole numbers without their lowest 32 bits; others may be addresses, of routines of libraries say.
_NO_ADDRESS = (0, -1)


def tell_instructions(
    encoded: Sequence[Encoded], instructions: Sequence[Instruction], number_of: Callable[[Form], int]
) -> tuple[list[Kind], list[Row]]:
    """Return the different kinds of instructions, and for each instruction its kind and registers.

    Parameters
    ----------
    encoded : sequence of Encoded
        As a machine was given them.
    instructions : sequence of Instruction
        The same as they stand in the program.
    number_of : callable
        Gives the number of a form.
    """
    kinds: list[Kind] = []
    # Payloads of one kernel that are equal have the same types in the same places.
    registers: dict[Any, int] = {}
    rows: list[Row] = []
    for (number, inputs, outputs, release, payload, checks, code), instruction in zip(
        encoded, instructions, strict=True
    ):
        form = number_of(instruction.form)
        key = number, form, payload, checks
        kind = registers.get(key)
        if kind is None:
            payload_text, inner, outer = _without_addresses(payload, code)
            kind = registers[key] = len(kinds) if _is_plain(payload_text) else BY_NODE
            if kind != BY_NODE:
                kinds.append((number, payload_text, inner, outer, checks, form))
        rows.append((kind, inputs, outputs, release))
    return kinds, rows


def _without_addresses(payload: Any, code: LoadedKernel | None) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """Return a payload with 0 in the places of addresses, the places of that of the function and of its outer part."""
    if code is None or type(payload) is not tuple:
        return payload, (), ()
    inner, outer = _places(payload, code.address), _places(payload, code.outer_address)
    return tuple(0 if i in inner or i in outer else item for i, item in enumerate(payload)), inner, outer


def _places(payload: tuple[Any, ...], address: int) -> tuple[int, ...]:
    return tuple(i for i, item in enumerate(payload) if address and type(item) is int and item == address)


def _is_plain(value: Any) -> bool:
    """Tell whether a payload without the addresses of its machine code means the same in each process."""
    if type(value) is tuple:
        return all(map(_is_plain, value))
    if type(value) is int:
        return value >> 32 in _NO_ADDRESS
    return type(value) in _PLAIN or (type(value) is np.ufunc and getattr(np, value.__name__, None) is value)


def encode_again(
    kinds: Iterable[Kind],
    rows: Iterable[Row],
    codes: Mapping[int, LoadedKernel | None],
    by_node: Callable[[int], Encoded],
) -> tuple[Encoded, ...]:
    """Return instructions as the machine takes them in this process.

    Parameters
    ----------
    kinds, rows
        From :func:`tell_instructions`.
    codes : mapping of int to LoadedKernel or None
        The machine code of each form that has some.
    by_node : callable
        Encodes the instruction of a number for its node.
    """
    instructions = []
    for number, payload_text, inner, outer, checks, form in kinds:
        code, payload = codes.get(form), payload_text
        if code is not None and (inner or outer):
            items = list(payload_text)
            for i in inner:
                items[i] = code.address
            for i in outer:
                items[i] = code.outer_address
            payload = tuple(items)
        instructions.append((number, payload, checks, code))
    encoded: list[Encoded] = []
    for kind, inputs, outputs, release in rows:
        if kind == BY_NODE:
            encoded.append(by_node(len(encoded)))
        else:
            number, payload, checks, code = instructions[kind]
            encoded.append((number, inputs, outputs, release, payload, checks, code))
    return tuple(encoded)
