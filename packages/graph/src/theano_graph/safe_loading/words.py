"""The words of Python itself and of graphs."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._nodes import node_words
from ._words import ClassWord, Function, Value, Word, refused

if TYPE_CHECKING:
    from ._reader import Reader

#: Errors that ops may raise when they run.
_ERRORS = (
    "ArithmeticError AssertionError Exception FloatingPointError IndexError KeyError LookupError NotImplementedError "
    "OverflowError RuntimeError TypeError ValueError ZeroDivisionError"
)
_CLASSES = "bool bytearray bytes complex dict float frozenset int list object set str tuple"


class _Plain(Value):
    """A class of Python's: it may stand in results; what it makes is made here."""

    def call(self, reader: Reader, arguments: tuple[Any, ...]) -> Any:
        """Return an instance."""
        return _BUILT[self.name](*arguments) if self.name in _BUILT else super().call(reader, arguments)


def _collection(make: Any) -> Any:
    def made(*given: Any) -> Any:
        if len(given) > 1 or (given and type(given[0]) not in (list, tuple, set, frozenset, dict)):
            raise refused(f"the archive makes a {make.__name__} of something that is none")
        return make(*given)

    return made


def _complex(real: Any, imaginary: Any) -> complex:
    if type(real) not in (int, float) or type(imaginary) not in (int, float):
        raise refused("the archive makes a complex number of something else")
    return complex(real, imaginary)


def _bytearray(*given: Any) -> bytearray:
    if given and (type(given[0]) is not bytes or len(given) > 1):
        raise refused("the archive makes a bytearray of something else")
    return bytearray(*given)


def _bytes(*given: Any) -> bytes:
    if given:
        raise refused("the archive makes bytes of something else")
    return b""


_BUILT = {
    "bytearray": _bytearray,
    "bytes": _bytes,
    "complex": _complex,
    "dict": _collection(dict),
    "frozenset": _collection(frozenset),
    "list": _collection(list),
    "set": _collection(set),
    "tuple": _collection(tuple),
}


def _three_integers(what: Any) -> Any:
    def made(reader: Reader, *given: Any) -> Any:
        if len(given) not in (1, 2, 3) or not all(item is None or type(item) is int for item in given):
            raise refused(f"the archive makes a {what.__name__} of something else than numbers")
        return what(*given)

    return made


def _encode(reader: Reader, text: Any, encoding: Any) -> bytes:
    """Return bytes that protocols without a code for them wrote as a text."""
    if type(text) is not str or encoding != "latin1":
        raise refused("the archive encodes something that is no text of latin1")
    return text.encode("latin1")


def _ordered(reader: Reader, *given: Any) -> Any:
    found: OrderedDict[Any, Any] = OrderedDict()
    for pair in given[0] if given and type(given[0]) in (list, tuple) else ():
        if type(pair) not in (list, tuple) or len(pair) != 2:
            raise refused("the archive makes a dictionary of something that is no pairs")
        found[pair[0]] = pair[1]
    return found


def _default(reader: Reader, *given: Any) -> Any:
    factory = given[0] if given else None
    if isinstance(factory, _Plain):
        factory = factory.resolve()
    if len(given) > 1 or factory not in (None, bool, complex, dict, float, int, list, set, str, tuple):
        raise refused("the archive has a dictionary that makes its values with something unknown")
    return defaultdict(factory)


def _deque(reader: Reader, *given: Any) -> Any:
    items = given[0] if given else ()
    most = given[1] if len(given) > 1 else None
    if type(items) not in (list, tuple) or not (most is None or (type(most) is int and most >= 0)) or len(given) > 2:
        raise refused("the archive makes a queue of something else")
    return deque(items, most)


def _reconstructor(reader: Reader, word: Any, base: Any, state: Any) -> Any:
    """Return an instance in the way of the first two protocols."""
    if not isinstance(word, ClassWord) or state is not None:
        raise refused(f"the archive makes an instance of {word if isinstance(word, Word) else type(word).__name__}")
    return word.new(reader, ())


def words() -> Iterator[Word]:
    """Yield the words of Python itself and of graphs."""
    for name in f"{_CLASSES} {_ERRORS}".split():
        yield _Plain("builtins", name)
    for what in (slice, range):
        yield Function("builtins", what.__name__, _three_integers(what))
    yield Function("_codecs", "encode", _encode)
    yield Function("collections", "OrderedDict", _ordered)
    yield Function("collections", "defaultdict", _default)
    yield Function("collections", "deque", _deque)
    yield Function("copyreg", "_reconstructor", _reconstructor)
    yield from node_words()
