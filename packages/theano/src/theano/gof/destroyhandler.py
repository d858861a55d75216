"""Which nodes may overwrite their inputs."""

from collections.abc import Sequence

from theano_graph import Variable
from theano_optimize import (
    fast_inplace_check as _check,
)


def fast_inplace_check(inputs: Sequence[Variable]) -> list[Variable]:
    """Return those inputs of a node that another op in its place could overwrite, as far as a quick look tells.

    Parameters
    ----------
    inputs : sequence of Variable
        ``node.inputs`` of a node in a graph with a destroy handler.
    """
    for variable in inputs:
        for client, _ in variable.clients:
            if client != "output" and client.fgraph is not None:
                return _check(client.fgraph, inputs)
    return _check(inputs)
