"""When the events of a recording run, and where their arrays lie: joined launches, lanes, and the layout of memory."""

from ._joining import JoinPlan as JoinPlan, needed_events as needed_events, plan_joins as plan_joins
from ._lanes import Schedule as Schedule, conflicting_events as conflicting_events, schedule as schedule
from ._layout import ALIGNMENT as ALIGNMENT, Layout as Layout, lay_out as lay_out
from ._ordering import ordered as ordered

__all__ = [
    "ALIGNMENT",
    "JoinPlan",
    "Layout",
    "Schedule",
    "conflicting_events",
    "lay_out",
    "needed_events",
    "ordered",
    "plan_joins",
    "schedule",
]
