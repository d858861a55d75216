"""Ops, types and records: made anew by their constructors, from those attributes that constructors ask for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from .._expression._op import PureOp
from .._expression._type import Type
from ._contents import LEAVES, Contents, is_same
from ._verify import verify_graphs
from ._words import FORMS, ClassWord, Form, refused

if TYPE_CHECKING:
    from ._reader import Reader


class ObjectForm(Form):
    """Ops and types, which have to be what their constructors make of their attributes.

    Parameters
    ----------
    arguments : callable, optional
        Gives the arguments of the constructor for the attributes: a sequence and a mapping. By default, those
        attributes that have the names of parameters.
    left_out : sequence of str
        Attributes that archives have and that are made anew.
    kept : mapping of str to type
        Attributes that are set when the object has been made, and of which class they are.
    anew : sequence of str
        Attributes that the arguments are made of, and that the constructor makes in its own way.
    """

    def __init__(
        self,
        arguments: Callable[[dict[str, Any]], tuple[Sequence[Any], Mapping[str, Any]]] | None = None,
        left_out: Sequence[str] = (),
        kept: Mapping[str, type] | None = None,
        anew: Sequence[str] = (),
    ) -> None:
        self._anew = frozenset(anew)
        self._arguments = arguments
        self._left_out = frozenset(left_out)
        self._kept = dict(kept or {})

    def build(self, reader: Reader, word: ClassWord, made: Any, state: Any) -> None:
        """Give an object the attributes of one that the constructor makes."""
        if type(state) is tuple and len(state) == 2 and state[0] is None:
            state = state[1]
        contents = Contents(str(word))
        given = contents.attributes({k: v for k, v in state.items() if k not in self._left_out} if state else {})
        verify_graphs(reader, contents.variables)
        for thing in contents.things:
            reader.complete(thing)
        kept = {name: given.pop(name) for name in self._kept if name in given}
        fresh = self._made(word, given)
        attributes = _attributes(fresh)
        for name, value in given.items():
            if name not in self._anew and (name not in attributes or not is_same(value, attributes[name])):
                raise refused(f"{word} cannot have {value!r:.60} as `{name}` with its other attributes")
        for name, value in kept.items():
            if type(value) is not self._kept[name]:
                raise refused(f"{word} has a {type(value).__name__} as `{name}`")
            attributes[name] = value
            setattr(fresh, name, value)
        _move(fresh, made)

    def _made(self, word: ClassWord, given: dict[str, Any]) -> Any:
        positional: Sequence[Any] = ()
        if self._arguments is not None:
            positional, named = self._arguments(given)
        else:
            named = {name: given[name] for name in _parameters(word) if name in given}
        return word.target(*positional, **named)


def _parameters(word: ClassWord) -> list[str]:
    return _parameters_of(word.target)


@cache
def _parameters_of(kind: type) -> list[str]:
    constructor: Any = kind.__init__  # type: ignore[misc]  # of a class
    if constructor is object.__init__:
        return []
    found = list(inspect.signature(constructor).parameters.values())[1:]
    return [p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def _attributes(thing: Any) -> dict[str, Any]:
    found = thing.__getstate__()
    if isinstance(found, tuple):
        found = found[1]
    return dict(found or {})


def _move(fresh: Any, made: Any) -> None:
    """Let an empty object have all that another one has."""
    if hasattr(fresh, "__dict__"):
        made.__dict__.update(fresh.__dict__)
    for base in type(fresh).__mro__:
        names = base.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__") and hasattr(fresh, name):
                object.__setattr__(made, name, getattr(fresh, name))


class RecordForm(Form):
    """Dataclasses, whose fields are checked one by one.

    Parameters
    ----------
    **checks : callable
        For each field, whether a value can be its own.
    """

    def __init__(self, **checks: Callable[[Any], bool]) -> None:
        self._checks = checks

    def new(self, reader: Reader, word: ClassWord, arguments: tuple[Any, ...]) -> Any:
        """Return a record without contents."""
        if not is_dataclass(word.target):
            raise refused(f"the archive takes {word} for a record")
        if word.target not in LEAVES:
            LEAVES.append(word.target)
        return super().new(reader, word, arguments)

    def build(self, reader: Reader, word: ClassWord, made: Any, state: Any) -> None:
        """Fill the fields."""
        names = [f.name for f in fields(word.target)]
        if type(state) is tuple and len(state) == 2 and state[0] is None:
            state = state[1]
        given = dict(zip(names, state, strict=True)) if type(state) is list else state
        contents = Contents(str(word))
        found = contents.attributes(given)
        for thing in contents.things:
            reader.complete(thing)
        if found.keys() != set(names):
            raise refused(f"{word} has other fields than {', '.join(names)}")
        for name, value in found.items():
            if name not in self._checks or not self._checks[name](value):
                raise refused(f"{word} has {value!r:.60} as `{name}`")
        for name, value in found.items():
            object.__setattr__(made, name, value)


class EnumForm(Form):
    """Members of an enumeration, called by their values."""

    def call(self, reader: Reader, word: ClassWord, arguments: tuple[Any, ...]) -> Any:
        """Return a member."""
        (value,) = arguments
        if type(value) not in (str, int):
            raise refused(f"the archive calls {word} with a {type(value).__name__}")
        return word.target(value)


def is_int(value: Any) -> bool:
    """Tell whether a value is an integer, and no truth value."""
    return type(value) is int


def is_bool(value: Any) -> bool:
    """Tell whether a value is a truth value."""
    return type(value) is bool


def is_text(value: Any) -> bool:
    """Tell whether a value is a text."""
    return type(value) is str


def tuple_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a check of tuples whose items all pass another one.

    Examples
    --------
    >>> tuple_of(is_int)((1, 2)), tuple_of(is_int)([1])
    (True, False)
    """
    return lambda value: type(value) is tuple and all(map(check, value))


FORMS[PureOp] = FORMS[Type] = ObjectForm()
