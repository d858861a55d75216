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
<<<<<<< HEAD
    "export_array",
=======
    "Replays",
>>>>>>> regions
    "is_built",
    "open_driver",
]

if TYPE_CHECKING:
<<<<<<< HEAD
    from ._device import Buffer, Context, Driver, Kernel, LaunchList, Module, export_array, open_driver
=======
    from ._device import Buffer, Context, Driver, Kernel, LaunchList, Module, Replays, open_driver
>>>>>>> regions

    is_built = True
else:
    try:
<<<<<<< HEAD
        from ._device import Buffer, Context, Driver, Kernel, LaunchList, Module, export_array, open_driver

        is_built = True
    except ImportError:
        from ._without import Buffer, Context, Driver, Kernel, LaunchList, Module, export_array, open_driver
=======
        from ._device import Buffer, Context, Driver, Kernel, LaunchList, Module, Replays, open_driver

        is_built = True
    except ImportError:
        from ._without import Buffer, Context, Driver, Kernel, LaunchList, Module, Replays, open_driver
>>>>>>> regions

        is_built = False
