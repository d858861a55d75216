"""Where nodes come from, through rewriting: copying it by hand, and finding the nodes that have lost it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from theano_graph import (
    Apply,
    Feature,
    FunctionGraph,
    Op,
    Origin,
    UserFrame,
    Variable,
    describe,
    format_error,
    warn_user,
)

from ._engines._graph_rewriter import GraphRewriter
from ._errors import RewriteError, RewriteWarning
from ._info import RewriteInfo
from ._records._profile import RewriteProfile

#: What happens to a node without an origin: it is given one that names the rewrite, silently or with a warning; or it
#: is an error.
OriginPolicy: TypeAlias = Literal["log", "warn", "raise"]

#: All nodes, those that make outputs, those with some ops or of some classes, or those for whose op a function is true.
OpsToCheck: TypeAlias = Literal["all", "last"] | Op | type[Op] | Iterable[Op | type[Op]] | Callable[[Op], bool]

_log = logging.getLogger(__name__)


def copy_origin(source: Variable | Sequence[Variable], target: Variable | Sequence[Variable]) -> None:
    """Let `target` say that it was made where `source` was made.

    Engines do this for all that rules make; graph rewriters that make nodes by themselves use it, or
    :func:`theano_graph.origin_from`.

    Parameters
    ----------
    source : Variable or sequence of Variable
        The first that has an origin counts.
    target : Variable or sequence of Variable

    Examples
    --------
    >>> from theano_graph import Generic
    >>> x, y = Generic()("x"), Generic()("y")
    >>> copy_origin(x, y)
    >>> y.origin is x.origin
    True
    """
    sources = [source] if isinstance(source, Variable) else list(source)
    targets = [target] if isinstance(target, Variable) else list(target)
    origin = next((v.origin for v in sources if v.origin is not None), None)
    if origin is None:
        return
    for variable in targets:
        variable.origin = origin
        if variable.owner is not None:
            variable.owner.origin = origin


def without_origin(fgraph: FunctionGraph, ops: OpsToCheck = "all") -> list[Apply]:
    """Return the nodes that do not know where they come from.

    Parameters
    ----------
    fgraph : FunctionGraph
    ops : "all", "last", ops and op classes, or callable
        Which nodes are looked at: all, those that make outputs of the graph, those with one of these ops, or those for
        whose op the function returns True.
    """
    return [node for node in chosen_nodes(fgraph, ops) if any(v.origin is None for v in node.outputs)]


def chosen_nodes(fgraph: FunctionGraph, ops: OpsToCheck) -> list[Apply]:
    """Return the nodes that :func:`without_origin` looks at."""
    if isinstance(ops, str):
        if ops == "last":
            return list(dict.fromkeys(v.owner for v in fgraph.outputs if v.owner is not None))
        if ops == "all":
            return fgraph.toposort()
        raise ValueError(format_error(f"{ops!r} names no nodes", hint="pass 'all', 'last', ops or classes of ops"))
    if callable(ops) and not isinstance(ops, (Op, type)):
        return [n for n in fgraph.toposort() if ops(n.op)]
    wanted = [ops] if isinstance(ops, (Op, type)) else list(ops)
    return [
        n for n in fgraph.toposort() if any(isinstance(n.op, w) if isinstance(w, type) else n.op == w for w in wanted)
    ]


class OriginGuard(Feature):
    """Looks at each node that comes into a graph for where it was made.

    Parameters
    ----------
    policy : {"log", "warn", "raise"}
        What happens to one that does not say: "log" and "warn" give it an origin that names the rewrite.
    """

    def __init__(self, policy: OriginPolicy = "raise") -> None:
        self.policy = policy

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Check the node."""
        if all(v.origin is not None for v in node.outputs):
            return
        text = format_error(
            f"rewrite `{reason}` made {node.op} without saying where it comes from",
            context=[describe(v) for v in node.outputs],
            hint="make it inside `origin_from(node)`, or use copy_origin(old, new)",
        )
        if self.policy == "raise":
            raise RewriteError(text, rewriter=str(reason), node=node)
        _log.info(text)
        if self.policy == "warn":
            warn_user(text, RewriteWarning)
        origin = Origin(frames=(UserFrame(f"<rewrite {reason}>", 0, str(reason)),))
        node.origin = origin
        for variable in node.outputs:
            if variable.origin is None:
                variable.origin = origin


class AddOriginGuard(GraphRewriter):
    """Attaches an :class:`OriginGuard` for the rewriting that follows."""

    def __init__(self, policy: OriginPolicy = "raise", name: str = "origin_guard", *, info: RewriteInfo | None = None):
        super().__init__(name, info=info)
        self.policy: OriginPolicy = policy

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        if not any(isinstance(feature, OriginGuard) for feature in fgraph.features):
            fgraph.attach_feature(OriginGuard(self.policy))

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        return RewriteProfile(self.name)
