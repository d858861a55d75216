"""What a rewrite says about itself: name, phase, tags, how exact it is, and where it comes from."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any

from theano_graph import record


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
    """What is known of a rewrite besides what it does.

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
        """Return what is known as plain data, for instance for JSON.

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
    """Build a :class:`RewriteInfo` from what decorators and constructors are given; strings name phases and exactness.

    Examples
    --------
    >>> make_info("tanh_small", exactness="fast", phase="specialize").phase
    <Phase.SPECIALIZE: 2.0>
    """
    if isinstance(phase, str):
        phase = Phase[phase.upper()]
    own = (tags,) if isinstance(tags, str) else tuple(tags)
    return RewriteInfo(name, phase, own, Exactness(exactness), reference, guard)
