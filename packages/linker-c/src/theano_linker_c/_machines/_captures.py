"""When the machine in C captures the kernel calls of its instructions, to make them again in later calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ._extension import HAS_RUNTIME, runtime

__all__ = ["capture_after"]


@contextlib.contextmanager
def capture_after(calls: int | None) -> Iterator[None]:
    """Say after how many calls a function's kernel calls are captured, for the time of a ``with`` block.

    A function on the machine in C carries its instructions out one by one at first. Then it notes the calls of kernels
    that a run of instructions makes, and from there on it makes these calls again as long as its arguments have the
    same shapes, dtypes and strides (see "Capture and replay" in ``docs/architecture.md``). Results are the same.

    Parameters
    ----------
    calls : int or None
        Calls that come before the one that is captured; 0 captures the first one. None captures and replays nothing,
        so that each instruction is carried out by itself: for measurements, and where a fault is looked for.

    Raises
    ------
    ValueError
        If `calls` is negative.

    Notes
    -----
    The setting is that of the process. Without the machine in C it changes nothing.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano_linker_c import capture_after
    >>> x = T.dvector("x")
    >>> f = theano.function([x], T.exp(x).sum())
    >>> with capture_after(None):
    ...     float(f([0.0, 0.0]))
    2.0
    """
    if calls is not None and calls < 0:
        raise ValueError(f"a number of calls from 0 on, or None, was expected, not {calls!r}")
    if not HAS_RUNTIME:
        yield
        return
    old = runtime.get_capture_calls()
    runtime.set_capture_calls(-1 if calls is None else calls)
    try:
        yield
    finally:
        runtime.set_capture_calls(old)
