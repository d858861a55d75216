"""Sets that keep the order in which things were put in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet
from typing import TypeVar

T = TypeVar("T")


class OrderedSet(MutableSet[T]):
    """A set whose elements come in the order in which they were added.

    Parameters
    ----------
    iterable : iterable, optional

    Examples
    --------
    >>> from theano.misc import ordered_set
    >>> ordered_set.OrderedSet("ababc")
    OrderedSet(['a', 'b', 'c'])
    """

    def __init__(self, iterable: Iterable[T] = ()) -> None:
        self._elements = dict.fromkeys(iterable)

    def __contains__(self, value: object) -> bool:
        return value in self._elements

    def __iter__(self) -> Iterator[T]:
        return iter(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def add(self, value: T) -> None:
        """Add an element at the end, unless it is there."""
        self._elements.setdefault(value)

    def discard(self, value: T) -> None:
        """Take an element out, if it is there."""
        self._elements.pop(value, None)

    def update(self, iterable: Iterable[T]) -> None:
        """Add each element of `iterable`."""
        self._elements.update(dict.fromkeys(iterable))

    def __eq__(self, other: object) -> bool:
        """Tell whether `other` has the same elements; of two ordered sets, in the same order."""
        if isinstance(other, OrderedSet):
            return list(self) == list(other)
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # a set that changes has no hash

    def __repr__(self) -> str:
        return f"OrderedSet({list(self)!r})"
