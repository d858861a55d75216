"""Variables, for programs that look for them in a module of their own."""

from theano_graph import Constant as Constant, Variable as Variable

__all__ = ["Constant", "Variable"]
