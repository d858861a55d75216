"""Programs inside of programs: those of ops that hold a graph, written into the block of the program around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._function import Function
from ..program import lower
from ..runtime._instructions import Program
from ._arrays import CArray, Root
from ._block import Block, Place
from ._emit import STRAIGHT, emit_program

__all__ = ["emit_inner", "function_program", "inline_program", "stand_in"]


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


def stand_in(x: CArray, *, values: bool = True) -> CArray:
    """Return an array in the memory of another one that statements must not write.

    Parameters
    ----------
    x : CArray
    values : bool
        Whether the known elements hold for it, too.
    """
    root = Root("argument", x.root.name, x.root.dtype, x.root.size)
    if values:
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
    values = [stand_in(x) for x in inputs]
    roots = {id(x.root): operand.root for x, operand in zip(values, inputs, strict=True)}
    outputs = emit_inner(block, program, values)
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
