"""Loops: programs that run many times in one call, without Python between the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import Any

from theano_graph import Apply, Variable, record

from .._instructions._forms import KernelForm
from ..kernels import CompilerOptions, ElementwiseKernel, ElementwiseLoop
from ..targets import Target


class ResultKind(IntEnum):
    """The treatment of the values of an output; the same numbers as in c/machine/loop.c."""

    STACK = 0
    SUM = 1
    LAST = 2


#: Makes the exception for a value of another shape than before, from the number of the output, row, shape and expected
#: shape.
MakeShapeError = Callable[[int, int, Sequence[int], Sequence[int]], Exception]
#: Runs a loop: takes the number of runs (1 at least), the values, and exceptions for changed shapes; returns
#: the number of runs done and the results.
LoopRunner = Callable[[int, Sequence[Any], MakeShapeError], tuple[int, list[Any]]]


@record
class LoopSpec:
    """How a program is run in a loop.

    Its inputs are rows of sequences, states, and constant values, in this order; its outputs are the new states,
    other results, and maybe the boolean that ends the loop after this run.

    Attributes
    ----------
    rows, states : int
        How many there are.
    kinds : tuple of ResultKind
        For each output that is a result, whether its values are stacked or summed, or the last one is kept. A stack has
        one row for each run that was asked for, in the order of the sequences.
    until : bool
        Whether the last output ends the loop.
    backwards : bool
        Whether sequences are read, and stacks written, from the last row to the first.
    """

    rows: int
    states: int
    kinds: tuple[ResultKind, ...]
    until: bool = False
    backwards: bool = False


_step_of: ContextVar[LoopSpec | None] = ContextVar("step_of", default=None)


def loop_of_step() -> LoopSpec | None:
    """Return the loop for whose step programs are made at present; None outside of :func:`lowered_for_loop`."""
    return _step_of.get()


@contextmanager
def lowered_for_loop(loop_spec: LoopSpec) -> Iterator[None]:
    """Let programs that are made meanwhile have code for all steps of a loop, where that is more than calls of a step.

    Parameters
    ----------
    loop_spec : LoopSpec
        How the programs will be run in a loop.
    """
    token = _step_of.set(loop_spec)
    try:
        yield
    finally:
        _step_of.reset(token)


def forms_of_loops(
    order: Sequence[Apply],
    registers: Mapping[Variable, int],
    inputs: Sequence[int],
    outputs: Sequence[int],
    target: Target,
    options: CompilerOptions | None,
) -> dict[LoopSpec, KernelForm]:
    """Return code for all steps of the loops that a program is meant for, compiled together with the code of a step.

    Parameters
    ----------
    order : sequence of Apply
        The nodes of the program.
    registers : mapping of Variable to int
    inputs, outputs : sequence of int
        The registers of arguments and results.
    target : Target
    options : CompilerOptions or None
    """
    loop_spec = _step_of.get()
    if loop_spec is None or not target.has_loops or len(order) != 1:
        return {}
    kernel = target.kernel_of(order[0])
    if not isinstance(kernel, ElementwiseKernel):
        return {}
    read, written = ([registers[v] for v in side] for side in (order[0].inputs, order[0].outputs))
    loop = _loop_of(kernel, loop_spec, read, written, inputs, outputs)
    if loop is None or not loop.worthwhile:
        return {}
    _, form = target.build([kernel, loop], options)
    return {} if form is None else {loop_spec: form}


def _loop_of(
    kernel: ElementwiseKernel,
    loop_spec: LoopSpec,
    read: Sequence[int],
    written: Sequence[int],
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> ElementwiseLoop | None:
    """Return a loop of one kernel, which reads and writes some registers; None where there is more to do in a step."""
    kinds = loop_spec.kinds
    fits = len(outputs) == len(kinds) and loop_spec.rows + loop_spec.states <= len(inputs)
    if not fits or loop_spec.until or ResultKind.SUM in kinds or sorted(outputs) != sorted(written):
        return None
    states = dict(zip(inputs[loop_spec.rows :], outputs[: loop_spec.states], strict=False))
    return ElementwiseLoop(
        kernel,
        feeds=tuple(written.index(states[r]) if r in states else -1 for r in read),
        rows=tuple(r in inputs[: loop_spec.rows] for r in read),
        stacked=tuple(kinds[outputs.index(r)] == ResultKind.STACK for r in written),
    )


def loop_runner(machine: Any, loop_spec: LoopSpec) -> LoopRunner | None:
    """Return a function that runs the program of a machine many times in one call, or None where the machine cannot.

    Instructions write stacked results directly into their rows where they can; arrays of states are reused.
    All values of a stack or a sum have the shape of the first one, those of a state the shape of its start. An
    error names the run in a note. Each run stores updates, as a call does.

    Parameters
    ----------
    machine : Machine
    loop_spec : LoopSpec

    Returns
    -------
    callable or None
    """
    now = getattr(machine, "now", None)
    machine = machine if now is None else now()
    run = getattr(machine, "run_loop", None)
    if run is None:
        return None
    rows, states, until, backwards = loop_spec.rows, loop_spec.states, loop_spec.until, loop_spec.backwards
    kinds = tuple(int(kind) for kind in loop_spec.kinds)
    form = machine.program.loops.get(loop_spec)
    address = 0 if form is None else form.code.address

    def run_loop(runs: int, values: Sequence[Any], shape_error: MakeShapeError) -> tuple[int, list[Any]]:
        arguments = runs, tuple(values), rows, states, kinds, until, backwards, shape_error, address
        result: tuple[int, list[Any]] = run(*arguments)
        return result

    return run_loop
