"""Rewrites of tensor expressions, by subject, and their registration in the database of rewrites."""

from theano_linker_c.modes import optdb
from theano_optimize import Phase, WalkDatabase, WalkRewriter

from . import (
    _told_shapes as _told_shapes,
    algebra as algebra,
    allocs as allocs,
    asserts as asserts,
    canonizer as canonizer,
    choices as choices,
    constants as constants,
    device_choices as device_choices,
    error_tails as error_tails,
    exponentials as exponentials,
    fills as fills,
    homogeneous as homogeneous,
    indexing as indexing,
    joins as joins,
    length_checks as length_checks,
    log_products as log_products,
    log_sums as log_sums,
    matrix_products as matrix_products,
    movements as movements,
    nnet as nnet,
    on_request as on_request,
    reductions as reductions,
    round_trips as round_trips,
    shape as shape,
    specials as specials,
    stability as stability,
    switches as switches,
    unfolded as unfolded,
    useless as useless,
    views as views,
)
from ._fused_reduce import FusedReduce as FusedReduce
from ._registry import RULES as RULES, constants_first, register_rules as register_rules
from .blas import register_blas as register_blas
from .blas_sums import GemmOptimizer as GemmOptimizer
from .canonizer import AlgebraicCanonizer as AlgebraicCanonizer
from .fusion import (
    FuseElementwise as FuseElementwise,
    FuseMultiOutput as FuseMultiOutput,
    FuseReductions as FuseReductions,
)
from .fusion_rules import fusion_database as fusion_database, long_sums_and_products_cut
from .inplace import InplaceElemwiseOptimizer as InplaceElemwiseOptimizer
from .shape_feature import (
    ShapeFeature as ShapeFeature,
    ShapeOptimizer as ShapeOptimizer,
    UnShapeOptimizer as UnShapeOptimizer,
    known_shape_i as known_shape_i,
)
from .slices import merge_two_slices as merge_two_slices

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
    "asserts",
    "canonizer",
    "choices",
    "constants",
    "device_choices",
    "error_tails",
    "exponentials",
    "fills",
    "fusion_database",
    "homogeneous",
    "indexing",
    "joins",
    "length_checks",
    "known_shape_i",
    "log_products",
    "log_sums",
    "matrix_products",
    "merge_two_slices",
    "movements",
    "nnet",
    "on_request",
    "reductions",
    "register_blas",
    "register_rules",
    "round_trips",
    "shape",
    "specials",
    "stability",
    "switches",
    "unfolded",
    "useless",
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
