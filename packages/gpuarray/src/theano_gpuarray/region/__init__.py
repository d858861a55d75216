"""Recorders: what device forms record is carried out at once, or kept and replayed."""

from ._array import upload as upload
from ._at_once import AtOnce as AtOnce, form_of as form_of, run_kernel as run_kernel
from ._kept import ARENA as ARENA, Event as Event, Kept as Kept
from ._layout import ALIGNMENT as ALIGNMENT, Layout as Layout, lay_out as lay_out
from ._products import library_product as library_product
from ._region import RECORDINGS as RECORDINGS, Region as Region
from ._steps import (
    Download as Download,
    Entry as Entry,
    Fusion as Fusion,
    OnHost as OnHost,
    Step as Step,
    StepError as StepError,
    StepRecorder as StepRecorder,
    Upload as Upload,
    entry_on_device as entry_on_device,
    entry_on_host as entry_on_host,
)

__all__ = [
    "ALIGNMENT",
    "ARENA",
    "RECORDINGS",
    "AtOnce",
    "Download",
    "Entry",
    "Event",
    "Fusion",
    "Kept",
    "Layout",
    "OnHost",
    "Region",
    "Step",
    "StepError",
    "StepRecorder",
    "Upload",
    "entry_on_device",
    "entry_on_host",
    "form_of",
    "lay_out",
    "library_product",
    "run_kernel",
    "upload",
]
