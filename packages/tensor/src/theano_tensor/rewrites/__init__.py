"""Rewrites of tensor expressions, by subject, and their registration in the database of rewrites."""

from theano_linker_c.modes import optdb
from theano_optimize import Phase

from . import (
    algebra as algebra,
    choices as choices,
    constants as constants,
    exponentials as exponentials,
    fills as fills,
    indexing as indexing,
    reductions as reductions,
    shape as shape,
    stability as stability,
)
from ._fused_reduce import FusedReduce as FusedReduce
from ._registry import RULES as RULES, register_rules as register_rules
from .fusion import FuseElementwise as FuseElementwise, FuseReductions as FuseReductions

__all__ = [
    "RULES",
    "FuseElementwise",
    "FuseReductions",
    "FusedReduce",
    "algebra",
    "choices",
    "constants",
    "exponentials",
    "fills",
    "indexing",
    "reductions",
    "register_rules",
    "shape",
    "stability",
]

register_rules(optdb)
_FUSION_TAGS = ("fast_run", "fusion", "o2", "o3", "o4", "unsafe")
optdb.register("fuse_elementwise", FuseElementwise(), *_FUSION_TAGS, position=Phase.FUSE)
optdb.register("fuse_reductions", FuseReductions(), *_FUSION_TAGS, position=Phase.FUSE)
