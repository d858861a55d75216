"""The op of loops."""

from theano_graph import Apply as Apply, config as config, io_connection_pattern as io_connection_pattern
from theano_linker_c import In as In, Out as Out, function as function
from theano_scan import Scan as Scan
from theano_tensor import TensorType as TensorType, as_tensor_variable as as_tensor_variable
from theano_tensor.gradient import (
    DisconnectedType as DisconnectedType,
    NullType as NullType,
    grad_undefined as grad_undefined,
)
from theano_tensor.shape import ShapeI as Shape_i

from .._names import lazy_names
from ..compile.mode import AddFeatureOptimizer as AddFeatureOptimizer
from ..gof.op import PureOp as PureOp
from ..gof.toolbox import NoOutputFromInplace as NoOutputFromInplace
from ._helpers import forced_replace as forced_replace, safe_new as safe_new

__all__ = [
    "AddFeatureOptimizer",
    "Apply",
    "DisconnectedType",
    "In",
    "NoOutputFromInplace",
    "NullType",
    "Out",
    "PureOp",
    "Scan",
    "Shape_i",
    "TensorType",
    "as_tensor_variable",
    "config",
    "forced_replace",
    "function",
    "grad_undefined",
    "io_connection_pattern",
    "safe_new",
]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
