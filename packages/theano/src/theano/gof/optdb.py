"""Databases of rewrites, and queries."""

from typing import TYPE_CHECKING, Any, Literal

from theano_graph import format_error
from theano_optimize import (
    DatabaseError,
    EquilibriumDatabase,
    GroupDatabase,
    ProxyDatabase,
    RewriteDatabase,
    RewriteQuery as Query,
    SequenceDatabase,
    WalkDatabase,
)

from .._names import lazy_names
from ._navigators import TopoOptimizer
from ._optimizers import SeqOptimizer


class _SameAsBelow(type):
    """Lets databases that the layers below have made count as instances, and their classes as subclasses.

    It is said of the classes of this module alone: a program's own subclass has only its own instances.
    """

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        if cls.__module__ == __name__:
            return issubclass(subclass, cls.__mro__[1])
        return super().__subclasscheck__(subclass)


class DB(RewriteDatabase[Any], metaclass=_SameAsBelow):
    """A database of optimizers: each has a name, and tags by which queries choose it.

    Parameters
    ----------
    name : str, optional
    """

    def register(self, name: str, rewriter: Any, *tags: Any, **options: Any) -> None:
        """Register an optimizer under a name that is no tag of another one, with tags that are no names.

        Raises
        ------
        DatabaseError
            If the name or a tag is taken; a ValueError.
        """
        if name not in self and any(name in entry.tags for entry in self.entries()):
            raise DatabaseError(
                format_error(f"The name {name!r} is a tag of another entry", hint="choose another name for the entry")
            )
        taken = [tag for tag in tags if any(tag == entry.name for entry in self.entries())]
        if taken:
            raise DatabaseError(
                format_error(
                    f"The tag {taken[0]!r} of {name!r} is the name of another entry", hint="choose another tag"
                )
            )
        super().register(name, rewriter, *tags, **options)


class SequenceDB(SequenceDatabase, metaclass=_SameAsBelow):
    """A database of optimizers, and of databases, that are applied in the order of their positions.

    Parameters
    ----------
    failure_callback : callable, optional
        See :class:`theano.gof.opt.SeqOptimizer`; by default the flag `on_opt_error` decides.
    name : str, optional
    """

    seq_opt = SeqOptimizer

    def __init__(self, failure_callback: Any = None, name: str | None = None) -> None:
        super().__init__(name)
        self.failure_callback = failure_callback

    def build(self, query: Query) -> Any:
        """Build the optimizer for a query."""
        built = super().build(query)
        if self.failure_callback is None:
            return built
        return self.seq_opt(built.rewriters, failure_callback=self.failure_callback, name=built.name)


class EquilibriumDB(EquilibriumDatabase, metaclass=_SameAsBelow):
    """A database of local optimizers that are applied until none of them changes the graph.

    Parameters
    ----------
    ignore_newtrees, tracks_on_change_inputs : bool
        See :class:`theano.gof.opt.EquilibriumOptimizer`: they do not change the result.
    name : str, optional
    """

    def __init__(
        self, ignore_newtrees: bool = True, tracks_on_change_inputs: bool = False, name: str | None = None
    ) -> None:
        super().__init__(name)
        self.ignore_newtrees = ignore_newtrees
        self.tracks_on_change_inputs = tracks_on_change_inputs

    def register(self, name: str, rewriter: Any, *tags: Any, **options: Any) -> None:
        """Register an optimizer; ``final_opt=True`` and ``cleanup=True`` say when a global one runs."""
        final, cleanup = options.pop("final_opt", False), options.pop("cleanup", False)
        if final and cleanup:
            raise ValueError(f"{name} is to be both a final optimizer and part of the clean-up; choose one")
        role: Literal["final", "cleanup"] | None = "final" if final else "cleanup" if cleanup else None
        super().register(name, rewriter, *tags, **{"role": role, **options})


class LocalGroupDB(GroupDatabase, metaclass=_SameAsBelow):
    """A database of local optimizers of which the first that changes a node is used.

    Parameters
    ----------
    apply_all_opts : bool
        See :class:`theano.gof.opt.LocalOptGroup`.
    profile : bool
        Accepted; profiles name the members of a group in any case.
    name : str, optional
    """

    def __init__(self, apply_all_opts: bool = False, profile: bool = False, name: str | None = None) -> None:
        super().__init__(name, apply_all=apply_all_opts)

    def register(self, name: str, rewriter: Any, *tags: Any, **options: Any) -> None:
        """Register a local optimizer at a `position`: a number, or "last" (the default)."""
        position = options.pop("position", None)
        if position in (None, "last"):
            position = max((entry.position for entry in self.entries()), default=0.0)
        elif not isinstance(position, (int, float)):
            raise TypeError(f"the position of {name} is {position!r}; pass a number or 'last'")
        super().register(name, rewriter, *tags, position=position, **options)


class TopoDB(WalkDatabase):
    """The local optimizers of a group, applied to each node in topological order or against it.

    Parameters
    ----------
    db : LocalGroupDB
    order : {"in_to_out", "out_to_in"}
    ignore_newtrees, failure_callback
        See :class:`theano.gof.opt.TopoOptimizer`.
    """

    def __init__(
        self,
        db: GroupDatabase,
        order: Literal["in_to_out", "out_to_in"] = "in_to_out",
        ignore_newtrees: bool = False,
        failure_callback: Any = None,
    ) -> None:
        super().__init__(db, order, visit_new=not ignore_newtrees)
        self.failure_callback = failure_callback

    def build(self, query: Query) -> Any:
        """Build the optimizer for a query."""
        optimizer = TopoOptimizer(self.database.query(query), self.order, not self.visit_new, self.failure_callback)
        optimizer.name = self.name
        return optimizer


class ProxyDB(ProxyDatabase):
    """Another database under a further name or with further tags.

    Parameters
    ----------
    db : DB
    """

    def __init__(self, db: RewriteDatabase[Any]) -> None:
        super().__init__(db)


__all__ = ["DB", "EquilibriumDB", "LocalGroupDB", "ProxyDB", "Query", "SequenceDB", "TopoDB"]

if TYPE_CHECKING:
    from theano_graph import config as config

    from ..misc._tools import OrderedSet as OrderedSet
    from . import opt as opt
    from ._historical_utils import integer_types as integer_types
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "collections": "DefaultOrderedDict=defaultdict",
            "..misc._tools": "OrderedSet",
            ".": "opt",
            "theano_graph": "config",
            "._historical_utils": "integer_types",
        },
    )
