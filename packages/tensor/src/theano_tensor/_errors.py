"""Errors of the tensor layer."""

from __future__ import annotations

from theano_graph import TheanoError


class ShapeError(TheanoError, ValueError):
    """Shapes that do not fit each other.

    Numbers of dimensions raise it when the expression is built; lengths that are known, when a function is compiled
    every call of which would compute the expression, or when they are met in a branch or a loop.
    """


class AxisError(ShapeError, IndexError):
    """An axis that a tensor does not have, known when the expression is built."""


class RankError(ShapeError, TypeError):
    """A number of dimensions that an operation does not accept, known when the expression is built."""


class SpecifiedShapeError(ShapeError, AssertionError):
    """A shape was specified for another number of dimensions, known when the expression is built."""


class PartError(ShapeError, TypeError):
    """A part that does not fit where a tensor is indexed, known when the expression is built."""


class DTypeError(TheanoError, TypeError):
    """A dtype that an operation does not accept."""


class AsTensorError(TheanoError, TypeError):
    """An object cannot become a tensor."""


class NotNumericError(TheanoError, TypeError, ValueError):
    """A value of which no array of numbers can be made."""


class CountError(DTypeError, ValueError):
    """A number of repetitions that is no integer."""


class NotScalarConstantError(TheanoError, ValueError):
    """A variable was expected to be a known scalar constant."""


class EmptyConstantError(NotScalarConstantError):
    """A constant has no element, so it is no number."""


class BatchError(TheanoError, TypeError):
    """An expression cannot be computed for a batch, or a batch does not fit its variable."""


class IndexingError(TheanoError, TypeError, IndexError):
    """An index that cannot be used in an expression."""


class Float64Error(TheanoError):
    """A variable of float64 was made, and the flag `warn_float64` forbids it.

    It is no TypeError, with which an operator leaves the work to the other operand.
    """


# ---- Errors of symbolic differentiation


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
