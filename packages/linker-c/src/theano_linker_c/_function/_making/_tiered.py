"""Which functions start before their kernels are compiled."""

from __future__ import annotations

from theano_graph import config

from ...compiler import CompilerOptions
from ...kernels import library
from ...linkers import Linker, OpWiseCLinker, VM_Linker
from ...modes import Mode
from ...runtime._tiers import within_tiers
from ...targets import C

#: The tag of modes whose functions do.
TIERED = "tiered"
_LINKERS = (Linker, VM_Linker, OpWiseCLinker)


def options_in_tiers(mode: Mode) -> CompilerOptions | None:
    """Return how the kernels of a function are compiled in the background; None where they are waited for.

    Linkers that call somebody at each node, or take native code only, wait.
    """
    linker = mode.linker
    if not _is_wanted(mode) or type(linker) not in _LINKERS or linker.native_only:
        return None
    if linker.target is not C or C.present is not C or getattr(linker, "callback", None) is not None:
        return None
    options = CompilerOptions.from_config()
    # Without a compiler there is nothing to wait for; people look at its messages, and at values in its code.
    waits = not options.command or library.lacks_compiler(options) or options.warnings or options.debug
    return None if waits else options


def _is_wanted(mode: Mode) -> bool:
    query = mode.query
    if query is not None and TIERED in query.exclude:
        return False
    return bool(config.tiered) or within_tiers() or (query is not None and TIERED in query.include)
