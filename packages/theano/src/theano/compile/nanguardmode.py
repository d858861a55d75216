"""NanGuardMode: functions that stop at NaN, infinities and very big numbers."""

from theano_graph import config as config
from theano_linker_c import Mode as Mode, NanGuardMode as NanGuardMode, get_mode as get_mode

from .._names import lazy_names
from ._historical import contains_inf as contains_inf, contains_nan as contains_nan, flatten as flatten

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
