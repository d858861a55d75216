"""What programs for Python 2 and 3 alike took from here, as Python 3 has it."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from io import BytesIO as BytesIO, StringIO as StringIO
from typing import Any, TypeVar

from . import moves as moves

K = TypeVar("K")
V = TypeVar("V")
ClassT = TypeVar("ClassT", bound=type)

PY2 = False
PY3 = True
string_types = (str,)
integer_types = (int,)
text_type = str
binary_type = bytes


def iteritems(d: Mapping[K, V]) -> Iterator[tuple[K, V]]:
    """Return an iterator over the items of a mapping."""
    items: ItemsView[K, V] = d.items()
    return iter(items)


def iterkeys(d: Mapping[K, V]) -> Iterator[K]:
    """Return an iterator over the keys of a mapping."""
    keys: KeysView[K] = d.keys()
    return iter(keys)


def itervalues(d: Mapping[K, V]) -> Iterator[V]:
    """Return an iterator over the values of a mapping."""
    values: ValuesView[V] = d.values()
    return iter(values)


def add_metaclass(metaclass: type) -> Callable[[ClassT], ClassT]:
    """Return a decorator that makes a class again, as one of `metaclass`."""

    def remade(cls: ClassT) -> ClassT:
        left_out = {"__dict__", "__weakref__"}
        body = {name: value for name, value in vars(cls).items() if name not in left_out}
        made: Any = metaclass(cls.__name__, cls.__bases__, body)
        return made  # type: ignore[no-any-return]  # the metaclass gives a class of the same kind

    return remade


def with_metaclass(meta: type, *bases: type) -> Any:
    """Return a base through which a class gets a metaclass."""
    return meta("temporary_class", bases, {})


__all__ = [
    "PY2",
    "PY3",
    "BytesIO",
    "StringIO",
    "add_metaclass",
    "binary_type",
    "integer_types",
    "iteritems",
    "iterkeys",
    "itervalues",
    "moves",
    "string_types",
    "text_type",
    "with_metaclass",
]
