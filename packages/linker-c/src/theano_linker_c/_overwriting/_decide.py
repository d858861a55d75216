"""Which results of a program may lie in the memory of which operands, and which writes wait for the end of a call.

A decision is a permission. Whether somebody sees the memory whom no program can know (the caller, an op of the user
that has kept an array) is found out in the call, and then other memory is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from .._instructions._data import Instruction, Program
from ..kernels import Donors
from ._kinds import ALL_KINDS, Overwriting
from ._lifetimes import Lifetimes


def decide(program: Program, kinds: Collection[Overwriting] = ALL_KINDS) -> Program:
    """Return a program whose instructions list the operands they may overwrite in `donors` and `waits`.

    Cost is linear in the length of the program.

    Parameters
    ----------
    program : Program
    kinds : collection of Overwriting
        Kinds of operations that may overwrite anything at all.

    Returns
    -------
    Program
    """
    able = [i for i, x in enumerate(program.instructions) if (kernel := x.kernel) and kernel.overwriting in kinds]
    if not able:
        return program
    waiting = waiting_writes(program, able)
    donors = _donations(program, able, waiting)
    changed = donors.keys() | waiting.keys()
    return replace(
        program,
        instructions=tuple(
            replace(x, donors=donors.get(i, ()), waits=waiting.get(i)) if i in changed else x
            for i, x in enumerate(program.instructions)
        ),
    )


def _donations(program: Program, able: Sequence[int], waiting: Collection[int]) -> dict[int, Donors]:
    """Return the inputs whose memory each of the results may take, for the instructions that have such inputs."""
    candidates = {i: donations for i in able if any(donations := _candidates(program.instructions[i]))}
    if not candidates:
        return {}
    lifetimes = Lifetimes(program, waiting=waiting)
    ends: Callable[[int, int], bool] = lifetimes.ends if program.schedule is None else lifetimes.ends_in_any_order
    donated = {parameter.register for parameter in program.inputs if parameter.accepts.overwrite}
    update_memory = _memory_of_updates(program, lifetimes) if donated else set[int]()
    decided: dict[int, Donors] = {}
    for i, instruction in enumerate(program.instructions):
        if i in candidates:
            decided[i] = tuple(
                tuple(
                    position
                    for position in positions
                    if ends(i, instruction.inputs[position])
                    and not (instruction.outputs[k] in update_memory and instruction.inputs[position] in donated)
                )
                for k, positions in enumerate(candidates[i])
            )
        if donated:
            _follow(instruction, decided.get(i, ()), donated, lifetimes)
    return {i: donors for i, donors in decided.items() if any(donors)}


def _follow(instruction: Instruction, donors: Donors, donated: set[int], lifetimes: Lifetimes) -> None:
    """Add the results that may lie in memory of the caller to those registers."""
    for k, register in enumerate(instruction.outputs):
        taken = (instruction.inputs[position] for position in (donors[k] if k < len(donors) else ()))
        if any(other in donated for other in (*lifetimes.roots(register), *taken)):
            donated.add(register)


def _memory_of_updates(program: Program, lifetimes: Lifetimes) -> set[int]:
    """Return the registers whose memory becomes that of new values of shared variables."""
    return {root for register, _ in program.updates for root in (register, *lifetimes.roots(register))}


def _candidates(instruction: Instruction) -> Donors:
    """Return the inputs that die in an instruction and are such as its results are."""
    kernel = instruction.kernel
    return () if kernel is None or not instruction.release else kernel.donors(instruction)


def waiting_writes(program: Program, able: Sequence[int]) -> dict[int, int]:
    """Return the instructions that may write into the storage of a shared variable when the call has succeeded.

    Such a write changes the present value of a shared variable, and its result is nothing but the new value of the
    same variable, or an operand of the next such write. Nothing in the program reads the result, so the write can wait;
    but not where an op overwrites, in the meantime, an operand or the target of the write.

    Parameters
    ----------
    program : Program
    able : sequence of int
        Instructions that may overwrite.

    Returns
    -------
    dict
        Instruction -> number of the update.
    """
    candidates = _last_writes(program, [i for i in able if _writes(program.instructions[i])]) if program.updates else {}
    if not candidates:
        return {}
    writes = _from_storage(program, candidates)
    destroyers = [i for i, x in enumerate(program.instructions) if x.node.op.destroy_map]
    if not destroyers or not writes:
        return writes
    lifetimes = Lifetimes(program)
    storage = {id(cell): register for register, cell in program.cells}
    while True:
        destroyed = {root for i in destroyers if i not in writes for root in _destroyed(program, i, lifetimes)}
        spoiled = {
            i
            for i, target in writes.items()
            if not destroyed.isdisjoint(
                root
                for register in (storage[id(program.updates[target][1])], *program.instructions[i].inputs)
                for root in lifetimes.roots(register)
            )
        }
        if not spoiled:
            return writes
        writes = _from_storage(program, {i: target for i, target in writes.items() if i not in spoiled})


def _writes(instruction: Instruction) -> bool:
    """Tell whether the result is the first input with something written into it or added to it."""
    kernel = instruction.kernel
    return kernel is not None and kernel.changes_first(len(instruction.inputs))


def _last_writes(program: Program, writes: Sequence[int]) -> dict[int, int]:
    """Return the writes whose result is read by nothing but the next one of them, and the update it ends in."""
    reads: dict[int, list[tuple[int, int]]] = {}
    for i, instruction in enumerate(program.instructions):
        for position, register in enumerate(instruction.inputs):
            reads.setdefault(register, []).append((i, position))
    targets: dict[int, list[int]] = {}
    for number, (register, _) in enumerate(program.updates):
        targets.setdefault(register, []).append(number)
    returned = set(program.outputs)
    wanted: dict[int, int] = {}
    for i in reversed(writes):
        output = program.instructions[i].outputs[0]
        if output in returned:
            continue
        readers, numbers = reads.get(output, []), targets.get(output, [])
        if not readers and len(numbers) == 1:
            wanted[i] = numbers[0]
        elif len(readers) == 1 and not numbers and readers[0][1] == 0 and readers[0][0] in wanted:
            wanted[i] = wanted[readers[0][0]]
    return wanted


def _from_storage(program: Program, candidates: dict[int, int]) -> dict[int, int]:
    """Return those of the writes that change the storage of their own variable, directly or one after the other."""
    holds = {register: id(cell) for register, cell in program.cells}
    sources: dict[int, int] = {}
    for i in sorted(candidates):
        instruction, cell = program.instructions[i], id(program.updates[candidates[i]][1])
        if holds.get(instruction.inputs[0]) == cell:
            sources[i] = candidates[i]
            holds[instruction.outputs[0]] = cell
    # One that has to be carried out reads the results of those before it.
    read_now = {r for i, x in enumerate(program.instructions) if i not in sources for r in x.inputs}
    settled = {i for i in sources if program.instructions[i].outputs[0] in read_now}
    return _from_storage(program, {i: t for i, t in sources.items() if i not in settled}) if settled else sources


def _destroyed(program: Program, i: int, lifetimes: Lifetimes) -> Sequence[int]:
    instruction = program.instructions[i]
    positions = {s for sources in instruction.node.op.destroy_map.values() for s in sources}
    return [root for s in positions for root in lifetimes.roots(instruction.inputs[s])]
