"""Types of values on devices, transfers, and the base of ops that run there."""

from ._array_type import GpuArrayType as GpuArrayType, context_of as context_of
from ._context_name import infer_context_name as infer_context_name
from ._context_type import GpuContextType as GpuContextType, gpu_context_type as gpu_context_type
from ._device_op import (
    DEVICE as DEVICE,
    DeviceOp as DeviceOp,
    as_device_value as as_device_value,
    device_kernel as device_kernel,
    has_device_form as has_device_form,
    has_library as has_library,
    host_inputs_of as host_inputs_of,
    runner_of as runner_of,
)
from ._host import host_type as host_type, is_host_array as is_host_array, register_host_type as register_host_type
from ._transfers import (
    GpuFromHost as GpuFromHost,
    GpuToGpu as GpuToGpu,
    HostFromGpu as HostFromGpu,
    TransferOp as TransferOp,
    gpu_from_host as gpu_from_host,
    gpu_to_gpu as gpu_to_gpu,
    host_from_gpu as host_from_gpu,
)

__all__ = [
    "DEVICE",
    "DeviceOp",
    "GpuArrayType",
    "GpuContextType",
    "GpuFromHost",
    "GpuToGpu",
    "HostFromGpu",
    "TransferOp",
    "as_device_value",
    "context_of",
    "device_kernel",
    "gpu_context_type",
    "gpu_from_host",
    "gpu_to_gpu",
    "has_device_form",
    "has_library",
    "host_from_gpu",
    "host_inputs_of",
    "host_type",
    "infer_context_name",
    "is_host_array",
    "register_host_type",
    "runner_of",
]
