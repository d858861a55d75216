"""Replays programs and checks the values that they overwrite, put off and let go of.

Nothing here is shared with the code that makes these decisions (`theano_linker_c.runtime`): a program is followed
instruction by instruction, with the blocks of memory in which each value may lie, and each event that changes a block
or lets go of a register is held against everything that is read afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

from theano_linker_c.program import Instruction, Program, on_lowered

#: Reads that happen when all instructions have run: of results, and of writes that have waited.
END = 1 << 60


class OverwritingError(AssertionError):
    """A program overwrites or lets go of a value that is read later."""


@dataclass(frozen=True, slots=True)
class _Event:
    """An instruction changes blocks, by the memory of some of its inputs."""

    at: int
    registers: tuple[int, ...]
    blocks: frozenset[int]
    what: str


@dataclass(slots=True)
class _Replay:
    program: Program
    blocks: dict[int, frozenset[int]] = field(default_factory=dict)
    events: list[_Event] = field(default_factory=list)
    reads: dict[int, list[int]] = field(default_factory=dict)
    made: dict[int, int] = field(default_factory=dict)
    sharing: dict[int, list[int]] = field(default_factory=dict)
    changes: dict[int, list[_Event]] = field(default_factory=dict)
    count: int = 0

    def new(self) -> int:
        """Return a new block."""
        self.count += 1
        return self.count

    def put(self, register: int, blocks: frozenset[int]) -> None:
        """Say in which blocks the value of a register may lie."""
        self.blocks[register] = blocks
        for block in blocks:
            self.sharing.setdefault(block, []).append(register)

    def change(self, event: _Event) -> None:
        """Say that blocks change."""
        self.events.append(event)
        for block in event.blocks:
            self.changes.setdefault(block, []).append(event)


def check_program(program: Program) -> None:
    """Check every donation, every write that waits, every op that overwrites, and every release of a program.

    Raises
    ------
    OverwritingError
        Naming the node, the register, and who reads it later.
    """
    replay = _Replay(program)
    for register in _given(program):
        replay.put(register, frozenset([replay.new()]))
    for i, instruction in enumerate(program.instructions):
        for register in instruction.inputs:
            # A write that waits reads when the call is over, and it may be carried out at once.
            replay.reads.setdefault(register, []).extend([i] if instruction.waits is None else [i, END])
    for register in (*program.outputs, *(register for register, _ in program.updates)):
        replay.reads.setdefault(register, []).append(END)
    runs_before = _order(program)
    for i, instruction in enumerate(program.instructions):
        _step(replay, i, instruction, runs_before)
    _check_releases(replay)
    for i, instruction in enumerate(program.instructions):
        if instruction.waits is not None:
            _check_waiting(replay, i, instruction.waits, runs_before)
    for event in replay.events if program.schedule is not None else ():
        _check_event(replay, event, runs_before)


@contextmanager
def every_program() -> Iterator[None]:
    """Check every program that is lowered inside of the block."""
    on_lowered.append(check_program)
    try:
        yield
    finally:
        on_lowered.remove(check_program)


def _given(program: Program) -> list[int]:
    cells = [register for register, _ in program.cells]
    return [*(operand.register for operand in program.inputs), *cells, *(register for register, _ in program.constants)]


def _step(replay: _Replay, i: int, instruction: Instruction, runs_before: Callable[[int, int], bool]) -> None:
    op, inputs = instruction.node.op, instruction.inputs
    first = len(replay.events)
    for sources in op.destroy_map.values():
        if instruction.waits is None:
            _change(replay, i, tuple(inputs[s] for s in sources), "overwrites, as the op says,")
    matches: list[set[int]] = []
    for k in range(len(instruction.outputs)):
        donors = instruction.donors[k] if k < len(instruction.donors) else ()
        for position in donors:
            _change(replay, i, (inputs[position],), "puts its result into")
        # The content of a donor's memory is read no more, as was just checked, and one result alone can get it: the
        # value is put there shares its memory with no other value.
        sources = [*op.view_map.get(k, ()), *op.destroy_map.get(k, ())]
        if instruction.waits is not None:
            sources.append(0)
        matches.append({block for position in sources for block in replay.blocks.get(inputs[position], ())})
    if replay.program.schedule is None:
        # The values that there are now; others lie in the memory as it is afterwards.
        for event in replay.events[first:]:
            _check_event(replay, event, runs_before)
            for block in event.blocks:
                replay.sharing[block] = [r for r in replay.sharing[block] if max(replay.reads.get(r, [-1])) >= i]
    for register, blocks in zip(instruction.outputs, matches, strict=True):
        replay.put(register, frozenset(blocks or {replay.new()}))
        replay.made[register] = i


def _change(replay: _Replay, i: int, registers: tuple[int, ...], what: str) -> None:
    blocks = frozenset(block for register in registers for block in replay.blocks.get(register, ()))
    replay.change(_Event(i, registers, blocks, what))


def _order(program: Program) -> Callable[[int, int], bool]:
    """Return a function that tells whether one instruction, if it ever runs, has run when another one runs."""
    if program.schedule is None:
        return lambda first, second: first < second
    maker = {register: i for i, x in enumerate(program.instructions) for register in x.outputs}
    needs = [
        {*program.schedule.needs[i], *(maker[register] for register in x.inputs if register in maker)}
        for i, x in enumerate(program.instructions)
    ]

    @cache
    def before(i: int) -> set[int]:
        match, pending = set[int](), [i]
        while pending:
            new = needs[pending.pop()] - match
            match |= new
            pending += new
        return match

    return lambda first, second: first in before(second)


def _check_event(replay: _Replay, event: _Event, runs_before: Callable[[int, int], bool]) -> None:
    """No value that may lie in changed memory is read by the same instruction, or when it is changed."""
    program = replay.program
    node = program.instructions[event.at].node
    by_op = event.what.startswith("overwrites")
    results = set(program.instructions[event.at].outputs)
    constants = {constant for constant, _ in program.constants} if event.blocks else set()
    for register in {other for block in event.blocks for other in replay.sharing[block]} - results:
        if register in constants:
            raise OverwritingError(f"{node} {event.what} a constant")
        for reader in replay.reads.get(register, ()):
            if reader == event.at:
                if by_op or register in event.registers:
                    continue
            elif (reader != END and runs_before(reader, event.at)) or _comes_from(replay, register, event.at):
                continue
            raise OverwritingError(
                f"{node} {event.what} register {event.registers}, and {_who(program, reader)} reads register {register}"
            )


def _comes_from(replay: _Replay, register: int, at: int) -> bool:
    """Tell whether a value is made of a result of an instruction: it lies in the memory after that was changed."""
    pending, seen = [register], set[int]()
    while pending:
        maker = replay.made.get(pending.pop())
        if maker == at:
            return True
        if maker is None or maker < at or maker in seen:
            continue
        seen.add(maker)
        pending.extend(replay.program.instructions[maker].inputs)
    return False


def _check_waiting(replay: _Replay, i: int, target: int, runs_before: Callable[[int, int], bool]) -> None:
    """A write that waits goes into the storage of its own variable, its result is not read, its operands stay."""
    program = replay.program
    instruction = program.instructions[i]
    register, cell = program.updates[target]
    output, into = instruction.outputs[0], instruction.inputs[0]
    earlier = replay.made.get(into)
    stored = [r for r, c in program.cells if c is cell]
    if into not in stored and (earlier is None or program.instructions[earlier].waits != target):
        raise OverwritingError(f"{instruction.node} waits, and it does not write into the storage of its variable")
    readers = [j for j in replay.reads.get(output, ()) if j != END]
    follow = {j for j in readers if program.instructions[j].waits == target}
    if len(follow) != len(set(readers)) or output in program.outputs or (output != register and not readers):
        raise OverwritingError(f"{instruction.node} waits, and its result is read in the call")
    if any(output in program.instructions[j].inputs[1:] for j in follow):
        raise OverwritingError(f"{instruction.node} waits, and the next write reads its result")
    for other in (*instruction.inputs, *stored):
        for event in (event for block in replay.blocks.get(other, ()) for event in replay.changes.get(block, ())):
            if event.at != i and (other in stored or not runs_before(event.at, i)):
                raise OverwritingError(
                    f"{instruction.node} waits, and {program.instructions[event.at].node} overwrites what it reads"
                )


def _check_releases(replay: _Replay) -> None:
    """No register is let go of before it is read for the last time, or twice."""
    program = replay.program
    seen: set[int] = set()
    schedule = program.schedule
    results = {*program.outputs, *(register for register, _ in program.updates)}
    for i, instruction in enumerate(program.instructions):
        for register in instruction.release:
            if register in seen:
                raise OverwritingError(f"register {register} is let go of twice, the second time by {instruction.node}")
            seen.add(register)
            if register in results:
                raise OverwritingError(f"{instruction.node} lets go of register {register}, which is a result")
            # A write that waits keeps its operands itself.
            late = [j for j in replay.reads.get(register, ()) if j != END and (j > i or (schedule and j != i))]
            if late:
                raise OverwritingError(
                    f"{instruction.node} lets go of register {register}, and {_who(program, late[0])} reads it"
                )
    if schedule is not None:
        for register, count in enumerate(schedule.readers):
            reads = sum(j != END for j in replay.reads.get(register, ()))
            if count and (count != reads or register in seen or register in results):
                raise OverwritingError(f"register {register} is counted {count} times, and read {reads} times")


def _who(program: Program, reader: int) -> str:
    return "the end of the call" if reader == END else str(program.instructions[reader].node)
