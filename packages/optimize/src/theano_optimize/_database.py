"""Databases of rewriters: entries with names, tags and positions, from which a query builds a rewriter."""

from __future__ import annotations

import copy
import itertools
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TextIO, TypeAlias, TypeVar

from theano_graph import asked_by_user, format_error, record

from ._engines._graph_rewriter import GraphRewriter
from ._info import DatabaseError, Exactness, Phase, RewriteInfo
from ._rules._node_rewriter import NodeRewriter

# ---- Queries: the selection of entries


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
        The name of the rewriter that a sequence builds; the name of the database by default.

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
                    hint="take the result of `including`, `excluding`, `requiring` or `register`",
                )
            )
        object.__setattr__(self, name, value)

    @property
    def subquery(self) -> dict[str, RewriteQuery]:
        """The queries for databases inside the database, by name."""
        return dict(self._subqueries)

    def for_database(self, name: str) -> RewriteQuery:
        """Return the query to use in the database called `name`, which is an entry of the one that is asked.

        Positions, and so the cut-off and the rewriters at a position, are those of the outer database.
        """
        for key, query in self._subqueries:
            if key == name:
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


Rewriter: TypeAlias = NodeRewriter | GraphRewriter
BuiltT = TypeVar("BuiltT", bound=Rewriter, covariant=True)

#: How many answers a database keeps; the same few queries come again with each compiled function.
KEPT_ANSWERS = 32


@record(frozen=False)
class DatabaseEntry:
    """One registration.

    Attributes
    ----------
    name : str
    item : NodeRewriter, GraphRewriter or RewriteDatabase
    tags : set of str
        The registered tags, the names, and the rewriter's own tags.
    aliases : frozenset of str
        Other names; several entries may share one.
    of_user : bool
        Whether it was registered from outside of the library.
    position : float
        Where it stands; entries at one position keep the order of registration.
    role : str
        "rule", or for graph rewriters in an equilibrium "cleanup" or "final".
    """

    name: str
    item: Rewriter | RewriteDatabase[Any]
    tags: set[str]
    position: float
    number: int
    role: str = "rule"
    aliases: frozenset[str] = frozenset()
    of_user: bool = False

    @property
    def info(self) -> RewriteInfo | None:
        """The rewriter's description of itself; None for a database."""
        return None if isinstance(self.item, RewriteDatabase) else self.item.info


class RewriteDatabase(Generic[BuiltT]):
    """Base of databases: registration, tags, names and queries.

    Subclasses define the kind of items (:meth:`check_item`) and the result of a query (:meth:`build`).

    Parameters
    ----------
    name : str
        For summaries, and the name of the rewriters that it builds.
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name or type(self).__name__
        self._entries: dict[str, DatabaseEntry] = {}
        self._numbers = itertools.count()
        self._version = 0
        self._answers: dict[RewriteQuery, tuple[object, BuiltT]] = {}

    # ---- registration

    def register(
        self,
        name: str,
        rewriter: Rewriter | RewriteDatabase[Any],
        *tags: str | float | Phase,
        position: float | Phase | None = None,
        role: str | None = None,
        aliases: Iterable[str] = (),
    ) -> None:
        """Add a rewriter, or a database of rewriters, under a name.

        Parameters
        ----------
        name : str
            Unique in this database.
        rewriter : NodeRewriter, GraphRewriter or RewriteDatabase
        *tags : str
            A number or :class:`Phase` among them is taken as the position.
        position : float or Phase, optional
            Where it stands. Smaller comes first; entries at one position keep the order of registration. 0 by default,
            or in a sequence the position of the rewriter's own phase.
        role : {"rule", "cleanup", "final"}, optional
            In an equilibrium, when a graph rewriter runs; see :class:`EquilibriumRewriter`. "cleanup" by default.
        aliases : iterable of str
            Other names: tags that :meth:`names` lists. Entries that are one documented rewrite together share one.

        Raises
        ------
        DatabaseError
            If the name is taken, or this kind of rewriter has no place in this kind of database.
        """
        if name in self._entries:
            raise DatabaseError(
                format_error(
                    f"The name {name!r} is taken in database {self.name}",
                    hint="choose another name, or remove the entry first with `remove(name)`",
                )
            )
        words = {tag for tag in tags if isinstance(tag, str)}
        for tag in tags:
            if not isinstance(tag, str):
                position = tag
        self.check_item(name, rewriter)
        number = next(self._numbers)
        also = frozenset(aliases)
        role = role or ("cleanup" if isinstance(rewriter, GraphRewriter) else "rule")
        entry = DatabaseEntry(
            name,
            rewriter,
            {name, *words, *also, *_own_tags(rewriter)},
            self._position(position, rewriter),
            number,
            role,
            also,
            asked_by_user(),
        )
        self._entries[name] = entry
        self._changed()

    def remove(self, name: str) -> None:
        """Remove an entry.

        Raises
        ------
        DatabaseError
            If there is no entry of this name.
        """
        self._entry(name)
        del self._entries[name]
        self._changed()

    def add_tags(self, name: str, *tags: str) -> None:
        """Add tags to an entry."""
        self._entry(name).tags.update(tags)
        self._changed()

    def remove_tags(self, name: str, *tags: str) -> None:
        """Remove tags from an entry; its name stays a tag."""
        entry = self._entry(name)
        entry.tags.difference_update(set(tags) - {name})
        self._changed()

    def check_item(self, name: str, item: object) -> None:
        """Raise DatabaseError if `item` has no place in this kind of database."""
        if not isinstance(item, (NodeRewriter, GraphRewriter, RewriteDatabase)):
            raise DatabaseError(
                format_error(
                    f"{item!r}, to be registered as {name!r} in {self.name}, is no rewriter", hint="see node_rewriter"
                )
            )

    def _position(self, position: float | Phase | None, item: object) -> float:
        """Return the position of an entry as a number."""
        if position is None:
            return 0.0
        return position.position if isinstance(position, Phase) else float(position)

    def _changed(self) -> None:
        self._version += 1
        self._answers.clear()

    # ---- questions

    def _entry(self, name: str) -> DatabaseEntry:
        try:
            return self._entries[name]
        except KeyError:
            raise DatabaseError(
                format_error(
                    f"database {self.name} has no entry called {name!r}",
                    hint=f"choose among {', '.join(sorted(self._entries)) or 'none'}",
                )
            ) from None

    def __getitem__(self, name: str) -> Any:
        """Return the item registered under `name`: a rewriter or a database."""
        return self._entry(name).item

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return (entry.name for entry in self.entries())

    def __len__(self) -> int:
        return len(self._entries)

    def entries(self) -> list[DatabaseEntry]:
        """Return the entries by position, then in order of registration."""
        return sorted(self._entries.values(), key=lambda entry: (entry.position, entry.number))

    def tags_of(self, name: str) -> frozenset[str]:
        """Return the tags of an entry, its name included."""
        return frozenset(self._entry(name).tags)

    def names(self) -> set[str]:
        """Return the names of all entries, other names and those of databases inside included."""
        result: set[str] = set()
        stack: list[RewriteDatabase[Any]] = [self]
        while stack:
            for name, entry in stack.pop()._entries.items():
                result.add(name)
                result |= entry.aliases
                if isinstance(entry.item, RewriteDatabase):
                    stack.append(entry.item)
        return result

    def version(self) -> object:
        """Return a value that changes with each registration here or in a database inside."""
        inner = tuple(e.item.version() for e in self._entries.values() if isinstance(e.item, RewriteDatabase))
        return (self._version, inner)

    def query(
        self,
        *tags: RewriteQuery | str,
        subquery: Mapping[str, RewriteQuery] | None = None,
        position_cutoff: float = math.inf,
    ) -> BuiltT:
        """Build the rewriter of all entries that are wanted.

        Parameters
        ----------
        *tags : RewriteQuery or str
            One query; or tags, with a sign where they are to be required (``&tag``) or excluded (``-tag``).
        subquery : mapping, optional
            With tags: queries for databases inside, by name.
        position_cutoff : float
            Entries of a sequence at this position or later are left out.

        Returns
        -------
        GraphRewriter or NodeRewriter
            A sequence, an equilibrium or a group, by the kind of database. The same query gives the same object until
            something is registered; later registrations count in later queries.

        Raises
        ------
        DatabaseError
            If the arguments are no query.
        """
        query = as_query(tags, subquery)
        if position_cutoff < query.position_cutoff:
            query = query.up_to(position_cutoff)
        version = self.version()
        cached = self._answers.get(query)
        if cached is not None and cached[0] == version:
            return cached[1]
        built = self.build(query)
        if len(self._answers) >= KEPT_ANSWERS:
            self._answers.pop(next(iter(self._answers)))
        # A copy, since the cut-off of a query may be set later.
        self._answers[copy.copy(query)] = (version, built)
        return built

    def selected(self, query: RewriteQuery) -> list[tuple[DatabaseEntry, Rewriter]]:
        """Return the wanted entries in order, each with its rewriter; databases inside are queried."""
        result: list[tuple[DatabaseEntry, Rewriter]] = []
        for entry in self.entries():
            if query.selects(entry.tags, entry.info):
                item = entry.item
                result.append(
                    (entry, item.query(query.for_database(entry.name)) if isinstance(item, RewriteDatabase) else item)
                )
        return result

    def build(self, query: RewriteQuery) -> BuiltT:
        """Build the rewriter for a query."""
        raise TypeError(
            format_error(
                f"{type(self).__name__} defines no `build`", hint="use a sequence, equilibrium or group database"
            )
        )

    def print_summary(self, stream: TextIO | None = None) -> None:
        """Print the entries with positions and tags to `stream` (standard output by default)."""
        print("\n".join(self.summary_lines()), file=sys.stdout if stream is None else stream)

    def summary_lines(self) -> list[str]:
        """Return the lines of :meth:`print_summary`."""
        lines = [f"{self.name}: {type(self).__name__}"]
        for entry in self.entries():
            tags = ", ".join(sorted(entry.tags - {entry.name}))
            lines.append(f"  {entry.position:g} {entry.name} [{tags}]")
            if isinstance(entry.item, RewriteDatabase):
                lines += [f"  {line}" for line in entry.item.summary_lines()[1:]]
        return lines

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} with {len(self)} entries>"


def _own_tags(item: Rewriter | RewriteDatabase[Any]) -> tuple[str, ...]:
    if isinstance(item, RewriteDatabase):
        return (item.name,)
    return (item.info.name, *item.info.all_tags)
