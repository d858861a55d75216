"""Which functions can be cached on disk at all; what does the work is loaded when there is one."""

from __future__ import annotations

from collections.abc import Callable

from theano_graph import config

from ..._flags._modes import LARGE
from ...linkers import CLinker, Linker, OpWiseCLinker, PerformLinker, VM_Linker
from ...modes import Mode
from ...targets import PYTHON, C

_refusals: list[Callable[[], bool]] = []

#: Nodes from which functions are cached by default. A process that finds nothing takes 5 % longer at most, although its
#: first function finds out which files the library consists of and whether it runs their code, in some 20 ms.
LARGE_COUNT = 1000

_LINKERS = (Linker, VM_Linker, OpWiseCLinker, CLinker, PerformLinker)


def refuse_function_cache_when(depends: Callable[[], bool]) -> None:
    """Let no function be cached while something holds.

    Parameters
    ----------
    depends : callable
        Without arguments; tells whether functions of this process depend on what no key of the cache has, such as the
        devices that are open.
    """
    _refusals.append(depends)


def is_cacheable(mode: Mode, accept_inplace: bool, n_nodes: int) -> bool:
    """Tell whether a function of a mode is to be cached: not one that somebody looks at while it is built."""
    linker = mode.linker
    wanted = config.function_cache
    return bool(
        wanted
        and (n_nodes >= LARGE_COUNT or wanted != LARGE)
        and not accept_inplace
        and not any(depends() for depends in _refusals)
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
