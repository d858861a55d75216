"""The type of contexts, by which ops pass them to their code as parameters."""

from __future__ import annotations

from typing import Any

from theano_graph import SingletonType, format_error

from ..contexts import GpuContext, get_context
from ._c_code import ContextCode

__all__ = ["GpuContextType", "gpu_context_type"]


class GpuContextType(ContextCode, SingletonType):
    """The type of contexts, for the `params_type` of ops; no variable of a graph has it.

    Examples
    --------
    >>> from theano_gpuarray.types import GpuContextType
    >>> GpuContextType() == GpuContextType()
    True
    """

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> GpuContext:
        """Return a context; TypeError for anything else."""
        if not isinstance(value, GpuContext):
            raise TypeError(
                format_error(
                    f"{value!r} ({type(value).__name__}) is no context of a device",
                    hint="pass get_context(name), or the attribute `context` of a GpuArrayType",
                )
            )
        return value

    def values_eq(self, a: GpuContext, b: GpuContext) -> bool:
        """Tell whether two contexts are the same one."""
        return a is b or a == b

    def get_params(self, op: Any) -> GpuContext:
        """Return the context that an op names by its attribute `context_name`."""
        return get_context(op.context_name)


#: The one instance that is needed.
gpu_context_type = GpuContextType()
