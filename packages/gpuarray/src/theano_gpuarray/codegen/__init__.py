"""Code generation for devices: from descriptions of kernels to the text of kernels and their launches."""

from ._form import (
    Argument as Argument,
    ConvolutionPlan as ConvolutionPlan,
    ConvolutionRequest as ConvolutionRequest,
    DeviceForm as DeviceForm,
    DeviceOperand as DeviceOperand,
    DeviceProperties as DeviceProperties,
    HostValue as HostValue,
    LibraryCall as LibraryCall,
    NoDeviceForm as NoDeviceForm,
    Operand as Operand,
    Recorder as Recorder,
    contiguous_strides as contiguous_strides,
    device_form as device_form,
    register_device_form as register_device_form,
)
from ._kernel_text import KernelText as KernelText

# Device forms register themselves.
from .ctc import _alignments as _alignments
from .elementwise import _elementwise as _elementwise
from .fourier import _real as _real
from .indexing import _read as _read, _write as _write
from .linear_algebra import _equations as _equations
from .networks import (
    ChosenOnce as ChosenOnce,
    DnnConvolutionKernel as DnnConvolutionKernel,
    DnnKernel as DnnKernel,
    DnnPoolingKernel as DnnPoolingKernel,
    network_numbers as network_numbers,
)
from .products import _matrix_product as _matrix_product
from .random import _mrg as _mrg
from .reduction import _argmax as _argmax, _reduction as _reduction
from .shapes import _joins as _joins, _routines as _routines, _views as _views
from .sorting import _forms as _forms
from .windows import _convolution as _convolution, _pooling as _pooling

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
