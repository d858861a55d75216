"""Errors and warnings of the compiler driver."""

from __future__ import annotations

from theano_graph import TheanoError


class CompileError(TheanoError, RuntimeError):
    """The compiler refused generated or user-written code, or the arguments it was given."""


class CompilerWarning(UserWarning):
    """No compiler can be used, or the directory of compiled code cannot: work goes on, slower."""
