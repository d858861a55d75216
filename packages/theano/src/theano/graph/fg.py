"""Graphs that may change."""

from ..gof.fg import (
    CachedConstantError as CachedConstantError,
    FunctionGraph as FunctionGraph,
    InconsistencyError as InconsistencyError,
    MissingInputError as MissingInputError,
)
