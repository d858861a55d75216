"""Compiled kernels of a context: each text is looked up once."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ..codegen import DeviceProperties, KernelText
from ..codegen.text import compile_options, prelude
from ..contexts import GpuContext

if TYPE_CHECKING:
    from .. import _device

__all__ = ["DeviceCode", "code_of"]


class DeviceCode:
    """The kernels that device forms have asked for in one context.

    Parameters
    ----------
    context : GpuContext
        Compiles what is new, and keeps it for other processes.

    Attributes
    ----------
    properties : DeviceProperties
        What code generation has to know of the device.
    """

    def __init__(self, context: GpuContext) -> None:
        self.properties: DeviceProperties = context.properties
        self._prelude = prelude(context.kind)
        self._options = compile_options(context.kind)
        self._kernels: dict[KernelText, _device.Kernel] = {}
        self._products: dict[str, bool] = {}

    def kernel(self, context: GpuContext, text: KernelText) -> _device.Kernel:
        """Return a kernel, compiled if this is the first time that somebody asks for it."""
        found = self._kernels.get(text)
        if found is None:
            whole = f"{self._prelude}\n{text.text}\n"
            found = context.kernel(whole, text.name, text.parameters, self._options)
            self._kernels[text] = found
        return found

    def has_products(self, context: GpuContext, dtype: str) -> bool:
        """Tell whether a library multiplies matrices of a dtype; found out by a product of one element."""
        found = self._products.get(dtype)
        if found is None:
            itemsize = np.dtype(dtype).itemsize
            one = context.allocate(3 * itemsize)
            one.fill(0, 3 * itemsize, 0)
            a, b, z = ((one, k, 1, 1) for k in range(3))
            found = context.native.product(dtype, (False, False), (1, 1, 1, 1), 1.0, a, b, 0.0, z)
            self._products[dtype] = found
        return found


#: The code of each context. It does not hold the context, which would never be closed otherwise.
_codes: WeakKeyDictionary[GpuContext, DeviceCode] = WeakKeyDictionary()


def code_of(context: GpuContext) -> DeviceCode:
    """Return the compiled kernels of a context; the same object each time."""
    found = _codes.get(context)
    return _codes.setdefault(context, DeviceCode(context)) if found is None else found
