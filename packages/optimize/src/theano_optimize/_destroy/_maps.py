"""What `view_map` and `destroy_map` of an op say about the variables of a node."""

from __future__ import annotations

from theano_graph import Apply, Variable


def destroyed_inputs(node: Apply) -> list[int]:
    """Return the numbers of the inputs that `node` overwrites, in order.

    Examples
    --------
    >>> from theano_graph import Generic, Op
    >>> class Overwrite(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    ...     destroy_map = {0: [0]}
    >>> destroyed_inputs(Overwrite().make_node(Generic()()))
    [0]
    """
    destroy_map = node.op.destroy_map
    return sorted({i for inputs in destroy_map.values() for i in inputs}) if destroy_map else []


def views_several(node: Apply) -> bool:
    """Tell whether an output of `node` is declared a view of more than one input: nobody knows in which it lies."""
    view_map = node.op.view_map
    return bool(view_map) and any(len(set(inputs)) > 1 for inputs in view_map.values())


def viewed_inputs(node: Apply) -> list[Variable]:
    """List the inputs in which outputs of `node` may lie."""
    return [node.inputs[i] for inputs in node.op.view_map.values() for i in inputs]


def source_of(variable: Variable) -> Variable | None:
    """Return the variable that `variable` shares its *version* with, or None where it starts one of its own.

    A version is what lies in a piece of memory between two nodes that overwrite it: a variable and all views of it.
    The output of a node that overwrites an input starts the next version; outputs that overwrite the same input, and
    views of that input by the same node, belong to the version of the first such output.
    """
    node, index = variable.owner, variable.index
    if node is None or index is None:
        return None
    op = node.op
    destroy_map, view_map = op.destroy_map, op.view_map
    if not destroy_map:
        return _input(node, view_map[index][0]) if view_map and view_map.get(index) else None
    overwritten = set(destroy_map.get(index, ()))
    first = index
    if not overwritten:
        sources = view_map.get(index)
        if not sources:
            return None
        if sources[0] not in destroyed_inputs(node):
            return _input(node, sources[0])
        overwritten = {sources[0]}
        first = -1
    first = _first_output(node, overwritten, first)
    return None if first == index else _output(node, first)


def _first_output(node: Apply, overwritten: set[int], start: int) -> int:
    """Return the first output that overwrites an input in common with others that do, from `overwritten` on."""
    destroy_map = node.op.destroy_map
    found = start
    known = set(overwritten)
    growing = True
    while growing:
        growing = False
        for output, inputs in destroy_map.items():
            if not known.isdisjoint(inputs):
                if not known.issuperset(inputs):
                    known.update(inputs)
                    growing = True
                found = output if found < 0 else min(found, output)
    return found


def _input(node: Apply, i: int) -> Variable:
    variable: Variable = node.inputs[i]
    return variable


def _output(node: Apply, i: int) -> Variable:
    variable: Variable = node.outputs[i]
    return variable


def tolerated(node: Apply, destroyed: int, other: int) -> bool:
    """Tell whether the op can cope with input `other` lying in the memory that it overwrites as input `destroyed`.

    An op says so by pairs of numbers: ``destroyhandler_tolerate_same`` where both may be the very same variable,
    ``destroyhandler_tolerate_aliased`` where any overlap is harmless.
    """
    pair = (destroyed, other)
    if pair in _pairs(node, "destroyhandler_tolerate_aliased"):
        return True
    same = pair in _pairs(node, "destroyhandler_tolerate_same")
    return same and node.inputs[destroyed] is node.inputs[other]


def _pairs(node: Apply, attribute: str) -> list[tuple[int, int]]:
    return [(first, second) for first, second in getattr(node.op, attribute, ())]
