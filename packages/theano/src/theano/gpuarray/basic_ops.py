"""Moves between the memory of the machine and that of devices, of which there are none."""

from __future__ import annotations

from typing import Any

from theano_graph import Variable

from .type import ContextNotDefined, GpuArrayType, GpuArrayVariable, get_context, list_contexts


def as_gpuarray_variable(x: Any, context_name: Any) -> Variable:
    """Return `x` as a variable on a device.

    Raises
    ------
    ContextNotDefined
        If there is no such device.
    """
    get_context(context_name)
    if isinstance(getattr(x, "type", None), GpuArrayType):
        return x  # type: ignore[no-any-return]  # a variable, by its type
    raise ContextNotDefined(f"{x} cannot be moved: this version of Theano has no devices")


def infer_context_name(*vars: Any) -> Any:
    """Return the name of the device that variables are on, or of the default one.

    Raises
    ------
    ValueError
        If there is neither.
    """
    for variable in vars:
        if isinstance(variable, GpuArrayVariable) and isinstance(variable.type, GpuArrayType):
            return variable.type.context_name
    if None in list_contexts():
        return None
    raise ValueError("no device can be inferred from the variables: this version of Theano has no devices")
