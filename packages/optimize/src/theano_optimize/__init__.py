"""How an expression is rewritten: node rewriters and patterns, the engines that apply them, and databases of rewriters.

The layer knows graphs only, no arrays. See the package's README for where to start.
"""

from theano_graph import register_library

from . import _flags as _flags
from ._database import DatabaseEntry, RewriteDatabase, RewriteQuery
from ._database_kinds import EquilibriumDatabase, GroupDatabase, ProxyDatabase, SequenceDatabase, WalkDatabase
from ._destroy import (
    AddDestroyHandler,
    DestroyHandler,
    InplaceRewriter,
    Supervisor,
    destroyed_inputs,
    fast_inplace_check,
)
from ._destroy._versions import is_destroyed
from ._engines._application import rewrite_node
from ._engines._equilibrium import EquilibriumRewriter
from ._engines._graph_rewriter import (
    AddOriginGuard,
    ChangeTracker,
    FailureHandler,
    FunctionGraphRewriter,
    GraphRewriter,
    OnError,
    OriginGuard,
    OriginPolicy,
    RewriteOptions,
    SequenceRewriter,
    chosen_nodes,
    copy_origin,
    without_origin,
)
from ._engines._walk import RewriterGroup, WalkRewriter
from ._info import (
    DatabaseError,
    Exactness,
    PatternError,
    Phase,
    RewriteCycleError,
    RewriteError,
    RewriteInfo,
    RewriteWarning,
    count_report,
    number_of_reports,
    report_failure as report_failure,
)
from ._merge import (
    ConstantFolding,
    MergeRewriter,
    MergeTable,
    constant_folding,
    final_constant_folding,
    number_of_user_foldings,
)
from ._profile import RewriteDetails, RewriteEvent, RewriteProfile, RewriteRound, RewriteTrace, profile_report
from ._rules._equations import EquationRewriter
from ._rules._match import OpPattern, constant_scalar
from ._rules._node_rewriter import (
    FunctionNodeRewriter,
    NodeRewriter,
    RemoveOp,
    SubstituteOp,
    Tracks,
    TransformResult,
    node_rewriter,
)
from ._rules._pattern import PatternRewriter, pattern_of
from ._rules._terms import Applied, Context, Equation, Fit, Language, Operation, Part, Term, Unknown

#: The build reads the version here, without an import.
__version__ = "0.1.0"

register_library(__file__)

__all__ = [
    "__version__",
    "AddOriginGuard",
    "Applied",
    "ChangeTracker",
    "AddDestroyHandler",
    "ConstantFolding",
    "Context",
    "DatabaseEntry",
    "DatabaseError",
    "DestroyHandler",
    "Equation",
    "EquationRewriter",
    "EquilibriumDatabase",
    "EquilibriumRewriter",
    "Exactness",
    "FailureHandler",
    "Fit",
    "FunctionGraphRewriter",
    "FunctionNodeRewriter",
    "GraphRewriter",
    "GroupDatabase",
    "InplaceRewriter",
    "Language",
    "MergeRewriter",
    "MergeTable",
    "NodeRewriter",
    "OnError",
    "OpPattern",
    "Operation",
    "OriginGuard",
    "OriginPolicy",
    "Part",
    "PatternError",
    "PatternRewriter",
    "Phase",
    "ProxyDatabase",
    "RemoveOp",
    "RewriteCycleError",
    "RewriteDetails",
    "RewriteDatabase",
    "RewriteError",
    "RewriteEvent",
    "RewriteInfo",
    "RewriteOptions",
    "RewriteProfile",
    "RewriteQuery",
    "RewriteRound",
    "RewriteTrace",
    "RewriteWarning",
    "RewriterGroup",
    "SequenceDatabase",
    "SequenceRewriter",
    "SubstituteOp",
    "Supervisor",
    "Term",
    "Tracks",
    "TransformResult",
    "Unknown",
    "WalkDatabase",
    "WalkRewriter",
    "chosen_nodes",
    "constant_folding",
    "final_constant_folding",
    "constant_scalar",
    "copy_origin",
    "count_report",
    "destroyed_inputs",
    "fast_inplace_check",
    "is_destroyed",
    "node_rewriter",
    "number_of_reports",
    "number_of_user_foldings",
    "pattern_of",
    "profile_report",
    "rewrite_node",
    "without_origin",
]
