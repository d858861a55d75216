"""From names of devices to contexts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from theano_graph import config, format_error, record

from .._errors import DeviceUnavailable
from .._runtime import DeviceError
from ._context import GpuContext
from ._drivers import open_driver

if TYPE_CHECKING:
    from .._device import Context
    from .._runtime import Driver

__all__ = ["DeviceName", "device_names", "open_context", "parse_device"]

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
            context = GpuContext(_opened(driver, index, amount), names[index])
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


def _opened(driver: Driver, index: int, preallocate: float) -> Context:
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
