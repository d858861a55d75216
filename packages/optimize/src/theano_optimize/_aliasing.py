"""Which variables share memory through views, and which are overwritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from theano_graph import Apply, FunctionGraph, Variable


def inputs_of_map(index_map: Mapping[int, Sequence[int]], index: int | None = None) -> set[int]:
    """Return the input numbers in a view or destroy map, for one output or for all."""
    return {i for output, inputs in index_map.items() if index is None or output == index for i in inputs}


def is_destroyed(fgraph: FunctionGraph, variable: Variable) -> bool:
    """Tell whether a node of `fgraph` overwrites `variable` or a view of it.

    Examples
    --------
    >>> from theano_graph import FunctionGraph, Generic
    >>> x = Generic()("x")
    >>> is_destroyed(FunctionGraph([x], [x], clone=False), x)
    False
    """
    stack = [variable]
    seen = {variable}
    while stack:
        for client, i in fgraph.clients(stack.pop()):
            if not isinstance(client, Apply):
                continue
            if i in inputs_of_map(client.op.destroy_map):
                return True
            if client.op.view_map:
                for output in client.outputs:
                    if output not in seen and i in inputs_of_map(client.op.view_map, output.index):
                        seen.add(output)
                        stack.append(output)
    return False
