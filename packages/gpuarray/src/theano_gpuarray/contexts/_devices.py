"""From names of devices to contexts: drivers, contexts that are opened, contexts by name."""

from __future__ import annotations

import contextlib
import copyreg
import os
import pickle
import re
import threading
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from theano_graph import config, format_error, record

from .. import _runtime
from .._errors import ContextError, ContextNotDefined, DeviceUnavailable, LibraryNotFound
from .._libraries import cuda_of_driver, find_library
from .._runtime import DeviceError, Driver
from ._context import GpuContext

if TYPE_CHECKING:
    from .._device import Context


# ---- Drivers, each opened once in a process

DRIVERS = ("cuda", "opencl", "null")


class _OpenDrivers:
    """The drivers that have been opened, and the process that has opened them."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.libraries: dict[str, dict[str, str]] = {}
        self.process = 0
        self.lock = threading.RLock()


_open_drivers = _OpenDrivers()


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
    return _open_drivers.libraries.get(name, {})


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
    with _open_drivers.lock:
        # The null driver has no threads of its own, and works in every process.
        if name != "null" and _open_drivers.process not in (0, os.getpid()):
            raise DeviceUnavailable(
                format_error(
                    f"the driver {name} cannot be used: a driver was opened before this process was forked off, "
                    "and drivers do not work in both",
                    hint="start processes with multiprocessing.set_start_method('spawn'), or open devices in the "
                    "children only",
                )
            )
        try:
            is_open = name in _open_drivers.names or not _runtime.is_built
            libraries = {} if is_open else driver_libraries(name)
            driver = _runtime.open_driver(name, libraries)
        except DeviceError as error:
            raise DeviceUnavailable(_failure(name, error)) from error
        _open_drivers.libraries.setdefault(name, libraries)
        if name != "null":
            _open_drivers.names.add(name)
            _open_drivers.process = os.getpid()
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


# ---- Devices

_NAME = re.compile(r"(?P<driver>cuda|null|opencl)((?P<index>(?<!opencl)\d+)|(?P<platform>\d+):(?P<number>\d+))?")
_MOST = 0.95
#: How many steps of a call run side by side on CUDA, where the flag `gpuarray.single_stream` is false.
_LANES = 2


@record
class DeviceName:
    """The parts of the name of a device.

    Parameters
    ----------
    driver : {"cuda", "opencl", "null"}
    platform : int or None
        Of OpenCL; None where any will do.
    number : int or None
        None where any will do.
    """

    driver: str
    platform: int | None
    number: int | None


def parse_device(name: str) -> DeviceName:
    """Return the parts of the name of a device.

    Raises
    ------
    DeviceUnavailable
        If it is no such name.

    Examples
    --------
    >>> from theano_gpuarray.contexts import parse_device
    >>> parse_device("opencl0:1")
    DeviceName(driver='opencl', platform=0, number=1)
    """
    match = _NAME.fullmatch(name)
    if match is None or (match["driver"] != "opencl" and match["platform"] is not None):
        raise DeviceUnavailable(
            format_error(
                f"{name!r} names no device", hint="call it 'cuda', 'cuda0', 'opencl0:0' (platform and device), ..."
            )
        )
    platform, number = match["platform"], match["number"] or match["index"]
    return DeviceName(
        match["driver"], None if platform is None else int(platform), None if number is None else int(number)
    )


def device_names(driver: Driver) -> list[str]:
    """Return the names of all devices of a driver, in its order."""
    if driver.name != "opencl":
        return [f"{driver.name}{index}" for index in range(driver.count())]
    every = [driver.properties(index) for index in range(driver.count())]
    return [f"opencl{context['platform']}:{context['number']}" for context in every]


def open_context(devname: str, preallocate: float | None = None) -> GpuContext:
    """Open a device.

    Parameters
    ----------
    devname : str
        As "cuda0", "opencl0:1"; "cuda" and "opencl" take the first one that can be opened, "null" a device that does
        nothing but count.
    preallocate : float, optional
        By default the value of the flag ``gpuarray.preallocate``.

    Returns
    -------
    GpuContext
        A new context, which has no name.

    Raises
    ------
    DeviceUnavailable
        If there is no such device, or it or its libraries cannot be used.

    Examples
    --------
    >>> from theano_gpuarray.contexts import open_context
    >>> open_context("null0").properties.driver
    'null'
    """
    device = parse_device(devname)
    driver = open_driver(device.driver)
    names = device_names(driver)
    chosen = _chosen(driver, device, names)
    if not chosen:
        there = [f"{name}: {driver.properties(index)['name']}" for index, name in enumerate(names)]
        raise DeviceUnavailable(
            format_error(
                f"there is no device {devname}",
                context=there or [f"the driver {device.driver} has no devices"],
                hint="name one of these" if there else "theano-doctor lists drivers and devices",
            )
        )
    amount = float(config.gpuarray.preallocate) if preallocate is None else preallocate
    problems = []
    for index in chosen:
        try:
            context = GpuContext(_open_device(driver, index, amount), names[index])
        except DeviceError as error:
            problems += [f"{names[index]}: {line}" for line in str(error).splitlines()]
            continue
        if context.kind == "cuda" and not config.gpuarray.single_stream:
            context.lanes = _LANES
        return context
    program = "nvidia-smi" if device.driver == "cuda" else "clinfo"
    hint = f"{program} tells whether the device works"
    raise DeviceUnavailable(format_error(f"{devname} cannot be opened", context=problems, hint=hint))


def _chosen(driver: Driver, wanted: DeviceName, names: Sequence[str]) -> list[int]:
    """Return the indices of the devices to try, in order; processors come after other devices."""
    if wanted.number is None:
        return sorted(range(len(names)), key=lambda index: bool(driver.properties(index)["cpu"]))
    name = f"{wanted.driver}{'' if wanted.platform is None else f'{wanted.platform}:'}{wanted.number}"
    return [index for index, other in enumerate(names) if other == name]


def _open_device(driver: Driver, index: int, preallocate: float) -> Context:
    memory = int(driver.properties(index)["memory"])
    return driver.open(
        index,
        single_stream=bool(config.gpuarray.single_stream),
        preallocate=preallocated_bytes(preallocate, memory),
        blocking=config.gpuarray.sched == "multi",
    )


def preallocated_bytes(amount: float, memory: int) -> int:
    """Return how many bytes the flag ``gpuarray.preallocate`` means.

    Parameters
    ----------
    amount : float
        Up to 1 a share, above 1 so many MB.
    memory : int
        Bytes of memory of the device.

    Returns
    -------
    int
        -1 where memory is not to be kept for later.
    """
    if amount < 0:
        return -1
    if amount <= 1:
        return int(min(amount, _MOST) * memory)
    return int(amount * 2**20)


# ---- Contexts by name

_registered: dict[Hashable, GpuContext] = {}
#: Names that flags map to devices which could not be opened, and why.
_failed: dict[Hashable, str] = {}
_lock = threading.RLock()


def reg_context(name: Hashable, ctx: GpuContext) -> None:
    """Register a context under a name.

    Parameters
    ----------
    name : hashable
        None for the default one.
    ctx : GpuContext

    Raises
    ------
    TypeError
        If `ctx` is no context, or `name` cannot be hashed.
    ContextError
        If there is a context of this name.

    Examples
    --------
    >>> from theano_gpuarray.contexts import get_context, open_context, reg_context
    >>> reg_context("example", open_context("null0"))
    >>> get_context("example").devname
    'null0'
    """
    if not isinstance(ctx, GpuContext):
        raise TypeError(
            format_error(
                f"a name is registered for a context, not for {ctx!r}",
                hint="open one: open_context('cuda0')",
            )
        )
    with _lock:
        if name in _registered:
            raise ContextError(
                format_error(
                    f"there is a context of the name {name!r} already",
                    context=[f"{name!r} is {_registered[name]!r}"],
                    hint="choose another name; get_context(name) returns the one that there is",
                )
            )
        _registered[name] = ctx
        _failed.pop(name, None)
        if ctx.name is None:
            ctx.name = name


def note_failure(name: Hashable, why: str) -> None:
    """Remember why a device that a flag gives a name to could not be opened."""
    with _lock:
        _failed[name] = why


def get_context(name: Hashable) -> GpuContext:
    """Return the context of a name.

    Parameters
    ----------
    name : hashable
        None for the default one.

    Raises
    ------
    ContextNotDefined
        If there is none.
    """
    try:
        return _registered[name]
    except (KeyError, TypeError):
        pass
    what = "no device is in use by default" if name is None else f"there is no context of the name {name!r}"
    hint = "set THEANO_FLAGS=device=cuda0" if name is None else f"set THEANO_FLAGS='contexts={name}->cuda0'"
    there = ", ".join(map(repr, _registered)) or "none"
    why = _failed.get(name, "") if isinstance(name, Hashable) else ""
    where = [*why.splitlines(), f"names that there are: {there}"]
    raise ContextNotDefined(format_error(what, context=where, hint=f"{hint} (or another device), or call init_dev"))


def _by_name(context: GpuContext) -> tuple[Any, tuple[Any]]:
    """Tell `pickle` the name of a context, by which it is found again, maybe in another process."""
    if _registered.get(context.name) is not context:
        raise pickle.PicklingError(
            format_error(
                f"{context!r} has no name by which another process finds it", hint="register it: reg_context(name, x)"
            )
        )
    return get_context, (context.name,)


copyreg.pickle(GpuContext, _by_name)


def registered(name: Any) -> bool:
    """Tell whether there is a context of a name."""
    return isinstance(name, Hashable) and name in _registered


def list_contexts() -> list[Any]:
    """Return the names of all contexts, in the order in which they were registered."""
    return list(_registered)


__all__ = [
    "DRIVERS",
    "driver_libraries",
    "open_driver",
    "opened_libraries",
    "DeviceName",
    "device_names",
    "open_context",
    "parse_device",
    "get_context",
    "list_contexts",
    "note_failure",
    "reg_context",
    "registered",
]
