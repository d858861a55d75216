"""Small helpers on sequences, files and stacks that graph code needs again and again."""

from __future__ import annotations

import functools
import hashlib
import linecache
import os
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from traceback import FrameSummary
from types import FrameType
from typing import Any, TypeVar

from ._config import config
from ._expression._nodes import Node
from ._traversal._walk import general_toposort

T = TypeVar("T")
CallableT = TypeVar("CallableT", bound=Callable[..., Any])
HashableT = TypeVar("HashableT", bound=Hashable)

__all__ = [
    "add_tag_trace",
    "deprecated",
    "difference",
    "flatten",
    "hash_from_file",
    "memoize",
    "remove",
    "simple_extract_stack",
    "toposort",
    "uniq",
]


def flatten(value: Any) -> list[Any]:
    """Return the items of nested tuples, lists and sets in one list; anything else becomes a list of itself.

    Examples
    --------
    >>> flatten([1, (2, [3, []])])
    [1, 2, 3]
    """
    result: list[Any] = []
    work: list[Iterator[Any]] = [iter((value,))]
    while work:
        for item in work[-1]:
            if isinstance(item, (list, tuple, set, frozenset)):
                work.append(iter(item))
                break
            result.append(item)
        else:
            work.pop()
    return result


def uniq(items: Iterable[HashableT]) -> list[HashableT]:
    """Return the items without repetitions, in order of first appearance."""
    return list(dict.fromkeys(items))


def difference(first: Iterable[T], second: Iterable[T]) -> list[T]:
    """Return the items of `first`, in order, that are not in `second`; they need not be hashable."""
    excluded = list(second)
    try:
        seen = set(excluded)
        return [item for item in first if item not in seen]
    except TypeError:
        return [item for item in first if item not in excluded]


def remove(predicate: Callable[[T], object], items: Iterable[T]) -> list[T]:
    """Return the items for which `predicate` is false.

    Examples
    --------
    >>> remove(lambda n: n % 2 == 0, [1, 2, 3, 4])
    [1, 3]
    """
    return [item for item in items if not predicate(item)]


def memoize(function: Callable[..., T]) -> Callable[..., T]:
    """Keep the result of a function for each tuple of arguments, which must be hashable."""
    return functools.lru_cache(maxsize=None)(function)


def deprecated(filename: str, msg: str = "") -> Callable[[CallableT], CallableT]:
    """Make a decorator that prints a warning at the first call of a function.

    Parameters
    ----------
    filename : str
        Stands before the function's name in the text.
    msg : str
        The advice to the caller.
    """

    def decorate(function: CallableT) -> CallableT:
        pending = [f"WARNING {filename}.{function.__name__} deprecated. {msg}"]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if pending:
                sys.stdout.write(pending.pop() + "\n")
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]  # the same signature, which `wraps` cannot say

    return decorate


def hash_from_file(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 digest of the contents of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def toposort(prerequisites: Mapping[HashableT, Iterable[HashableT]]) -> list[HashableT]:
    """Return the keys of a mapping, each after its prerequisites.

    Parameters
    ----------
    prerequisites : mapping
        Key -> its prerequisites; names that are no keys are left out.

    Raises
    ------
    CycleError
        If there is no such order.

    Examples
    --------
    >>> toposort({"shoes": ["socks"], "socks": []})
    ['socks', 'shoes']
    """
    return general_toposort(prerequisites, lambda key: [k for k in prerequisites[key] if k in prerequisites])


def simple_extract_stack(
    f: FrameType | None = None, limit: int | None = None, skips: Sequence[str] = ()
) -> list[FrameSummary]:
    """Return the stack above a frame, outermost first; source lines are read when asked for.

    Parameters
    ----------
    f : frame, optional
        Where to begin; the caller by default.
    limit : int, optional
        Number of frames to return at most.
    skips : sequence of str
        Innermost frames whose file name contains one of these are left out and not counted, up to the first that does
        not.
    """
    frame = sys._getframe(1) if f is None else f
    result: list[FrameSummary] = []
    current: FrameType | None = frame
    while current is not None and (limit is None or len(result) < limit):
        name = current.f_code.co_filename
        if result or not any(part in name for part in skips):
            linecache.lazycache(name, current.f_globals)
            result.append(FrameSummary(name, current.f_lineno, current.f_code.co_name, lookup_line=False))
        current = current.f_back
    result.reverse()
    return result


NodeT = TypeVar("NodeT", bound=Node)


def add_tag_trace(thing: NodeT, user_line: int | None = None) -> NodeT:
    """Make ``thing.tag.trace`` the present stack, and return `thing`.

    Parameters
    ----------
    thing : Variable or Apply
    user_line : int, optional
        Number of frames to keep; the flag ``traceback.limit`` by default.
    """
    limit = config.traceback.limit if user_line is None else user_line
    library_folder = os.path.dirname(os.path.abspath(__file__)) + os.sep
    thing.tag.trace = [[tuple(entry) for entry in simple_extract_stack(sys._getframe(1), limit, [library_folder])]]
    return thing
