"""The list of all rewrite rules of the tensor language, and the decorator that puts a rule on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict, TypeVar, Unpack, overload

from theano_graph import Apply, FunctionGraph, Op, record
from theano_linker_c.scalar import ScalarOp
from theano_optimize import (
    Exactness,
    GroupDatabase,
    NodeRewriter,
    Phase,
    RewriteDatabase,
    constant_folding,
    final_constant_folding,
    node_rewriter,
)

from ..elemwise import Elemwise
from ._language import lift

#: Levels of rewriting that contain FAST_RUN's rules.
_RUN_TAGS = ("fast_run", "o3", "o4", "unsafe")

Tracked = ScalarOp | Op | type[Op]
OpT = TypeVar("OpT", bound=Op)


class RuleNames(TypedDict, total=False):
    """The reach and the name of a rule; see :func:`rule`."""

    reach: int
    key: str | None
    names: Iterable[str]


class RuleOptions(RuleNames, total=False):
    """Where a rule is registered as well."""

    phases: Sequence[Phase]
    exactness: Exactness
    tags: Iterable[str]
    reference: str | None


@record
class Entry:
    """A rule, its phases and tags, the key that it is registered by, and other documented names for it."""

    rewriter: NodeRewriter
    phases: tuple[Phase, ...]
    tags: tuple[str, ...]
    key: str
    names: tuple[str, ...] = ()


#: All rules, in order of definition.
RULES: list[Entry] = []


# A function of nodes of one class of ops is checked to take these; one of several classes, to take nodes.
@overload
def rule(
    track: type[OpT], /, **options: Unpack[RuleOptions]
) -> Callable[[Callable[[FunctionGraph, Apply[OpT]], object]], NodeRewriter]: ...
@overload
def rule(
    *tracks: ScalarOp | Elemwise, **options: Unpack[RuleOptions]
) -> Callable[[Callable[[FunctionGraph, Apply[Elemwise]], object]], NodeRewriter]: ...
@overload
def rule(
    *tracks: Tracked, **options: Unpack[RuleOptions]
) -> Callable[[Callable[[FunctionGraph, Apply], object]], NodeRewriter]: ...
def rule(
    *tracks: Tracked,
    phases: Sequence[Phase] = (Phase.CANONICALIZE,),
    exactness: Exactness = Exactness.EXACT,
    tags: Iterable[str] = ("fast_run", "fast_compile"),
    reference: str | None = None,
    reach: int = 1,
    key: str | None = None,
    names: Iterable[str] = (),
) -> Callable[..., NodeRewriter]:
    """Return a decorator that makes a rule of ``fn(fgraph, node)`` and lists it.

    Parameters
    ----------
    *tracks : ScalarOp, Op or class of ops
        A scalar op stands for its elementwise application.
    phases, tags
        Where and for which modes it is registered.
    exactness, reference, reach
        See :class:`theano_optimize.NodeRewriter`. `reach` is 0 if only the node's own op and inputs matter.
    key : str, optional
        Documented name by which modes include and exclude the rule; its own name is a tag then.
    names : iterable of str
        Further documented names; those of rewrites that several rules make up together are given to each.
    """
    ops = [lift(t) if isinstance(t, ScalarOp) else t for t in tracks]

    def decorate(function: Callable[..., object]) -> NodeRewriter:
        make = node_rewriter(ops, phase=phases[0], exactness=exactness, reference=reference, reach=reach)
        rewriter = make(function)  # type: ignore[arg-type]  # the engine checks the result of a rule
        rewriter.label = key
        RULES.append(
            Entry(
                rewriter, tuple(phases), (*tags, *([rewriter.name] if key else [])), key or rewriter.name, tuple(names)
            )
        )
        return rewriter

    return decorate


@overload
def stabilizing(
    *tracks: ScalarOp | Elemwise, **options: Unpack[RuleNames]
) -> Callable[[Callable[[FunctionGraph, Apply[Elemwise]], object]], NodeRewriter]: ...
@overload
def stabilizing(
    *tracks: Tracked, **options: Unpack[RuleNames]
) -> Callable[[Callable[[FunctionGraph, Apply], object]], NodeRewriter]: ...
def stabilizing(
    *tracks: Tracked, reach: int = 1, key: str | None = None, names: Iterable[str] = ()
) -> Callable[..., NodeRewriter]:
    """Return the decorator of a rule that gives right numbers where the form before it does not, for all modes."""
    return rule(
        *tracks,
        phases=(Phase.STABILIZE,),
        exactness=Exactness.STABILIZING,
        tags=("fast_run", "fast_compile", "stabilize"),
        reach=reach,
        key=key,
        names=names,
    )


def register_rules(database: RewriteDatabase[NodeRewriter] | object, first: int = 0) -> None:
    """Register all rules with the databases of their phases in `database`.

    Packages that are imported on demand list their rules here too, and register those from the number `first` on.

    Rules that make expressions stable also run where only canonicalisation does (FAST_COMPILE): there a wrong number
    would surprise as much. They go by their keys alone there: names that the manual lists for other levels only are not
    among the names of this one.
    """
    if not first:
        for phase, folding in ((Phase.STABILIZE, constant_folding), (Phase.SPECIALIZE, final_constant_folding)):
            _register(database, phase, folding.name, folding, (*_RUN_TAGS, "fast_compile"))
    for entry in RULES[first:]:
        for phase in entry.phases:
            tags = (*entry.tags, *_RUN_TAGS) if "fast_run" in entry.tags else entry.tags
            _register(database, phase, entry.key, entry.rewriter, tags, entry.names)
        phases = set(entry.phases)
        if Phase.CANONICALIZE not in phases and Phase.STABILIZE in phases and "fast_compile" in entry.tags:
            _register(database, Phase.CANONICALIZE, entry.key, entry.rewriter, ("fast_compile",))


def constants_first() -> GroupDatabase:
    """Return the steps that work out constants and give them their dtypes, under the names of these rules."""
    database = GroupDatabase("constants_first")
    database.register(constant_folding.name, constant_folding, *_RUN_TAGS, "fast_compile")
    for entry in RULES:
        if entry.key in ("local_upcast_elemwise_constant_inputs", "local_constants_unfolded"):
            database.register(entry.key, entry.rewriter, *entry.tags, *_RUN_TAGS, aliases=entry.names)
    return database


def _register(
    database: object,
    phase: Phase,
    key: str,
    rewriter: NodeRewriter,
    tags: tuple[str, ...],
    names: tuple[str, ...] = (),
) -> None:
    phases: Any = database
    phases[phase.tag].register(key, rewriter, *tags, aliases=names)
