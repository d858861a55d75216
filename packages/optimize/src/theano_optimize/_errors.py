"""Errors and warnings of the rewriting layer."""

from __future__ import annotations

from theano_graph import Apply, TheanoError


class RewriteError(TheanoError):
    """A rewrite rule failed, or gave a result that cannot replace what it was asked to rewrite.

    Attributes
    ----------
    rewriter : str
        Name of the rule.
    rule : object
        The rule itself, where it is known.
    node : Apply or None
        What it was asked about.
    """

    def __init__(self, message: str, *, rewriter: str = "", rule: object = None, node: Apply | None = None) -> None:
        super().__init__(message)
        self.rewriter = rewriter
        self.rule = rule
        self.node = node


class RewriteCycleError(RewriteError):
    """Rules undo each other, or one rule feeds itself, so that rewriting would never end.

    Attributes
    ----------
    rewriters : tuple of str
        Names of the rules that take part, in the order in which they fire.
    """

    def __init__(self, message: str, *, rewriters: tuple[str, ...]) -> None:
        super().__init__(message, rewriter=rewriters[0] if rewriters else "")
        self.rewriters = rewriters


class PatternError(TheanoError, ValueError):
    """A pattern or its replacement is malformed."""


class DatabaseError(TheanoError, ValueError):
    """A registration in, or a query of, a rewrite database that cannot be carried out."""


class RewriteWarning(UserWarning):
    """A rule failed and was skipped, because errors of rules had been turned into warnings."""
