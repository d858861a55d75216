"""From a program to straight-line C, each instruction by the rule of its kernel or op; programs inside of programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from theano_graph import Apply, record

from .._function import Function
from .._lazy import import_straight_rules
from .._perform import perform_runner
from ..kernels import ArrayRoutineKernel, FullKernel, Kernel
from ..program import lower
from ..runtime._instructions import Instruction, KernelForm, Program
from ..targets import Target
from ._arrays import CArray, Length, Root, straight_kernel, straight_op
from ._block import Block, Place, Step
from ._branches import Choice, Registers, Targets, arranged_branches, emit_choice, emit_replacing
from ._indexing import looked_up_registers

# ---- From a program to straight-line C: each instruction by the rule of its kernel or op

#: Arrays with no more elements than this are computed when the code is generated, where all operands are known.
_FOLDED = 4096


class StraightTarget(Target):
    """Takes kernels that have a form in straight-line C; its programs are written, not run."""

    impl = None
    overwrites = False

    def takes(self, kernel: Kernel) -> bool:
        """Tell whether there is a rule for a kernel."""
        return straight_kernel.get(kernel) is not None

    def runs_c_code(self, node: Apply) -> bool:
        """Tell that no node runs C code of its own: such code is written for Python's objects."""
        return False


#: The target of programs that become C text.
STRAIGHT = StraightTarget("straight")


@record
class Wanted:
    """Memory in which a value is to be put.

    Attributes
    ----------
    pointer : str
    dtype : str
    shape : tuple of Length or None
        None for any shape that is known.
    root : Root
    """

    pointer: str
    dtype: str
    shape: tuple[Length, ...] | None
    root: Root

    def takes(self, dtype: str, shape: tuple[Length, ...]) -> bool:
        """Tell whether a value can be put there."""
        if self.shape is None:
            return dtype == self.dtype and bool(shape) and all(length.known for length in shape)
        return dtype == self.dtype and shape == self.shape


def emit_program(
    block: Block,
    program: Program,
    arrays: dict[int, CArray],
    targets: Mapping[int, Place] | None = None,
    replaced: Mapping[int, Place] | None = None,
) -> dict[int, CArray]:
    """Write all instructions of a program.

    Parameters
    ----------
    block : Block
    program : Program
        Made for :data:`STRAIGHT`.
    arrays : dict of int to CArray
        Of the registers that are there at the beginning, besides constants; gets those of the others.
    targets : mapping of int to Place, optional
        Registers whose values should be put into given memory, where the rule for their node has a choice.
    replaced : mapping of int to Place, optional
        Registers whose values should be put into the memory of arrays, once nobody reads these any more.

    Returns
    -------
    dict
        `arrays`.

    Raises
    ------
    NoStraightForm
        If a node has no form in C; the message names its op and line.
    """
    import_straight_rules()
    for register, value in program.constants:
        if isinstance(value, (np.ndarray, np.generic, int, float)):
            arrays[register] = block.constant(value)
    before = block.step, block.looked_up
    block.looked_up = looked_up_registers(program)
    emit_replacing(block, program, arranged_branches(program), arrays, targets or {}, replaced or {}, _emit)
    block.step, block.looked_up = before
    return arrays


def _emit(block: Block, steps: Sequence[Instruction | Choice], arrays: Registers, targets: Targets) -> None:
    for step in steps:
        instruction = step.instruction if isinstance(step, Choice) else step
        if isinstance(step, Choice):
            inputs: tuple[CArray, ...] = (_array(block, arrays, step.condition, instruction),)
            block.step = Step(instruction, inputs, targets)
            results: Sequence[CArray] = emit_choice(block, step, arrays, targets, _emit)
        else:
            inputs = tuple(_array(block, arrays, register, instruction) for register in instruction.inputs)
            block.step = Step(instruction, inputs, targets)
            results = _results(block, instruction, inputs)
        for register, array in zip(instruction.outputs, results, strict=True):
            arrays[register] = array
            array.root.readers += 1
        for register in {*instruction.release, *instruction.unread}:
            if register in arrays:
                _release(block, arrays[register].root)
        block.time += 1


def _array(block: Block, arrays: Mapping[int, CArray], register: int, instruction: Instruction) -> CArray:
    if register not in arrays:
        block.step = Step(instruction, (), {})
        variable = instruction.node.inputs[instruction.inputs.index(register)]
        raise block.refuse(f"{variable} of type {variable.type} is no array", "pass and compute arrays only")
    return arrays[register]


def _release(block: Block, root: Root) -> None:
    root.readers -= 1
    if not root.readers:
        root.end = block.time


def _results(block: Block, instruction: Instruction, inputs: Sequence[CArray]) -> Sequence[CArray]:
    folded = _folded(block, instruction, inputs)
    if folded is not None:
        return folded
    node, form = instruction.node, instruction.form
    if any(str(getattr(v.type, "dtype", "")).startswith("complex") for v in (*node.inputs, *node.outputs)):
        raise block.refuse("complex numbers have no form in C", "compute with real and imaginary parts")
    if isinstance(form, KernelForm):
        return straight_kernel.lookup(form.kernel)(form.kernel, block, inputs)
    rule = straight_op.get(node.op)
    if rule is None:
        raise block.refuse(
            "this operation has no form in C", "use operations that have one, or leave this one to Python"
        )
    return rule(node, block, inputs)


def _fills(instruction: Instruction, inputs: Sequence[CArray]) -> bool:
    """Tell whether an array is filled that may be large though its operands are not."""
    kernel = instruction.form.kernel if isinstance(instruction.form, KernelForm) else None
    if isinstance(kernel, FullKernel):
        return math.prod(max(int(x.value), 0) for x in inputs[1:]) > _FOLDED
    if not isinstance(kernel, ArrayRoutineKernel) or kernel.task not in ("arange", "eye"):
        return False
    first, second, third = (int(x.value) for x in inputs)
    return (first * second if kernel.task == "eye" else (second - first) // (third or 1)) > _FOLDED


def _folded(block: Block, instruction: Instruction, inputs: Sequence[CArray]) -> list[CArray] | None:
    """Compute values that are known when the code is generated; None where that cannot be done."""
    node = instruction.node
    if not inputs or any(x.value is None for x in inputs) or sum(x.value.size for x in inputs) > _FOLDED:
        return None
    if _fills(instruction, inputs):
        return None
    try:
        values = perform_runner(node)([np.array(x.value) for x in inputs])
    except Exception:  # noqa: BLE001  (an op may raise anything; a call of the C code reports the fault)
        return None
    if not all(isinstance(value, np.ndarray) and value.size <= _FOLDED for value in values):
        return None
    return [block.constant(value) for value in values]


# ---- Programs inside of programs: those of ops that hold a graph, written into the block of the program around them


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


__all__ = [
    "STRAIGHT",
    "StraightTarget",
    "Wanted",
    "emit_program",
    "emit_inner",
    "function_program",
    "inline_program",
    "stand_in",
]
