"""The machine in pure Python: every node runs its own `perform`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from theano_graph import Apply, Variable

from .._perform import OwnThunk, Runner
from ._errors import accept_results, annotate
from ._inplace import own_value
from ._instructions import Branch, Hooks, Instruction, Program, ProgramInput, Schedule, argument_spec_of, array_spec_of
from ._storage import UpdateLocks, update_lock_of
from ._thunks import Counters, MachineView, Observer, Reading, Thunk, intermediate_registers, python_runner


class PythonMachine:
    """Runs a program without compiled code, with the results and the errors of the native machine.

    Parameters
    ----------
    program : Program
    hooks : Hooks
    keep : bool
        Whether intermediate results stay after a call, to be looked at.
    runner_of : callable
        Gives the function from input values to output values that runs an instruction; by default the op's Python code.

    Attributes
    ----------
    position_of_error : int
        Which of the nodes, in the order in which they are shown, failed last, or -1.
    """

    def __init__(
        self,
        program: Program,
        hooks: Hooks,
        keep: bool = False,
        runner_of: Callable[[Instruction], Runner] = python_runner,
    ) -> None:
        self.program = program
        self._kept: dict[int, Any] = {}
        self._to_keep = intermediate_registers(program) if keep else ()
        self.hooks = hooks
        self.position_of_error = -1
        self.view = MachineView(program, runner_of, fetch=(lambda: self._kept) if keep else None)
        self._counters: Counters | None = None
        self._runners = [runner_of(x) for x in program.instructions]
        # Calls are serialised by locks where one could store a value between another's reading and storing it.
        # What is read for
        # an argument that was left out may be updated, too.
        self._turn: AbstractContextManager[Any] = (
            UpdateLocks([update_lock_of(cell) for _, cell in program.updates]) if program.updates else nullcontext()
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments and return the function's result."""
        if kwargs or len(args) != len(self.program.inputs):
            with self._turn:
                values = self.hooks.on_irregular(args, kwargs)
                return self._call(values) if type(values) is tuple else values
        return self._call(args)

    def _call(self, values: tuple[Any, ...]) -> Any:
        with self._counted(), self._turn:
            registers = self._fill(values)
            self._run_all(registers)
            outputs = [registers[r] for r in self.program.outputs]
            result: Any = outputs[0] if self.hooks.single and len(outputs) == 1 else outputs
            if self.hooks.finish is not None:
                result = self.hooks.finish(outputs)
            self._store(registers)
        return result

    def run(self, values: Sequence[Any]) -> list[Any]:
        """Run the program on one value an input and return all outputs as a list."""
        if len(values) != len(self.program.inputs):
            raise TypeError(f"run() needs {len(self.program.inputs)} values, got {len(values)}")
        with self._counted(), self._turn:
            registers = self._fill(values)
            self._run_all(registers)
            self._store(registers)
        return [registers[r] for r in self.program.outputs]

    def clear(self) -> None:
        """Drop the values that stay after a call: the operands of a failure, and intermediate results."""
        self._kept = {}
        self.view.clear()

    def start_profile(self, skip: int, observer: Observer | None) -> None:
        """Count calls and times from now on, without the first `skip` calls.

        Parameters
        ----------
        skip : int
        observer : callable or None
            Called ``(index, inputs, outputs)`` after each instruction.
        """
        self._counters = Counters(len(self.program.instructions), skip, observer)

    def read_profile(self) -> Reading | None:
        """Return calls, seconds of calls, of running and in the observer, and counts and seconds of instructions."""
        return None if self._counters is None else self._counters.read()

    def _counted(self) -> AbstractContextManager[None]:
        return nullcontext() if self._counters is None else self._counters.call()

    def _run_all(self, registers: list[Any]) -> None:
        self._kept = {}
        if self._counters is None:
            self._run(registers)
        else:
            with self._counters.running():
                self._run(registers)
        self._kept = {r: registers[r] for r in self._to_keep if registers[r] is not None}

    @property
    def thunks(self) -> list[Thunk]:
        """The nodes in the order in which they are shown, each with its storage."""
        return self.view.thunks

    @property
    def nodes(self) -> list[Apply]:
        """The nodes, in the order of the thunks."""
        return self.view.nodes

    @property
    def storage_map(self) -> dict[Variable, list[Any]]:
        """Variable -> the one-element list that its thunks use."""
        return self.view.storage_map

    def _fill(self, values: Sequence[Any]) -> list[Any]:
        """Return the registers at the beginning of a call."""
        program = self.program
        registers: list[Any] = [None] * program.n_registers
        for i, (parameter, value) in enumerate(zip(program.inputs, values, strict=True)):
            registers[parameter.register] = self._accept(i, parameter, value)
        for register, cell in program.cells:
            registers[register] = cell[0]
        for register, value in program.constants:
            registers[register] = value
        self._copy_shared_inputs(registers)
        return registers

    def _copy_shared_inputs(self, registers: list[Any]) -> None:
        """Copy values that may be overwritten, but cannot be, or that another register sees too."""
        for parameter in self.program.inputs:
            value = registers[parameter.register]
            if not parameter.accepts.overwrite:
                continue
            if isinstance(value, np.ndarray) and not _takes_writes(value):
                registers[parameter.register] = value.copy(order="K")
            else:
                others = (other for register, other in enumerate(registers) if register != parameter.register)
                registers[parameter.register] = own_value(value, others)

    def _run(self, registers: list[Any]) -> None:
        """Run all instructions that a call needs."""
        program = self.program
        if program.schedule is not None:
            LazyRun(program, program.schedule, registers, self._step, frees=not self._to_keep).run()
            return
        for i, instruction in enumerate(program.instructions):
            self._step(i, registers)
            for register in () if self._to_keep else instruction.release:
                registers[register] = None

    def _step(self, index: int, registers: list[Any], values: list[bool] | None = None) -> list[int] | None:
        """Run one instruction; return None, or the inputs that it asks for when not all are known."""
        instruction = self.program.instructions[index]
        operands = [registers[r] for r in instruction.inputs]
        try:
            if self._counters is None:
                results = self._results(index, instruction, operands, values)
            else:
                with self._counters.step(index):
                    results = self._results(index, instruction, operands, values)
            if isinstance(results, list) and values is not None:
                return results
            results = self._accepted(instruction, results)
        except BaseException as error:
            self.position_of_error = self.program.position_of(index)
            self.view.note(index, operands)
            message = annotate(error, self.program, index, operands)
            if message is not error:
                raise message from None
            raise
        for register, value in zip(instruction.outputs, results, strict=True):
            registers[register] = value
        if self._counters is not None:
            self._counters.done(index, operands, [registers[r] for r in instruction.outputs])
        return None

    def _accepted(self, instruction: Instruction, results: Sequence[Any]) -> Sequence[Any]:
        return accept_results(instruction, results)

    def _results(
        self, index: int, instruction: Instruction, operands: list[Any], values: list[bool] | None
    ) -> Sequence[Any]:
        if values is None:
            return self._runners[index](operands)
        form = instruction.form
        assert isinstance(form, (Branch, OwnThunk)), "only these two forms are lazy"
        return form.attempt(operands, values)

    def _accept(self, index: int, parameter: ProgramInput, value: Any) -> Any:
        spec = argument_spec_of(parameter.variable)
        if parameter.accepts.floats and type(value) is float and spec is not None:
            return np.array(value, dtype=spec.dtype)
        return value if spec is not None and fits(parameter.variable, value) else self.hooks.on_input(index, value)

    def _store(self, registers: Sequence[Any]) -> None:
        for register, cell in self.program.updates:
            cell[0] = registers[register]


class LazyRun:
    """One call of a program in which instructions ask for their inputs.

    Parameters
    ----------
    program : Program
    schedule : Schedule
    registers : list
        The values; a dying one is replaced by None.
    step : callable
        ``(instruction number, registers, flags)`` runs one instruction. For a lazy one, the flags say which inputs are
        known, and it returns the list of inputs that it needs, or None when it is done.
    frees : bool
        Whether values that nothing reads any more are replaced by None.
    """

    def __init__(
        self, program: Program, schedule: Schedule, registers: list[Any], step: Any, frees: bool = True
    ) -> None:
        self._frees = frees
        self._program = program
        self._schedule = schedule
        self._registers = registers
        self._step = step
        self._done = [False] * len(program.instructions)
        self._left = list(schedule.readers)
        self._producer = {r: i for i, x in enumerate(program.instructions) for r in x.outputs}

    def run(self) -> None:
        """Run the needs of the outputs."""
        for root in self._schedule.roots:
            stack = [root]
            while stack:
                stack.extend(self._advance(stack))

    def _advance(self, stack: list[int]) -> Sequence[int]:
        """Run the instruction on top of the stack and take it off, or return its unmet needs."""
        i = stack[-1]
        missing = [] if self._done[i] else [j for j in self._schedule.needs[i] if not self._done[j]]
        if self._done[i] or missing:
            if not missing:
                stack.pop()
            return missing
        instruction = self._program.instructions[i]
        asked = self._step(i, self._registers, self._known(instruction) if instruction.lazy else None)
        if asked is None:
            self._done[i] = True
            stack.pop()
            self._release(instruction)
            return []
        missing = [self._producer[r] for r in (instruction.inputs[k] for k in asked) if not self._is_known(r)]
        if not missing:
            raise RuntimeError("a lazy operation asks for inputs that have been computed already")
        return missing

    def _is_known(self, register: int) -> bool:
        producer = self._producer.get(register)
        return producer is None or self._done[producer]

    def _known(self, instruction: Instruction) -> list[bool]:
        return [self._is_known(register) for register in instruction.inputs]

    def _release(self, instruction: Instruction) -> None:
        if not self._frees:
            return
        for register in instruction.release:
            self._registers[register] = None
        for register in instruction.inputs:
            if self._schedule.readers[register]:
                self._left[register] -= 1
                if not self._left[register]:
                    self._registers[register] = None


def fits(variable: Variable, value: Any) -> bool:
    """Tell whether a value is an array exactly as the type of `variable` wants it."""
    spec = array_spec_of(variable)
    if spec is None or type(value) is not np.ndarray:
        return False
    return bool(
        value.dtype == spec.dtype
        and value.dtype.isnative
        and value.flags.aligned
        and value.ndim == len(spec.shape)
        and all(want is None or want == have for want, have in zip(spec.shape, value.shape, strict=True))
    )


def _takes_writes(array: Any) -> bool:
    """Tell whether an op may write into an array element by element, each of which has a place of its own."""
    if not array.flags.writeable:
        return False
    if array.flags.forc:
        return True
    held = array.itemsize
    for stride, count in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < held:
            return False
        held += (count - 1) * stride
    return True
