"""Nodes as kernels: rules by class of op, for all targets and for single ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeAlias

from theano_graph import Apply, RuleTable

from ._kernel import Kernel

__all__ = ["KernelTable", "native_kernel"]

Rule: TypeAlias = Callable[[Apply], Kernel | None]


class KernelTable(RuleTable[Rule]):
    """Rules that describe a node as a kernel, or give None where it is none.

    A rule of the table itself holds for each target that has code for the kernels; `for_target` is the
    table of a single one, whose rules come first.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._own: dict[Hashable, RuleTable[Rule]] = {}

    def for_target(self, target: Hashable) -> RuleTable[Rule]:
        """Return the rules of one target."""
        return self._own.setdefault(target, RuleTable(f"{self.name} of {target}"))

    def describe(self, node: Apply, target: Hashable) -> Kernel | None:
        """Return a node as a kernel, as one target sees it, or None."""
        own = self._own.get(target)
        rule = None if own is None else own.get(node.op)
        rule = self.get(node.op) if rule is None else rule
        return None if rule is None else rule(node)


#: Native form of a node, by the class of its op; a rule gives None where this node has none.
native_kernel = KernelTable("native_kernel")
