"""Which functions can be cached on disk at all; what does the work is loaded when there is one."""

from __future__ import annotations

from theano_graph import config

from ..._flags import _modes as _modes
from ...linkers import CLinker, Linker, OpWiseCLinker, PerformLinker, VM_Linker
from ...modes import Mode
from ...targets import PYTHON, C

_LINKERS = (Linker, VM_Linker, OpWiseCLinker, CLinker, PerformLinker)


def is_cacheable(mode: Mode, accept_inplace: bool) -> bool:
    """Tell whether functions of a mode can be cached: not those that somebody looks at while they are built."""
    linker = mode.linker
    return bool(
        config.function_cache
        and not accept_inplace
        and type(mode) is Mode
        and mode.query is not None
        and not mode.query.extra
        and type(linker) in _LINKERS
        and not getattr(linker, "__dict__", None)
        and (linker.target is C or linker.target is PYTHON)
        and linker.preferred is None
        and getattr(linker, "callback", None) is None
        and not (config.optimizer_verbose or config.profile_optimizer)
        and config.check_stack_trace == "off"
        and config.compute_test_value == config.compute_test_value_opt == "off"
    )
