"""Recorders: what device forms record is carried out at once, or kept and replayed."""

from ._array import upload as upload
from ._at_once import AtOnce as AtOnce, form_of as form_of, run_kernel as run_kernel
from ._kept import ARENA as ARENA, Event as Event, Kept as Kept
from ._layout import ALIGNMENT as ALIGNMENT, Layout as Layout, lay_out as lay_out
from ._region import RECORDINGS as RECORDINGS, Region as Region
from ._steps import Download as Download, Step as Step, StepError as StepError, Upload as Upload

__all__ = [
    "ALIGNMENT",
    "ARENA",
    "RECORDINGS",
    "AtOnce",
    "Download",
    "Event",
    "Kept",
    "Layout",
    "Region",
    "Step",
    "StepError",
    "Upload",
    "form_of",
    "lay_out",
    "run_kernel",
    "upload",
]
