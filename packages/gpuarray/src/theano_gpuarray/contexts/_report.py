"""Devices and their libraries on this machine, with a cure for each gap."""

from __future__ import annotations

from collections.abc import Iterator

from theano_graph import record

from .._errors import DeviceUnavailable, LibraryNotFound
from .._libraries import LIBRARIES, cuda_of_driver, find_library
from .._runtime import DeviceError, is_built
from ._drivers import open_driver
from ._names import get_context, list_contexts
from ._opening import device_names

__all__ = ["DeviceFinding", "device_report"]


@record
class DeviceFinding:
    """One thing that was looked at.

    Parameters
    ----------
    name, value : str
        The library or device, and its state.
    how : str
        Where it was found.
    advice : str
        A cure; empty where nothing is missing.
    """

    name: str
    value: str
    how: str = ""
    advice: str = ""


def device_report() -> list[DeviceFinding]:
    """Look at the runtime, contexts, drivers with their devices, and libraries.

    Examples
    --------
    >>> from theano_gpuarray.contexts import device_report
    >>> device_report()[0].name
    'runtime of devices'
    """
    if not is_built:
        advice = "install a C compiler (gcc or clang) and Python's headers, then theano-gpuarray again"
        return [DeviceFinding("runtime of devices", "not built: no device can be used", "", advice)]
    findings = [DeviceFinding("runtime of devices", "there", "built with theano-gpuarray")]
    for name in list_contexts():
        context = get_context(name)
        findings.append(DeviceFinding(f"context {name}", f"{context.devname}: {context.description}", "in use"))
    findings += _driver("opencl", "OpenCL")
    cuda = list(_driver("cuda", "CUDA"))
    findings += cuda
    if not cuda[0].advice:
        findings += _libraries()
    return findings


def _driver(name: str, title: str) -> Iterator[DeviceFinding]:
    """Tell of a driver's library and its devices."""
    try:
        library = find_library(name)
    except LibraryNotFound as error:
        yield DeviceFinding(f"{title} driver", "none", _first_line(error), LIBRARIES[name].hint)
        return
    version = "" if name != "cuda" else " for CUDA {}.{}".format(*cuda_of_driver(library.path))
    yield DeviceFinding(f"{title} driver", f"{library.path}{version}", library.how)
    try:
        driver = open_driver(name)
        names = device_names(driver)
    except (DeviceUnavailable, DeviceError) as error:
        what, *details = str(error).splitlines()
        yield DeviceFinding(f"{title} devices", f"none: {what}", "", " ".join(line.strip() for line in details))
        return
    if not names:
        yield DeviceFinding(f"{title} devices", "none", "", "install the driver of the device, or of a CPU (PoCL)")
    for index, device in enumerate(names):
        properties = driver.properties(index)
        bus_id = f" ({properties['place']})" if properties["place"] else ""
        yield DeviceFinding(
            device, f"{properties['name']}{bus_id}, {properties['memory'] / 2**30:.1f} GiB", str(properties["version"])
        )


def _libraries() -> Iterator[DeviceFinding]:
    """Tell of the libraries that CUDA devices are used with."""
    version, _ = cuda_of_driver(find_library("cuda").path)
    for key, library in LIBRARIES.items():
        if library.wheel:
            try:
                found = find_library(key, at_most=version)
                yield DeviceFinding(library.title, found.path, found.how)
            except LibraryNotFound as error:
                yield DeviceFinding(library.title, "none", _first_line(error), library.hint)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
