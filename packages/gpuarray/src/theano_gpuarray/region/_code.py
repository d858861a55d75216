"""Compiled kernels of a context: each text is compiled once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

import numpy as np

from theano_graph import record

from .. import _device
from ..codegen import DeviceProperties, KernelText
from ..codegen.text import compile_options, prelude

__all__ = ["BinaryStore", "DeviceCode", "code_of", "set_binary_store"]


class BinaryStore(Protocol):
    """Where compiled text is kept from one process to the next."""

    def find(self, properties: DeviceProperties, text: str) -> bytes | None:
        """Return what has been compiled of a text for a device like this one, or None."""

    def store(self, properties: DeviceProperties, text: str, binary: bytes) -> None:
        """Keep it."""


@record
class _Stores:
    store: list[BinaryStore]


_stores = _Stores([])


def set_binary_store(store: BinaryStore | None) -> None:
    """Say where compiled text is kept from one process to the next; None: nowhere."""
    _stores.store[:] = [] if store is None else [store]


class DeviceCode:
    """The kernels of one context.

    Parameters
    ----------
    context : Context

    Attributes
    ----------
    properties : DeviceProperties
        What code generation has to know of the device.
    """

    def __init__(self, context: _device.Context) -> None:
        found = context.driver.properties(context.index)
        names = ("name", "max_local", "local_memory", "units", "warp", "doubles", "halves", "long_atomics", "cpu")
        self.context = context
        self.properties = DeviceProperties(driver=context.driver.name, **{name: found[name] for name in names})
        self._kernels: dict[KernelText, _device.Kernel] = {}
        self._products: dict[str, bool] = {}
        self._lock = threading.Lock()

    def kernel(self, text: KernelText) -> _device.Kernel:
        """Return a kernel, compiled if this is the first time that somebody asks for it."""
        found = self._kernels.get(text)
        if found is None:
            with self._lock:
                found = self._kernels.get(text) or self._loaded(text)
                self._kernels[text] = found
        return found

    def has_products(self, dtype: str) -> bool:
        """Tell whether a library multiplies matrices of a dtype; found out by a product of one element."""
        found = self._products.get(dtype)
        if found is None:
            itemsize = np.dtype(dtype).itemsize
            one = self.context.allocate(3 * itemsize)
            one.fill(0, 3 * itemsize, 0)
            a, b, z = ((one, k, 1, 1) for k in range(3))
            found = self.context.product(dtype, (False, False), (1, 1, 1, 1), 1.0, a, b, 0.0, z)
            self._products[dtype] = found
        return found

    def _loaded(self, text: KernelText) -> _device.Kernel:
        whole = f"{prelude(self.properties.driver)}\n{text.text}\n"
        binary = self._kept(whole)
        return self.context.load(binary).kernel(text.name, text.parameters)

    def _kept(self, text: str) -> bytes:
        for store in _stores.store:
            found = store.find(self.properties, text)
            if found is not None:
                return found
        binary = self.context.compile(text, compile_options(self.properties.driver))
        for store in _stores.store:
            store.store(self.properties, text, binary)
        return binary


#: The code of each context, by its identity; contexts stay open as long as the process.
_codes: dict[int, DeviceCode] = {}
_first: Callable[[int, DeviceCode], DeviceCode] = _codes.setdefault


def code_of(context: _device.Context) -> DeviceCode:
    """Return the compiled kernels of a context; the same object each time."""
    found = _codes.get(id(context))
    return _first(id(context), DeviceCode(context)) if found is None else found
