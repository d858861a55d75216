"""MonitorMode: functions that call others before and after each node."""

from theano_linker_c import Mode as Mode
from theano_linker_c.watch import MonitorMode as MonitorMode, detect_nan as detect_nan

from .._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
