"""Rewrites of graphs."""

from theano_optimize import (
    EquilibriumRewriter as EquilibriumOptimizer,
    FunctionGraphRewriter as FromFunctionOptimizer,
    GraphRewriter as Optimizer,
    MergeRewriter as MergeOptimizer,
    PatternRewriter as PatternSub,
    RemoveOp as OpRemove,
    SequenceRewriter as SeqOptimizer,
    SubstituteOp as OpSub,
    WalkRewriter as TopoOptimizer,
)

__all__ = [
    "EquilibriumOptimizer",
    "FromFunctionOptimizer",
    "MergeOptimizer",
    "OpRemove",
    "OpSub",
    "Optimizer",
    "PatternSub",
    "SeqOptimizer",
    "TopoOptimizer",
]
