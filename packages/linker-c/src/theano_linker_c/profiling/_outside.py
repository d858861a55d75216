"""Figures of higher layers for profiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from theano_graph import Apply, RuleTable

outside: dict[str, Callable[[], float]] = {}
"""Further lines of a profile: beginning of a line -> function that gives the seconds. Higher layers add theirs, such as
the time in all calls of `grad`."""

Kind: TypeAlias = Literal["cpu", "gpu", "transfer"]

device_kind: RuleTable[Callable[[Apply], Kind]] = RuleTable("device_kind")
"""Op class -> where a node of it runs, or that it moves data; nodes without a rule run on the CPU."""


def kind_of(node: Apply) -> Kind:
    """Return where a node runs, or that it moves data."""
    rule = device_kind.get(node.op)
    return "cpu" if rule is None else rule(node)
