"""The machine in C: the extension `_runtime` where it is there, programs as it takes them, and captured calls."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .._perform import OwnThunk, Runner, call_form, params_of, perform_runner
from ..cop import CThunk
from ..kernels import LoadedKernel, type_number
from ..ops import DeepCopyOp
from ._errors import Check, accept_result, annotate, checks_of, mismatch
from ._instructions import (
    Branch,
    Hooks,
    Instruction,
    KernelForm,
    Program,
    ProgramInput,
    argument_spec_of,
    array_spec_of,
)
from ._storage import update_lock_of
from ._thunks import BUFFER_LIMIT, Machine, MachineView, intermediate_registers, python_runner

# ---- The runtime in C, where it is there; `reason` says why it is not, and `runtime` is None then

reason = ""
try:
    import theano_linker_c._runtime as runtime
except ImportError as error:
    runtime = None  # type: ignore[assignment]
    missing = isinstance(error, ModuleNotFoundError)
    reason = "it was not built when the package was installed" if missing else str(error)

HAS_RUNTIME = not reason


# ---- Arrays beside those of an earlier call


def dimensions(shape: Any) -> Hashable:
    """Return the part of a shape that programs depend on: the number of dimensions, and which have length 1.

    These broadcast, and a gradient is a sum over them, so that there is a graph of its own for them.
    """
    return tuple([n == 1 for n in shape]) if 1 in shape else len(shape)


def _alike(kinds: tuple[Any, ...], /, *values: Any) -> bool:
    return all(
        type(x) is np.ndarray and x.dtype is dtype and dimensions(x.shape) == pattern
        for x, dtype, pattern in zip(values, kinds[::2], kinds[1::2], strict=True)
    )


#: Whether all values are plain arrays with the dtypes and `dimensions` that a tuple has for them by turns.
arrays_alike = runtime.arrays_alike if HAS_RUNTIME else _alike


# ---- When the machine in C captures the kernel calls of its instructions, to make them again in later calls


@contextlib.contextmanager
def capture_after(calls: int | None) -> Iterator[None]:
    """Say after how many calls a function's kernel calls are captured, for the time of a ``with`` block.

    A function on the machine in C carries its instructions out one by one at first. Then it notes the calls of kernels
    that a run of instructions makes, and from there on it makes these calls again as long as its arguments have the
    same shapes, dtypes and strides (see "Capture and replay" in ``docs/architecture.md``). Results are the same.

    Parameters
    ----------
    calls : int or None
        Calls that come before the one that is captured; 0 captures the first one. None captures and replays nothing,
        so that each instruction is carried out by itself: for measurements, and where a fault is looked for.

    Raises
    ------
    ValueError
        If `calls` is negative.

    Notes
    -----
    The setting is that of the process. Without the machine in C it changes nothing.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano_linker_c import capture_after
    >>> x = T.dvector("x")
    >>> f = theano.function([x], T.exp(x).sum())
    >>> with capture_after(None):
    ...     float(f([0.0, 0.0]))
    2.0
    """
    if calls is not None and calls < 0:
        raise ValueError(f"a number of calls from 0 on, or None, was expected, not {calls!r}")
    if not HAS_RUNTIME:
        yield
        return
    old = runtime.get_capture_calls()
    runtime.set_capture_calls(-1 if calls is None else calls)
    try:
        yield
    finally:
        runtime.set_capture_calls(old)


# ---- The machine in C: programs as the extension `_runtime` takes them


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


__all__ = ["HAS_RUNTIME", "reason", "runtime", "capture_after"]
