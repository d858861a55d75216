"""Choices between two groups of values, bodies of loops and branches, and new values written over old ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from theano_graph import record

from ..codegen.ir import Statement
from ..codegen.passes import hoisted
from ..kernels import memory_type
from ..runtime._instructions import Branch, Instruction, Program, array_spec_of
from ._arrays import CArray, Length, Root, contiguous_strides, product_of
from ._block import Block, Place

# ---- Bodies of loops and branches: invariant statements before them, and memory for their results


class Body:
    """The statements between the braces of a loop or a branch, while they are written.

    They are kept apart from those around them until they are complete, so that others can be put before them: memory
    for results whose shapes the body tells, and lengths that are the same in each step.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.mark = block.names
        self.time = block.time
        self.roots = len(block.roots)
        self.statements: list[Statement] = []
        self._outer: list[Statement] = []
        self._parted: tuple[int, tuple[list[Statement], list[Statement], set[str]]] | None = None

    def begin(self) -> None:
        """Let the statements that follow be those of the body."""
        self._outer, self.block.statements = self.block.statements, self.statements

    def pause(self) -> None:
        """Let the statements that follow be those around the body again."""
        self.statements, self.block.statements = self.block.statements, self._outer

    def take_before(self) -> list[Statement]:
        """Take out the statements that can stand before the braces, and return them."""
        before, self.statements, _ = self._parts()
        self._parted = None
        return before

    def is_outside(self, lengths: Sequence[Length]) -> bool:
        """Tell whether lengths are known before the braces, or can be."""
        names = [name for length in lengths for name in length.names if not self._is_fixed(name)]
        return not names or self._parts()[2].issuperset(names)

    def _is_fixed(self, name: str) -> bool:
        return self.block.is_fixed(name, self.mark)

    def _parts(self) -> tuple[list[Statement], list[Statement], set[str]]:
        """Return the statements that can stand before the braces, the others, and the variables of the first."""
        count = len(self.statements)
        if self._parted is None or self._parted[0] != count:
            self._parted = count, hoisted(self.statements, self._is_fixed)
        return self._parted[1]


class RowPlace:
    """Memory for a value of a body, whose shape the body tells.

    Parameters
    ----------
    body : Body
    dtype : str
    shape : tuple of Length, optional
        Where it is known before.
    """

    def __init__(self, body: Body, dtype: str, shape: tuple[Length, ...] | None = None) -> None:
        self.body, self.dtype, self.shape = body, dtype, shape
        self.pointer = body.block.fresh("p")
        self.root = Root("result", self.pointer, dtype, Length(1))

    def takes(self, dtype: str, shape: tuple[Length, ...]) -> bool:
        """Tell whether a value can be put there: memory is there if its lengths are known before."""
        fits = self.body.is_outside(shape) if self.shape is None else shape == self.shape
        return dtype == self.dtype and fits


# ---- Choices between two groups of values: the needs of only one of them are computed where that one is chosen

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


# ---- New values that are written over old ones, once nobody reads these any more


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


__all__ = ["Body", "RowPlace", "Choice", "Registers", "Targets", "arranged_branches", "emit_choice", "emit_replacing"]
