"""MonitorMode: functions that call others before and after each node."""

from theano_linker_c import Mode as Mode
from theano_linker_c.watch import MonitorMode as MonitorMode, detect_nan as detect_nan
