"""Choices of which only one branch is computed."""

from theano_graph import Apply as Apply, Op as Op
from theano_linker_c.modes import optdb as optdb
from theano_tensor import TensorType as TensorType
from theano_tensor.control import IfElse as IfElse, cond_make_inplace as cond_make_inplace, ifelse as ifelse

from ._names import lazy_names
from .scan_module._helpers import clone as clone

__all__ = ["Apply", "IfElse", "Op", "TensorType", "clone", "cond_make_inplace", "ifelse", "optdb"]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
