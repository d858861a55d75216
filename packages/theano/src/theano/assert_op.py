"""An op that checks a condition when it runs, where programs for Theano 1.1 know it."""

from .tensor.opt import Assert as Assert, assert_op as assert_op

__all__ = ["Assert", "assert_op"]
