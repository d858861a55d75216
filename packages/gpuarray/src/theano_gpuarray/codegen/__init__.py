"""Code generation for devices: from descriptions of kernels to the text of kernels and their launches."""

# Device forms register themselves.
from . import (
    ctc as ctc,
    elementwise as elementwise,
    fourier as fourier,
    indexing as indexing,
    linear_algebra as linear_algebra,
    products as products,
    random as random,
    reduction as reduction,
    shapes as shapes,
    sorting as sorting,
    windows as windows,
)
from ._form import (
    Argument as Argument,
    ConvolutionPlan as ConvolutionPlan,
    ConvolutionRequest as ConvolutionRequest,
    DeviceForm as DeviceForm,
    DeviceOperand as DeviceOperand,
    DeviceProperties as DeviceProperties,
    HostValue as HostValue,
    KernelText as KernelText,
    LibraryCall as LibraryCall,
    NoDeviceForm as NoDeviceForm,
    Operand as Operand,
    Recorder as Recorder,
    contiguous_strides as contiguous_strides,
    device_form as device_form,
    register_device_form as register_device_form,
)
from .networks import (
    ChosenOnce as ChosenOnce,
    DnnConvolutionKernel as DnnConvolutionKernel,
    DnnKernel as DnnKernel,
    DnnPoolingKernel as DnnPoolingKernel,
    network_numbers as network_numbers,
)

__all__ = [
    "Argument",
    "ChosenOnce",
    "ConvolutionPlan",
    "ConvolutionRequest",
    "DeviceForm",
    "DeviceOperand",
    "DeviceProperties",
    "DnnConvolutionKernel",
    "DnnKernel",
    "DnnPoolingKernel",
    "HostValue",
    "KernelText",
    "LibraryCall",
    "NoDeviceForm",
    "Operand",
    "Recorder",
    "contiguous_strides",
    "device_form",
    "network_numbers",
    "register_device_form",
]
