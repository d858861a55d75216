"""The machine in C: programs as the extension `_runtime` takes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._instructions._data import Hooks, Instruction, Program, ProgramInput, argument_spec_of, array_spec_of
from .._instructions._forms import KernelForm
from .._instructions._schedule import Branch
from .._perform import OwnThunk, Runner, call_form, params_of, perform_runner
from .._storage._locks import update_lock_of
from ..cop import CThunk
from ..kernels import LoadedKernel, type_number
from ..ops import DeepCopyOp
from ._extension import HAS_RUNTIME as HAS_RUNTIME, reason as reason, runtime
from ._machine import BUFFER_LIMIT, Machine
from ._results import Check, accept_result, checks_of
from ._run_errors import annotate, mismatch
from ._thunks import MachineView, intermediate_registers, python_runner


def native_machine(
    program: Program,
    hooks: Hooks,
    buffer_limit: int = BUFFER_LIMIT,
    thread_scale: float = 1.0,
    keep: bool = False,
    instructions: tuple[Any, ...] | None = None,
) -> Machine:
    """Return the machine in C.

    `instructions` are those of an earlier machine of the program, as it was given them. They are not made again: ops
    whose operands the machine lets overwrite were replaced in the graph by forms that overwrite them in any case.
    """
    known = program.encoded() if instructions is None else instructions
    encoded = tuple(encode(instruction) for instruction in program.instructions) if known is None else known

    def on_result(index: int, k: int, value: Any, replaced: int) -> Any:
        return accept_result(program.instructions[index], k, value, bool(replaced))

    def on_error(index: int, values: list[Any], error: BaseException | None) -> BaseException:
        raised = mismatch(program.instructions[index].node, values) if error is None else error
        view.note(index, values)
        return annotate(raised, program, index, values)

    view = MachineView(
        program,
        _runner_of,
        fetch=(lambda: machine.retained()) if keep else None,
        failed=lambda: machine.failed_instruction,
        again=None
        if keep
        else lambda: native_machine(program, hooks, buffer_limit, thread_scale, instructions=encoded),
        encoded=encoded,
    )
    machine = runtime.Machine(
        n_registers=program.n_registers,
        inputs=tuple(_input_check(parameter) for parameter in program.inputs),
        cells=program.cells,
        constants=program.constants,
        instructions=encoded,
        outputs=program.outputs,
        updates=program.updates,
        single=hooks.single,
        on_irregular=hooks.on_irregular,
        on_input=hooks.on_input,
        on_result=on_result,
        on_error=on_error,
        finish=hooks.finish,
        buffer_limit=buffer_limit,
        thread_scale=thread_scale,
        locks=tuple(update_lock_of(cell) for _, cell in program.updates),
    )
    if program.schedule is not None:
        machine.set_schedule(program.schedule.roots, program.schedule.needs, program.schedule.readers)
    if keep:
        machine.retain_registers(intermediate_registers(program))
    machine.view = view
    return machine


def encoded_of(machine: Machine) -> tuple[Encoded, ...] | None:
    """Return the instructions that a machine in C was given; None for another machine."""
    return getattr(getattr(machine, "view", None), "encoded", None)


def _runner_of(instruction: Instruction) -> Runner:
    return native_runner(instruction) or python_runner(instruction)


def native_runner(instruction: Instruction) -> Runner | None:
    """Return a function from input values to output values that runs native code on its own, in fresh memory.

    None where the instruction has no kernel, nor C code of its op.
    """
    form = instruction.form
    if isinstance(form, CThunk):
        return form
    if not isinstance(form, KernelForm) or not HAS_RUNTIME:
        return None
    node = instruction.node
    operands = dict.fromkeys(instruction.inputs)
    numbers = {register: i for i, register in enumerate((*operands, *instruction.outputs))}
    alone = replace(instruction, release=(), donors=(), waits=None)

    def on_result(index: int, k: int, value: Any, replaced: int) -> Any:
        return accept_result(instruction, k, value, bool(replaced))

    def on_error(index: int, values: list[Any], error: BaseException | None) -> BaseException:
        return mismatch(node, values) if error is None else error

    code, _, _, _, *details = encode(alone)
    machine = runtime.Machine(
        n_registers=len(numbers),
        inputs=tuple((i, -1, False, False, False, ()) for i in range(len(operands))),
        cells=(),
        constants=(),
        instructions=(
            (
                code,
                tuple(numbers[r] for r in instruction.inputs),
                tuple(numbers[r] for r in instruction.outputs),
                (),
                *details,
            ),
        ),
        outputs=tuple(numbers[r] for r in instruction.outputs),
        updates=(),
        single=False,
        on_irregular=_unused,
        on_input=_as_it_is,
        on_result=on_result,
        on_error=on_error,
        finish=None,
        buffer_limit=0,
        thread_scale=1.0,
        locks=(),
    )
    first = [instruction.inputs.index(register) for register in operands]
    return lambda values: machine.run([values[i] for i in first])


def _as_it_is(index: int, value: Any) -> Any:
    return value


def _unused(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise TypeError("the machine of one instruction is run, not called")


def _input_check(parameter: ProgramInput) -> tuple[int, int, bool, bool, bool, tuple[int, ...]]:
    spec, accepts = argument_spec_of(parameter.variable), parameter.accepts
    if spec is None:
        return parameter.register, -1, False, False, accepts.overwrite, ()
    takes_float = accepts.floats and spec.dtype in ("float32", "float64") and not spec.shape
    shape = tuple(-1 if n is None else n for n in spec.shape)
    return (
        parameter.register,
        type_number(spec.dtype),
        takes_float,
        accepts.ints and not shape,
        accepts.overwrite,
        shape,
    )


#: Kind, registers that are read, written and let go of, payload, checks of the results, and the machine code whose
#: addresses are in the payload: it has to stay as long as the machine.
Encoded = tuple[
    int,
    tuple[int, ...],
    tuple[int, ...],
    tuple[int, ...],
    Any,
    tuple[Check, ...] | None,
    LoadedKernel | None,
]


def encode(instruction: Instruction) -> Encoded:
    """Return an instruction as the machine takes it."""
    name, payload = _payload(instruction)
    number, checked = runtime.INSTRUCTIONS[name]
    checks = checks_of(instruction.node) if checked else None
    code = instruction.form.code if isinstance(instruction.form, KernelForm) else None
    registers = instruction.inputs, instruction.outputs, instruction.release
    return number, *registers, payload, checks, code


def _payload(instruction: Instruction) -> tuple[str, Any]:
    """Return the name of the machine's instruction and its payload; see c/instructions.def."""
    node = instruction.node
    match instruction.form:
        case KernelForm(kernel, code):
            payload = kernel.encode(instruction, code)
            if payload is not None:
                return payload
        case CThunk(capsule):
            # Code that takes a value that is not NULL for its own zeros would add to the numbers of the last call.
            fills = getattr(node.op, "fills_outputs", False)
            specs = [array_spec_of(v) if fills else None for v in node.outputs]
            types = tuple(-1 if spec is None else type_number(spec.dtype) for spec in specs)
            return "thunk", (capsule, types, tuple(0 if s is None else len(s.shape) for s in specs))
        case Branch(condition, chosen, otherwise):
            return "branch", (condition, chosen, otherwise)
        case OwnThunk() as thunk:
            return ("lazy", thunk.attempt) if thunk.lazy else ("call", thunk)
    form = call_form.get(node.op)
    if form is not None:
        return "call", form(node)
    if type(node.op) is DeepCopyOp:
        run = perform_runner(node)
        return "copy", lambda value: run([value])[0]
    return "perform", (node.op.perform, node, *params_of(node))
