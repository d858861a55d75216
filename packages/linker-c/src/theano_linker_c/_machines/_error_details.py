"""Details of errors of a running program beyond the failing node, for exception_verbosity=high."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from theano_graph import Variable, debugprint

from .._instructions._data import Program

_MOST_VALUES = 30
_MOST_LINES = 60
_DEPTH = 12


def details(program: Program, index: int, values: Sequence[Any]) -> list[str]:
    """Return the tree above an instruction, and stored values: its operands, shared values and constants.

    Parameters
    ----------
    program : Program
    index : int
        The instruction that failed.
    values : sequence
        The values of its inputs.

    Returns
    -------
    list of str
        The largest values come first. Long trees and long lists are cut.
    """
    node = program.instructions[index].node
    tree = str(debugprint(node, depth=_DEPTH, print_type=True, file="str")).splitlines()
    lines = ["  Debugprint of the apply node:", *(f"    {line}" for line in tree[:_MOST_LINES])]
    if len(tree) > _MOST_LINES:
        lines.append("    ...")
    stored = sorted(_stored(program, index, values), key=lambda item: -item[2])
    total = sum(size for _, _, size in stored)
    lines.append(f"  Storage map ({total} bytes in operands, shared values and constants):")
    lines.extend(f"    {name}: {text}" for name, text, _ in itertools.islice(stored, _MOST_VALUES))
    if len(stored) > _MOST_VALUES:
        lines.append(f"    and {len(stored) - _MOST_VALUES} more")
    return lines


def _stored(program: Program, index: int, values: Sequence[Any]) -> Iterator[tuple[str, str, int]]:
    """Yield name, text and size in bytes of each value, once."""
    variables: dict[int, Variable] = {}
    for instruction in program.instructions:
        variables.update(zip(instruction.inputs, instruction.node.inputs, strict=True))
    shared, constants = dict(program.cells), dict(program.constants)
    values_stored: dict[int, tuple[str, Any]] = {}
    for register, value in zip(program.instructions[index].inputs, values, strict=True):
        kind = "shared" if register in shared else "constant" if register in constants else "operand"
        values_stored[register] = (kind, value)
    for register, cell in shared.items():
        values_stored.setdefault(register, ("shared", cell[0]))
    for register, value in constants.items():
        values_stored.setdefault(register, ("constant", value))
    for register, (kind, value) in values_stored.items():
        variable = variables.get(register)
        name = "an unnamed value" if variable is None else f"`{variable}`"
        if isinstance(value, np.ndarray) or (hasattr(value, "nbytes") and hasattr(value, "dtype")):
            yield f"{name} ({kind})", f"{value.dtype} of shape {value.shape}, {value.nbytes} bytes", value.nbytes
        else:
            yield f"{name} ({kind})", type(value).__name__, 0
