"""Queries: which entries of a database are wanted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from theano_graph import format_error

from .._engines._graph_rewriter import GraphRewriter
from .._errors import DatabaseError
from .._info import Exactness, RewriteInfo


def _names(tags: Iterable[str] | str | None) -> frozenset[str]:
    if tags is None:
        return frozenset()
    return frozenset([tags] if isinstance(tags, str) else tags)


@dataclass(init=False, unsafe_hash=True)
class RewriteQuery:
    """Which entries of a database are wanted, by names and tags.

    Parameters
    ----------
    include : iterable of str
        An entry needs one of these.
    require : iterable of str
        An entry needs all of these.
    exclude : iterable of str
        An entry must have none of these.
    subquery : mapping, optional
        Name of a database inside the database -> the query to use there; this query by default.
    position_cutoff : float
        Entries of a sequence at this position or later are left out. The attribute can be set.
    extra : iterable of pairs
        Graph rewriters that a sequence runs although no database has them, each with its position.
    name : str, optional
        What the rewriter that a sequence builds is called; the name of the database by default.

    Notes
    -----
    The names of an entry and of its rewriter count as tags. A rule whose exactness is "fast" is selected
    only if the tag "fast" or its own name is included or required.

    Examples
    --------
    >>> query = RewriteQuery(include=["fast_run"]).excluding("inplace")
    >>> query.selects({"fast_run", "inplace"}), query.selects({"fast_run"})
    (False, True)
    """

    include: frozenset[str]
    require: frozenset[str]
    exclude: frozenset[str]
    position_cutoff: float
    _subqueries: tuple[tuple[str, RewriteQuery], ...] = field(repr=False)
    extra: tuple[tuple[GraphRewriter, float], ...] = field(repr=False)
    name: str | None

    def __init__(
        self,
        include: Iterable[str] | str | None,
        require: Iterable[str] | str | None = (),
        exclude: Iterable[str] | str | None = (),
        subquery: Mapping[str, RewriteQuery] | None = None,
        position_cutoff: float = math.inf,
        extra: Iterable[tuple[GraphRewriter, float]] | None = None,
        *,
        name: str | None = None,
    ) -> None:
        object.__setattr__(self, "include", _names(include))
        object.__setattr__(self, "require", _names(require))
        object.__setattr__(self, "exclude", _names(exclude))
        object.__setattr__(self, "position_cutoff", position_cutoff)
        object.__setattr__(self, "_subqueries", tuple(sorted((subquery or {}).items(), key=lambda item: item[0])))
        object.__setattr__(self, "extra", tuple((rewriter, float(at)) for rewriter, at in extra or ()))
        object.__setattr__(self, "name", name)

    def __setattr__(self, name: str, value: object) -> None:
        if name != "position_cutoff":
            raise AttributeError(
                format_error(
                    f"the {name!r} of a query is not set: others may use the query",
                    hint="take what `including`, `excluding`, `requiring` or `register` return",
                )
            )
        object.__setattr__(self, name, value)

    @property
    def subquery(self) -> dict[str, RewriteQuery]:
        """The queries for databases inside the database, by name."""
        return dict(self._subqueries)

    def for_database(self, name: str) -> RewriteQuery:
        """Return the query to use in the database called `name`, which is an entry of the one that is asked.

        Positions, and so the cut-off and what runs at a position, are those of the outer database.
        """
        for own, query in self._subqueries:
            if own == name:
                return query
        if not self.extra and self.position_cutoff == math.inf:
            return self
        return self._refined("extra", ()).up_to(math.inf)

    def selects(self, tags: Iterable[str], info: RewriteInfo | None = None) -> bool:
        """Tell whether an entry with these names and tags is wanted."""
        tags = frozenset(tags)
        if info is not None and info.exactness is Exactness.FAST:
            if not {Exactness.FAST.value, info.name} & (self.include | self.require):
                return False
        return bool(self.include & tags) and self.require <= tags and not (self.exclude & tags)

    def including(self, *tags: str) -> RewriteQuery:
        """Return a query that also includes entries with one of `tags`."""
        return self._refined("include", self.include | set(tags))

    def requiring(self, *tags: str) -> RewriteQuery:
        """Return a query that also requires all of `tags`."""
        return self._refined("require", self.require | set(tags))

    def excluding(self, *tags: str) -> RewriteQuery:
        """Return a query that also excludes entries with one of `tags`."""
        return self._refined("exclude", self.exclude | set(tags))

    def register(self, *rewriters: tuple[GraphRewriter, float]) -> RewriteQuery:
        """Return a query that also runs some graph rewriters, each at its position in a sequence."""
        return self._refined("extra", (*self.extra, *rewriters))

    def up_to(self, position: float) -> RewriteQuery:
        """Return a query that leaves out entries of a sequence at `position` or later."""
        return self._refined("position_cutoff", position)

    def _refined(self, name: str, value: object) -> RewriteQuery:
        parts = {
            "include": self.include,
            "require": self.require,
            "exclude": self.exclude,
            "position_cutoff": self.position_cutoff,
            "extra": self.extra,
            name: value,
        }
        return RewriteQuery(subquery=self.subquery, **parts)  # type: ignore[arg-type]  # each fits its parameter


def as_query(tags: tuple[RewriteQuery | str, ...], subquery: Mapping[str, RewriteQuery] | None = None) -> RewriteQuery:
    """Return the query that arguments stand for: one query, or tags.

    A tag may have a sign: ``+tag`` (or no sign) includes, ``&tag`` requires, ``-tag`` excludes.

    Examples
    --------
    >>> as_query(("fast_run", "-inplace")) == RewriteQuery(["fast_run"], exclude=["inplace"])
    True
    """
    if len(tags) == 1 and isinstance(tags[0], RewriteQuery) and not subquery:
        return tags[0]
    by_sign: dict[str, set[str]] = {"+": set(), "&": set(), "-": set()}
    for tag in tags:
        if not isinstance(tag, str) or not tag:
            raise DatabaseError(
                format_error(
                    f"{tag!r} is no tag", hint="pass one RewriteQuery, or tags such as 'fast_run' and '-inplace'"
                )
            )
        sign, name = (tag[0], tag[1:]) if tag[0] in by_sign else ("+", tag)
        by_sign[sign].add(name)
    return RewriteQuery(by_sign["+"], by_sign["&"], by_sign["-"], subquery)
