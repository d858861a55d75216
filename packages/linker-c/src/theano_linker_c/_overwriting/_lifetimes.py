"""In whose memory the value of each register may lie, and who reads that memory last."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from .._instructions._data import Instruction, Program

#: Later than every instruction.
NEVER = 1 << 62


class Lifetimes:
    """The memory of registers, from the maps of views and of destroyed inputs.

    A root is a register whose memory is its own as far as these maps know: an argument, a shared value, a constant, or
    the result of an instruction that makes it anew. A value in the memory of another register has that one's roots,
    of which there are several where a call chooses. Memory is read until the last register with this root is.

    Parameters
    ----------
    program : Program
    times : sequence of int, optional
        For each instruction, when it runs; in their own order by default.
    waiting : collection of int
        Instructions whose operands are read at the end of the call.
    """

    def __init__(self, program: Program, times: Sequence[int] | None = None, waiting: Collection[int] = ()) -> None:
        self._instructions = program.instructions
        self._times = range(len(program.instructions)) if times is None else times
        self._roots: dict[int, tuple[int, ...]] = {}
        self._sources: dict[int, tuple[int, tuple[int, ...]]] = {}
        self._last: dict[int, int] = {}
        self._fresh: set[int] = set()
        constants = (register for register, _ in program.constants)
        self.kept = {*program.outputs, *(register for register, _ in program.updates), *constants}
        for i, instruction in enumerate(program.instructions):
            self._enter(i, instruction, NEVER if i in waiting else self._times[i])
        for register in self.kept:
            for root in self.roots(register):
                self._last[root] = NEVER

    def _enter(self, i: int, instruction: Instruction, time: int) -> None:
        for register in instruction.inputs:
            for root in self.roots(register):
                self._last[root] = max(self._last.get(root, -1), time)
        op = instruction.node.op
        if not op.view_map and not op.destroy_map:
            self._fresh.update(instruction.outputs)
            return
        for k, register in enumerate(instruction.outputs):
            viewed, destroyed = (
                tuple(instruction.inputs[s] for s in source.get(k, ())) for source in (op.view_map, op.destroy_map)
            )
            if viewed or destroyed:
                self._sources[register] = i, (*viewed, *destroyed)
                self._roots[register] = tuple(dict.fromkeys(r for s in (*viewed, *destroyed) for r in self.roots(s)))
            if not viewed and all(source in self._fresh for source in destroyed):
                self._fresh.add(register)

    def roots(self, register: int) -> tuple[int, ...]:
        """Return the registers in whose memory a value may lie."""
        return self._roots.get(register, (register,))

    def is_fresh(self, register: int) -> bool:
        """Tell whether an instruction of this program has made the memory, and the register is no view of it."""
        return register in self._fresh

    def ends(self, i: int, register: int) -> bool:
        """Tell whether nothing but an instruction reads the memory of one of its inputs, by this input alone."""
        if any(self._last[root] > self._times[i] for root in self.roots(register)):
            return False
        return not self._others_share(i, register)

    def _others_share(self, i: int, register: int) -> bool:
        roots = self.roots(register)
        others = (other for other in self._instructions[i].inputs if other != register)
        return any(root in roots for other in others for root in self.roots(other))

    def ends_in_any_order(self, i: int, register: int) -> bool:
        """Tell the same where only the needs of instructions give an order."""
        if self._others_share(i, register):
            return False
        before = set(self._makers(register))
        sharing = {other for root in self.roots(register) for other in self._sharing.get(root, (root,))}
        return all(
            other not in self.kept and all(reader in before for reader in self._readers.get(other, ()))
            for other in sharing
            if other != register
        )

    def _makers(self, register: int) -> Iterator[int]:
        """Yield the instructions by which a value came into a register from its roots: all run before it is there."""
        waiting = [register]
        while waiting:
            source = self._sources.get(waiting.pop())
            if source is not None:
                yield source[0]
                waiting.extend(source[1])

    @cached_property
    def _sharing(self) -> dict[int, list[int]]:
        sharing: dict[int, list[int]] = {}
        for register, roots in self._roots.items():
            for root in roots:
                sharing.setdefault(root, [root]).append(register)
        return sharing

    @cached_property
    def _readers(self) -> dict[int, list[int]]:
        readers: dict[int, list[int]] = {}
        for i, instruction in enumerate(self._instructions):
            for register in instruction.inputs:
                readers.setdefault(register, []).append(i)
        return readers
