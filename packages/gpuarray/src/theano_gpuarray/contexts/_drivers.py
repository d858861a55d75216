"""Opens the drivers of devices, each once in a process."""

from __future__ import annotations

import contextlib
import os
import threading
from types import ModuleType
from typing import TYPE_CHECKING, Any

from theano_graph import compose

from .._errors import DeviceUnavailable, LibraryNotFound
from .._libraries import cuda_of_driver, find_library

try:
    from .. import _device

    _RUNTIME: ModuleType | None = _device
except ImportError:  # installed where there is no C compiler
    _RUNTIME = None

if TYPE_CHECKING:
    from .._device import Driver

__all__ = ["DRIVERS", "driver_libraries", "open_driver", "runtime"]

DRIVERS = ("cuda", "opencl", "null")


class _Opened:
    """The drivers that have been opened, and the process that has opened them."""

    def __init__(self) -> None:
        self.drivers: dict[str, Driver] = {}
        self.process = 0
        self.lock = threading.RLock()


_opened = _Opened()


def runtime() -> Any:
    """Return the runtime in C.

    Raises
    ------
    DeviceUnavailable
        If this package was installed without it.
    """
    if _RUNTIME is None:
        raise DeviceUnavailable(
            compose(
                "theano-gpuarray was installed without its runtime in C, so that no device can be opened",
                mend="install a wheel for this system, or a C compiler (gcc or clang) and theano-gpuarray again",
            )
        )
    return _RUNTIME


def driver_libraries(name: str) -> dict[str, str]:
    """Return the libraries that a driver needs, and those that it can use, by key.

    Raises
    ------
    LibraryNotFound
        If one that it needs is not there.
    """
    if name == "null":
        return {}
    if name == "opencl":
        return {"opencl": find_library("opencl").path}
    found = {"cuda": find_library("cuda").path}
    version, _ = cuda_of_driver(found["cuda"])
    found["nvrtc"] = find_library("nvrtc", at_most=version).path
    # Without it products are computed by kernels.
    with contextlib.suppress(LibraryNotFound):
        found["cublas"] = find_library("cublas", at_most=version).path
    return found


def open_driver(name: str) -> Driver:
    """Return a driver, which is opened when it is first asked for.

    Parameters
    ----------
    name : {"cuda", "opencl", "null"}

    Raises
    ------
    DeviceUnavailable
        If it cannot be opened, or if a driver was opened before this process was forked off.
    """
    with _opened.lock:
        if _opened.drivers and _opened.process != os.getpid():
            raise DeviceUnavailable(
                compose(
                    f"the driver {name} cannot be used: a driver was opened before this process was forked off, "
                    "and drivers do not work in both",
                    mend="start processes with multiprocessing.set_start_method('spawn'), or open devices in the "
                    "children only",
                )
            )
        if name not in _opened.drivers:
            made = runtime()
            try:
                driver = made.open_driver(name, driver_libraries(name))
            except made.DeviceError as error:
                raise DeviceUnavailable(_failure(name, error)) from error
            _opened.drivers[name] = driver
            _opened.process = os.getpid()
        return _opened.drivers[name]


def _failure(name: str, error: Exception) -> str:
    mend = {
        "cuda": "nvidia-smi tells whether the driver works and is new enough; theano-doctor lists what was found",
        "opencl": "clinfo lists the devices that work; theano-doctor lists what was found",
    }.get(name)
    return compose(f"the driver {name} cannot be opened", where=str(error).splitlines(), mend=mend)
