"""Which variables share memory through views, and which are overwritten."""

from __future__ import annotations

from theano_graph import Apply, FunctionGraph, Variable

from ._destroy._maps import destroyed_inputs


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
            if i in destroyed_inputs(client):
                return True
            if client.op.view_map:
                for output in client.outputs:
                    if output not in seen and i in client.op.view_map.get(output.index, ()):
                        seen.add(output)
                        stack.append(output)
    return False
