"""Choices between two groups of values: the needs of only one of them are computed where that one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from theano_graph import record

from ..kernels import memory_type
from ..runtime._instructions import Branch, Instruction, Program, array_spec_of
from ._arrays import CArray, Root, contiguous_strides
from ._block import Block, Place
from ._bodies import Body, RowPlace
from ._lengths import Length, product_of

__all__ = ["Choice", "Registers", "Targets", "arranged_branches", "emit_choice"]

Registers: TypeAlias = "dict[int, CArray]"
Targets: TypeAlias = "Mapping[int, Place]"


@record
class Choice:
    """An instruction that chooses, with the needs of only one of its two sides.

    Attributes
    ----------
    instruction : Instruction
        Of the form Branch.
    sides : tuple of two lists
        The instructions where the condition is true, and where it is false; choices among them.
    """

    instruction: Instruction
    sides: tuple[tuple[Instruction | Choice, ...], tuple[Instruction | Choice, ...]]

    @property
    def condition(self) -> int:
        """The register that decides."""
        form = self.instruction.form
        assert isinstance(form, Branch)
        return self.instruction.inputs[form.condition]

    def registers(self, side: int) -> tuple[int, ...]:
        """Return the register of each output on one side."""
        form = self.instruction.form
        assert isinstance(form, Branch)
        return tuple(self.instruction.inputs[i] for i in (form.otherwise if side else form.chosen))


Steps: TypeAlias = "Sequence[Instruction | Choice]"
#: Writes steps into a block.
Emit: TypeAlias = Callable[[Block, Steps, Registers, Targets], None]


def arranged_branches(program: Program) -> Steps:
    """Return the instructions of a program, those inside of choices that only one side of them needs."""
    instructions = program.instructions
    if not any(isinstance(instruction.form, Branch) for instruction in instructions):
        return instructions
    owner: dict[int, tuple[int, int]] = {}
    readers = _readers(program)
    for at, instruction in enumerate(instructions):
        if isinstance(instruction.form, Branch):
            for side in range(2):
                for i in _needed_by(program, readers, at, side):
                    owner.setdefault(i, (at, side))
    order: list[int] = []
    _flatten(instructions, owner, None, order)
    release = _releases(program, order)
    return _nested({i: replace(instructions[i], release=release[i]) for i in order}, owner, None)


def _readers(program: Program) -> dict[int, set[tuple[int, int]]]:
    """Return for each register which instructions read it, and as which input; -1 for the caller."""
    readers: dict[int, set[tuple[int, int]]] = {}
    for at, instruction in enumerate(program.instructions):
        for k, register in enumerate(instruction.inputs):
            readers.setdefault(register, set()).add((at, k))
    for register in [*program.outputs, *(register for register, _ in program.updates)]:
        readers.setdefault(register, set()).add((-1, 0))
    return readers


def _needed_by(program: Program, readers: Mapping[int, set[tuple[int, int]]], at: int, side: int) -> set[int]:
    """Return the instructions whose results only one side of a choice reads, and their ancestors."""
    form = program.instructions[at].form
    assert isinstance(form, Branch)
    mine = form.otherwise if side else form.chosen
    allowed = {(at, k) for k in mine}
    needed: set[int] = set()
    for i in range(at - 1, -1, -1):
        used = {reader for register in program.instructions[i].outputs for reader in readers.get(register, ())}
        if used and all(reader in allowed or reader[0] in needed for reader in used):
            needed.add(i)
    return needed


def _flatten(
    instructions: Sequence[Instruction],
    owner: Mapping[int, tuple[int, int]],
    inside: tuple[int, int] | None,
    order: list[int],
) -> None:
    for i, instruction in enumerate(instructions):
        if owner.get(i) == inside:
            if isinstance(instruction.form, Branch):
                for side in range(2):
                    _flatten(instructions, owner, (i, side), order)
            order.append(i)


def _releases(program: Program, order: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return which registers die with each instruction, in another order."""
    dying = {register for instruction in program.instructions for register in instruction.release}
    releases: dict[int, tuple[int, ...]] = {}
    for i in reversed(order):
        last = tuple(dict.fromkeys(register for register in program.instructions[i].inputs if register in dying))
        dying.difference_update(last)
        releases[i] = last
    return releases


def _nested(
    instructions: Mapping[int, Instruction], owner: Mapping[int, tuple[int, int]], inside: tuple[int, int] | None
) -> tuple[Instruction | Choice, ...]:
    nested: list[Instruction | Choice] = []
    for i in sorted(instructions):
        if owner.get(i) == inside:
            instruction = instructions[i]
            if isinstance(instruction.form, Branch):
                then, otherwise = (_nested(instructions, owner, (i, side)) for side in range(2))
                nested.append(Choice(instruction, (then, otherwise)))
            else:
                nested.append(instruction)
    return tuple(nested)


class _Result:
    """One output of a choice: memory, and the shape that the side that runs gives it."""

    def __init__(self, block: Block, k: int, values: Sequence[CArray], places: Sequence[RowPlace]) -> None:
        self.block, self.k, self.values, self.places = block, k, values, places
        #: For each side, whether the shape of its value is known before the value is computed.
        self.early = [target.body.is_outside(x.shape) for target, x in zip(places, values, strict=True)]
        pairs = list(zip(values[0].shape, values[1].shape, strict=True))
        self.same = all(self.early) and all(a == b for a, b in pairs)
        self.dtype, self.kind = values[0].dtype, memory_type(values[0].dtype)
        self.shape = values[0].shape
        if not self.same:
            self.shape = tuple(a if a.known and a == b else Length(1, (block.fresh("n"),)) for a, b in pairs)
        self.pointer = block.fresh("v")

    def allocate(self) -> CArray:
        """Write, before the choice, the needs of both sides, and return the result."""
        block = self.block
        if not self.shape:
            variable = block.local(self.dtype, "0")
        elif self.same:
            variable = block.result(self.k, self.dtype, self.shape)
            if variable.root.kind == "temporary":
                variable.root.begin = self.places[0].body.time
        else:
            block.takes_memory = True
            block.variable(f"{self.kind} *", self.pointer, "NULL")
            for length in self.shape:
                if not length.known:
                    block.variable("int64_t", str(length), "0")
            root = Root("temporary", self.pointer, self.dtype, product_of(self.shape))
            variable = CArray(self.dtype, self.shape, contiguous_strides(self.shape), self.pointer, root)
        self.pointer = variable.pointer
        return variable

    def give_memory(self, side: int) -> None:
        """Write the allocation for the value of one side."""
        block, value = self.block, self.values[side]
        if not self.same:
            for mine, length in zip(self.shape, value.shape, strict=True):
                if not mine.known:
                    block.assign(str(mine), str(length))
            block.take(self.pointer, self.dtype, value.size)
        block.let(f"{self.kind} *", self.places[side].pointer, self.pointer)

    def store(self, side: int) -> None:
        """Write the copy of the value of one side into the result."""
        value, target = self.values[side], self.places[side]
        if not self.early[side]:
            self.give_memory(side)
        if value.pointer != target.pointer:
            strides = contiguous_strides(value.shape)
            self.block.copy(value, CArray(self.dtype, value.shape, strides, target.pointer, target.root))


def emit_choice(block: Block, choice: Choice, arrays: Registers, targets: Targets, emit: Emit) -> list[CArray]:
    """Write a choice: both sides, of which one runs.

    Parameters
    ----------
    block : Block
    choice : Choice
    arrays : dict of int to CArray
        By register; gets the arrays that the sides compute.
    targets : mapping of int to Place
    emit : callable
        Writes the steps of a side.
    """
    step = block.step
    assert step is not None
    (condition,) = step.inputs
    if condition.value is not None:
        side = 0 if condition.value else 1
        emit(block, choice.sides[side], arrays, targets)
        block.step = step
        return [arrays[register] for register in choice.registers(side)]
    text = condition.load("0").text
    mark = block.names
    bodies, places, values = [Body(block), Body(block)], [], []
    for side, body in enumerate(bodies):
        body.mark = mark
        rows = [RowPlace(body, dtype) for dtype in _dtypes(block, choice)]
        wanted: dict[int, Place] = {}
        for register, row in zip(choice.registers(side), rows, strict=True):
            wanted.setdefault(register, row)
        body.begin()
        block.guards += 1
        emit(block, choice.sides[side], arrays, wanted)
        block.guards -= 1
        body.pause()
        values.append([arrays[register] for register in choice.registers(side)])
        places.append(rows)
    block.step = step
    pairs = zip(zip(*values, strict=True), zip(*places, strict=True), strict=True)
    results = [_Result(block, k, value, target) for k, (value, target) in enumerate(pairs)]
    for body in bodies:
        block.statements += body.take_before()
    made = [result.allocate() for result in results]
    _write_sides(block, text, bodies, results)
    return made


def _write_sides(block: Block, condition: str, bodies: Sequence[Body], results: Sequence[_Result]) -> None:
    sides = []
    for side, body in enumerate(bodies):
        with block.inside() as statements:
            for result in results:
                if result.early[side]:
                    result.give_memory(side)
            statements += body.statements
            for result in results:
                result.store(side)
        sides.append(statements)
    block.choose(condition, *sides)


def _dtypes(block: Block, choice: Choice) -> list[str]:
    specs = [array_spec_of(variable) for variable in choice.instruction.node.outputs]
    if any(spec is None for spec in specs):
        raise block.refuse("a choice between values that are no arrays", "choose between arrays")
    return [spec.dtype for spec in specs if spec is not None]
