"""Which operands a machine overwrites, written into the graph that it runs.

The machine decides when a program is made (see :mod:`._overwriting`). Afterwards the nodes get the in-place forms of
their ops, so that a graph that is printed or inspected shows what happens. Nothing runs differently for it, and a graph
that is to be linked again or copied gets its plain ops back first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from theano_graph import Apply, Op, RuleTable

from ._index_payload import deferred_writes
from ._program import Instruction, Program
from .kernels import ElementwiseKernel, IndexWrite, MatrixProduct

Form = Callable[[Op, int], Op | None]

#: Class of ops -> what gives the form of an op whose first output is put into the memory of one of its inputs.
overwriting_form: RuleTable[Form] = RuleTable("overwriting_form")

#: Later than every instruction.
_NEVER = 1 << 62


class Decisions:
    """What has been written into a graph, and what stood there before."""

    def __init__(self) -> None:
        self._plain: list[tuple[Apply, Op, Op]] = []

    def write(self, program: Program) -> None:
        """Give the nodes of a program the in-place forms of their ops."""
        for i, position in overwritten(program):
            node = program.instructions[i].node
            rule = None if node.op.destroy_map else overwriting_form.get(node.op)
            form = None if rule is None else rule(node.op, position)
            if form is not None:
                self._plain.append((node, node.op, form))
                node.op = form

    def withdraw(self) -> None:
        """Give the nodes their plain ops back, for good."""
        for node, plain, _ in self._plain:
            node.op = plain
        self._plain = []

    @contextmanager
    def withdrawn(self) -> Iterator[None]:
        """Give the nodes their plain ops back for a while."""
        for node, plain, _ in self._plain:
            node.op = plain
        try:
            yield
        finally:
            for node, _, form in self._plain:
                node.op = form


def overwritten(program: Program) -> Iterator[tuple[int, int]]:
    """Yield number and input of the instructions whose result is put into the memory of this input.

    What the machine finds out at run time only (who else holds an array) is left to it: an input is named where it, and
    all that may lie in its memory, dies with the instruction, and where it is the result of one that made it anew.
    """
    deferred = deferred_writes(program)
    yield from ((i, 0) for i in sorted(deferred))
    if program.schedule is not None:
        return  # there is no order from which one could tell who reads last
    candidates = [
        (i, found)
        for i, instruction in enumerate(program.instructions)
        if i not in deferred and (found := _candidates(instruction))
    ]
    if not candidates:
        return
    # The graph has to be right in the order in which it is shown, too.
    orders = [_Memory(program, range(len(program.instructions)))]
    if program.shown:
        orders.append(_Memory(program, program.shown))
    for i, positions in candidates:
        for position in positions:
            if all(memory.ends(i, position) for memory in orders):
                yield i, position
                break


def _candidates(instruction: Instruction) -> Collection[int]:
    if not instruction.overwrites or len(instruction.outputs) != 1 or not instruction.release:
        return ()
    kernel = instruction.kernel
    if isinstance(kernel, ElementwiseKernel):
        return [
            i
            for i, register in enumerate(instruction.inputs)
            if register in instruction.release
            and kernel.input_dtypes[i] == kernel.output_dtypes[0]
            and not any(kernel.broadcast[i])
        ]
    if isinstance(kernel, IndexWrite) or (
        isinstance(kernel, MatrixProduct) and kernel.accumulates(len(instruction.inputs))
    ):
        return (0,)
    return ()


class _Memory:
    """In whose memory the value of each register lies, and who reads that memory last."""

    def __init__(self, program: Program, times: Sequence[int]) -> None:
        self._instructions = program.instructions
        self._times = times
        self._roots: dict[int, tuple[int, ...]] = {}
        self._fresh: set[int] = set()
        self._last: dict[int, int] = {}
        for i, instruction in enumerate(program.instructions):
            self._enter(i, instruction)
        for register in (*program.outputs, *(register for register, _ in program.updates)):
            for root in self._roots_of(register):
                self._last[root] = _NEVER

    def _roots_of(self, register: int) -> tuple[int, ...]:
        return self._roots.get(register, (register,))

    def _enter(self, i: int, instruction: Instruction) -> None:
        for register in instruction.inputs:
            for root in self._roots_of(register):
                self._last[root] = max(self._last.get(root, -1), self._times[i])
        op = instruction.node.op
        if not op.view_map and not op.destroy_map:
            self._fresh.update(instruction.outputs)
            return
        for k, register in enumerate(instruction.outputs):
            seen = [r for s in op.view_map.get(k, ()) for r in self._roots_of(instruction.inputs[s])]
            if seen:
                self._roots[register] = tuple(dict.fromkeys(seen))
            elif all(instruction.inputs[s] in self._fresh for s in op.destroy_map.get(k, ())):
                self._fresh.add(register)

    def ends(self, i: int, position: int) -> bool:
        """Tell whether nobody but an instruction has the memory of one of its inputs any more."""
        inputs = self._instructions[i].inputs
        register = inputs[position]
        if register not in self._fresh or self._last[register] != self._times[i]:
            return False
        return sum(register in self._roots_of(other) for other in inputs) == 1
