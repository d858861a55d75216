"""Ops made of graphs."""

from theano_tensor.builders import (
    Checkpoint as Checkpoint,
    ComparedGraphOp as ComparedGraphOp,
    GraphOp as GraphOp,
    OpFromGraph as OpFromGraph,
    checkpoint as checkpoint,
)

__all__ = ["Checkpoint", "ComparedGraphOp", "GraphOp", "OpFromGraph", "checkpoint"]
