"""Instructions as thunks, each with its storage; the counters and the common part of machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from time import perf_counter
from typing import Any, Protocol

from theano_graph import Apply, Variable

from .._perform import OwnThunk, Runner, perform_runner
from ..cop import CThunk, needs_c_code
from ._errors import accept_results
from ._instructions import Instruction, Program


class Thunk:
    """One node with the cells that hold its operands and results.

    Calling it computes the outputs from the values in the input cells.

    Attributes
    ----------
    node : Apply
    inputs, outputs : list of list
        One-element lists; a cell is shared by all thunks that use the variable.
    lazy : bool
        Whether the node can ask for its inputs instead of getting them all.
    native : bool
        Whether it runs a native kernel.
    """

    __slots__ = ("_instruction", "_run", "inputs", "lazy", "native", "node", "outputs")

    def __init__(self, instruction: Instruction, cells: Sequence[list[Any]], run: Runner, native: bool) -> None:
        self.node: Apply = instruction.node
        self._instruction = instruction
        self.inputs = [cells[r] for r in instruction.inputs]
        self.outputs = [cells[r] for r in instruction.outputs]
        self.lazy = instruction.lazy
        self.native = native
        self._run = run

    @property
    def perform(self) -> Any:
        """The op's Python code."""
        return self.node.op.perform

    @property
    def cthunk(self) -> Runner:
        """The native code; only thunks that run some have the attribute."""
        if not self.native:
            raise AttributeError(f"the thunk of {self.node} runs no native code")
        return self._run

    def __call__(self) -> None:
        """Compute the outputs."""
        results = self._run([cell[0] for cell in self.inputs])
        for cell, value in zip(self.outputs, accept_results(self._instruction, results), strict=True):
            cell[0] = value

    def __repr__(self) -> str:
        return f"<thunk of {self.node}>"


def python_runner(instruction: Instruction) -> Runner:
    """Return a function from input values to output values: the op's thunk, its `perform`, or C code if that is all."""
    form = instruction.form
    if isinstance(form, OwnThunk) or (isinstance(form, CThunk) and needs_c_code(instruction.node)):
        return form
    return perform_runner(instruction.node)


class MachineView:
    """A machine's view of its program: thunks, nodes, and the operands on which it failed last.

    Attributes
    ----------
    program : Program

    Parameters
    ----------
    runner_of : callable
        How an instruction is run by its thunk.
    cells : list, optional
        A one-element list for each register.
    fetch : callable, optional
        Returns values that stayed after the last call, by register.
    failed : callable, optional
        Returns the index of the instruction that failed last, or -1.
    again : callable, optional
        Makes another machine for the program, with memory of its own.
    encoded : tuple, optional
        The instructions as the machine in C was given them.
    """

    def __init__(
        self,
        program: Program,
        runner_of: Callable[[Instruction], Runner],
        cells: list[list[Any]] | None = None,
        fetch: Callable[[], Mapping[int, Any]] | None = None,
        failed: Callable[[], int] | None = None,
        again: Callable[[], Any] | None = None,
        encoded: tuple[Any, ...] | None = None,
    ) -> None:
        self.program = program
        self.again = again
        self.encoded = encoded
        self._failed_last = failed
        self._fetch = fetch
        if cells is not None:
            self.cells = cells
        self._runner_of = runner_of
        self._failed: tuple[int, Sequence[Any]] | None = None

    @cached_property
    def cells(self) -> list[list[Any]]:
        """For each register, a one-element list; those of shared variables are their containers' own."""
        cells: list[list[Any]] = [[None] for _ in range(self.program.n_registers)]
        for register, cell in self.program.cells:
            cells[register] = cell
        for register, value in self.program.constants:
            cells[register][0] = value
        return cells

    @cached_property
    def _kept(self) -> frozenset[int]:
        return frozenset(register for register, _ in (*self.program.cells, *self.program.constants))

    @cached_property
    def thunks_as_run(self) -> list[Thunk]:
        """The thunks of the instructions, in the order in which these run."""
        cells = self.cells
        return [Thunk(x, cells, self._runner_of(x), x.native) for x in self.program.instructions]

    @cached_property
    def _thunks(self) -> list[Thunk]:
        return self.program.in_shown_order(self.thunks_as_run)

    @property
    def position_of_error(self) -> int:
        """Which of the thunks failed last, or -1."""
        return -1 if self._failed_last is None else self.program.position_of(self._failed_last())

    @property
    def thunks(self) -> list[Thunk]:
        """The nodes in the order in which they are shown, each with its storage.

        After a failed call, ``thunks[position_of_error]`` holds the operands that the failing node got. Where memory of
        intermediate results is not freed, the storage holds the values of the last call.
        """
        self._refresh()
        if self._failed is not None:
            (index, values), self._failed = self._failed, None
            for register, value in zip(self.program.instructions[index].inputs, values, strict=True):
                if register not in self._kept:
                    self.cells[register][0] = value
        return self._thunks

    @property
    def nodes(self) -> list[Apply]:
        """The nodes, in the order of the thunks."""
        return self.program.in_shown_order([x.node for x in self.program.instructions])

    @property
    def storage_map(self) -> dict[Variable, list[Any]]:
        """Variable -> its cell."""
        self._refresh()
        storage: dict[Variable, list[Any]] = {
            parameter.variable: self.cells[parameter.register] for parameter in self.program.inputs
        }
        for x in self.program.instructions:
            pairs = zip((*x.node.inputs, *x.node.outputs), (*x.inputs, *x.outputs), strict=True)
            storage.update((variable, self.cells[register]) for variable, register in pairs)
        return storage

    def _refresh(self) -> None:
        if self._fetch is not None:
            for register, value in self._fetch().items():
                self.cells[register][0] = value

    def take_cells(self, other: MachineView) -> None:
        """Show values in the cells of another view, which programs may hold, if the registers are the same."""
        mine, others = self.program, other.program
        if mine.n_registers == others.n_registers and all(
            (x.node, x.inputs, x.outputs) == (y.node, y.inputs, y.outputs)
            for x, y in zip(mine.instructions, others.instructions, strict=False)
        ):
            self.cells = other.cells

    def note(self, index: int, values: Sequence[Any]) -> None:
        """Keep the operands of an instruction that failed."""
        self._failed = index, values

    def clear(self) -> None:
        """Let go of all values that are not constants or shared."""
        self._failed = None
        if "cells" in vars(self):
            for register, cell in enumerate(self.cells):
                if register not in self._kept:
                    cell[0] = None


def intermediate_registers(program: Program) -> tuple[int, ...]:
    """Return the registers of results that a call neither returns nor stores."""
    given_away = {*program.outputs, *(register for register, _ in program.updates)}
    return tuple(r for x in program.instructions for r in x.outputs if r not in given_away)


# ---- The counters of a machine while it is profiled

Observer = Callable[[int, list[Any], list[Any]], Any]
Reading = tuple[int, float, float, float, tuple[int, ...], tuple[float, ...]]


class Counters:
    """Calls and times of the machine in Python; the machine in C has the same in c/machine/profile.c.

    Parameters
    ----------
    length : int
        Number of instructions.
    skip : int
        How many calls are not counted.
    observer : callable or None
        Called ``(index, inputs, outputs)`` after each instruction.
    """

    def __init__(self, length: int, skip: int, observer: Observer | None) -> None:
        self._length = length
        self._skip = skip
        self._observer = observer
        self._reset()

    def _reset(self) -> None:
        self._calls = 0
        self._call_seconds = self._run_seconds = self._watch_seconds = 0.0
        self._counts = [0] * self._length
        self._seconds = [0.0] * self._length

    @contextmanager
    def call(self) -> Iterator[None]:
        """Count the body as a call."""
        begin = perf_counter()
        try:
            yield
        finally:
            if self._skip:
                self._skip -= 1
                self._reset()
            else:
                self._calls += 1
                self._call_seconds += perf_counter() - begin

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time inside as that of running the instructions."""
        begin = perf_counter()
        try:
            yield
        finally:
            self._run_seconds += perf_counter() - begin

    @contextmanager
    def step(self, index: int) -> Iterator[None]:
        """Count the time inside as that of an instruction."""
        begin = perf_counter()
        try:
            yield
        finally:
            self._seconds[index] += perf_counter() - begin

    def done(self, index: int, inputs: list[Any], outputs: list[Any]) -> None:
        """Note that an instruction has run to its end."""
        self._counts[index] += 1
        if self._observer is not None:
            begin = perf_counter()
            self._observer(index, inputs, outputs)
            self._watch_seconds += perf_counter() - begin

    def read(self) -> Reading:
        """Return calls, seconds of calls, of running and in the observer, and counts and seconds of instructions."""
        times = self._call_seconds, self._run_seconds, self._watch_seconds
        return self._calls, *times, tuple(self._counts), tuple(self._seconds)


# ---- The common part of machines

#: Bytes that a machine keeps for its next call at most.
BUFFER_LIMIT = 1 << 28


class Machine(Protocol):
    """Runs a program: called as the function is called.

    Notes
    -----
    Machines give the same results and the same texts of errors. Updates are stored when everything has been computed,
    so that a call that fails leaves shared variables as they were; the thunk at `position_of_error` then holds the
    operands, until `clear`.

    A machine whose property `nogil` is true runs ``run_batch(elements, regular)`` without the interpreter's lock, and
    gives the results and the exception of the first call that failed, or None. It belongs to one thread; ``again()``
    makes another one of the same program.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def run(self, values: Any, /) -> list[Any]: ...
    def clear(self) -> None: ...
    def start_profile(self, skip: int, observer: Observer | None, /) -> None: ...
    def read_profile(self) -> Reading | None: ...
    @property
    def position_of_error(self) -> int: ...
    @property
    def program(self) -> Program: ...
    @property
    def thunks(self) -> list[Thunk]: ...
    @property
    def nodes(self) -> list[Apply]: ...
    @property
    def storage_map(self) -> dict[Variable, list[Any]]: ...
