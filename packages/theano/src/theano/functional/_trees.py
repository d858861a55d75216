"""Containers of values: taken apart into leaves and a structure, and put together again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import singledispatch
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from theano_graph import TheanoError, format_error

#: The mark of a leaf in a structure; a container is the pair of its `rebuild` and its children's structures.
LEAF = "leaf"
Structure: TypeAlias = Hashable
Rebuild: TypeAlias = Callable[[Sequence[Any]], Any]


class StructureError(TheanoError, ValueError):
    """Two values that have to be of the same structure are not."""


class Parts(NamedTuple):
    """The children of a container, and how another one like it is made.

    Attributes
    ----------
    children : sequence
        Leaves, or containers.
    rebuild : callable
        Makes a container of the same kind from a sequence of as many children. Containers whose `rebuild` is equal
        have one structure, so that it is a function of a module or an instance of a frozen dataclass, and no lambda.
    """

    children: Sequence[Any]
    rebuild: Rebuild


@singledispatch
def parts(value: object) -> Parts | None:
    """Return the parts of a container, or None for a leaf.

    Tuples, lists, dictionaries, named tuples, dataclasses and None are containers. Others are registered:

    Examples
    --------
    >>> from theano.functional import Parts, parts, flatten
    >>> class Pair:
    ...     def __init__(self, children):
    ...         self.first, self.second = children
    >>> @parts.register
    ... def _(pair: Pair) -> Parts:
    ...     return Parts((pair.first, pair.second), Pair)
    >>> flatten(Pair([1.0, 2.0]))[0]
    [1.0, 2.0]
    """
    if is_dataclass(value) and not isinstance(value, type):
        return _parts_of_dataclass(value)
    return None


@dataclass(frozen=True, slots=True)
class _Nothing:
    """Rebuilds None."""

    def __call__(self, children: Sequence[Any]) -> None:
        return None


@dataclass(frozen=True, slots=True)
class _Keyed:
    """Rebuilds a dictionary with the same keys in the same order."""

    kind: Callable[..., dict[Any, Any]]
    keys: tuple[Any, ...]
    #: Of a `defaultdict`: its factory.
    default: tuple[Any, ...] = ()

    def __call__(self, children: Sequence[Any]) -> dict[Any, Any]:
        return self.kind(*self.default, zip(self.keys, children, strict=True))


@dataclass(frozen=True, slots=True)
class _Fields:
    """Rebuilds a dataclass. Its `__init__` does not run: it may check values, and symbolic variables have none yet."""

    kind: type
    names: tuple[str, ...]
    #: Fields with ``metadata={"static": True}``, with the key that compares them: they are a part of the structure.
    static: tuple[tuple[str, Any], ...] = field(compare=False)
    exact: Hashable

    def __call__(self, children: Sequence[Any]) -> Any:
        instance: Any = object.__new__(self.kind)
        for name, child in (*zip(self.names, children, strict=True), *self.static):
            object.__setattr__(instance, name, child)
        return instance


def exact(value: Any) -> Hashable:
    """Return a key for values that are equal to Python but make other programs: 1, 1.0 and True; 0.0 and -0.0.

    Raises
    ------
    TypeError
        If the value has no hash.
    """
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return kind, kind(map(exact, value))
    if kind is float:
        return kind, value.hex()
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    hash(value)
    return (kind, value.tobytes()) if isinstance(value, np.generic) else (kind, value)


def fields_of(value: Any) -> tuple[list[str], list[tuple[str, Any]]]:
    """Return the names of a dataclass's fields that are values of programs, and the static ones with their values."""
    items = fields(value)
    names = [item.name for item in items if not item.metadata.get("static")]
    return names, [(item.name, getattr(value, item.name)) for item in items if item.metadata.get("static")]


def _parts_of_dataclass(value: Any) -> Parts:
    names, static = fields_of(value)
    try:
        key = exact(tuple(static))
    except TypeError as error:
        raise StructureError(
            format_error(
                f"a static field of {type(value).__name__} has no hash: {error}",
                hint="use a tuple in place of a list, and give classes of your own __hash__ and __eq__",
            )
        ) from None
    return Parts([getattr(value, name) for name in names], _Fields(type(value), tuple(names), tuple(static), key))


@parts.register
def _(value: tuple) -> Parts:  # type: ignore[type-arg]  # single dispatch is by plain classes
    return Parts(value, getattr(type(value), "_make", type(value)))


@parts.register
def _(value: list) -> Parts:  # type: ignore[type-arg]  # as above
    return Parts(value, type(value))


@parts.register
def _(value: dict) -> Parts:  # type: ignore[type-arg]  # as above
    default = (value.default_factory,) if hasattr(value, "default_factory") else ()
    return Parts(list(value.values()), _Keyed(type(value), tuple(value), default))


@parts.register
def _(value: None) -> Parts:
    return Parts((), _Nothing())


def flatten(value: Any) -> tuple[list[Any], Structure]:
    """Take a container apart.

    Parameters
    ----------
    value : object
        A container of containers of leaves, or one leaf.

    Returns
    -------
    leaves : list
        Everything in it that is no container, in order.
    structure : hashable
        The structure: equal for containers of the same kinds, lengths, keys and fields.

    Examples
    --------
    >>> from theano.functional import flatten, unflatten
    >>> leaves, structure = flatten({"w": 1.0, "layers": [2.0, (3.0, None)]})
    >>> leaves
    [1.0, 2.0, 3.0]
    >>> unflatten(structure, [4.0, 5.0, 6.0])
    {'w': 4.0, 'layers': [5.0, (6.0, None)]}
    """
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves)


def _flatten(value: Any, leaves: list[Any]) -> Structure:
    children = parts(value)
    if children is None:
        leaves.append(value)
        return LEAF
    return children.rebuild, tuple([_flatten(child, leaves) for child in children.children])


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """Make a container of a structure and leaves, as :func:`flatten` has returned them.

    Raises
    ------
    StructureError
        If the number of leaves is another one.
    """
    n = n_leaves(structure)
    if n != len(leaves):
        raise StructureError(f"the structure has {n} leaves, not {len(leaves)}")
    return builder(structure)(iter(leaves))


def n_leaves(structure: Any) -> int:
    """Return how many leaves a container of a structure has."""
    return 1 if structure is LEAF else sum(map(n_leaves, structure[1]))


def builder(structure: Any) -> Callable[[Iterator[Any]], Any]:
    """Return a function that builds a container of a structure from its leaves, for many of them."""
    if structure is LEAF:
        return next
    rebuild, children = structure
    n = len(children)
    if all(child is LEAF for child in children):
        return lambda rest: rebuild(list(islice(rest, n)))
    makers = [builder(child) for child in children]
    return lambda rest: rebuild([make(rest) for make in makers])


def leaves_like(structure: Structure, value: Any, who: str, like: str) -> list[Any]:
    """Return the leaves of a value that has to have a given structure.

    Raises
    ------
    StructureError
        If it has another one.
    """
    leaves, own = flatten(value)
    if own != structure:
        raise StructureError(
            format_error(f"{who}: the structure differs from that of {like}", hint=f"pass a container like {like}")
        )
    return leaves


def paths(value: Any, name: str) -> list[str]:
    """Return for each leaf how a program gets at it: ``params['W']``, ``layers[0].bias``."""
    children = parts(value)
    if children is None:
        return [name]
    return [
        path
        for step, child in zip(_steps(value, children), children.children, strict=True)
        for path in paths(child, name + step)
    ]


def _steps(value: Any, found: Parts) -> list[str]:
    rebuild = found.rebuild
    if isinstance(rebuild, _Keyed):
        return [f"[{key!r}]" for key in rebuild.keys]
    names = rebuild.names if isinstance(rebuild, _Fields) else getattr(value, "_fields", None)
    if names is not None:
        return [f".{name}" for name in names]
    return [f"[{k}]" for k in range(len(found.children))]
