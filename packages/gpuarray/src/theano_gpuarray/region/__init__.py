"""Recorders: records of device forms are carried out at once, or kept and replayed."""

from .._runtime import Replays as Replays
from ._events import ARENA as ARENA, Event as Event, Kept as Kept
from ._execution import (
    AtOnce as AtOnce,
    flags_token as flags_token,
    form_of as form_of,
    library_product as library_product,
    run_kernel as run_kernel,
    upload as upload,
    workspace_of as workspace_of,
)
from ._loops import (
    LoopInput as LoopInput,
    LoopOutput as LoopOutput,
    LoopPlan as LoopPlan,
    record_loop as record_loop,
    record_until as record_until,
)
from ._recording import StoredRecording as StoredRecording
from ._region import (
    KEYED as KEYED,
    MOVED as MOVED,
    RECORDINGS as RECORDINGS,
    Outline as Outline,
    Region as Region,
    Shelf as Shelf,
)
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
    record_inside as record_inside,
)
from .scheduling import ALIGNMENT as ALIGNMENT, Layout as Layout, lay_out as lay_out, ordered as ordered

__all__ = [
    "ALIGNMENT",
    "ARENA",
    "KEYED",
    "MOVED",
    "RECORDINGS",
    "AtOnce",
    "Download",
    "Entry",
    "Event",
    "Fusion",
    "Kept",
    "Layout",
    "LoopInput",
    "LoopOutput",
    "LoopPlan",
    "OnHost",
    "Outline",
    "Region",
    "Replays",
    "Shelf",
    "Step",
    "StepError",
    "StepRecorder",
    "StoredRecording",
    "Upload",
    "entry_on_device",
    "entry_on_host",
    "flags_token",
    "form_of",
    "lay_out",
    "library_product",
    "ordered",
    "record_inside",
    "record_loop",
    "record_until",
    "run_kernel",
    "upload",
    "workspace_of",
]
