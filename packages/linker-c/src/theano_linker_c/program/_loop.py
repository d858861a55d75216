"""Loops: programs that run many times in one call, without Python between the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from theano_graph import record


class ResultKind(IntEnum):
    """What becomes of the values of an output; the same numbers as in c/machine/loop.c."""

    STACK = 0
    SUM = 1
    LAST = 2


#: Makes the exception for a value of another shape than before, from the number of the output, row, shape and expected
#: shape.
MakeShapeError = Callable[[int, int, Sequence[int], Sequence[int]], Exception]
#: Runs a loop: takes the number of runs (1 at least), the values, and what makes exceptions for changed shapes; returns
#: the number of runs done and the results.
LoopRunner = Callable[[int, Sequence[Any], MakeShapeError], tuple[int, list[Any]]]


@record
class LoopSpec:
    """How a program is run in a loop.

    Its inputs are rows of sequences, states, and what stays the same, in this order; its outputs are the new states,
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


def loop_runner(machine: Any, loop_spec: LoopSpec) -> LoopRunner | None:
    """Return what runs the program of a machine many times in one call, or None where the machine cannot.

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
    run = getattr(machine, "run_loop", None)
    if run is None:
        return None
    rows, states, until, backwards = loop_spec.rows, loop_spec.states, loop_spec.until, loop_spec.backwards
    kinds = tuple(int(kind) for kind in loop_spec.kinds)

    def run_loop(runs: int, values: Sequence[Any], shape_error: MakeShapeError) -> tuple[int, list[Any]]:
        found: tuple[int, list[Any]] = run(runs, tuple(values), rows, states, kinds, until, backwards, shape_error)
        return found

    return run_loop
