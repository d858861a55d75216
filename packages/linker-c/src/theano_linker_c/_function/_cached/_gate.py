"""Which functions can be cached on disk at all; the code that does it is loaded for the first one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano_graph import config, rule_tables
from theano_optimize import RewriteDatabase, RewriteQuery

from ..._flags import LARGE
from ...linkers import CLinker, Linker, OpWiseCLinker, PerformLinker, VM_Linker
from ...modes import Mode, optdb
from ...targets import PYTHON, C

_surroundings: list[Callable[[], str | None]] = []

#: Nodes from which functions are cached by default. A process that finds nothing takes 5 % longer at most, the time
#: of the compiler included: the parts of the name are computed while that runs, and the rest is done afterwards.
LARGE_COUNT = 200
#: Where something besides the library matters, as devices do: rewriting and lowering take a millisecond a node there,
#: so that one function pays for the analysis of a process's first one.
LARGE_COUNT_BESIDE = 50

_LINKERS = (Linker, VM_Linker, OpWiseCLinker, CLinker, PerformLinker)


def function_cache_depends_on(tell: Callable[[], str | None]) -> None:
    """Make something of this process a part of the name of each cached function.

    Parameters
    ----------
    tell : callable
        Without arguments; returns a text that differs where functions do, such as that of the devices that are open.
        It is empty where there is nothing, and None where no text tells it, so that no function is cached.
    """
    _surroundings.append(tell)


def surroundings() -> list[str] | None:
    """Return the dependencies of functions besides library, flags and compiler; None where there is no text."""
    texts = [text for tell in _surroundings if (text := tell()) != ""]
    return None if None in texts else [text for text in texts if text is not None]


def rules_of_users() -> bool:
    """Tell whether rewrites or rules take part that were registered from outside of the library."""
    return is_any_of_user(optdb) or any(True for table in rule_tables() for _ in table.of_users())


def is_any_of_user(database: RewriteDatabase[Any]) -> bool:
    """Tell whether a database has rewrites that were registered from outside of the library."""
    return any(
        entry.of_user or (isinstance(entry.item, RewriteDatabase) and is_any_of_user(entry.item))
        for entry in database.entries()
    )


def _has_rewriters(query: RewriteQuery) -> bool:
    """Tell whether a query, or one for a database inside of another, adds rewriters that no database has."""
    return bool(query.extra) or any(map(_has_rewriters, query.subquery.values()))


def is_cacheable(mode: Mode, n_nodes: int) -> bool:
    """Tell whether a function of a mode is to be cached: not one that somebody looks at while it is built."""
    linker = mode.linker
    flag = config.function_cache
    if not flag or (flag == LARGE and n_nodes < LARGE_COUNT_BESIDE):
        return False
    beside = surroundings()
    return bool(
        beside is not None
        and (n_nodes >= LARGE_COUNT or flag != LARGE or beside)
        and type(mode) is Mode
        and mode.query is not None
        and not _has_rewriters(mode.query)
        and type(linker) in _LINKERS
        and not getattr(linker, "__dict__", None)
        and (linker.target is C or linker.target is PYTHON)
        and linker.preferred is None
        and getattr(linker, "callback", None) is None
        and not (config.optimizer_verbose or config.profile_optimizer)
        and config.check_stack_trace == "off"
        and config.compute_test_value_opt == "off"
    )
