"""Devices and their libraries on this machine: whether cuDNN can be used, and a report with a cure for each gap."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache

from theano_graph import config, format_error, record

from .._errors import DeviceUnavailable, LibraryNotFound
from .._libraries import LIBRARIES, cuda_of_driver, find_library
from .._runtime import DeviceError, is_built
from ._context import GpuContext
from ._devices import device_names, get_context, list_contexts, open_driver

# ---- cuDNN: the library, whether its header fits, and the flag ``dnn.enabled``

_NUMBER = re.compile(r"#define\s+CUDNN_(MAJOR|MINOR|PATCHLEVEL)\s+(\d+)")
_OLDEST = 8000


def has_cudnn(context: GpuContext) -> bool:
    """Tell whether a context computes convolutions by cuDNN.

    Raises
    ------
    RuntimeError
        If a flag names a header of another version than the library has, unless ``dnn.enabled=no_check``.
    """
    if config.dnn.enabled == "False" or context.kind != "cuda":
        return False
    version, _ = context.driver.version("cudnn")
    if version and config.dnn.enabled != "no_check":
        _check_header(version)
    return version >= _OLDEST


def cudnn_problem(context: GpuContext) -> str | None:
    """Say why a context cannot use cuDNN; None if it can.

    Parameters
    ----------
    context : GpuContext

    Raises
    ------
    RuntimeError
        If a flag names a header of another version than the library has, unless ``dnn.enabled=no_check``.
    """
    if has_cudnn(context):
        return None
    if config.dnn.enabled == "False":
        return "the flag dnn.enabled is False"
    if context.kind != "cuda":
        return f"cuDNN is for CUDA, and {context.devname} is none of its devices"
    version, why = context.driver.version("cudnn")
    if version == 0:
        return why or _why_missing()
    return f"cuDNN {_shown(version)} is too old: 8.0 is the oldest that is used"


def cudnn_version(context: GpuContext) -> int:
    """Return the version of cuDNN, as 90100 for 9.1.0.

    Parameters
    ----------
    context : GpuContext

    Raises
    ------
    RuntimeError
        If it cannot be used, or if a header of another version was found.
    """
    problem = cudnn_problem(context)
    if problem is not None:
        raise RuntimeError(
            format_error(f"cuDNN cannot be used: {problem}", hint="pip install nvidia-cudnn-cu13 (or -cu12)")
        )
    version, _ = context.driver.version("cudnn")
    return version


def require_cudnn(context: GpuContext) -> None:
    """Raise where the flag ``dnn.enabled`` wants cuDNN on devices of CUDA and it cannot be used.

    Raises
    ------
    LibraryNotFound
        If it is not there, or cannot be used.
    """
    if context.kind != "cuda" or config.dnn.enabled not in ("True", "no_check"):
        return
    problem = cudnn_problem(context)
    if problem is None:
        return
    if context.driver.version("cudnn")[0] == 0:
        find_library("cudnn")  # the text tells all places
    raise LibraryNotFound(
        format_error(
            f"dnn.enabled={config.dnn.enabled}, and cuDNN cannot be used: {problem}",
            hint="theano-doctor lists libraries and devices; dnn.enabled=auto does without",
        )
    )


def _why_missing() -> str:
    try:
        library = find_library("cudnn")
    except LibraryNotFound as error:
        return str(error)
    return f"{library.path} was not there when the driver of CUDA was opened"


def _check_header(version: int) -> None:
    found = _header_version(tuple(_header_folders()))
    if found is None or found[0] == version:
        return
    raise RuntimeError(
        format_error(
            f"the header of cuDNN is of version {_shown(found[0])}, the library of {_shown(version)}",
            context=[found[1]],
            hint="set dnn.include_path to the folder of the right header, or dnn.enabled=no_check",
        )
    )


def _shown(version: int) -> str:
    major = 10000 if version >= 10000 else 1000  # versions before 9 have fewer digits
    return f"{version // major}.{version % major // 100}.{version % 100}"


def _header_folders() -> Iterator[str]:
    if config.dnn.include_path:
        yield from str(config.dnn.include_path).split(os.pathsep)
    if config.dnn.base_path:
        yield os.path.join(str(config.dnn.base_path), "include")


@cache
def _header_version(folders: tuple[str, ...]) -> tuple[int, str] | None:
    """Return the version in a header that flags name, and its path; None where there is none."""
    for folder in folders:
        for name in ("cudnn_version.h", "cudnn.h"):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    numbers = dict(_NUMBER.findall(file.read()))
                if len(numbers) == 3:
                    major, minor, patch = (int(numbers[key]) for key in ("MAJOR", "MINOR", "PATCHLEVEL"))
                    return major * (10000 if major >= 9 else 1000) + minor * 100 + patch, path
    return None


# ---- The report


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


__all__ = ["cudnn_problem", "cudnn_version", "has_cudnn", "require_cudnn", "DeviceFinding", "device_report"]
