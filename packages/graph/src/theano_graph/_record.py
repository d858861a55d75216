"""Small classes of named fields, as `dataclasses` makes them, whose `__init__` is written when it is first called.

`dataclasses.dataclass` compiles the text of five or six methods for each class at import. A program uses few of the
classes that it imports, so that this was a quarter of the time that importing the library took. `record` makes the
slots at once, and methods that compare and show from the names of the fields; it leaves `__init__` to `dataclasses`
until the first instance is made.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, cast, dataclass_transform, overload

T = TypeVar("T")


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(*, frozen: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(cls: type[T] | None = None, /, *, frozen: bool = True) -> Any:
    """Make a class with slots of the fields that its body annotates.

    The class works as one made by ``dataclass(frozen=frozen, slots=True)`` does: with `dataclasses.field`,
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
        return lambda new_class: _with_slots(new_class, frozen)
    return _with_slots(cls, frozen)


class _Fields:
    """The fields of a class, and their description by `dataclasses` when it is first wanted."""

    def __init__(self, cls: type[Any], defaults: dict[str, Any], frozen: bool) -> None:
        self.cls, self.defaults, self.frozen = cls, defaults, frozen
        self.made: Any = cls
        self._twin: Any = None

    def write(self) -> Any:
        """Let the class have the `__init__` of a class without slots that has the same fields; return that twin."""
        if self._twin is None:
            twin = self._dataclass(repr=False, eq=False)
            if self.cls.__dict__.get("__init__") is None:
                self.made.__init__ = twin.__init__
            self._twin = twin
        return self._twin

    def parameters(self) -> Any:
        """Return the parameters of a dataclass as a whole."""
        return self._dataclass().__dataclass_params__

    def _dataclass(self, **left_out: bool) -> Any:
        namespace = self.cls.__dict__
        # Without a documentation of its own, the text of its signature would be made.
        body = {"__doc__": self.cls.__name__, "__annotations__": namespace.get("__annotations__", {})}
        body |= {**self.defaults, "__module__": namespace["__module__"]}
        if hasattr(self.cls, "__post_init__"):
            body["__post_init__"] = self.cls.__post_init__
        return dataclasses.dataclass(frozen=self.frozen, **left_out)(type(self.cls.__name__, (), body))

    def first_init(self) -> Callable[..., None]:
        """Return the `__init__` that stands in the class until it is first called."""

        def __init__(self_: Any, *args: Any, **kwargs: Any) -> None:
            self.write()
            self.made.__init__(self_, *args, **kwargs)

        return __init__


def _comparisons(names: list[str], defaults: dict[str, Any], frozen: bool) -> dict[str, Any]:
    """Return the methods by which instances are compared, hashed and shown, which need no text to be compiled."""
    field_defaults = {name: default for name, default in defaults.items() if isinstance(default, dataclasses.Field)}
    shown = [name for name in names if name not in field_defaults or field_defaults[name].repr]
    compared = _values([name for name in names if name not in field_defaults or field_defaults[name].compare])
    hashed = _values([name for name in names if name not in field_defaults or _is_hashed(field_defaults[name])])

    @reprlib.recursive_repr()
    def __repr__(self_: Any) -> str:
        return f"{type(self_).__qualname__}({', '.join(f'{name}={getattr(self_, name)!r}' for name in shown)})"

    def __eq__(self_: Any, other: Any) -> bool:
        return compared(self_) == compared(other) if other.__class__ is self_.__class__ else NotImplemented

    def __hash__(self_: Any) -> int:
        return hash(hashed(self_))

    return {"__repr__": __repr__, "__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _is_hashed(field: dataclasses.Field[Any]) -> bool:
    return field.compare if field.hash is None else field.hash


def _values(names: list[str]) -> Callable[[Any], Any]:
    """Return a function that gives the values of some fields as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


class _Found:
    """An attribute of a class that is found out when it is looked at."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self.find = find

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        return self.find()


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
    """Make a class anew, with slots and the methods of a dataclass."""
    body = dict(cls.__dict__)
    names = [name for name, kind in body.get("__annotations__", {}).items() if "ClassVar" not in str(kind)]
    defaults = {name: body.pop(name) for name in names if name in body}
    fields = _Fields(cls, defaults, frozen)
    field_names = {
        name for name, default in defaults.items() if isinstance(default, dataclasses.Field) and not default.init
    }
    added = {
        "__init__": fields.first_init(),
        **_comparisons(names, defaults, frozen),
        "__match_args__": tuple(name for name in names if name not in field_names),
        **_states(names),
        **({"__setattr__": _refuse_set, "__delattr__": _refuse_delete} if frozen else {}),
    }
    # A class that defines `__eq__` has `__hash__ = None` without having asked for it.
    dropped = {"__dict__", "__weakref__", *(name for name in ("__hash__",) if body.get(name) is None)}
    body = {
        **added,
        **{name: value for name, value in body.items() if name not in dropped},
        "__slots__": tuple(names),
        "__dataclass_fields__": _Found(lambda: fields.write().__dataclass_fields__),
        "__dataclass_params__": _Found(fields.parameters),
    }
    kind: Any = type(cls)
    new_class = kind(cls.__name__, cls.__bases__, body)
    new_class.__qualname__ = cls.__qualname__
    fields.made = new_class
    return cast(type[T], new_class)
