"""The kinds of databases: sequences, equilibria, groups, and databases that show another one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from theano_graph import format_error

from ._database import BuiltT, RewriteDatabase, RewriteQuery, Rewriter
from ._engines._equilibrium import EquilibriumRewriter
from ._engines._graph_rewriter import GraphRewriter, SequenceRewriter
from ._engines._walk import RewriterGroup, WalkOrder, WalkRewriter
from ._info import DatabaseError, Phase
from ._rules._node_rewriter import NodeRewriter


class SequenceDatabase(RewriteDatabase[SequenceRewriter]):
    """Graph rewriters and databases in the order of their positions; a query builds a :class:`SequenceRewriter`.

    Examples
    --------
    >>> from theano_optimize import MergeRewriter, Phase
    >>> db = SequenceDatabase("demo")
    >>> db.register("last_merge", MergeRewriter(), "fast_run", position=Phase.FINAL_MERGE)
    >>> db.register("first_merge", MergeRewriter(), "fast_run", position=Phase.MERGE)
    >>> list(db)
    ['first_merge', 'last_merge']
    """

    def check_item(self, name: str, item: object) -> None:
        super().check_item(name, item)
        if isinstance(item, (NodeRewriter, GroupDatabase)):
            raise DatabaseError(
                format_error(
                    f"{name!r} rewrites single nodes and cannot be registered in the sequence {self.name}",
                    hint="wrap it in WalkRewriter or EquilibriumRewriter, or register it in an EquilibriumDatabase",
                )
            )

    def _position(self, position: float | Phase | None, item: object) -> float:
        """Return the position; that of the rewriter's own phase if none is given."""
        phase = item.info.phase if position is None and isinstance(item, GraphRewriter) else None
        return super()._position(phase if position is None else position, item)

    @property
    def positions(self) -> dict[str, float]:
        """The position of each entry, by name, in order."""
        return {entry.name: entry.position for entry in self.entries()}

    #: The name of `positions` that programs for Theano 1.0 know.
    __position__ = positions

    def build(self, query: RewriteQuery) -> SequenceRewriter:
        chosen = [
            (entry.position, entry.name, rewriter)
            for entry, rewriter in self.selected(query)
            # A database in which nothing has been registered would only cost a walk over the graph.
            if isinstance(rewriter, GraphRewriter)
            and not (isinstance(entry.item, RewriteDatabase) and not len(entry.item))
        ]
        chosen += [(position, rewriter.name, rewriter) for rewriter, position in query.extra]
        chosen = [entry for entry in chosen if entry[0] < query.position_cutoff]
        chosen.sort(key=lambda entry: entry[0])
        name = query.name or self.name
        return SequenceRewriter([r for _, _, r in chosen], name, labels=[label for _, label, _ in chosen])


class EquilibriumDatabase(RewriteDatabase[EquilibriumRewriter]):
    """Node rewriters that are applied until nothing changes; a query builds an :class:`EquilibriumRewriter`.

    Graph rewriters may be registered too: they run when no rule applies any more (``role="cleanup"`` or ``"final"``).

    Parameters
    ----------
    name : str
    max_use_ratio : float
        See :class:`EquilibriumRewriter`.

    Examples
    --------
    >>> from theano_optimize import constant_folding
    >>> db = EquilibriumDatabase("canonicalize")
    >>> db.register("constant_folding", constant_folding, "fast_run")
    >>> db.query("fast_run").node_rewriters
    (<ConstantFolding constant_folding>,)
    """

    def __init__(self, name: str | None = None, *, max_use_ratio: float = 16.0) -> None:
        super().__init__(name)
        self.max_use_ratio = max_use_ratio

    def build(self, query: RewriteQuery) -> EquilibriumRewriter:
        rules: list[NodeRewriter] = []
        names: dict[NodeRewriter, tuple[str, ...]] = {}
        after: dict[str, list[GraphRewriter]] = {"cleanup": [], "final": []}
        for entry, rewriter in self.selected(query):
            if isinstance(rewriter, NodeRewriter):
                rules.append(rewriter)
                if entry.aliases:
                    names[rewriter] = tuple(sorted(entry.aliases))
            else:
                after["final" if entry.role == "final" else "cleanup"].append(rewriter)
        built = EquilibriumRewriter(
            rules, self.name, cleanup=after["cleanup"], final=after["final"], max_use_ratio=self.max_use_ratio
        )
        built.other_names = names
        return built


class GroupDatabase(RewriteDatabase[RewriterGroup]):
    """Node rewriters of which the first that matches is used; a query builds a :class:`RewriterGroup`.

    Parameters
    ----------
    name : str
    apply_all : bool
        See :class:`RewriterGroup`.

    Examples
    --------
    >>> from theano_optimize import constant_folding
    >>> db = GroupDatabase("folding")
    >>> db.register("constant_folding", constant_folding, "fast_run")
    >>> db.query("fast_run").name
    'folding'
    """

    def __init__(self, name: str | None = None, *, apply_all: bool = False) -> None:
        super().__init__(name)
        self.apply_all = apply_all

    def check_item(self, name: str, item: object) -> None:
        super().check_item(name, item)
        if not isinstance(item, (NodeRewriter, GroupDatabase)):
            raise DatabaseError(
                format_error(
                    f"{name!r} rewrites whole graphs and cannot be registered in the group {self.name}",
                    hint="register node rewriters",
                )
            )

    def build(self, query: RewriteQuery) -> RewriterGroup:
        rules = [r for _, r in self.selected(query) if isinstance(r, NodeRewriter)]
        return RewriterGroup(rules, self.name, apply_all=self.apply_all)


class _Window(RewriteDatabase[BuiltT]):
    """A database that shows the entries of another one; its registrations go there."""

    def __init__(self, database: RewriteDatabase[Any], name: str | None = None) -> None:
        super().__init__(name or database.name)
        self.database = database
        self._entries = database._entries

    def register(
        self,
        name: str,
        rewriter: Rewriter | RewriteDatabase[Any],
        *tags: str | float | Phase,
        position: float | Phase | None = None,
        role: str | None = None,
        aliases: Iterable[str] = (),
    ) -> None:
        self.database.register(name, rewriter, *tags, position=position, role=role, aliases=aliases)

    def _changed(self) -> None:
        super()._changed()
        self.database._changed()

    def version(self) -> object:
        return (super().version(), self.database.version())


class WalkDatabase(_Window[WalkRewriter]):
    """The rules of another database, applied in one walk; a query builds a :class:`WalkRewriter`.

    It makes a group of rules a step of a sequence.

    Parameters
    ----------
    database : GroupDatabase
        Where the rules are.
    order : {"in_to_out", "out_to_in"}
    visit_new : bool
        See :class:`WalkRewriter`.
    name : str, optional
        That of the database by default.

    Examples
    --------
    >>> from theano_optimize import constant_folding
    >>> rules = GroupDatabase("folding")
    >>> rules.register("constant_folding", constant_folding, "fast_run")
    >>> WalkDatabase(rules, "out_to_in").query("fast_run").order
    'out_to_in'
    """

    def __init__(
        self,
        database: GroupDatabase,
        order: WalkOrder = "in_to_out",
        *,
        visit_new: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(database, name)
        self.order: WalkOrder = order
        self.visit_new = visit_new

    def build(self, query: RewriteQuery) -> WalkRewriter:
        return WalkRewriter(self.database.query(query), self.order, self.name, visit_new=self.visit_new)


class ProxyDatabase(_Window[Any]):
    """Another database under a further name or with further tags, so that one group of rules can run in several places.

    Parameters
    ----------
    database : RewriteDatabase
    name : str, optional
        That of the database by default.

    Examples
    --------
    >>> rules = EquilibriumDatabase("rules")
    >>> both = SequenceDatabase("both")
    >>> both.register("early", rules, "fast_run", position=1)
    >>> both.register("late", ProxyDatabase(rules), "fast_run", position=2)
    >>> list(both)
    ['early', 'late']
    """

    def build(self, query: RewriteQuery) -> Any:
        return self.database.query(query)
