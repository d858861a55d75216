"""Contexts: devices that have been opened, by name, and the effects of the flags that open them."""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable
from weakref import WeakKeyDictionary

from theano_graph import ConfigError, config, format_error, warn_user

from .._errors import ContextError, ContextNotDefined, DeviceUnavailable, LibraryNotFound
from .._flags import parse_contexts
from ._context import GpuContext, device_identity, find_kept, store_kept
from ._devices import (
    device_names,
    get_context,
    list_contexts,
    note_failure,
    open_context,
    open_driver,
    opened_libraries,
    parse_device,
    reg_context,
    registered,
)
from ._report import DeviceFinding, cudnn_problem, cudnn_version, device_report, has_cudnn, require_cudnn

# ---- The effects of the flags `device`, `contexts` and `init_gpu_device`


class _Default:
    """The use of the default device."""

    computation = False
    shared = False


_default = _Default()


def moves_computation() -> bool:
    """Tell whether functions run on the default device."""
    return _default.computation


def moves_shared() -> bool:
    """Tell whether shared variables are kept on the default device."""
    return _default.shared


def init_dev(dev: str, name: Hashable = None, preallocate: float | None = None) -> GpuContext:
    """Open a device, and register its context under a name.

    Parameters
    ----------
    dev : str
        As "cuda0" or "opencl0:0".
    name : hashable, optional
        None is the default one.
    preallocate : float, optional
        By default the value of the flag ``gpuarray.preallocate``.

    Raises
    ------
    DeviceUnavailable
        If it cannot be opened.
    ContextError
        If there is a context of the name.

    Examples
    --------
    >>> from theano_gpuarray.contexts import init_dev
    >>> init_dev("null0", "spare").devname
    'null0'
    """
    context = open_context(dev, preallocate)
    require_cudnn(context)
    reg_context(name, context)
    if config.print_active_device:
        print(f"Mapped name {name} to device {context.devname}: {context.description}", file=sys.stderr)
    return context


def use(
    device: str,
    force: bool = False,
    default_to_move_computation_to_gpu: bool = True,
    move_shared_to_gpu: bool = True,
    preallocate: float | None = None,
) -> None:
    """Let functions run on a device, as the flag `device` does.

    Parameters
    ----------
    device : str
        Empty or "cpu" for none. The device of the default context is not opened again.
    force : bool, optional
        Whether a device that cannot be used is an error; otherwise there is a warning.
    default_to_move_computation_to_gpu, move_shared_to_gpu : bool, optional
        Whether functions run there, and shared variables are kept there.
    preallocate : float, optional
        By default the value of the flag ``gpuarray.preallocate``.

    Raises
    ------
    DeviceUnavailable
        If it cannot be opened, and `force` is set.
    ContextError
        If the default context is on another device.
    """
    if device in ("", "cpu"):
        return
    try:
        if not _is_default(device):
            init_dev(device, preallocate=preallocate)
    except DeviceUnavailable as error:
        if force:
            raise
        note_failure(None, str(error))
        warn_user(_fallback(f"device={device}", "functions run on the CPU", error))
        return
    _default.computation |= default_to_move_computation_to_gpu
    _default.shared |= move_shared_to_gpu


def _is_default(device: str) -> bool:
    """Tell whether the default context is on a device, which a back-end alone stands for as well."""
    if not registered(None):
        return False
    context = get_context(None)
    return device in (context.devname, context.kind)


def activate() -> None:
    """Open the devices that the flags `device`, `contexts` and `init_gpu_device` name; called once, at import.

    Raises
    ------
    ConfigError
        If a device cannot be opened, and ``force_device`` is set or ``init_gpu_device`` names it, or if flags
        contradict each other.
    """
    device, prepared = _settled(str(config.device)), str(config.init_gpu_device)
    if prepared in ("", "cpu"):
        prepared = ""
    if prepared and device != "cpu":
        raise ConfigError(
            format_error(
                f"init_gpu_device={prepared} prepares a device on which nothing runs by default, but device={device}",
                hint="leave one of the two out",
            )
        )
    if device == "cpu" and config.force_device:
        if prepared:
            raise ConfigError(
                format_error(
                    f"init_gpu_device={prepared}, but device=cpu with force_device=True opens no device",
                    hint="leave one of the two out",
                )
            )
        return
    try:
        _open_all(device, prepared)
    except DeviceUnavailable as error:
        raise ConfigError(_forced(device, prepared, error)) from error


def _settled(device: str) -> str:
    """Return the meaning of ``device``: names of a back-end that was obsolete already mean the CPU.

    Raises
    ------
    ConfigError
        If such a device is forced.
    """
    if not device.startswith("gpu"):
        return device
    if config.force_device:
        raise ConfigError(
            format_error(
                f"device={device} named a back-end for GPUs that is obsolete, and force_device=True",
                hint=f"set device=cuda{device[3:]}",
            )
        )
    return "cpu"


def _open_all(device: str, prepared: str) -> None:
    force = bool(config.force_device)
    for name, mapped in parse_contexts(str(config.contexts)).items():
        _map_name(name, mapped, force)
    if prepared and not registered(None):
        use(prepared, force=True, default_to_move_computation_to_gpu=False, move_shared_to_gpu=False)
    elif device != "cpu" and not registered(None):
        use(device, force=force)


def _map_name(name: str, device: str, force: bool) -> None:
    if registered(name):
        return
    try:
        init_dev(device, name)
    except DeviceUnavailable as error:
        if force:
            raise
        note_failure(name, str(error))
        warn_user(_fallback(f"contexts={name}->{device}", f"there is no context {name!r}", error))


def _fallback(setting: str, outcome: str, error: Exception) -> str:
    """Return the message where a device cannot be used and the program goes on."""
    what, _, remainder = str(error).partition("\n")
    return "\n".join(filter(None, [f"{setting} cannot be used, and {outcome}: {what}", remainder]))


def _forced(device: str, prepared: str, error: Exception) -> str:
    setting = f"init_gpu_device={prepared}" if prepared else f"device={device}, force_device=True"
    return f"{setting}: {error}"


# ---- The identity of devices: the facts that decide how functions are rewritten and lowered, as a text

_known: WeakKeyDictionary[GpuContext, str] = WeakKeyDictionary()


def identity_of_contexts() -> str | None:
    """Return a text that is equal in processes whose functions are built alike, as far as devices matter.

    It gives the names of the contexts and the device of each, and the use of the default device.

    Returns
    -------
    str or None
        Empty where no device is open; None where a name is an object of the user's, which no text tells.

    Examples
    --------
    >>> from theano_gpuarray.contexts import identity_of_contexts
    >>> isinstance(identity_of_contexts(), str)
    True
    """
    names = list_contexts()
    if not names:
        return ""
    if not all(name is None or type(name) in (str, int) for name in names):
        return None
    devices = [f"{name!r}: {identity_of_device(get_context(name))}" for name in names]
    return "\n".join([f"computes {moves_computation()}, keeps {moves_shared()}", *devices])


def identity_of_device(context: GpuContext) -> str:
    """Return a text of the model of a device, of its driver and compiler, and of the libraries that it can use."""
    identity = _known.get(context)
    if identity is None:
        driver = context.native.driver
        text = device_identity(context.kind, driver.properties(context.native.index))
        libraries = [f"{key} {_mark(path)}" for key, path in sorted(opened_libraries(context.kind).items())]
        parts = (*text, repr(context.properties), str(context.total_memory), *libraries)
        identity = _known[context] = "; ".join(parts)
    return identity


def _mark(path: str) -> str:
    """Return a text that changes when a library is replaced."""
    try:
        info = os.stat(path)
    except OSError:
        return path
    return f"{os.path.realpath(path)} {info.st_size} {info.st_mtime_ns}"


__all__ = [
    "ContextError",
    "ContextNotDefined",
    "DeviceFinding",
    "DeviceUnavailable",
    "GpuContext",
    "LibraryNotFound",
    "activate",
    "cudnn_problem",
    "cudnn_version",
    "device_names",
    "device_report",
    "find_kept",
    "get_context",
    "has_cudnn",
    "identity_of_contexts",
    "identity_of_device",
    "init_dev",
    "list_contexts",
    "moves_computation",
    "moves_shared",
    "open_context",
    "open_driver",
    "parse_device",
    "reg_context",
    "store_kept",
    "use",
]
