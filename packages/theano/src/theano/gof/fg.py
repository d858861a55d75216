"""Graphs that may change."""

from theano_graph import (
    FunctionGraph as FunctionGraph,
    InconsistencyError as InconsistencyError,
    MissingInputError as MissingInputError,
)
