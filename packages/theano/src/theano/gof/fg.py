"""Graphs that may change."""

from typing import TYPE_CHECKING

from theano_graph import (
    FunctionGraph as FunctionGraph,
    InconsistencyError as InconsistencyError,
    MissingInputError as MissingInputError,
)

from .._names import lazy_names
from ._historical_utils import CachedConstantError as CachedConstantError

if TYPE_CHECKING:
    from theano import theano as theano
    from theano_graph import config as config

    from ..misc.ordered_set import OrderedSet as OrderedSet
    from . import graph as graph, toolbox as toolbox, utils as utils
    from ._historical_utils import get_variable_trace_string as get_variable_trace_string
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "..misc.ordered_set": "OrderedSet",
            "theano_graph": "config",
            "._historical_utils": "get_variable_trace_string",
            "theano": "theano",
            ".": "graph toolbox utils",
        },
    )
