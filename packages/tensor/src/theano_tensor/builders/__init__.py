"""Ops made of graphs."""

from .._graph_op import ComparedGraphOp as ComparedGraphOp, GraphOp as GraphOp
from .._protocols._operators import note_updates as note_updates, traced as traced, tracing as tracing
from . import _rules as _rules
from ._op_from_graph import OpFromGraph as OpFromGraph, inline_ofg_expansion as inline_ofg_expansion
from ._rules import Checkpoint as Checkpoint, checkpoint as checkpoint

__all__ = [
    "Checkpoint",
    "ComparedGraphOp",
    "GraphOp",
    "OpFromGraph",
    "checkpoint",
    "inline_ofg_expansion",
    "note_updates",
    "traced",
    "tracing",
]
