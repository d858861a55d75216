"""Rewrites with a name before their package is imported: those of `theano.sparse`."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply, FunctionGraph
from theano_linker_c.modes import optdb
from theano_optimize import NodeRewriter, RewriteInfo

#: Documented name, tags, other documented names.
_SPARSE = (("local_structured_dot", ("fast_run", "o3", "o4", "unsafe"), ("sparse_dot",)),)
_DATABASES: Any = optdb
_SPECIALIZE = _DATABASES["specialize"]


class Announced(NodeRewriter):
    """Stands for a rule in names, queries and summaries until its package is imported; it looks at no node."""

    def __init__(self, name: str) -> None:
        super().__init__(info=RewriteInfo(name))

    def tracks(self) -> tuple[()]:
        """Nothing: without the package there are no ops for the rule."""
        return ()

    def transform(self, fgraph: FunctionGraph, node: Apply) -> None:
        """Change nothing."""


def announce() -> None:
    """Register placeholders for the rules of packages that have not been imported."""
    names = optdb.names()
    for name, tags, aliases in _SPARSE:
        if name not in names:
            _SPECIALIZE.register(name, Announced(name), *tags, aliases=aliases)


def withdraw() -> None:
    """Remove the placeholders for rules of sparse matrices: the rules are there now."""
    for name, _, _ in _SPARSE:
        if name in _SPECIALIZE and isinstance(_SPECIALIZE[name], Announced):
            _SPECIALIZE.remove(name)
