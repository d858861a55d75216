"""Memory that nodes, results and arguments share: copies against it in the graph, and the nodes that overwrite.

Decisions about a graph before it is lowered: nodes that say they overwrite an input run last and on memory of their
own, and results share no memory with values of others. Decisions about a program are made by `_buffer_donation` and
written into the graph here. In a call, `buffers.c`, `donation.c` and `commit.c` in c/machine check who else sees the
memory, then take other. docs/design/overwriting.md tells the whole story.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Op, RuleTable, Variable, format_error, record, walk
from theano_optimize import DestroyHandler, Supervisor, destroyed_inputs

from ..ops import deep_copy_op
from ._buffer_donation import Lifetimes
from ._instructions import Program

# ---- Nodes that overwrite an input: run after all other readers, and never on memory that is not theirs
#
# The :class:`~theano_optimize.DestroyHandler` decides which overwriting is legal; where it refuses a node, the node
# gets


def supervise(fgraph: FunctionGraph, mutable: Collection[int]) -> None:
    """Have rewriting keep its hands off all inputs but those with the numbers in `mutable`."""
    if not any(isinstance(f, Supervisor) for f in fgraph.features):
        fgraph.attach_feature(Supervisor(v for i, v in enumerate(fgraph.inputs) if i not in mutable))


def protect_overwritten(fgraph: FunctionGraph, mutable: Collection[int]) -> None:
    """Insert copies where a node would overwrite a forbidden value, and order the others after their readers.

    Parameters
    ----------
    fgraph : FunctionGraph
        Nothing happens, at the cost of one look at each node, where no node overwrites an input.
    mutable : collection of int
        Numbers of the inputs of `fgraph` that may be overwritten.
    """
    nodes = [node for node in fgraph.apply_nodes if node.op.destroy_map]
    if not nodes:
        return
    supervise(fgraph, mutable)
    handler = _handler(fgraph)
    for node in nodes:
        while refused := handler.refused_inputs(fgraph, node):
            _copy_inputs(fgraph, node, refused[:1])
    for node in nodes:
        if handler.conflict(fgraph, node) is not None:
            _copy_inputs(fgraph, node, destroyed_inputs(node))
    _part_choices(fgraph, handler)


def _part_choices(fgraph: FunctionGraph, handler: DestroyHandler) -> None:
    """Give copies to nodes whose output may be a view of one input or of another, where one of these is overwritten.

    The handler follows the first input of such a view only; the others are copied, so that they are no part of it.
    """
    for node in [node for node in fgraph.toposort() if node.op.view_map]:
        for sources in node.op.view_map.values():
            others = list(dict.fromkeys(i for i in sources if i != sources[0]))
            if others and handler.has_destroyers(fgraph, [node.inputs[i] for i in sources]):
                _copy_inputs(fgraph, node, others)


def _handler(fgraph: FunctionGraph) -> DestroyHandler:
    handler = next((f for f in fgraph.features if isinstance(f, DestroyHandler)), None)
    if handler is None:
        handler = DestroyHandler()
        fgraph.attach_feature(handler)
    return handler


def _copy_inputs(fgraph: FunctionGraph, node: Apply, indices: Iterable[int]) -> None:
    for index in indices:
        fgraph.change_input(node, index, deep_copy_op(node.inputs[index]), reason="protect_overwritten")


# ---- Static alias analysis: which outputs could share memory with something that is not theirs, and copies against it


@record
class Boundary:
    """Facts about the inputs and outputs of a function graph.

    Attributes
    ----------
    borrowed_inputs : frozenset of int
        Inputs whose memory a borrowed output may share.
    shared_inputs : frozenset of int
        Inputs that stand for shared variables; never memory of the caller.
    given_up_inputs : frozenset of int
        Inputs whose old value nobody asks for after a call: their own new value may lie in its memory.
    borrowed_outputs : frozenset of int
        Outputs that may share memory.
    updates : dict
        Output index -> index of the input whose new value it is.
    """

    borrowed_inputs: frozenset[int]
    shared_inputs: frozenset[int]
    given_up_inputs: frozenset[int]
    borrowed_outputs: frozenset[int]
    updates: dict[int, int]


def alias_roots(variable: Variable, *, choices: bool = True) -> list[Variable]:
    """Return the variables that own the memory in which the value of `variable` may lie: itself, if it is no view.

    An output that destroys an input lies in the input's memory too.

    Parameters
    ----------
    variable : Variable
    choices : bool
        False: an output that is a view of one of several inputs, and of which is found out in a call, counts as none.
    """

    def sources(v: Variable) -> list[Variable]:
        node = v.owner
        if node is None or v.index is None:
            return []
        view, destroy = node.op.view_map, node.op.destroy_map
        if not view and not destroy:
            return []
        seen = view.get(v.index, ())
        if not choices and len(seen) > 1:
            seen = ()
        return [node.inputs[i] for i in (*seen, *destroy.get(v.index, ()))]

    return [v for v in walk([variable], sources) if not sources(v)]


def protect_outputs(fgraph: FunctionGraph, boundary: Boundary) -> None:
    """Insert copies so that no output of `fgraph` shares memory with a value that the caller must not see change.

    Afterwards an output shares no memory with an input, a constant, a shared variable, or another output, except where
    borrowing allows it; and the new value of a shared variable shares none with anything but its own old value.

    Cost is linear in the number of outputs and the length of the chains of views that end in them.
    """
    positions = {v: i for i, v in enumerate(fgraph.inputs)}
    replaced = _replaced_inputs(fgraph, boundary, positions)
    owners: dict[Variable, int] = {}
    # Updates first: where an update and an output share memory, it is the output that gets the copy.
    order = [*boundary.updates, *(i for i in range(len(fgraph.outputs)) if i not in boundary.updates)]
    for index in order:
        roots = alias_roots(fgraph.outputs[index])
        if any(_conflicts(root, index, boundary, positions, replaced, owners) for root in roots):
            fgraph.change_input("output", index, deep_copy_op(fgraph.outputs[index]), reason="protect_outputs")
            roots = [fgraph.outputs[index]]
        for root in roots:
            owners.setdefault(root, index)


def _replaced_inputs(fgraph: FunctionGraph, boundary: Boundary, positions: dict[Variable, int]) -> set[int]:
    """Return the shared inputs whose old memory nobody holds after a call, since every one gets other memory."""
    used = {
        positions[root]
        for index in boundary.updates
        for root in alias_roots(fgraph.outputs[index])
        if root in positions
    }
    return {i for i in boundary.updates.values() if i in boundary.shared_inputs and i not in used}


def _conflicts(
    root: Variable,
    index: int,
    boundary: Boundary,
    positions: dict[Variable, int],
    replaced: set[int],
    owners: dict[Variable, int],
) -> bool:
    target = boundary.updates.get(index)
    borrows = index in boundary.borrowed_outputs
    other = owners.get(root)
    if other is not None and (target is not None or not borrows):
        return True
    if other is not None and other not in boundary.borrowed_outputs and other not in boundary.updates:
        return True
    position = positions.get(root)
    if position is None:
        return isinstance(root, Constant)
    if target is not None:
        return position != target or not (position in boundary.shared_inputs or position in boundary.given_up_inputs)
    if position in replaced:
        return False
    return not (borrows and (position in boundary.borrowed_inputs or position in boundary.shared_inputs))


def check_no_inplace(fgraph: FunctionGraph, where: str) -> None:
    """Refuse nodes of the user's graph that overwrite their inputs.

    Raises
    ------
    TypeError
        Naming the first such node.
    """
    for node in fgraph.apply_nodes:
        if node.op.destroy_map:
            raise TypeError(
                format_error(
                    f"{where}: the graph has an op that overwrites its input: {node.op}",
                    context=[f"{node} made at {node.origin}" if node.origin is not None else str(node)],
                    hint="use the op that makes a new result; rewriting puts in-place forms in where they are safe. "
                    "If the order of reading and overwriting is right, pass accept_inplace=True.",
                )
            )


# ---- Arguments that may be overwritten, and sharers of their memory or state; `c/machine/donation.c` is its twin

_PARTS = ("data", "indices", "indptr")


def own_value(value: Any, others: Iterable[Any]) -> Any:
    """Return a value that may be overwritten: itself, or a copy if one of the others would see it."""
    if not any(_shares(value, other) for other in others):
        return value
    return value.copy(order="K") if isinstance(value, np.ndarray) else copy.deepcopy(value)


def _arrays(value: Any) -> list[Any]:
    """List the arrays that a value holds: itself, those in a list, or those of a sparse matrix."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, list):
        return [array for item in value for array in _arrays(item)]
    parts = (getattr(value, name, None) for name in _PARTS)
    return [part for part in parts if isinstance(part, np.ndarray)]


def _shares(value: Any, other: Any) -> bool:
    if value is None or isinstance(value, (np.generic, int, float, complex)):
        return False
    if value is other:
        return True
    mine = _arrays(value)
    if mine:
        theirs = _arrays(other)
        return any(np.may_share_memory(x, y) for x in mine for y in theirs)
    source = getattr(value, "_bit_generator", None)
    return source is not None and source is getattr(other, "_bit_generator", None)


# ---- Which operands a machine overwrites, written into the graph that it runs
#
# It is decided when a program is made (see :mod:`._buffer_donation`). Afterwards the nodes get the in-place forms of
# their ops, so that a graph that is printed or inspected shows the overwriting. Nothing runs differently for it, and a
# graph that is to be linked again or copied gets its plain ops back first.

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
