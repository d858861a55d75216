"""DebugMode: functions that check rewrites and ops while they run."""

from theano_linker_c.debugmode import (
    BadDestroyMap as BadDestroyMap,
    BadOptimization as BadOptimization,
    BadThunkOutput as BadThunkOutput,
    BadViewMap as BadViewMap,
    DebugMode as DebugMode,
    DebugModeError as DebugModeError,
    InvalidValueError as InvalidValueError,
    StochasticOrder as StochasticOrder,
)
