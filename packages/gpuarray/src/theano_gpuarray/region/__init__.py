"""Recorders: what device forms record is carried out at once, or kept and replayed."""

from ._array import upload as upload
from ._at_once import AtOnce as AtOnce, form_of as form_of, run_kernel as run_kernel
from ._region import RECORDINGS as RECORDINGS, Region as Region
from ._steps import Download as Download, Step as Step, StepError as StepError, Upload as Upload

__all__ = [
    "RECORDINGS",
    "AtOnce",
    "Download",
    "Region",
    "Step",
    "StepError",
    "Upload",
    "form_of",
    "run_kernel",
    "upload",
]
