"""Which operands a machine overwrites, written into the graph that it runs.

It is decided when a program is made (see :mod:`._decide`). Afterwards the nodes get the in-place forms of
their ops, so that a graph that is printed or inspected shows the overwriting. Nothing runs differently for it, and a
graph that is to be linked again or copied gets its plain ops back first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from theano_graph import Apply, Op, RuleTable

from .._instructions._data import Program
from ._lifetimes import Lifetimes

Form = Callable[[Op, int], Op | None]

#: Class of ops -> a function to the form of an op whose first output is put into the memory of one of its inputs.
overwriting_form: RuleTable[Form] = RuleTable("overwriting_form")


class Decisions:
    """The changes written into a graph, and the ops before."""

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

    def known(self) -> list[tuple[Apply, Op, Op]]:
        """Return the nodes that have in-place forms, with their plain ops and those."""
        return list(self._plain)

    def restore(self, originals: list[tuple[Apply, Op, Op]]) -> None:
        """Give nodes the in-place forms that were decided for an equal graph."""
        self._plain = originals
        for node, _, form in originals:
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

    Facts that the machine finds at run time only (who else holds an array) are left to it: an input is named where it,
    and all that may lie in its memory, dies with the instruction, and where it is the result of one that made it anew.
    """
    waiting = [i for i, instruction in enumerate(program.instructions) if instruction.waits is not None]
    yield from ((i, 0) for i in _before_others(program, waiting))
    if program.schedule is not None:
        return  # there is no order from which one could tell who reads last
    candidates = [
        (i, x.donors[0])
        for i, x in enumerate(program.instructions)
        if x.waits is None and len(x.outputs) == 1 and x.donors
    ]
    if not candidates:
        return
    # The graph has to be right in the order in which it is shown, too.
    orders = [Lifetimes(program, times, waiting) for times in (None, program.shown) if times != ()]
    for i, positions in candidates:
        inputs = program.instructions[i].inputs
        for position in positions:
            register = inputs[position]
            if inputs.count(register) == 1 and all(x.is_fresh(register) and x.ends(i, register) for x in orders):
                yield i, position
                break


def _before_others(program: Program, waiting: Sequence[int]) -> Iterator[int]:
    """Yield the writes that wait and change no memory that another of them reads.

    In a graph, who overwrites an array comes after all who read it; writes that wait have no such order, since each
    reads the value before the call.
    """
    if len(waiting) < 2:
        yield from waiting
        return
    lifetimes = Lifetimes(program)
    readers: dict[int, set[int]] = {}
    for i in waiting:
        for register in program.instructions[i].inputs[1:]:
            for root in lifetimes.roots(register):
                readers.setdefault(root, set()).add(i)
    for i in waiting:
        roots = lifetimes.roots(program.instructions[i].inputs[0])
        if all(readers.get(root, {i}) == {i} for root in roots):
            yield i
