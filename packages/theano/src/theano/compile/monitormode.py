"""MonitorMode: functions that call others before and after each node."""

from theano_linker_c.watch import MonitorMode as MonitorMode, detect_nan as detect_nan
