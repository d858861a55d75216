"""Rewrites of tensor expressions, and putting rewrites of one's own in the phases that all functions go through."""

from collections.abc import Callable
from typing import Any

from theano_graph import Apply
from theano_linker_c import optdb
from theano_optimize import NodeRewriter, constant_folding as constant_folding
from theano_tensor import (
    Assert as Assert,
    NotScalarConstantError as NotScalarConstantError,
    ShapeError as ShapeError,
    assert_op as assert_op,
    get_scalar_constant_value as _get_scalar_constant_value,
)
from theano_tensor.rewrites import (
    RULES,
    AlgebraicCanonizer as AlgebraicCanonizer,
    InplaceElemwiseOptimizer as InplaceElemwiseOptimizer,
    ShapeFeature as ShapeFeature,
    ShapeOptimizer as ShapeOptimizer,
    UnShapeOptimizer as UnShapeOptimizer,
    merge_two_slices as merge_two_slices,
)
from theano_tensor.rewrites.canonizer import quotients_by_own_size as check_for_x_over_absX
from theano_tensor.rewrites.fusion_rules import sums_and_products_joined
from theano_tensor.rewrites.useless import is_inverse_pair as _is_inverse_pair
from theano_tensor.rewrites.views import rebroadcast_simplified
from theano_tensor.shape import MakeVector as MakeVector, ShapeI as ShapeI, make_vector as make_vector

from .._keywords import also_called
from ..gof.opt import (
    MergeOptimizer as MergeOptimizer,
    copy_stack_trace as copy_stack_trace,
    in2out as in2out,
    out2in as out2in,
)
from ._opt_tools import (
    FusionOptimizer as FusionOptimizer,
    broadcast_like as broadcast_like,
    encompasses_broadcastable as encompasses_broadcastable,
    get_clients as get_clients,
    get_clients2 as get_clients2,
    is_an_upcast as is_an_upcast,
    local_elemwise_fusion as local_elemwise_fusion,
    local_elemwise_fusion_op as local_elemwise_fusion_op,
    scalarconsts_rest as scalarconsts_rest,
)

__all__ = [
    "AlgebraicCanonizer",
    "Assert",
    "Canonizer",
    "FusionOptimizer",
    "InplaceElemwiseOptimizer",
    "MakeVector",
    "MergeOptimizer",
    "NotScalarConstantError",
    "ShapeError",
    "ShapeFeature",
    "ShapeOptimizer",
    "Shape_i",
    "UnShapeOptimizer",
    "apply_rebroadcast_opt",
    "assert_op",
    "broadcast_like",
    "check_for_x_over_absX",
    "assert_",
    "constant_folding",
    "copy_stack_trace",
    "encompasses_broadcastable",
    "get_clients",
    "get_clients2",
    "get_scalar_constant_value",
    "in2out",
    "is_an_upcast",
    "is_inverse_pair",
    "local_add_mul_fusion",
    "local_elemwise_fusion",
    "local_elemwise_fusion_op",
    "make_vector",
    "merge_two_slices",
    "out2in",
    "register_canonicalize",
    "register_specialize",
    "register_stabilize",
    "register_uncanonicalize",
    "scalarconsts_rest",
]

apply_rebroadcast_opt = also_called(__name__, "apply_rebroadcast_opt", rebroadcast_simplified, rval="variable")
get_scalar_constant_value = also_called(__name__, "get_scalar_constant_value", _get_scalar_constant_value, v="x")
is_inverse_pair = also_called(
    __name__, "is_inverse_pair", _is_inverse_pair, node_op="outer", prev_op="inner", inv_pair="pair"
)

#: The name that the manual has.
Canonizer = AlgebraicCanonizer
Shape_i = ShapeI
assert_ = assert_op


def local_add_mul_fusion(node: Apply) -> Any:
    """Join consecutive additions, or multiplications, into one node with more inputs; False where there are none."""
    return sums_and_products_joined.transform(node.fgraph, node) or False


def __getattr__(name: str) -> NodeRewriter:
    """Return the rewrite that is registered under a documented name, the first if several make it up."""
    for entry in RULES:
        if name == entry.key or name in entry.names:
            return entry.rewriter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _register(phase: str, lopt: Any, tags: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Register a local optimizer in a phase; given tags alone, return a decorator that does it."""
    if isinstance(lopt, str):
        return lambda inner: _register(phase, inner, (lopt, *tags), options)
    name = options.get("name") or getattr(lopt, "__name__", None) or lopt.name
    rest = {key: value for key, value in options.items() if key != "name"}
    database: Any = optdb[phase]
    database.register(name, lopt, "fast_run", *tags, **rest)
    return lopt


def _registration(phase: str, doc: str) -> Callable[..., Any]:
    def register(lopt: Any, *tags: Any, **kwargs: Any) -> Any:
        return _register(phase, lopt, tags, kwargs)

    register.__name__ = register.__qualname__ = f"register_{phase}"
    register.__doc__ = f"""{doc}

    Parameters
    ----------
    lopt : LocalOptimizer
        Or a tag: then a decorator is returned.
    *tags : str
        Besides "fast_run": "fast_compile" for one that all modes are to apply, for instance.
    name : str, optional
        That of the optimizer by default.

    Returns
    -------
    LocalOptimizer
        What was given, so that this can be used as a decorator.
    """
    return register


register_canonicalize = _registration("canonicalize", "Put a local optimizer in the phase that simplifies the graph.")
register_stabilize = _registration("stabilize", "Put a local optimizer in the phase that makes the graph stable.")
register_specialize = _registration("specialize", "Put a local optimizer in the phase that uses special operations.")
register_uncanonicalize = _registration(
    "uncanonicalize", "Put a local optimizer in the phase that undoes simplifications that cost time."
)
