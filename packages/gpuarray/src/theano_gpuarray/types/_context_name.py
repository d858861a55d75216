"""Which context an op runs in, told by its operands."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from theano_graph import Variable, describe, format_error

from ..contexts import list_contexts
from ._array_type import GpuArrayType, context_of
from ._transfers import HostFromGpu

__all__ = ["infer_context_name"]


def infer_context_name(*vars: Any) -> Hashable:
    """Return the name of the context for an op on some variables.

    Parameters
    ----------
    *vars : Variable
        Variables that shall be on the device. The first one that is there decides, or has just been transferred from
        there, or has the name in its attribute ``tag.context_name``; or, where it is computed of one variable, that one
        does.

    Raises
    ------
    ValueError
        If none tells, and there is no context of the name None.
    """
    for v in vars:
        while isinstance(v, Variable):
            if isinstance(v.type, GpuArrayType):
                return v.type.context_name
            if v.owner is not None and isinstance(v.owner.op, HostFromGpu):
                return context_of(v.owner.inputs[0])
            if v.has_tag() and hasattr(v.tag, "context_name"):
                name: Hashable = v.tag.context_name
                return name
            v = v.owner.inputs[0] if v.owner is not None and len(v.owner.inputs) == 1 else None
    if None in list_contexts():
        return None
    raise ValueError(
        format_error(
            "no context can be inferred from the variables",
            context=[describe(v) for v in vars if isinstance(v, Variable)],
            hint="set the flag `device` to a device, or transfer one of them: x.transfer(name)",
        )
    )
