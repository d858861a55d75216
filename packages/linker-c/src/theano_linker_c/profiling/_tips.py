"""Advice that a profile can give."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from theano_graph import config

from ._outside import kind_of

if TYPE_CHECKING:
    from ._stats import ProfileStats

#: From which share of the time on something is worth a tip.
WORTH = 0.1


def tip_lines(stats: ProfileStats) -> Iterable[str]:
    """Return advice that could make the functions faster."""
    tips = [tip for tip in (_python(stats), _transfers(stats), _double(stats), _overhead(stats), _memory(stats)) if tip]
    yield "Tips"
    yield "----"
    if not tips:
        yield "  Nothing stands out."
    for tip in tips:
        yield f"  - {tip}"
    yield ""


def _python(stats: ProfileStats) -> str | None:
    slow = [group for group in stats.ops() if group.python and group.seconds > WORTH * stats.thunk_time]
    if not slow:
        return None
    names = ", ".join(str(group.key) for group in slow[:3])
    return f"These ops run Python code and take more than {WORTH:.0%} of the time each: {names}. Give them native code."


def _transfers(stats: ProfileStats) -> str | None:
    moving = sum(record.seconds for record in stats.records() if kind_of(record.node) == "transfer")
    if moving <= 0.5 * stats.thunk_time:
        return None
    return (
        "Most of the time goes into moving data between the host and a device. Keep data in shared variables, choose "
        "from them by `givens`, and return less."
    )


def _double(stats: ProfileStats) -> str | None:
    double = sum(
        record.seconds
        for record in stats.records()
        if any(getattr(v.type, "dtype", None) == "float64" for v in record.node.outputs)
    )
    if double <= 0.5 * stats.thunk_time:
        return None
    return "Most of the time goes into float64. Try the flag floatX=float32 and the constructors that follow it."


def _overhead(stats: ProfileStats) -> str | None:
    if stats.thunk_time > 0.5 * stats.fct_call_time:
        return None
    return (
        "More than half of the time is overhead of calls: the nodes have little to do. Do more in one call, or set "
        "`f.trust_input = True` and pass arrays of the right type."
    )


def _memory(stats: ProfileStats) -> str | None:
    if not config.allow_gc or len(stats.records()) < 50:
        return None
    return "Try the flag allow_gc=False: memory of intermediate results is then kept between calls."
