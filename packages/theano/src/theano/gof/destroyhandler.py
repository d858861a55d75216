"""Which nodes may overwrite their inputs."""

from theano_graph import InconsistencyError as InconsistencyError
from theano_optimize import (
    DestroyHandler as DestroyHandler,
    Supervisor as Supervisor,
    fast_inplace_check as fast_inplace_check,
)
