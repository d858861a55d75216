"""Ops made of graphs."""

from theano_graph import Variable as Variable, io_connection_pattern as io_connection_pattern
from theano_linker_c import SharedVariable as SharedVariable, orig_function as orig_function
from theano_linker_c.modes import optdb as optdb
from theano_tensor.builders import (
    Checkpoint as Checkpoint,
    ComparedGraphOp as ComparedGraphOp,
    GraphOp as GraphOp,
    OpFromGraph as OpFromGraph,
    checkpoint as checkpoint,
    inline_ofg_expansion as inline_ofg_expansion,
)
from theano_tensor.gradient import DisconnectedType as DisconnectedType, NullType as NullType

from .._lazy import lazy_names
from ._historical import ops_with_inner_function as ops_with_inner_function
from ._pfunc import rebuild_collect_shared as rebuild_collect_shared

__all__ = [
    "Checkpoint",
    "ComparedGraphOp",
    "DisconnectedType",
    "GraphOp",
    "NullType",
    "OpFromGraph",
    "SharedVariable",
    "Variable",
    "checkpoint",
    "inline_ofg_expansion",
    "io_connection_pattern",
    "ops_with_inner_function",
    "optdb",
    "orig_function",
    "rebuild_collect_shared",
]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
