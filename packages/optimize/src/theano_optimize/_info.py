"""Descriptions of rewrites, errors of rewriting, and the texts of expressions in both."""

from __future__ import annotations

import enum
import logging
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from theano_graph import Apply, TheanoError, Variable, debugprint, record

# ---- Errors and warnings


class RewriteError(TheanoError):
    """A rewrite rule failed, or gave a result that cannot replace the node it was asked to rewrite.

    Attributes
    ----------
    rewriter : str
        Name of the rule.
    rule : object
        The rule itself, where it is known.
    node : Apply or None
        The node that the rule was asked about.
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
        The node that the rule was asked about; None for a rewriter of whole graphs.
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


# ---- Texts of expressions, to a limited depth

#: More inputs than this are cut short.
SHOWN_INPUTS = 8


def expression_text(variable: Variable, depth: int) -> str:
    """Return an expression on one line: nested calls to `depth` levels, dots below.

    Examples
    --------
    >>> from theano_graph import Generic, Op
    >>> class Neg(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    >>> neg, x = Neg(), Generic()("x")
    >>> expression_text(neg(neg(neg(x))), 2)
    'Neg(Neg(...))'
    """
    node = variable.owner
    if node is None:
        return str(variable)
    if depth <= 0:
        return "..."
    parts = [expression_text(v, depth - 1) for v in node.inputs[:SHOWN_INPUTS]]
    if len(node.inputs) > SHOWN_INPUTS:
        parts.append(f"{len(node.inputs) - SHOWN_INPUTS} more")
    index = f".{variable.index}" if len(node.outputs) > 1 else ""
    return f"{node.op}({', '.join(parts)}){index}"


def tree_lines(variables: Sequence[Variable], depth: int) -> list[str]:
    """Return the lines of the indented tree of some expressions, with types, to `depth` levels."""
    return str(debugprint(list(variables), depth=depth, print_type=True, file="str")).rstrip().split("\n")


# ---- Descriptions: name, phase, tags, exactness and source of a rewrite


class Exactness(enum.Enum):
    """How the value after a rewrite relates to the value before it.

    ``EXACT``: equal up to the rounding of a few operations. ``STABILIZING``: more accurate than before.
    ``FAST``: less accurate or valid under assumptions; such a rule runs only when a query asks for it.
    """

    EXACT = "exact"
    STABILIZING = "stabilizing"
    FAST = "fast"


class Phase(enum.Enum):
    """The standard phases of rewriting, each with its position in the sequence.

    In-place work belongs at or after ``ADD_DESTROY``.

    Examples
    --------
    >>> Phase.STABILIZE.position
    1.5
    >>> Phase.FINAL_MERGE.tag
    'final_merge'
    """

    MERGE = 0.0
    CANONICALIZE = 1.0
    STABILIZE = 1.5
    BLAS = 1.7
    SPECIALIZE = 2.0
    UNCANONICALIZE = 3.0
    FUSE = 49.0
    ADD_DESTROY = 49.5
    INPLACE = 75.0
    FINAL_MERGE = 100.0

    @property
    def position(self) -> float:
        """Where the phase stands in the sequence."""
        return float(self.value)

    @property
    def tag(self) -> str:
        """The name of the phase as a tag of database entries."""
        return self.name.lower()


@record
class RewriteInfo:
    """Facts about a rewrite besides its code.

    Parameters
    ----------
    name : str
        Unique within its phase; shown in traces and errors.
    phase : Phase, optional
        Where it is meant to run; also a tag of its database entry.
    tags : tuple of str
        Further tags of its database entry.
    exactness : Exactness
        See :class:`Exactness`.
    reference : str, optional
        Where the identity is stated, when it is not schoolbook.
    guard : callable, optional
        The condition under which the rewrite holds: for rules of a function ``guard(fgraph, node)``, for patterns a
        function of the wildcards. Asked before the rewrite itself.

    Examples
    --------
    >>> RewriteInfo("log_of_exp", Phase.CANONICALIZE).all_tags
    ('canonicalize', 'exact')
    """

    name: str
    phase: Phase | None = None
    tags: tuple[str, ...] = ()
    exactness: Exactness = Exactness.EXACT
    reference: str | None = None
    guard: Callable[..., object] | None = None

    @property
    def guard_text(self) -> str | None:
        """The guard in words: the first line of its docstring, else its name; None if there is no guard."""
        if self.guard is None:
            return None
        text = (getattr(self.guard, "__doc__", None) or "").strip()
        return text.splitlines()[0] if text else str(getattr(self.guard, "__name__", self.guard))

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain data, for instance for JSON.

        Examples
        --------
        >>> RewriteInfo("log_of_exp", Phase.CANONICALIZE).as_dict()["phase"]
        'canonicalize'
        """
        return {
            "name": self.name,
            "phase": None if self.phase is None else self.phase.tag,
            "tags": list(self.tags),
            "guard": self.guard_text,
            "exactness": self.exactness.value,
            "reference": self.reference,
        }

    @property
    def all_tags(self) -> tuple[str, ...]:
        """The tags, the phase and the exactness."""
        phase = () if self.phase is None else (self.phase.tag,)
        return (*self.tags, *phase, self.exactness.value)


def make_info(
    name: str,
    *,
    phase: Phase | str | None = None,
    tags: Iterable[str] = (),
    exactness: Exactness | str = Exactness.EXACT,
    reference: str | None = None,
    guard: Callable[..., object] | None = None,
) -> RewriteInfo:
    """Build a :class:`RewriteInfo` from arguments of decorators and constructors; strings name phase and exactness.

    Examples
    --------
    >>> make_info("tanh_small", exactness="fast", phase="specialize").phase
    <Phase.SPECIALIZE: 2.0>
    """
    if isinstance(phase, str):
        phase = Phase[phase.upper()]
    tag_names = (tags,) if isinstance(tags, str) else tuple(tags)
    return RewriteInfo(name, phase, tag_names, Exactness(exactness), reference, guard)
