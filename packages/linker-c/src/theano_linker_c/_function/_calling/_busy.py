"""Functions that are called often get code of their own: they tell of calls that their machine has timed."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

from theano_graph import config

from ..._lazy import loop_code

#: Calls before the first that is timed.
_CALLS = 64


def watch_calls(fn: Any, machine: Any) -> None:
    """Let the machine in C of a function tell of calls, as the flag says."""
    when = str(config.vm.function_code)
    watch = getattr(machine, "on_busy", None)
    if when != "none" and watch is not None:
        at_once = when == "all"
        watch(partial(_told, weakref.ref(fn), at_once), 1 if at_once else _CALLS)


def _told(reference: weakref.ref[Any], at_once: bool, seconds: float, operands: tuple[Any, ...]) -> int:
    """Make the codes of a function at the first call that is timed; they take note of all others."""
    fn = reference()
    if fn is None:
        return 0
    codes = loop_code().FunctionCodes(fn, at_once)
    fn.machine.on_busy(codes.told, 1)
    return int(codes.told(seconds, operands))
