"""Errors raised while a function is made or called."""

from __future__ import annotations

from theano_graph import TheanoError


class FunctionInputError(TheanoError, TypeError):
    """The inputs, outputs or updates given to `function` are not of the kind that it takes."""


class OutputKeyError(FunctionInputError, AssertionError):
    """The keys of a dictionary of outputs are not strings."""


class UnusedInputError(TheanoError, ValueError):
    """An input is not used by any output or update."""


class DuplicateInputError(FunctionInputError, UnusedInputError):
    """A variable is given twice among the inputs."""


class GivensError(TheanoError, TypeError, RuntimeError):
    """A substitution asked for with `givens` is not possible."""


class UpdateError(TheanoError, TypeError):
    """An update is not for a shared variable, or its type differs, or there are two for one variable."""


class ArgumentError(TheanoError, TypeError):
    """The arguments of a call do not match the function's inputs."""


class ArgumentValueError(TheanoError, ValueError):
    """An argument is of the right kind, but its value does not fit (a shape that conflicts with the static shape)."""


class DuplicateUpdateError(UpdateError, ValueError):
    """Two update expressions were given for one shared variable."""


class SwapError(TheanoError, ValueError):
    """`Function.copy` cannot exchange the shared variables as asked."""
