"""The runtime of devices: that in C where it was built; else its names, which say so when a device is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    "is_built",
    "open_driver",
]

if TYPE_CHECKING:
    from ._device import Buffer, Context, Driver, Kernel, LaunchList, Module, Replays, export_array, open_driver

    is_built = True
else:
    try:
        from ._device import Buffer, Context, Driver, Kernel, LaunchList, Module, Replays, export_array, open_driver

        is_built = True
    except ImportError:
        from ._without import Buffer, Context, Driver, Kernel, LaunchList, Module, Replays, export_array, open_driver

        is_built = False
