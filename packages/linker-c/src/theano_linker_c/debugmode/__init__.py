"""DebugMode: functions that check rewrites and ops while they run."""

from ..modes import register_mode
from ._errors import (
    BadDestroyMap as BadDestroyMap,
    BadInferShape as BadInferShape,
    BadOptimization as BadOptimization,
    BadThunkOutput as BadThunkOutput,
    BadViewMap as BadViewMap,
    DebugModeError as DebugModeError,
    InvalidValueError as InvalidValueError,
    StochasticOrder as StochasticOrder,
    set_shapes_of as set_shapes_of,
)
from ._mode import DebugMode as DebugMode

_strict = DebugMode()
register_mode("DebugMode", _strict)
register_mode("DEBUG_MODE", _strict)

__all__ = [
    "BadDestroyMap",
    "BadInferShape",
    "BadOptimization",
    "BadThunkOutput",
    "BadViewMap",
    "DebugMode",
    "DebugModeError",
    "InvalidValueError",
    "StochasticOrder",
    "set_shapes_of",
]
