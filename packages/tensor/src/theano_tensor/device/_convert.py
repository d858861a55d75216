"""From variables and values to variables on a device."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from theano_gpuarray.contexts import list_contexts
from theano_gpuarray.types import GpuArrayType, GpuFromHost, HostFromGpu
from theano_graph import Apply, Constant, Variable

from .._core._convert import as_tensor_variable, register_transfer


def as_gpuarray_variable(x: Any, context_name: Hashable) -> Any:
    """Return `x` as a variable in a context.

    Parameters
    ----------
    x : Variable, Apply, number, array_like or GpuArray
        Variables are transferred where they are elsewhere, values become constants.
    context_name : str or None
        The name of the context, such as :func:`infer_context_name` gives it.

    Returns
    -------
    Variable
        `x` itself where it is there already.

    Raises
    ------
    ContextNotDefined
        If there is no such context.
    TypeError
        If `x` is no array.
    """
    if isinstance(x, Apply):
        x = x.default_output()
    if isinstance(x, Variable) and x.owner is not None and isinstance(x.owner.op, HostFromGpu):
        x = x.owner.inputs[0]
    method = getattr(x, "_as_GpuArrayVariable", None)
    if method is not None:
        return method(context_name)
    variable = as_tensor_variable(x)
    kind = GpuArrayType(variable.type.dtype, variable.type.shape, context_name)
    if isinstance(variable, Constant):
        return kind.make_constant(variable.data)
    return GpuFromHost(context_name)(variable)


def transfer(x: Variable, target: Any) -> Variable | None:
    """Return `x` moved to a context; None if there is none of this name, so that others are asked."""
    try:
        is_context = target in list_contexts()
    except TypeError:  # no name of a context
        return None
    moved: Variable | None = as_gpuarray_variable(x, target) if is_context else None
    return moved


register_transfer(transfer)
