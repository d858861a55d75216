"""Recorders: what device forms record is carried out at once, or kept and replayed."""

from ._array import (
    DeviceArray as DeviceArray,
    DeviceValue as DeviceValue,
    download as download,
    is_device_value as is_device_value,
    upload as upload,
)
from ._at_once import AtOnce as AtOnce, form_of as form_of, run_kernel as run_kernel
from ._code import DeviceCode as DeviceCode, code_of as code_of
from ._region import RECORDINGS as RECORDINGS, Region as Region
from ._steps import Download as Download, Step as Step, StepError as StepError, Upload as Upload

__all__ = [
    "RECORDINGS",
    "AtOnce",
    "DeviceArray",
    "DeviceCode",
    "DeviceValue",
    "Download",
    "Region",
    "Step",
    "StepError",
    "Upload",
    "code_of",
    "download",
    "form_of",
    "is_device_value",
    "run_kernel",
    "upload",
]
