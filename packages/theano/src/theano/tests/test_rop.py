"""The base class for tests of R-ops."""

from theano_testing.tensor import RopLopChecker as RopLop_checker

__all__ = ["RopLop_checker"]
