"""The machine in pure Python: every node runs its own `perform`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Variable

from ._perform import as_value, has_own_thunk, perform_runner, thunk_runner
from ._program import Hooks, Program, ProgramInput, array_spec_of
from ._run_errors import annotate


class PythonMachine:
    """Runs a program without compiled code, with the results and the errors of the native machine.

    Parameters
    ----------
    program : Program
    hooks : Hooks

    Attributes
    ----------
    position_of_error : int
        Index of the instruction that failed last, or -1.
    """

    def __init__(self, program: Program, hooks: Hooks) -> None:
        self.program = program
        self.hooks = hooks
        self.position_of_error = -1
        self._runners = [
            thunk_runner(i.node) if has_own_thunk(i.node) else perform_runner(i.node) for i in program.instructions
        ]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments and return what the function returns."""
        values: Any = args
        if kwargs or len(args) != len(self.program.inputs):
            values = self.hooks.on_irregular(args, kwargs)
            if type(values) is not tuple:
                return values
        registers = self._execute(values)
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
        registers = self._execute(values)
        self._store(registers)
        return [registers[r] for r in self.program.outputs]

    def clear(self) -> None:
        """Let go of memory kept for the next call; this machine keeps none."""

    def _execute(self, values: Sequence[Any]) -> list[Any]:
        program = self.program
        registers: list[Any] = [None] * program.n_registers
        for i, (given, value) in enumerate(zip(program.inputs, values, strict=True)):
            registers[given.register] = self._accept(i, given, value)
        for register, cell in program.cells:
            registers[register] = cell[0]
        for register, value in program.constants:
            registers[register] = value
        for i, instruction in enumerate(program.instructions):
            operands = [registers[r] for r in instruction.inputs]
            try:
                results = self._runners[i](operands)
            except BaseException as error:
                self.position_of_error = i
                annotate(error, program, i, operands)
                raise
            for register, value in zip(instruction.outputs, results, strict=True):
                registers[register] = as_value(value)
            for register in instruction.release:
                registers[register] = None
        return registers

    def _accept(self, index: int, given: ProgramInput, value: Any) -> Any:
        spec = array_spec_of(given.variable)
        if given.accepts.floats and type(value) is float and spec is not None:
            return np.array(value, dtype=spec.dtype)
        return value if fits(given.variable, value) else self.hooks.on_input(index, value)

    def _store(self, registers: Sequence[Any]) -> None:
        for register, cell in self.program.updates:
            cell[0] = registers[register]


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
