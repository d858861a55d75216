"""Contexts: devices that have been opened, by name."""

from .._errors import (
    ContextError as ContextError,
    ContextNotDefined as ContextNotDefined,
    DeviceUnavailable as DeviceUnavailable,
    LibraryNotFound as LibraryNotFound,
)
from ._activation import (
    activate as activate,
    init_dev as init_dev,
    moves_computation as moves_computation,
    moves_shared as moves_shared,
    use as use,
)
from ._context import GpuContext as GpuContext
from ._cudnn import cudnn_problem as cudnn_problem, cudnn_version as cudnn_version, has_cudnn as has_cudnn
from ._drivers import open_driver as open_driver
from ._identity import (
    identity_of_contexts as identity_of_contexts,
    identity_of_device as identity_of_device,
)
from ._kernels import find_kept as find_kept, store_kept as store_kept
from ._names import get_context as get_context, list_contexts as list_contexts, reg_context as reg_context
from ._opening import device_names as device_names, open_context as open_context, parse_device as parse_device
from ._report import DeviceFinding as DeviceFinding, device_report as device_report

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
