"""Arrays on devices, of which there are none: the names by which programs ask whether something is one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from theano_graph import Constant, Type, Variable
from theano_linker_c import SharedVariable

_contexts: dict[Hashable, Any] = {}


class ContextNotDefined(ValueError):
    """There is no device of a name."""


def reg_context(name: Hashable, ctx: Any) -> None:
    """Give a device a name.

    Raises
    ------
    ValueError
        If another one has it.
    """
    if name in _contexts:
        raise ValueError(f"context name {name!r} is already defined")
    _contexts[name] = ctx


def get_context(name: Hashable) -> Any:
    """Return the device of a name.

    Raises
    ------
    ContextNotDefined
        If there is none.
    """
    if name not in _contexts:
        raise ContextNotDefined(f"context name {name} not defined: this version of Theano has no devices")
    return _contexts[name]


def list_contexts() -> Iterable[Hashable]:
    """Return the names of all devices."""
    return _contexts.keys()


def gpu_supported(data: Any) -> bool:
    """Tell whether arrays of the dtype of `data` can be on a device: all but complex ones.

    Examples
    --------
    >>> from theano.gpuarray import type
    >>> import numpy as np
    >>> type.gpu_supported(np.zeros(3)), type.gpu_supported(np.zeros(3, "complex64"))
    (True, False)
    """
    return str(data.dtype) not in ("complex64", "complex128")


def move_to_gpu(data: Any) -> bool:
    """Tell whether something with `dtype` and `ndim` is worth a device: all but complex and zero-dimensional arrays.

    Examples
    --------
    >>> from theano.gpuarray import type
    >>> import numpy as np
    >>> type.move_to_gpu(np.zeros(3)), type.move_to_gpu(np.float32(3))
    (True, False)
    """
    return bool(gpu_supported(data) and data.ndim > 0)


class GpuArrayVariable(Variable):
    """A variable whose values are on a device."""

    __slots__ = ()


class GpuArrayConstant(Constant):
    """A constant whose value is on a device."""

    __slots__ = ()


class GpuArraySharedVariable(SharedVariable):
    """A shared variable whose value is on a device."""


class GpuArrayType(Type):
    """The type of arrays on a device.

    Parameters
    ----------
    dtype : str
    broadcastable : sequence of bool
    context_name : str, optional
        The device.
    name : str, optional

    Raises
    ------
    ContextNotDefined
        If there is no such device.
    """

    Variable = GpuArrayVariable
    Constant = GpuArrayConstant
    SharedVariable = GpuArraySharedVariable

    def __init__(
        self, dtype: str, broadcastable: Sequence[bool], context_name: Hashable = None, name: str | None = None
    ) -> None:
        self.context = get_context(context_name)
        self.context_name = context_name
        self.dtype = str(np.dtype(dtype))
        self.broadcastable = tuple(map(bool, broadcastable))
        self.ndim = len(self.broadcastable)
        self.name = name


def gpuarray_shared_constructor(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    broadcastable: Sequence[bool] | None = None,
    target: Any = None,
) -> NoReturn:
    """Make a shared variable on a device, where :func:`theano.shared` asks for one.

    Raises
    ------
    TypeError
        Always, so that another constructor is asked: this version has no devices.
    """
    raise TypeError("no shared variable can be on a device: this version of Theano has no devices")
