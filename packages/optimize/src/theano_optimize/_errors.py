"""Errors and warnings of the rewriting layer."""

from __future__ import annotations

import logging
import traceback

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
    """A rule or an op did something wrong that is passed over, because errors had been turned into warnings."""


#: Where failures are reported that are passed over; programs have listened to it since before there were layers.
LOG = logging.getLogger("theano.gof.opt")


class _Reports:
    """How many failures have been passed over in this process."""

    count = 0


def number_of_reports() -> int:
    """Return how many failures of rewriting have been passed over in this process, with a report each."""
    return _Reports.count


def count_report() -> None:
    """Note that a failure has been passed over and reported: rewriting the same graph again would report it again."""
    _Reports.count += 1


def report_failure(culprit: object, node: object, error: BaseException) -> None:
    """Write to the log that a rewriter failed, and is passed over because the flag ``on_opt_error`` says so.

    Parameters
    ----------
    culprit : object
        The rewriter, or its name.
    node : Apply or None
        What it was asked about; None for a rewriter of whole graphs.
    error : Exception
    """
    count_report()
    if node is None:
        LOG.error("SeqOptimizer apply %s", culprit)
    else:
        LOG.error("Optimization failure due to: %s", culprit)
        LOG.error("node: %s", node)
    LOG.error("TRACEBACK:")
    LOG.error("%s", "".join(traceback.format_exception(error)))
