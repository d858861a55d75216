"""How an expression is rewritten: node rewriters and patterns, the engines that apply them, and databases of rewriters.

The layer knows graphs only, no arrays. See the package's README for where to start.
"""

from theano_graph import register_library

from . import _flags as _flags
from ._aliasing import is_destroyed as is_destroyed
from ._databases._database import DatabaseEntry as DatabaseEntry, RewriteDatabase as RewriteDatabase
from ._databases._kinds import (
    EquilibriumDatabase as EquilibriumDatabase,
    GroupDatabase as GroupDatabase,
    ProxyDatabase as ProxyDatabase,
    SequenceDatabase as SequenceDatabase,
    WalkDatabase as WalkDatabase,
)
from ._databases._query import RewriteQuery as RewriteQuery
from ._destroy import (
    AddDestroyHandler as AddDestroyHandler,
    DestroyHandler as DestroyHandler,
    InplaceRewriter as InplaceRewriter,
    Supervisor as Supervisor,
    destroyed_inputs as destroyed_inputs,
    fast_inplace_check as fast_inplace_check,
)
from ._engines._equilibrium import EquilibriumRewriter as EquilibriumRewriter
from ._engines._graph_rewriter import (
    ChangeTracker as ChangeTracker,
    FailureHandler as FailureHandler,
    FunctionGraphRewriter as FunctionGraphRewriter,
    GraphRewriter as GraphRewriter,
    OnError as OnError,
    RewriteOptions as RewriteOptions,
    SequenceRewriter as SequenceRewriter,
)
from ._engines._group import RewriterGroup as RewriterGroup
from ._engines._single import rewrite_node as rewrite_node
from ._engines._walk import WalkRewriter as WalkRewriter
from ._errors import (
    DatabaseError as DatabaseError,
    PatternError as PatternError,
    RewriteCycleError as RewriteCycleError,
    RewriteError as RewriteError,
    RewriteWarning as RewriteWarning,
    count_report as count_report,
    number_of_reports as number_of_reports,
    report_failure as report_failure,
)
from ._fold import (
    ConstantFolding as ConstantFolding,
    constant_folding as constant_folding,
    final_constant_folding as final_constant_folding,
    number_of_user_foldings as number_of_user_foldings,
)
from ._info import Exactness as Exactness, Phase as Phase, RewriteInfo as RewriteInfo
from ._merge import MergeRewriter as MergeRewriter, MergeTable as MergeTable
from ._origins import (
    AddOriginGuard as AddOriginGuard,
    OriginGuard as OriginGuard,
    OriginPolicy as OriginPolicy,
    chosen_nodes as chosen_nodes,
    copy_origin as copy_origin,
    without_origin as without_origin,
)
from ._records._profile import (
    RewriteDetails as RewriteDetails,
    RewriteProfile as RewriteProfile,
    RewriteRound as RewriteRound,
)
from ._records._profile_report import profile_report as profile_report
from ._records._trace import RewriteEvent as RewriteEvent, RewriteTrace as RewriteTrace
from ._rules._equations import EquationRewriter as EquationRewriter
from ._rules._expressions import pattern_of as pattern_of
from ._rules._match import OpPattern as OpPattern, constant_scalar as constant_scalar
from ._rules._node_rewriter import (
    FunctionNodeRewriter as FunctionNodeRewriter,
    NodeRewriter as NodeRewriter,
    Tracks as Tracks,
    TransformResult as TransformResult,
    node_rewriter as node_rewriter,
)
from ._rules._pattern import PatternRewriter as PatternRewriter
from ._rules._substitute import RemoveOp as RemoveOp, SubstituteOp as SubstituteOp
from ._rules._terms import (
    Applied as Applied,
    Context as Context,
    Equation as Equation,
    Fit as Fit,
    Language as Language,
    Operation as Operation,
    Part as Part,
    Term as Term,
    Unknown as Unknown,
)
from ._version import __version__ as __version__

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
