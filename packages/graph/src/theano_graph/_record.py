"""Small classes of named fields, as `dataclasses` makes them, whose methods are written when they are first used.

`dataclasses.dataclass` compiles the text of five or six methods for each class at import. A program uses few of the
classes that it imports, so that this was a quarter of the time that importing the library took. `record` makes the
slots at once and leaves the methods to `dataclasses` until the first instance is made or looked at.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, cast, dataclass_transform, overload

T = TypeVar("T")

_WRITTEN = ("__init__", "__repr__", "__eq__", "__hash__")


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(*, frozen: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(cls: type[T] | None = None, /, *, frozen: bool = True) -> Any:
    """Make a class with slots of the fields that its body annotates.

    What it makes works as a class made by ``dataclass(frozen=frozen, slots=True)`` does: with `dataclasses.field`,
    `replace`, `fields`, ``match`` statements, pickles, and ``__post_init__``.

    Parameters
    ----------
    cls : type
        The class whose body annotates the fields. Its bases are no such classes.
    frozen : bool, optional
        Whether fields of instances cannot be set. Instances that are not frozen cannot be hashed.

    Returns
    -------
    type
        The class, made anew with slots.

    Examples
    --------
    >>> from theano_graph import record
    >>> @record
    ... class Point:
    ...     x: float
    ...     y: float = 0.0
    >>> Point(1.0)
    Point(x=1.0, y=0.0)
    """
    if cls is None:
        return lambda made: _with_slots(made, frozen)
    return _with_slots(cls, frozen)


class _Methods:
    """Has `dataclasses` write the methods of a class when one of them is first wanted."""

    def __init__(self, cls: type[Any], defaults: dict[str, Any], frozen: bool) -> None:
        self.cls, self.defaults, self.frozen = cls, defaults, frozen
        self.made: Any = cls
        self.twin: Any = None

    def write(self) -> Any:
        """Move the methods of a class without slots that has the same fields to the class; return that twin."""
        if self.twin is None:
            own = self.cls.__dict__
            body = {**self.defaults, "__annotations__": own.get("__annotations__", {}), "__module__": own["__module__"]}
            if hasattr(self.cls, "__post_init__"):
                body["__post_init__"] = self.cls.__post_init__
            twin: Any = dataclasses.dataclass(frozen=self.frozen)(type(self.cls.__name__, (), body))
            for name in _WRITTEN:
                if own.get(name) is None and name in twin.__dict__:
                    setattr(self.made, name, twin.__dict__[name])
            self.twin = twin
        return self.twin

    def first_uses(self) -> dict[str, Any]:
        """Make the methods that stand in the class until the first use of one of them."""

        def __init__(self_: Any, *args: Any, **kwargs: Any) -> None:
            self.write()
            self.made.__init__(self_, *args, **kwargs)

        def __repr__(self_: Any) -> str:
            self.write()
            return cast(str, self.made.__repr__(self_))

        def __eq__(self_: Any, other: object) -> bool:
            self.write()
            return cast(bool, self.made.__eq__(self_, other))

        def __hash__(self_: Any) -> int:
            self.write()
            return cast(int, self.made.__hash__(self_))

        hashed = __hash__ if self.frozen else None
        return {"__init__": __init__, "__repr__": __repr__, "__eq__": __eq__, "__hash__": hashed}


class _OfTwin:
    """An attribute of a class that is looked up in the twin that `dataclasses` made."""

    def __init__(self, methods: _Methods, name: str) -> None:
        self.methods, self.name = methods, name

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        return getattr(self.methods.write(), self.name)


def _refuse_set(self: Any, name: str, value: object) -> None:
    """Refuse to set a field, as frozen dataclasses do."""
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: Any, name: str) -> None:
    """Refuse to delete a field, as frozen dataclasses do."""
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _states(names: list[str]) -> dict[str, Any]:
    """Return the methods by which pickles read and write the fields; they need none of those of `dataclasses`."""

    def __getstate__(self_: Any) -> list[Any]:
        return [getattr(self_, name) for name in names]

    def __setstate__(self_: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self_, name, value)

    return {"__getstate__": __getstate__, "__setstate__": __setstate__}


def _with_slots(cls: type[T], frozen: bool) -> type[T]:
    """Make a class anew, with slots and with methods that are written at their first use."""
    body = dict(cls.__dict__)
    names = [name for name, kind in body.get("__annotations__", {}).items() if "ClassVar" not in str(kind)]
    defaults = {name: body.pop(name) for name in names if name in body}
    methods = _Methods(cls, defaults, frozen)
    given = {name for name, default in defaults.items() if isinstance(default, dataclasses.Field) and not default.init}
    added = {
        **methods.first_uses(),
        "__match_args__": tuple(name for name in names if name not in given),
        **_states(names),
        **({"__setattr__": _refuse_set, "__delattr__": _refuse_delete} if frozen else {}),
    }
    # A class that says how its instances are equal has `__hash__ = None`, which is not what it said.
    dropped = {"__dict__", "__weakref__", *(name for name in ("__hash__",) if body.get(name) is None)}
    body = {
        **added,
        **{name: value for name, value in body.items() if name not in dropped},
        "__slots__": tuple(names),
        "__dataclass_fields__": _OfTwin(methods, "__dataclass_fields__"),
        "__dataclass_params__": _OfTwin(methods, "__dataclass_params__"),
    }
    kind: Any = type(cls)
    made = kind(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    methods.made = made
    return cast(type[T], made)
