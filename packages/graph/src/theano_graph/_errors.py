"""Errors of the graph layer, and the three-part text that every error of the project has.

The text says *what* rule was broken, *where* in the user's program the things involved were made, and a hint.
"""

from __future__ import annotations

from collections.abc import Iterable


class TheanoError(Exception):
    """Root of all errors that the project raises on purpose."""


class GraphError(TheanoError, ValueError):
    """A graph, or a piece of one, that breaks an invariant of graphs."""


class CycleError(GraphError):
    """A graph in which a variable is needed to compute itself."""


class MissingInputError(TheanoError, ValueError):
    """A variable without an owner is needed but is neither an input nor a constant."""


class InconsistencyError(TheanoError, ValueError):
    """A change to a function graph that one of its features refuses."""


class IncompatibleReplacementError(InconsistencyError, TypeError):
    """A variable was to be replaced by one whose type does not fit."""


class AlreadyThere(TheanoError):
    """Raised by a feature in ``on_attach`` when an equivalent feature is attached: the attachment is cancelled."""


class MissingTestValueError(TheanoError, AttributeError, ValueError):
    """A test value is needed of a variable that has none, or none that fits its type."""


class WrongTestValueError(MissingTestValueError, TypeError):
    """The test value of a variable is none of its type."""


class ReplacementKeptError(InconsistencyError):
    """A replacement should have removed some nodes from a graph, but they are there still; it has been undone."""


class MissingRuleError(TheanoError, NotImplementedError):
    """A rule table has no entry for an op that needs one."""


class DuplicateRuleError(TheanoError, ValueError):
    """A second rule was registered for one op class in one table."""


class ConfigError(TheanoError, ValueError):
    """A configuration flag is unknown, malformed, out of its allowed values, or fixed after start."""


class ConfigWarning(UserWarning):
    """A source of configuration cannot be read, and the program goes on without it."""


class ComparisonWarning(UserWarning):
    """The result of ``==`` between variables, which says whether they are one object, becomes an operand."""


class UnknownFlagError(ConfigError, AttributeError):
    """A configuration flag that no layer has declared."""


def format_error(problem: str, *, context: Iterable[str] = (), hint: str | None = None) -> str:
    """Build the text of an error.

    Parameters
    ----------
    problem : str
        The rule that was broken, with the values that broke it. One sentence.
    context : iterable of str
        One line for each thing involved, as given by :func:`theano_graph.describe`.
    hint : str, optional
        A step that the user can take.

    Returns
    -------
    str
        The lines of the message.

    Examples
    --------
    >>> print(format_error("dot: inner lengths differ: 3 and 4", context=["x: matrix"], hint="pass `x.T`"))
    dot: inner lengths differ: 3 and 4
      x: matrix
      Hint: pass `x.T`
    """
    lines = [problem]
    lines.extend(f"  {line}" for line in context)
    if hint is not None:
        lines.append(f"  Hint: {hint}")
    return "\n".join(lines)


def no_op_error(given: object) -> TypeError:
    """Return the error for what is applied and is no op."""
    if isinstance(given, type):
        return TypeError(
            format_error(f"{given.__name__} is a class of ops, not an op", hint=f"pass {given.__name__}(...)")
        )
    return TypeError(
        format_error(f"what is applied is an op, not {given!r}", hint="pass an instance of a subclass of Op")
    )
