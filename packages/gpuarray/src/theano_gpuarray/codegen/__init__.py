"""Code generation for devices: from descriptions of kernels to the text of kernels and their launches."""

from ._form import (
    Argument as Argument,
    DeviceForm as DeviceForm,
    DeviceOperand as DeviceOperand,
    DeviceProperties as DeviceProperties,
    HostValue as HostValue,
    KernelText as KernelText,
    NoDeviceForm as NoDeviceForm,
    Operand as Operand,
    Recorder as Recorder,
    contiguous_strides as contiguous_strides,
    device_form as device_form,
    register_device_form as register_device_form,
)

__all__ = [
    "Argument",
    "DeviceForm",
    "DeviceOperand",
    "DeviceProperties",
    "HostValue",
    "KernelText",
    "NoDeviceForm",
    "Operand",
    "Recorder",
    "contiguous_strides",
    "device_form",
    "register_device_form",
]
from . import elementwise as _elementwise
from .indexing import _region as _indexing
from .shapes import _views as _views
