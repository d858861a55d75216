"""Programs inside of programs: those of ops that hold a graph, written into the block of the program around them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .._function import Function
from .._instructions._data import Program
from ..program import lower
from ._arrays import CArray, Root
from ._block import Block, Place
from ._emit import STRAIGHT, emit_program
from ._lengths import Length

__all__ = ["LoopBody", "RowPlace", "emit_inner", "function_program", "inline_program", "stand_in"]

_NAME = re.compile(r"\b[a-z]+(\d+)(?:_\w+)?\b")
_LENGTH = re.compile(r"\s*const int64_t (n\d+) = ([^\[\]/%{}\"]*);")
_POINTER = re.compile(r"&(n\d+)\b")


def function_program(fn: Function) -> Program:
    """Return the program of a compiled function, lowered for :data:`STRAIGHT`."""
    wiring = fn.wiring
    return lower(
        fn.maker.fgraph,
        arguments=wiring.arguments,
        cells=wiring.cells,
        updates=wiring.updates,
        n_outputs=wiring.n_outputs,
        target=STRAIGHT,
        lazy=False,
    )


def stand_in(x: CArray, *, known: bool = True) -> CArray:
    """Return an array in the memory of another one that statements must not write.

    Parameters
    ----------
    x : CArray
    known : bool
        Whether what is known of the elements holds for it, too.
    """
    root = Root("argument", x.root.name, x.root.dtype, x.root.size)
    if known:
        return CArray(x.dtype, x.shape, x.strides, x.pointer, root, x.value, x.numbers)
    return CArray(x.dtype, x.shape, x.strides, x.pointer, root)


def emit_inner(
    block: Block, program: Program, inputs: Sequence[CArray], targets: Mapping[int, Place] | None = None
) -> list[CArray]:
    """Write a program whose arguments are given arrays, and return its outputs.

    Parameters
    ----------
    block : Block
    program : Program
        Without cells.
    inputs : sequence of CArray
        Those of :func:`stand_in`, or others whose memory is not to be written.
    targets : mapping of int to Place, optional
        Registers whose values should be put into given memory, where the rule for their node has a choice.
    """
    arrays = {parameter.register: x for parameter, x in zip(program.inputs, inputs, strict=True)}
    emit_program(block, program, arrays, targets)
    return [arrays[register] for register in program.outputs]


def inline_program(block: Block, program: Program, inputs: Sequence[CArray]) -> list[CArray]:
    """Write a program in place of the present instruction, and return the results of that."""
    given = [stand_in(x) for x in inputs]
    roots = {id(x.root): own.root for x, own in zip(given, inputs, strict=True)}
    outputs = emit_inner(block, program, given)
    counted = set()
    results = []
    for register, x in zip(program.outputs, outputs, strict=True):
        root = roots.get(id(x.root))
        if root is not None:
            x = CArray(x.dtype, x.shape, x.strides, x.pointer, root, x.value, x.numbers)
        elif register not in counted and x.root.readers:
            # From now on the registers of the program around read it.
            counted.add(register)
            x.root.readers -= 1
        results.append(x)
    return results


class LoopBody:
    """The statements of the body of a loop, while they are written.

    Its lines are taken out of the block when they are complete, so that others can be put before the loop: memory for
    results whose shapes the body tells, and lengths that are the same in each step.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.mark = block.names
        self.time = block.time
        self.roots = len(block.roots)
        self.start = len(block.lines)
        self.indent = ""

    def begin(self) -> None:
        """Start with the body, which stands between braces."""
        self.start = len(self.block.lines)
        self.block.indent(1)
        self.indent = "    " * self.block.depth

    def end(self) -> tuple[list[str], list[str]]:
        """Take the lines out of the block; those that can stand before the loop are the first ones given."""
        block = self.block
        moved = self._movable()
        lines = block.lines[self.start :]
        del block.lines[self.start :]
        block.indent(-1)
        before = [line[4:] for i, line in enumerate(lines) if i in moved]
        return before, [line for i, line in enumerate(lines) if i not in moved]

    def is_outside(self, lengths: Sequence[Length]) -> bool:
        """Tell whether lengths are known before the loop, or can be."""
        names = {name for length in lengths for name in length.names}
        inside = {name for name in names if self._is_inside(name)}
        return not inside or inside <= self._moved_names()

    def _is_inside(self, name: str) -> bool:
        found = _NAME.fullmatch(name)
        return found is not None and int(found[1]) > self.mark

    def _moved_names(self) -> set[str]:
        lines = self.block.lines[self.start :]
        return {name for i in self._movable() for name in re.findall(r"int64_t (n\d+)\b", lines[i])}

    def _movable(self) -> set[int]:
        """Return which lines define lengths that follow from what is known before the loop."""
        lines = self.block.lines[self.start :]
        declared = {line.strip()[8:-1]: i for i, line in enumerate(lines) if re.fullmatch(r"\s*int64_t n\d+;", line)}
        names: set[str] = set()
        found: set[int] = set()
        for i, line in enumerate(lines):
            match = _LENGTH.fullmatch(line)
            if match is None or not line.startswith(self.indent) or line[len(self.indent)] == " ":
                continue
            given = set(_POINTER.findall(match[2]))
            used = {m[0] for m in _NAME.finditer(match[2])} - given
            rest = _POINTER.sub("", match[2]).replace("&&", "")
            if "&" in rest or "*(" in rest or not given <= set(declared):
                continue
            if all(not self._is_inside(name) or name in names for name in used):
                found |= {i, *(declared[name] for name in given)}
                names |= {match[1], *given}
        return found


class RowPlace:
    """Memory for a value of a step, whose shape the step tells.

    Parameters
    ----------
    body : LoopBody
    dtype : str
    """

    def __init__(self, body: LoopBody, dtype: str) -> None:
        self.body, self.dtype = body, dtype
        self.pointer = body.block.fresh("p")
        self.root = Root("result", self.pointer, dtype, Length(1))

    def takes(self, dtype: str, shape: tuple[Length, ...]) -> bool:
        """Tell whether a value can be put there: memory is there if its lengths are known before the loop."""
        return dtype == self.dtype and self.body.is_outside(shape)
