"""Expressions that devices compute in the place of ops that they have no code for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import RuleTable

#: ``(op, inputs)`` gives the outputs of a node as expressions of the host, which are moved to the device, or None where
#: this node stays on the host. Inputs are variables of the host.
device_expression: RuleTable[Callable[[Any, Sequence[Any]], Any]] = RuleTable("device_expression")

__all__ = ["device_expression"]
