"""New values that are written over old ones, once nobody reads these any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ..runtime._instructions import Instruction, Program
from ._block import Block, Place
from ._branches import Choice, Registers, Targets

__all__ = ["emit_replacing"]

Steps: TypeAlias = "Sequence[Instruction | Choice]"


def _read_by(step: Instruction | Choice) -> set[int]:
    """Return the registers that a step reads, and those of its sides."""
    if not isinstance(step, Choice):
        return set(step.inputs)
    inside = {register for side in step.sides for inner in side for register in _read_by(inner)}
    return {*step.instruction.inputs, *inside}


def emit_replacing(
    block: Block,
    program: Program,
    steps: Steps,
    arrays: Registers,
    targets: Targets,
    replaced: Mapping[int, Place],
    emit: Callable[[Block, Steps, Registers, Targets], None],
) -> None:
    """Write steps; one that gives the new value of an array that no later step reads may write it in place.

    Parameters
    ----------
    block : Block
    program : Program
    steps : sequence of Instruction or Choice
    arrays, targets : mapping
        As for the steps.
    replaced : mapping of int to Place
        Registers of new values, and the memory of the old ones.
    emit : callable
        Writes steps.
    """
    last: dict[int, int] = {}
    for position, step in enumerate(steps):
        last.update(dict.fromkeys(_read_by(step), position))
    last.update(dict.fromkeys([*program.outputs, *(register for register, _ in program.updates)], len(steps)))
    for position, step in enumerate(steps):
        own: dict[int, Place] = {}
        for register in () if isinstance(step, Choice) else step.outputs:
            target = replaced.get(register)
            if target is not None and all(
                last.get(other, -1) <= position for other, x in arrays.items() if x.root is target.root
            ):
                own[register] = target
        emit(block, [step], arrays, {**targets, **own})
