"""Modes that look at every node while a function runs: :class:`MonitorMode` and :class:`NanGuardMode`."""

from ..modes import register_mode
from ._monitor import MonitorMode as MonitorMode, detect_nan as detect_nan
from ._nan_guard import NanGuardMode as NanGuardMode

register_mode("NanGuardMode", NanGuardMode(optimizer="fast_run", linker="cvm"))

__all__ = ["MonitorMode", "NanGuardMode", "detect_nan"]
