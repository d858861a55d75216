"""Errors of symbolic differentiation."""

from __future__ import annotations

from theano_graph import TheanoError


class DisconnectedInputError(TheanoError, ValueError):
    """The cost is no differentiable function of a variable that its gradient was asked for."""


class DerivativeTypeError(TheanoError, TypeError, AssertionError):
    """An argument of a derivative is no variable of the kind that it takes; programs may expect an AssertionError."""


class DerivativeValueError(TheanoError, ValueError, AssertionError):
    """The arguments of a derivative do not fit each other; programs may expect an AssertionError."""


class NullTypeGradError(TheanoError, TypeError):
    """A gradient that was asked for cannot be computed."""


class NullCostError(NullTypeGradError, ValueError):
    """The cost of a gradient is itself a gradient that cannot be computed."""


class GradUndefinedError(NullTypeGradError):
    """A gradient that was asked for does not exist mathematically."""


class GradNotImplementedError(NullTypeGradError, NotImplementedError):
    """A gradient that was asked for exists, but an op on the way has no rule for it."""


class PullbackError(TheanoError, TypeError, ValueError):
    """The gradient rule of an op returned something that does not fit the inputs of the op."""
