"""Choices of which only one branch is computed."""

from theano_graph import Apply as Apply, Op as Op
from theano_linker_c.modes import optdb as optdb
from theano_tensor import TensorType as TensorType
from theano_tensor.control import IfElse as IfElse, ifelse as ifelse
from theano_tensor.control._rewrites import cond_make_inplace as cond_make_inplace

from ._graph_copies import clone as clone

__all__ = ["Apply", "IfElse", "Op", "TensorType", "clone", "cond_make_inplace", "ifelse", "optdb"]
