"""Modes: how a function is rewritten and run."""

from theano_linker_c import (
    FAST_COMPILE as FAST_COMPILE,
    FAST_RUN as FAST_RUN,
    Mode as Mode,
    get_default_mode as get_default_mode,
    get_mode as get_mode,
    optdb as optdb,
    predefined_linkers as predefined_linkers,
    predefined_modes as predefined_modes,
    predefined_optimizers as predefined_optimizers,
    register_mode as register_mode,
)
