"""Rewrites of graphs."""

import logging
from typing import TYPE_CHECKING

from .._names import lazy_names
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

_logger = logging.getLogger("theano.gof.opt")

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

if TYPE_CHECKING:
    from theano import theano as theano
    from theano_graph import InconsistencyError as InconsistencyError, config as config

    from ..misc._tools import OrderedSet as OrderedSet
    from . import graph as graph, op as op, toolbox as toolbox, unify as unify, utils as utils
    from ._features import (
        ChangeTracker as ChangeTracker,
        GraphToGPULocalOptGroup as GraphToGPULocalOptGroup,
        LocalMetaOptimizer as LocalMetaOptimizer,
        LocalMetaOptimizerSkipAssertionError as LocalMetaOptimizerSkipAssertionError,
        Updater as Updater,
        check_chain as check_chain,
        inherit_stack_trace as inherit_stack_trace,
        is_same_graph_with_merge as is_same_graph_with_merge,
        merge_dict as merge_dict,
        pre_constant_merge as pre_constant_merge,
        pre_greedy_local_optimizer as pre_greedy_local_optimizer,
    )
    from ._historical_utils import integer_types as integer_types, string_types as string_types
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "._features": (
                "ChangeTracker Updater GraphToGPULocalOptGroup LocalMetaOptimizer LocalMetaOptimizerSkipAssertionError "
                "check_chain inherit_stack_trace is_same_graph_with_merge merge_dict pre_constant_merge "
                "pre_greedy_local_optimizer"
            ),
            "theano_optimize": "MergeFeature=MergeTable CheckStrackTraceFeature=OriginGuard",
            "theano_graph": "InconsistencyError config",
            "..misc._tools": "OrderedSet",
            "theano": "theano",
            ".": "dh=destroyhandler graph op toolbox unify utils",
            "._historical_utils": "integer_types string_types",
        },
    )
