"""Features: what may be attached to a graph that changes."""

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
