"""Helpers of loops."""

from theano_scan import until as until
from theano_tensor import get_scalar_constant_value as get_scalar_constant_value

from .._names import lazy_names
from ..compile._pfunc import rebuild_collect_shared as rebuild_collect_shared
from ._helpers import (
    clone as clone,
    equal_computations as equal_computations,
    expand_empty as expand_empty,
    forced_replace as forced_replace,
    get_updates_and_outputs as get_updates_and_outputs,
    hash_listsDictsTuples as hash_listsDictsTuples,
    isNaN_or_Inf_or_None as isNaN_or_Inf_or_None,
    map_variables as map_variables,
    reconstruct_graph as reconstruct_graph,
    safe_new as safe_new,
    traverse as traverse,
)
from ._parts import (
    Validator as Validator,
    compress_outs as compress_outs,
    infer_shape as infer_shape,
    scan_args as scan_args,
    scan_can_remove_outs as scan_can_remove_outs,
)

__all__ = [
    "Validator",
    "clone",
    "compress_outs",
    "equal_computations",
    "expand_empty",
    "forced_replace",
    "get_scalar_constant_value",
    "get_updates_and_outputs",
    "hash_listsDictsTuples",
    "infer_shape",
    "isNaN_or_Inf_or_None",
    "map_variables",
    "rebuild_collect_shared",
    "reconstruct_graph",
    "safe_new",
    "scan_args",
    "scan_can_remove_outs",
    "traverse",
    "until",
]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
