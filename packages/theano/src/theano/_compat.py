"""The names of `theano.compat` and `theano.compat.six`, with their meaning in Python 3."""

from __future__ import annotations

import builtins
import operator
import os
import sys
import types
from collections import defaultdict
from collections.abc import Callable, ItemsView, Iterable, Iterator as _Iterator, KeysView, Mapping, ValuesView
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from unittest import TestCase


K = TypeVar("K")
V = TypeVar("V")
ClassT = TypeVar("ClassT", bound=type)

PY2 = False
PY3 = PY34 = True
string_types = (str,)
integer_types = (int,)
class_types = (type,)
MAXSIZE = sys.maxsize
Iterator = object
advance_iterator = next = builtins.next
callable = builtins.callable
print_ = builtins.print
exec_ = builtins.exec
unichr = chr
int2byte = operator.methodcaller("to_bytes", 1, "big")
byte2int = operator.itemgetter(0)
indexbytes = operator.getitem
iterbytes = iter
get_method_function = operator.attrgetter("__func__")
get_method_self = operator.attrgetter("__self__")
get_function_closure = operator.attrgetter("__closure__")
get_function_code = operator.attrgetter("__code__")
get_function_defaults = operator.attrgetter("__defaults__")
get_function_globals = operator.attrgetter("__globals__")
create_bound_method = types.MethodType
text_type = str
binary_type = bytes


def iteritems(d: Mapping[K, V]) -> _Iterator[tuple[K, V]]:
    """Return an iterator over the items of a mapping."""
    items: ItemsView[K, V] = d.items()
    return iter(items)


def iterkeys(d: Mapping[K, V]) -> _Iterator[K]:
    """Return an iterator over the keys of a mapping."""
    keys: KeysView[K] = d.keys()
    return iter(keys)


def itervalues(d: Mapping[K, V]) -> _Iterator[V]:
    """Return an iterator over the values of a mapping."""
    values: ValuesView[V] = d.values()
    return iter(values)


def viewkeys(d: Mapping[K, V]) -> KeysView[K]:
    """Return the keys of a mapping, which follow its changes."""
    return d.keys()


def viewvalues(d: Mapping[K, V]) -> ValuesView[V]:
    """Return the values of a mapping, which follow its changes."""
    return d.values()


def viewitems(d: Mapping[K, V]) -> ItemsView[K, V]:
    """Return the items of a mapping, which follow its changes."""
    return d.items()


def python_2_unicode_compatible(klass: ClassT) -> ClassT:
    """Return a class as it is: its text is Unicode."""
    return klass


def get_unbound_function(unbound: Any) -> Any:
    """Return the function of a method, and a function as it is."""
    return getattr(unbound, "__func__", unbound)


def iterlists(d: Any) -> _Iterator[Any]:
    """Return an iterator over the lists of values of a mapping that has several for a key."""
    return iter(d.lists())


def b(s: str) -> bytes:
    """Return text of Latin-1 as bytes."""
    return s.encode("latin-1")


def u(s: str) -> str:
    """Return text."""
    return s


def reraise(tp: type[BaseException], value: BaseException | None, tb: TracebackType | None = None) -> None:
    """Raise an exception, a new one of type `tp` if none is given, with a traceback."""
    raise (tp() if value is None else value).with_traceback(tb)


def raise_from(value: BaseException, from_value: BaseException | None) -> None:
    """Raise an exception that another one caused."""
    raise value from from_value


def assertCountEqual(self: TestCase, *args: Any, **kwargs: Any) -> None:
    """Check that two collections have the same elements, in any order."""
    self.assertCountEqual(*args, **kwargs)


def assertRaisesRegex(self: TestCase, *args: Any, **kwargs: Any) -> Any:
    """Check that something raises an exception whose text matches."""
    return self.assertRaisesRegex(*args, **kwargs)


def assertRegex(self: TestCase, *args: Any, **kwargs: Any) -> None:
    """Check that a text matches."""
    self.assertRegex(*args, **kwargs)


def add_metaclass(metaclass: type) -> Callable[[ClassT], ClassT]:
    """Return a decorator that makes a class again, as one of `metaclass`."""

    def remade(cls: ClassT) -> ClassT:
        left_out = {"__dict__", "__weakref__"}
        body = {name: value for name, value in vars(cls).items() if name not in left_out}
        rebuilt: Any = metaclass(cls.__name__, cls.__bases__, body)
        return rebuilt  # type: ignore[no-any-return]  # the metaclass gives a class of the same kind

    return remade


def with_metaclass(meta: type, *bases: type) -> Any:
    """Return a base through which a class gets a metaclass."""
    return meta("temporary_class", bases, {})


# ---- Names for programs that run on Python 2 and 3; today they are built in

python_all = all
python_any = any
izip = zip
imap = map
ifilter = filter
operator_div = operator.truediv

#: Sets and dictionaries keep the order in which things were put in.
DefaultOrderedDict = defaultdict


def exc_message(e: BaseException) -> object:
    """Return the argument of an exception: the only one, or all."""
    return e.args[0] if len(e.args) == 1 else e.args


def cmp(a: float, b: float) -> int:
    """Return -1, 0 or 1 for `a` below, equal to or above `b`."""
    return (a > b) - (a < b)


def decode(x: bytes | str) -> str:
    """Return bytes as text in UTF-8, and text as it is."""
    return x.decode() if isinstance(x, bytes) else x


def decode_iter(items: Iterable[bytes | str]) -> Iterable[str]:
    """Decode each of `items`."""
    return map(decode, items)


def decode_with(x: bytes | str, encoding: str) -> str:
    """Return bytes as text in an encoding, and text as it is."""
    return x.decode(encoding) if isinstance(x, bytes) else x


def maybe_add_to_os_environ_pathlist(var: str, newpath: str) -> None:
    """Add a folder to an environment variable that lists folders, unless it is there or no absolute path."""
    if os.path.isabs(newpath):
        listed = os.environ.get(var, "").split(os.pathsep)
        if newpath not in listed:
            os.environ[var] = os.pathsep.join([newpath, *filter(None, listed)])
