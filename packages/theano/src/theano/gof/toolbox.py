"""Features: what may be attached to a graph that changes."""

from theano_graph import (
    AlreadyThere as AlreadyThere,
    Bookkeeper as Bookkeeper,
    Feature as Feature,
    History as History,
    NodeFinder as NodeFinder,
    ReplaceValidate as ReplaceValidate,
)
