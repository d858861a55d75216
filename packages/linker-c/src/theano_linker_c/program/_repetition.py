"""Programs that run many times in one call, without Python between the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from theano_graph import record


class Becomes(IntEnum):
    """What becomes of the values of an output; the same numbers as in c/machine/repeat.c."""

    STACK = 0
    SUM = 1
    NEWEST = 2


#: Makes the exception for a value of another shape than before: number of the output, row, shape, the shape wanted.
Complaint = Callable[[int, int, Sequence[int], Sequence[int]], Exception]
#: Takes the number of runs (1 at least), the values, and who makes exceptions for changed shapes; gives the number of
#: runs that were done and the results.
Repeater = Callable[[int, Sequence[Any], Complaint], tuple[int, list[Any]]]


@record
class Repetition:
    """How a program is run again and again.

    Its inputs are rows of sequences, states, and what stays the same, in this order; its outputs are the new states,
    other results, and maybe the truth value that says that this run is the last.

    Attributes
    ----------
    rows, states : int
        How many there are.
    kinds : tuple of Becomes
        For each output that is a result, what becomes of its values. A stack has a place for each run that was asked
        for, in the order of the sequences.
    until : bool
        Whether the last output ends the loop.
    backwards : bool
        Whether sequences are read, and stacks written, from the last row to the first.
    """

    rows: int
    states: int
    kinds: tuple[Becomes, ...]
    until: bool = False
    backwards: bool = False


def repeater(machine: Any, repetition: Repetition) -> Repeater | None:
    """Return what runs the program of a machine many times in one call, or None where the machine cannot.

    Results that are stacked are computed in their places where an instruction can do so; arrays of states are used
    again. All values of a stack or a sum have the shape of the first one, those of a state the shape of its start. An
    error names the run in a note. Each run stores updates, as a call does.

    Parameters
    ----------
    machine : Machine
    repetition : Repetition

    Returns
    -------
    callable or None
    """
    run = getattr(machine, "repeat", None)
    if run is None:
        return None
    rows, states, until, backwards = repetition.rows, repetition.states, repetition.until, repetition.backwards
    kinds = tuple(int(kind) for kind in repetition.kinds)

    def repeat(runs: int, values: Sequence[Any], complain: Complaint) -> tuple[int, list[Any]]:
        found: tuple[int, list[Any]] = run(runs, tuple(values), rows, states, kinds, until, backwards, complain)
        return found

    return repeat
