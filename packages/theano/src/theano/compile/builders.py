"""Ops made of graphs."""

from theano_tensor.builders import (
    Checkpoint as Checkpoint,
    GraphOp as GraphOp,
    OpFromGraph as OpFromGraph,
    checkpoint as checkpoint,
)

__all__ = ["Checkpoint", "GraphOp", "OpFromGraph", "checkpoint"]
