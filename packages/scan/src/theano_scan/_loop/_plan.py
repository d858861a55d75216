"""How the inputs and outputs of a loop go together, and how it deals with memory."""

from __future__ import annotations

from types import MappingProxyType

from theano_graph import record
from theano_linker_c.program import LoopSpec, ResultKind

#: What becomes of the values of an output: all of them along a new first dimension, the sum, or the last one.
#: FINAL is the initial state where there are no steps, LAST is an error then.
STACK, SUM, FINAL, LAST = "stack", "sum", "final", "last"
_RESULT_KINDS = MappingProxyType({STACK: ResultKind.STACK, SUM: ResultKind.SUM})


@record
class Plan:
    """How the inputs and outputs of a loop go together.

    Attributes
    ----------
    sequences, states : int
        How many there are; the inner inputs are rows of the sequences, states, constants, in this order.
    kinds : tuple of str
        For each inner output (new states first), what becomes of it.
    likes : tuple of int
        For each output that is summed, the number of the inner input that has its shape; -1 for others.
    until : bool
        Whether the last inner output says that this step is the last; it is no output of the loop, the number of
        steps done is.
    backwards : bool
        Whether sequences are read, and stacks written, from the last row to the first.
    truncate : int
        Through how many steps gradients go; -1 for all.
    """

    sequences: int
    states: int
    kinds: tuple[str, ...]
    likes: tuple[int, ...]
    until: bool = False
    backwards: bool = False
    truncate: int = -1

    def loop_spec(self) -> LoopSpec:
        """Return what a machine has to know to do all steps by itself."""
        kinds = tuple(_RESULT_KINDS.get(kind, ResultKind.LAST) for kind in self.kinds)
        return LoopSpec(self.sequences, self.states, kinds, self.until, self.backwards)


@record
class Memory:
    """How a loop deals with memory.

    Attributes
    ----------
    allow_gc : bool
        Whether intermediate results are given back after each step.
    preallocate : bool
        Whether stacks are made at the first step, and filled.
    """

    allow_gc: bool = False
    preallocate: bool = True
