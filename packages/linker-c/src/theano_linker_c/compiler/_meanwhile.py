"""Work done while the compiler is waited for, which takes no time then where there is a second core."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_Action = Callable[[], object]

#: Work that waits for a run of the compiler in this thread: of the function being made, and of those around it.
_waiting: ContextVar[deque[_Action] | None] = ContextVar("waiting", default=None)


@contextmanager
def while_compiling(*actions: _Action) -> Iterator[None]:
    """Do something at the first run of the compiler that is waited for in a block; nothing where there is none.

    Parameters
    ----------
    *actions : callable
        Are called without arguments, one after the other, each at most once. They must not raise, nor compile.
    """
    waiting = _waiting.get()
    token = None
    if waiting is None:
        waiting = deque()
        token = _waiting.set(waiting)
    waiting.extend(actions)
    try:
        yield
    finally:
        for action in actions:
            if action in waiting:
                waiting.remove(action)
        if token is not None:
            _waiting.reset(token)


def waits_for_nothing() -> bool:
    """Tell whether there is nothing that could be done beside a run of the compiler."""
    return not _waiting.get()


def do_all() -> None:
    """Do the waiting work."""
    waiting = _waiting.get()
    while waiting:
        waiting.popleft()()
