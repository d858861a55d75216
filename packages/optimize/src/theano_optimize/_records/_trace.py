"""The trace of rewriting: which rule fired where, what stood there before and after, and how long it took."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from typing import Any, TextIO

from theano_graph import record

from .._info import RewriteInfo
from ._profile import RewriteProfile as RewriteProfile


@record
class RewriteEvent:
    """One replacement.

    Attributes
    ----------
    info : RewriteInfo
        Of the rule that fired.
    path : tuple of str
        Names of the rewriters around it, outermost first.
    where : str
        The node that was rewritten, with the user's line where it is known.
    before, after : str
        The expressions, printed to a limited depth; variables that are replaced together are joined by line breaks.
    seconds : float
        Time that the rule and the replacement took.
    equation : str, optional
        The equation that was applied, where the rule is made of equations.
    """

    info: RewriteInfo
    path: tuple[str, ...]
    where: str
    before: str
    after: str
    seconds: float
    equation: str | None = None

    @property
    def rewriter(self) -> str:
        """Name of the rule."""
        return self.info.name

    def as_dict(self) -> dict[str, Any]:
        """Return the event as plain data, for instance for JSON: strings, numbers and lists of these."""
        return {
            **self.info.as_dict(),
            "path": list(self.path),
            "where": self.where,
            "before": self.before,
            "after": self.after,
            "seconds": self.seconds,
            "equation": self.equation,
        }

    def __str__(self) -> str:
        place = "/".join((*self.path, self.rewriter))
        before = self.before.replace("\n", "\n    ")
        after = self.after.replace("\n", "\n    ")
        by = "" if self.equation is None else f"\n  by {self.equation}"
        return f"{place} ({self.seconds * 1e6:.0f} us): {self.where}\n    {before}\n  becomes\n    {after}{by}"


@record(frozen=False)
class RewriteTrace:
    """A record of rewriting, to be passed to :meth:`GraphRewriter.rewrite`. Rewriting without one keeps no text at all.

    Parameters
    ----------
    stream : text file, optional
        Each event is also printed there as it happens.
    depth : int
        To how many levels expressions are printed.

    Attributes
    ----------
    events : list of RewriteEvent
        In the order in which they happened.
    calls, seconds : dict
        For each rule: how many times it was asked, and the time spent in it whether it fired or not.

    Examples
    --------
    >>> trace = RewriteTrace()
    >>> trace.counts()
    {}
    >>> str(trace)
    'no rewrite fired'
    """

    stream: TextIO | None = None
    depth: int = 3
    events: list[RewriteEvent] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    _path: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """Put `name` on the path of the events that happen inside."""
        self._path.append(name)
        try:
            yield
        finally:
            self._path.pop()

    def asked(self, rule: str, seconds: float) -> None:
        """Note that a rule was asked, and how long it took to answer."""
        self.calls[rule] += 1
        self.seconds[rule] = self.seconds.get(rule, 0.0) + seconds

    def fired(
        self, info: RewriteInfo, where: str, before: str, after: str, seconds: float, equation: str | None = None
    ) -> None:
        """Note a replacement."""
        event = RewriteEvent(info, tuple(self._path), where, before, after, seconds, equation)
        self.events.append(event)
        if self.stream is not None:
            print(event, file=self.stream)

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the events as plain data; see :meth:`RewriteEvent.as_dict`."""
        return [event.as_dict() for event in self.events]

    def counts(self) -> dict[str, int]:
        """Return how many times each rule fired, the most frequent first."""
        return dict(Counter(event.rewriter for event in self.events).most_common())

    def __str__(self) -> str:
        return "\n".join(map(str, self.events)) or "no rewrite fired"
