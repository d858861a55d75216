"""Opens the drivers of devices, each once in a process."""

from __future__ import annotations

import contextlib
import os
import threading

from theano_graph import config, format_error

from .. import _runtime
from .._errors import DeviceUnavailable, LibraryNotFound
from .._libraries import cuda_of_driver, find_library
from .._runtime import DeviceError, Driver

__all__ = ["DRIVERS", "driver_libraries", "open_driver", "opened_libraries"]

DRIVERS = ("cuda", "opencl", "null")


class _Opened:
    """The drivers that have been opened, and the process that has opened them."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.libraries: dict[str, dict[str, str]] = {}
        self.process = 0
        self.lock = threading.RLock()


_opened = _Opened()


def driver_libraries(name: str) -> dict[str, str]:
    """Return the libraries that a driver needs, and its optional ones, by key.

    Raises
    ------
    LibraryNotFound
        If one that it needs is not there.
    """
    if name == "null":
        return {}
    if name == "opencl":
        return {"opencl": find_library("opencl").path}
    paths = {"cuda": find_library("cuda").path}
    version, _ = cuda_of_driver(paths["cuda"])
    paths["nvrtc"] = find_library("nvrtc", at_most=version).path
    # Kernels compute their results where they are not there.
    for key in ("cublas", "cublaslt", "cufft", "cusolver"):
        with contextlib.suppress(LibraryNotFound):
            paths[key] = find_library(key, at_most=version).path
    # So are convolutions.
    if config.dnn.enabled != "False":
        with contextlib.suppress(LibraryNotFound):
            paths["cudnn"] = find_library("cudnn").path
    return paths


def opened_libraries(name: str) -> dict[str, str]:
    """Return the paths of the libraries with which a driver has been opened, by key."""
    return _opened.libraries.get(name, {})


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
        # The null driver has no threads of its own, and works in every process.
        if name != "null" and _opened.process not in (0, os.getpid()):
            raise DeviceUnavailable(
                format_error(
                    f"the driver {name} cannot be used: a driver was opened before this process was forked off, "
                    "and drivers do not work in both",
                    hint="start processes with multiprocessing.set_start_method('spawn'), or open devices in the "
                    "children only",
                )
            )
        try:
            is_open = name in _opened.names or not _runtime.is_built
            libraries = {} if is_open else driver_libraries(name)
            driver = _runtime.open_driver(name, libraries)
        except DeviceError as error:
            raise DeviceUnavailable(_failure(name, error)) from error
        _opened.libraries.setdefault(name, libraries)
        if name != "null":
            _opened.names.add(name)
            _opened.process = os.getpid()
        return driver


def _failure(name: str, error: Exception) -> str:
    hint = {
        "cuda": "nvidia-smi tells whether the driver works and is new enough; theano-doctor lists drivers and devices",
        "opencl": "clinfo lists the devices that work; theano-doctor lists drivers and devices",
    }.get(name)
    has_hint = "Hint: " in str(error)
    return format_error(
        f"the driver {name} cannot be opened", context=str(error).splitlines(), hint=None if has_hint else hint
    )
