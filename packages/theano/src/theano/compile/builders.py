"""Ops made of graphs."""

from theano_tensor.builders import OpFromGraph as OpFromGraph

__all__ = ["OpFromGraph"]
