"""How nodes are pickled and copied deeply: what does it registers itself here, for it needs to walk over graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._nodes import Apply, Node, Variable


class _PicklingHook:
    """The functions that nodes call; set once, when the package is imported."""

    #: What a variable reduces to; None where it is pickled with its attributes.
    reduce_variable: Callable[[Variable], tuple[Any, ...] | None]
    #: What an apply node reduces to, given a function that reduces it with its attributes.
    reduce_apply: Callable[[Apply, Callable[[], tuple[Any, ...]]], tuple[Any, ...]]
    deep_copy: Callable[[Node, dict[int, Any]], Any]


pickling_hook = _PicklingHook()
