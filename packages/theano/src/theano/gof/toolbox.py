"""Features: observers that are attached to a graph."""

from typing import TYPE_CHECKING

from theano_graph import (
    AlreadyThere as AlreadyThere,
    Bookkeeper as Bookkeeper,
    Feature as Feature,
    History as History,
    NodeFinder as NodeFinder,
    NoOutputFromInplace as NoOutputFromInplace,
    PrintListener as PrintListener,
    ReplacementKeptError as ReplacementDidntRemovedError,
    ReplaceValidate as ReplaceValidate,
    Validator as Validator,
    is_same_graph as is_same_graph,
)

from .._names import lazy_names

__all__ = [
    "AlreadyThere",
    "Bookkeeper",
    "Feature",
    "History",
    "NoOutputFromInplace",
    "NodeFinder",
    "PrintListener",
    "ReplaceValidate",
    "ReplacementDidntRemovedError",
    "Validator",
    "is_same_graph",
]

if TYPE_CHECKING:
    from theano import theano as theano
    from theano_graph import config as config
    from theano_linker_c.debugmode import BadOptimization as BadOptimization

    from . import graph as graph
    from ._features import PreserveNames as PreserveNames, PreserveVariableAttributes as PreserveVariableAttributes
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "._features": "PreserveNames PreserveVariableAttributes",
            "theano_linker_c.debugmode": "BadOptimization",
            "theano_graph": "config",
            "theano": "theano",
            ".": "graph",
        },
    )
