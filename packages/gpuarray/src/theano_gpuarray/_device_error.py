"""The error of drivers, defined apart so that the runtime in C and its stand-in raise the same one."""

from __future__ import annotations

from theano_graph import TheanoError

__all__ = ["DeviceError"]


class DeviceError(TheanoError, RuntimeError):
    """Raised by drivers of devices: the text says which call failed and why."""
