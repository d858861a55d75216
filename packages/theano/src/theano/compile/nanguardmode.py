"""NanGuardMode: functions that stop at NaN, infinities and very big numbers."""

from theano_linker_c import NanGuardMode as NanGuardMode
