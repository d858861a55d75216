"""Which nodes have a form in straight-line C: rules for kernels, and for ops that are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from theano_graph import Apply, RuleTable, TheanoError

from ._arrays import CArray

__all__ = ["KernelRule", "NoStraightForm", "OpRule", "straight_kernel", "straight_op", "straight_value"]


class NoStraightForm(TheanoError, TypeError):
    """A node cannot be written as straight-line C."""


#: Writes a kernel into a block, and returns its results.
KernelRule: TypeAlias = Callable[[Any, Any, Sequence[CArray]], Sequence[CArray]]
#: The same for a node whose op is no kernel.
OpRule: TypeAlias = Callable[[Apply, Any, Sequence[CArray]], Sequence[CArray]]

#: By the class of the kernel. A rule is called ``(kernel, block, inputs)``.
straight_kernel: RuleTable[KernelRule] = RuleTable("straight_kernel")
#: By the class of the op. A rule is called ``(node, block, inputs)``.
straight_op: RuleTable[OpRule] = RuleTable("straight_op")
#: By the class of a type whose values are no arrays: gives the array in which such a value is kept.
straight_value: RuleTable[Callable[[Any], Any]] = RuleTable("straight_value")
