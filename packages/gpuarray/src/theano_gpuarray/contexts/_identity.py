"""The facts about open devices that decide how functions are rewritten and lowered, as a text."""

from __future__ import annotations

import os
from weakref import WeakKeyDictionary

from ._activation import moves_computation, moves_shared
from ._context import GpuContext
from ._drivers import opened_libraries
from ._kernels import device_identity
from ._names import get_context, list_contexts

__all__ = ["identity_of_contexts", "identity_of_device"]

_known: WeakKeyDictionary[GpuContext, str] = WeakKeyDictionary()


def identity_of_contexts() -> str | None:
    """Return a text that is equal in processes whose functions are built alike, as far as devices matter.

    It gives the names of the contexts and the device of each, and the use of the default device.

    Returns
    -------
    str or None
        Empty where no device is open; None where a name is an object of the user's, which no text tells.

    Examples
    --------
    >>> from theano_gpuarray.contexts import identity_of_contexts
    >>> isinstance(identity_of_contexts(), str)
    True
    """
    names = list_contexts()
    if not names:
        return ""
    if not all(name is None or type(name) in (str, int) for name in names):
        return None
    devices = [f"{name!r}: {identity_of_device(get_context(name))}" for name in names]
    return "\n".join([f"computes {moves_computation()}, keeps {moves_shared()}", *devices])


def identity_of_device(context: GpuContext) -> str:
    """Return a text of the model of a device, of its driver and compiler, and of the libraries that it can use."""
    identity = _known.get(context)
    if identity is None:
        driver = context.native.driver
        text = device_identity(context.kind, driver.properties(context.native.index))
        libraries = [f"{key} {_mark(path)}" for key, path in sorted(opened_libraries(context.kind).items())]
        parts = (*text, repr(context.properties), str(context.total_memory), *libraries)
        identity = _known[context] = "; ".join(parts)
    return identity


def _mark(path: str) -> str:
    """Return a text that changes when a library is replaced."""
    try:
        info = os.stat(path)
    except OSError:
        return path
    return f"{os.path.realpath(path)} {info.st_size} {info.st_mtime_ns}"
