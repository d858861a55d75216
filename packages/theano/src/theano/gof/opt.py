"""Rewrites of graphs."""

from ._local_optimizers import (
    FromFunctionLocalOptimizer as FromFunctionLocalOptimizer,
    LocalOptGroup as LocalOptGroup,
    LocalOptimizer as LocalOptimizer,
    LocalSeqOptGroup as LocalSeqOptGroup,
    OpRemove as OpRemove,
    OpSub as OpSub,
    PatternSub as PatternSub,
    local_optimizer as local_optimizer,
)
from ._navigators import (
    EquilibriumOptimizer as EquilibriumOptimizer,
    NavigatorOptimizer as NavigatorOptimizer,
    OpKeyOptimizer as OpKeyOptimizer,
    TopoOptimizer as TopoOptimizer,
    in2out as in2out,
    out2in as out2in,
    topogroup_optimizer as topogroup_optimizer,
)
from ._optimizers import (
    CheckStackTraceOptimization as CheckStackTraceOptimization,
    FromFunctionOptimizer as FromFunctionOptimizer,
    MergeOptimizer as MergeOptimizer,
    Optimizer as Optimizer,
    PureThenInplaceOptimizer as PureThenInplaceOptimizer,
    SeqOptimizer as SeqOptimizer,
    check_stack_trace as check_stack_trace,
    copy_stack_trace as copy_stack_trace,
    inplace_optimizer as inplace_optimizer,
    optimizer as optimizer,
)

#: The guide calls any global optimizer that applies local ones a navigator, and the first kind global.
Navigator = NavigatorOptimizer
GlobalOptimizer = Optimizer

__all__ = [
    "CheckStackTraceOptimization",
    "EquilibriumOptimizer",
    "FromFunctionLocalOptimizer",
    "FromFunctionOptimizer",
    "GlobalOptimizer",
    "LocalOptGroup",
    "LocalOptimizer",
    "LocalSeqOptGroup",
    "MergeOptimizer",
    "Navigator",
    "NavigatorOptimizer",
    "OpKeyOptimizer",
    "OpRemove",
    "OpSub",
    "Optimizer",
    "PatternSub",
    "PureThenInplaceOptimizer",
    "SeqOptimizer",
    "TopoOptimizer",
    "check_stack_trace",
    "copy_stack_trace",
    "in2out",
    "inplace_optimizer",
    "local_optimizer",
    "optimizer",
    "out2in",
    "topogroup_optimizer",
]
