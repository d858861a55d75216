"""Stand-ins for the runtime in C where it was not built: its names, and an error that gives the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from theano_graph import format_error

from ._device_error import DeviceError

__all__ = [
    "Buffer",
    "Context",
    "DeviceError",
    "Driver",
    "Kernel",
    "LaunchList",
    "Module",
    "Replays",
    "export_array",
    "open_driver",
]


def _missing() -> DeviceError:
    return DeviceError(
        format_error(
            "the runtime of devices, theano_gpuarray._device, was not built when theano-gpuarray was installed",
            hint="install a C compiler (gcc or clang) and Python's headers (python3-dev), then install theano-gpuarray "
            "again; or set device=cpu",
        )
    )


def open_driver(name: str, libraries: Mapping[str, str]) -> NoReturn:
    """Say that no driver can be opened."""
    raise _missing()


def export_array(*arguments: object) -> NoReturn:
    """Say that there is no array of a device."""
    raise _missing()


class _Missing:
    """A class of the runtime, of which there is no object."""

    def __new__(cls, *args: Any, **kwargs: Any) -> _Missing:
        raise _missing()


class Driver(_Missing):
    """A driver that has been opened."""


class Context(_Missing):
    """A device with its queue."""


class Buffer(_Missing):
    """A piece of device memory."""


class Module(_Missing):
    """Compiled code."""


class Kernel(_Missing):
    """A kernel function."""


class LaunchList(_Missing):
    """Launches that are replayed."""


class Replays(_Missing):
    """Calls that are made again."""
