"""MonitorMode: functions of the user are called before and after each node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theano_graph import Apply, debugprint

from .._perform import as_host
from ..linkers import Linker, WrapLinker
from ..modes import Mode, as_linker
from ..program import Thunk

Watcher = Callable[[int, Apply, Thunk], Any]


class MonitorMode(Mode):
    """Calls functions of the user around every node of a compiled function.

    Parameters
    ----------
    pre_func, post_func : callable, optional
        Called ``(i, node, fn)`` before and after node number `i` runs. ``fn.inputs`` and ``fn.outputs`` are lists of
        one-element lists, so ``fn.inputs[0][0]`` is the value of the first input.
    optimizer : str, RewriteQuery or GraphRewriter
        As for :class:`Mode`.
    linker : str or Linker, optional
        Which code the nodes run; by default the flag `linker`.

    Examples
    --------
    >>> from theano_linker_c import MonitorMode, function, generic, view_op
    >>> def after(i, node, fn):
    ...     print(i, node.op, [cell[0] for cell in fn.outputs])
    >>> x = generic("x")
    >>> function([x], view_op(x), mode=MonitorMode(post_func=after))(3)
    0 ViewOp [3]
    1 DeepCopyOp [3]
    3
    """

    def __init__(
        self,
        pre_func: Watcher | None = None,
        post_func: Watcher | None = None,
        optimizer: Any = "default",
        linker: str | Linker | None = None,
    ) -> None:
        self.pre_func = pre_func
        self.post_func = post_func
        self._inner = as_linker(linker)
        super().__init__(WrapLinker(self._inner, self._around, "monitor"), optimizer)

    def _around(self, i: int, node: Apply, fn: Thunk) -> None:
        if self.pre_func is not None:
            self.pre_func(i, node, fn)
        fn()
        if self.post_func is not None:
            self.post_func(i, node, fn)

    def _like(self, linker: str | Linker, optimizer: Any) -> MonitorMode:
        inner = self._inner if linker is self.linker else linker
        return type(self)(self.pre_func, self.post_func, optimizer, inner)


def detect_nan(i: int, node: Apply, fn: Thunk) -> None:
    """Print the node and its values when one of its results contains a NaN; for ``MonitorMode(post_func=...)``."""
    for cell in fn.outputs:
        value = as_host(cell[0])
        if isinstance(value, (np.ndarray, np.number)) and _has_nan(value):
            print("*** NaN detected ***")
            debugprint(node)
            print(f"Inputs : {[cell[0] for cell in fn.inputs]}")
            print(f"Outputs: {[cell[0] for cell in fn.outputs]}")
            return


def _has_nan(value: Any) -> bool:
    return value.dtype.kind in "fc" and bool(np.isnan(value).any())
