"""Errors of contexts, devices and their libraries."""

from __future__ import annotations

from theano_graph import TheanoError


class ContextError(TheanoError, ValueError):
    """A context that cannot be registered, or arrays of two contexts where one is needed."""


class ContextNotDefined(TheanoError, ValueError):
    """A name of a context that nobody has registered."""


class DeviceUnavailable(TheanoError, RuntimeError):
    """A device that cannot be opened."""


class LibraryNotFound(DeviceUnavailable):
    """A library of a device that is not there, or cannot be loaded."""


class DeviceError(TheanoError, RuntimeError):
    """Raised by drivers of devices: the text says which call failed and why."""


__all__ = ["ContextError", "ContextNotDefined", "DeviceUnavailable", "LibraryNotFound", "DeviceError"]
