"""Ops that every function may need."""

from theano_linker_c import (
    DeepCopyOp as DeepCopyOp,
    ViewOp as ViewOp,
    deep_copy_op as deep_copy_op,
    view_op as view_op,
)
from theano_linker_c.ops import (
    FromFunctionOp as FromFunctionOp,
    OutputGuard as OutputGuard,
    as_op as as_op,
    register_deep_copy_op_c_code as register_deep_copy_op_c_code,
    register_view_op_c_code as register_view_op_c_code,
)
from theano_tensor import (
    Rebroadcast as Rebroadcast,
    ShapeI as Shape_i,
    ShapeOf as Shape,
    SpecifyShape as SpecifyShape,
    register_rebroadcast_c_code as register_rebroadcast_c_code,
    register_shape_c_code as register_shape_c_code,
    register_shape_i_c_code as register_shape_i_c_code,
    register_specify_shape_c_code as register_specify_shape_c_code,
    shape as shape,
    specify_shape as specify_shape,
)
from theano_tensor.rewrites import known_shape_i as shape_i

from .._names import lazy_names
from ._historical import expandable_types as expandable_types, shape_i_op as shape_i_op

__all__ = [
    "DeepCopyOp",
    "FromFunctionOp",
    "OutputGuard",
    "Rebroadcast",
    "Shape",
    "Shape_i",
    "SpecifyShape",
    "ViewOp",
    "as_op",
    "deep_copy_op",
    "register_deep_copy_op_c_code",
    "register_rebroadcast_c_code",
    "register_shape_c_code",
    "register_shape_i_c_code",
    "register_specify_shape_c_code",
    "register_view_op_c_code",
    "shape",
    "shape_i",
    "shape_i_op",
    "specify_shape",
    "view_op",
]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
