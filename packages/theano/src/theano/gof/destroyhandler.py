"""Which nodes may overwrite their inputs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from theano_graph import InconsistencyError as InconsistencyError, Variable
from theano_optimize import (
    DestroyHandler as DestroyHandler,
    Supervisor as Supervisor,
    fast_inplace_check as _check,
)

from .._names import lazy_names


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


if TYPE_CHECKING:
    from theano import theano as theano
    from theano_graph import config as config

    from ..misc.ordered_set import OrderedSet as OrderedSet
    from . import graph as graph, toolbox as toolbox
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "..misc.ordered_set": "OrderedSet",
            "theano_graph": "ProtocolError=GraphError config",
            "theano": "theano",
            ".": "graph toolbox",
        },
    )
