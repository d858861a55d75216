"""Rewrites of tensor expressions, and putting rewrites of one's own in the phases that all functions go through."""

import importlib
from collections.abc import Callable
from typing import Any

from theano_graph import Apply, Constant as Constant, Variable as Variable, config as config
from theano_linker_c import optdb
from theano_optimize import constant_folding as constant_folding
from theano_tensor import (
    AdvancedIncSubtensor as AdvancedIncSubtensor,
    AdvancedIncSubtensor1 as AdvancedIncSubtensor1,
    AdvancedSubtensor1 as AdvancedSubtensor1,
    Alloc as Alloc,
    Assert as Assert,
    DimShuffle as DimShuffle,
    DisconnectedType as DisconnectedType,
    Elemwise as Elemwise,
    IncSubtensor as IncSubtensor,
    NotScalarConstantError as NotScalarConstantError,
    Reshape as Reshape,
    ShapeError as ShapeError,
    Subtensor as Subtensor,
    assert_op as assert_op,
    get_scalar_constant_value as _get_scalar_constant_value,
)
from theano_tensor.rewrites import (
    AlgebraicCanonizer as AlgebraicCanonizer,
    InplaceElemwiseOptimizer as InplaceElemwiseOptimizer,
    ShapeFeature as ShapeFeature,
    ShapeOptimizer as ShapeOptimizer,
    UnShapeOptimizer as UnShapeOptimizer,
    merge_two_slices as merge_two_slices,
)
from theano_tensor.rewrites.canonizer import quotients_by_own_size as check_for_x_over_absX
from theano_tensor.rewrites.fusion import joined_with_first
from theano_tensor.rewrites.identities import is_inverse_pair as _is_inverse_pair
from theano_tensor.rewrites.views import rebroadcast_simplified
from theano_tensor.shape import MakeVector as MakeVector, ShapeI as ShapeI, ShapeOf, make_vector as make_vector

from .._names import also_called, borrowed
from ..gof.opt import (
    MergeOptimizer as MergeOptimizer,
    Optimizer as Optimizer,
    TopoOptimizer as TopoOptimizer,
    copy_stack_trace as copy_stack_trace,
    in2out as in2out,
    out2in as out2in,
)
from ..gof.utils import MethodNotDefined as MethodNotDefined
from ._old_rewrites import (
    MakeVectorPrinter as MakeVectorPrinter,
    is_dimshuffle_useless as is_dimshuffle_useless,
    named,
)
from ._opt_functions import (
    FusionOptimizer as FusionOptimizer,
    add_calculate as add_calculate,
    add_canonizer as add_canonizer,
    apply_local_dimshuffle_lift as apply_local_dimshuffle_lift,
    attempt_distribution as attempt_distribution,
    broadcast_like as broadcast_like,
    distribute_greedy as distribute_greedy,
    elemwise_max_input_fct as elemwise_max_input_fct,
    encompasses_broadcastable as encompasses_broadcastable,
    get_clients as get_clients,
    get_clients2 as get_clients2,
    is_an_upcast as is_an_upcast,
    local_elemwise_alloc_op as local_elemwise_alloc_op,
    local_elemwise_fusion as local_elemwise_fusion,
    local_elemwise_fusion_op as local_elemwise_fusion_op,
    make_constant as make_constant,
    merge_broadcastables as merge_broadcastables,
    mul_calculate as mul_calculate,
    mul_canonizer as mul_canonizer,
    pre_constant_merge as pre_constant_merge,
    pre_greedy_local_optimizer as pre_greedy_local_optimizer,
    scalarconsts_rest as scalarconsts_rest,
    topo_constant_folding as topo_constant_folding,
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
Shape = ShapeOf
assert_ = assert_op


def local_add_mul_fusion(node: Apply) -> Any:
    """Join consecutive additions, or multiplications, into one node with more inputs; False where there are none."""
    return joined_with_first(node.fgraph, node) or False


_MODULES = {
    "T": "theano.tensor",
    "basic": "theano.tensor.basic",
    "compile": "theano.compile",
    "gof": "theano.gof",
    "graph": "theano.gof.graph",
    "opt": "theano.gof.opt",
    "scalar": "theano.scalar",
    "theano": "theano",
    "toolbox": "theano.gof.toolbox",
}


def __getattr__(name: str) -> Any:
    """Return the rewrites that are registered under a documented name, as one local optimizer."""
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    try:
        return named(name)
    except KeyError:
        return borrowed(__name__, name)


def _register(database: Any, lopt: Any, tags: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Register a local optimizer in a database; given tags alone, return a decorator that does it."""
    if isinstance(lopt, str):
        return lambda inner: _register(database, inner, (lopt, *tags), options)
    name = options.get("name") or getattr(lopt, "__name__", None) or lopt.name
    settings = {key: value for key, value in options.items() if key != "name"}
    database.register(name, lopt, "fast_run", *tags, **settings)
    return lopt


def _registration(phase: str, doc: str) -> Callable[..., Any]:
    database: Any = optdb[phase]

    def register(lopt: Any, *tags: Any, **kwargs: Any) -> Any:
        return _register(database, lopt, tags, kwargs)

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
        The argument, so that this can be used as a decorator.
    """
    return register


register_canonicalize = _registration("canonicalize", "Put a local optimizer in the phase that simplifies the graph.")
register_stabilize = _registration("stabilize", "Put a local optimizer in the phase that makes the graph stable.")
register_specialize = _registration("specialize", "Put a local optimizer in the phase that uses special operations.")
register_useless = _registration("useless", "Put a local optimizer in the phase that drops useless nodes.")
register_specialize_device = _registration("specialize_device", "Put a local optimizer in the phase for the processor.")
register_uncanonicalize = _registration(
    "uncanonicalize", "Put a local optimizer in the phase that undoes simplifications that cost time."
)
