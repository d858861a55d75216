"""The runtime of devices: that in C where it was built; else stand-ins, which say so when a device is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from theano_graph import format_error

from ._errors import DeviceError

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
    "is_built",
    "open_driver",
]


def _missing(*arguments: object) -> NoReturn:
    """Say that the runtime was not built."""
    raise DeviceError(
        format_error(
            "the runtime of devices, theano_gpuarray._device, was not built when theano-gpuarray was installed",
            hint="install a C compiler (gcc or clang) and Python's headers (python3-dev), then install theano-gpuarray "
            "again; or set device=cpu",
        )
    )


def stand_in(name: str) -> Any:
    """Return a class without objects, or a function, that stands for one of the runtime."""
    return type(name, (), {"__new__": _missing}) if name[0].isupper() else _missing


if TYPE_CHECKING:
    from ._device import Buffer, Context, Driver, Kernel, LaunchList, Module, Replays, export_array, open_driver

    is_built = True
else:
    try:
        from ._device import Buffer, Context, Driver, Kernel, LaunchList, Module, Replays, export_array, open_driver

        is_built = True
    except ImportError:
        Buffer, Context, Driver, Kernel = map(stand_in, ("Buffer", "Context", "Driver", "Kernel"))
        LaunchList, Module, Replays = map(stand_in, ("LaunchList", "Module", "Replays"))
        export_array, open_driver = map(stand_in, ("export_array", "open_driver"))
        is_built = False
