"""Rewrites of tensor expressions, by subject, and their registration in the database of rewrites."""

from theano_linker_c.modes import optdb
from theano_optimize import Phase, WalkDatabase, WalkRewriter

from . import (
    algebra as algebra,
    allocs as allocs,
    blas as blas,
    canonizer as canonizer,
    exponentials as exponentials,
    identities as identities,
    indexing as indexing,
    inverse_pairs as inverse_pairs,
    length_checks as length_checks,
    logarithms as logarithms,
    movements as movements,
    nnet as nnet,
    opt_in as opt_in,
    reductions as reductions,
    shape as shape,
    stability as stability,
    switch as switch,
    views as views,
)
from ._groups import FusedReduce as FusedReduce
from ._language import RULES as RULES, constants_first, register_rules as register_rules
from .blas import GemmOptimizer as GemmOptimizer, register_blas as register_blas
from .canonizer import AlgebraicCanonizer as AlgebraicCanonizer
from .fusion import (
    FuseElementwise as FuseElementwise,
    FuseMultiOutput as FuseMultiOutput,
    FuseReductions as FuseReductions,
    InplaceElemwiseOptimizer as InplaceElemwiseOptimizer,
    fusion_database as fusion_database,
    long_sums_and_products_cut,
)
from .shape import (
    ShapeFeature as ShapeFeature,
    ShapeOptimizer as ShapeOptimizer,
    UnShapeOptimizer as UnShapeOptimizer,
    known_shape_i as known_shape_i,
)
from .views import merge_two_slices as merge_two_slices

__all__ = [
    "RULES",
    "AlgebraicCanonizer",
    "FuseElementwise",
    "FuseMultiOutput",
    "FuseReductions",
    "FusedReduce",
    "GemmOptimizer",
    "InplaceElemwiseOptimizer",
    "ShapeFeature",
    "ShapeOptimizer",
    "UnShapeOptimizer",
    "algebra",
    "allocs",
    "blas",
    "canonizer",
    "exponentials",
    "fusion_database",
    "identities",
    "indexing",
    "inverse_pairs",
    "known_shape_i",
    "length_checks",
    "logarithms",
    "merge_two_slices",
    "movements",
    "nnet",
    "opt_in",
    "reductions",
    "register_blas",
    "register_rules",
    "shape",
    "stability",
    "switch",
    "views",
]

_ALL_TAGS = ("fast_run", "fast_compile", "o2", "o3", "o4", "unsafe")

register_rules(optdb)
register_blas(optdb)
# Numbers take their dtypes before the rules look at their neighbours, so that no rule has to look twice.
optdb.register("constants_first", WalkDatabase(constants_first(), visit_new=False), *_ALL_TAGS, position=0.05)
optdb.register(
    "long_sums_and_products_cut",
    WalkRewriter(long_sums_and_products_cut, order="in_to_out"),
    "fast_run",
    "fast_compile",
    "o1",
    "o2",
    "o3",
    "o4",
    "unsafe",
    position=48.9,
)
optdb.register(
    "elemwise_fusion",
    fusion_database(),
    "fast_run",
    "fusion",
    "o2",
    "o3",
    "o4",
    "unsafe",
    position=Phase.FUSE,
)
optdb.register("ShapeOpt", ShapeOptimizer(), *_ALL_TAGS, position=0.1)
optdb.register("length_record", length_checks.RecordLengths(), *_ALL_TAGS, position=-0.001)
# After the rules that leave operands out, and before loops are joined.
optdb.register("length_checks", length_checks.LengthChecks(), *_ALL_TAGS, position=48.95)
optdb.register("UnShapeOpt", UnShapeOptimizer(), *_ALL_TAGS, position=10)
optdb.register(
    "inplace_elemwise_optimizer",
    InplaceElemwiseOptimizer(native_too=False),
    "fast_run",
    "o4",
    "inplace",
    position=Phase.INPLACE,
    aliases=("inplace_opt", "inplace_elemwise", "insert_inplace_optimizer"),
)
