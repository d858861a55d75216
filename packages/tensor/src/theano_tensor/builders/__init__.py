"""Ops made of graphs."""

from . import _inline as _inline, _rules as _rules
from ._op_from_graph import OpFromGraph as OpFromGraph

__all__ = ["OpFromGraph"]
