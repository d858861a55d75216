"""Static alias analysis: which outputs could share memory with something that is not theirs, and copies against it."""

from __future__ import annotations

from theano_graph import Constant, FunctionGraph, Variable, format_error, record, walk

from ..ops import deep_copy_op


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
