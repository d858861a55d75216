"""An interpreter of pickles that makes only objects for which a vocabulary has words.

Pickles are programs for a small machine with a stack. Python's own machine imports any name, calls it, and
hands objects to methods that trust them. This one knows names as words of a closed table; the word itself checks its
arguments and makes the object. No attribute of any object is asked for, and nothing is called, but code
written in this package or in a layer's own list of words.

Sizes are checked before memory is used: the lengths in an archive count bytes that are there. Nested
tuples count with all that is in them, since hashing and comparing them follows each path.
"""

from __future__ import annotations

import codecs
import struct
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pickle import decode_long
from typing import Any

from .._modules import UnsafeArchiveError
from ._vocabulary import Unused, Vocabulary, Word, refused

_DAMAGED = "use an undamaged copy"
#: The highest protocol whose codes are known.
_PROTOCOL = 5


@dataclass(frozen=True)
class Limits:
    """Limits of an archive.

    Attributes
    ----------
    codes : int
        How many codes its pickle may have; each makes at most one small object.
    depth : int
        How deep tuples may be nested.
    paths : int
        How many objects a tuple may have on all ways that lead to them.
    work : int
        How many objects all tuples may have on all ways, each as often as it is used: each time it may be hashed. A
        key that has the hash of other ones of its container counts as many as there are, with which it is compared.
    """

    codes: int = 1_000_000
    depth: int = 100
    paths: int = 1_000_000
    work: int = 20_000_000


def damaged(what: str) -> UnsafeArchiveError:
    """Return the error for a pickle that cannot be one."""
    return UnsafeArchiveError(f"the archive is damaged: {what}\n  Hint: {_DAMAGED}")


class Pending:
    """Stands for something that is made when its contents are known, and not before."""

    __slots__ = ("arguments", "keys", "word")

    def __init__(self, word: Word, arguments: tuple[Any, ...]) -> None:
        self.word = word
        self.arguments = arguments
        #: The place of its memory; its value is put there.
        self.keys: list[int] = []


class Reader:
    """Reads one pickle.

    Parameters
    ----------
    data : bytes
    vocabulary : Vocabulary
    persistent_load : callable
        Gives the values that are stored beside the pickle, by name.
    encoding : str
        Of texts that Python 2 pickled.
    limits : Limits
    """

    def __init__(
        self,
        data: bytes,
        vocabulary: Vocabulary,
        persistent_load: Callable[[str], Any],
        encoding: str = "ASCII",
        limits: Limits | None = None,
    ) -> None:
        self._data = data
        self._vocabulary = vocabulary
        self._persistent_load = persistent_load
        self._encoding = encoding
        self._limits = Limits() if limits is None else limits
        self._place = 0
        self._stack: list[Any] = []
        self._marked: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        #: Identity -> the word that makes the contents of an object, and the object, which keeps the identity its own.
        self._waiting: dict[int, tuple[Any, Word]] = {}
        #: Identity of a tuple -> the tuple, its depth and its paths.
        self._measures: dict[int, tuple[Any, int, int]] = {}
        #: Identity of a container -> the container, and how many of its keys have each hash.
        self._hashes: dict[int, tuple[Any, dict[int, int]]] = {}
        self._work = self._limits.work
        #: Actions for the time when all has been read.
        self._finishers: list[Callable[[], None]] = []
        #: State of words between their calls.
        self.notes: dict[str, Any] = {}

    # ---- interface for words

    def await_contents(self, instance: Any, word: Word) -> None:
        """Note that an object gets its contents from a word, once."""
        if type(instance) is not Pending:
            self._waiting[id(instance)] = (instance, word)

    def complete(self, instance: Any) -> None:
        """Give something its contents that an archive says nothing about: those of an instance without any."""
        waiting = self._waiting.pop(id(instance), None)
        if waiting is not None:
            waiting[1].build(self, instance, {})

    def finish_with(self, finisher: Callable[[], None]) -> None:
        """Call a function when all has been read."""
        self._finishers.append(finisher)

    # ---- the machine

    def load(self) -> Any:
        """Return the contents of the pickle.

        Raises
        ------
        UnsafeArchiveError
            If it is damaged, or not safe.
        """
        result = self._run()
        for item in [instance for instance, _ in self._waiting.values()]:
            self.complete(item)
        for finisher in self._finishers:
            finisher()
        _check_result(result)
        return result

    def _run(self) -> Any:
        data, codes, left = self._data, _CODES, self._limits.codes
        while True:
            if self._place >= len(data):
                raise damaged("its pickle has no end")
            code = data[self._place]
            self._place += 1
            left -= 1
            if left < 0:
                raise damaged(f"its pickle has more than {self._limits.codes} codes")
            if code == _STOP:
                return self._pop()
            step = codes.get(code)
            if step is None:
                raise damaged(f"its pickle has the code {code:#x}, which does not exist")
            step(self)

    def _take(self, count: int) -> bytes:
        start = self._place
        if count < 0 or count > len(self._data) - start:
            raise damaged(f"its pickle names {count} bytes where {len(self._data) - start} are left")
        self._place = start + count
        return self._data[start : self._place]

    def _number(self, count: int) -> int:
        return int.from_bytes(self._take(count), "little")

    def _line(self) -> bytes:
        end = self._data.find(b"\n", self._place)
        if end < 0:
            raise damaged("a line of its pickle has no end")
        line = self._data[self._place : end]
        self._place = end + 1
        return line

    def _pop(self) -> Any:
        if not self._stack:
            raise damaged("its pickle takes more than it has put down")
        return self._stack.pop()

    def _top(self) -> Any:
        if not self._stack:
            raise damaged("its pickle takes more than it has put down")
        return self._stack[-1]

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop_mark(self) -> list[Any]:
        if not self._marked:
            raise damaged("its pickle goes back to a mark that it has not made")
        items = self._stack
        self._stack = self._marked.pop()
        return items

    def _mark(self) -> None:
        self._marked.append(self._stack)
        self._stack = []

    def _drop(self) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._pop_mark()

    def _drop_to_mark(self) -> None:
        self._pop_mark()

    def _tuple(self, items: list[Any]) -> None:
        results = tuple(map(_settled, items))
        depth, paths = 1, 1 + len(results)
        for item in results:
            cached = self._measures.get(id(item)) if type(item) in (tuple, frozenset) else None
            if cached is not None:
                depth = max(depth, cached[1] + 1)
                paths += cached[2]
        self._measure(results, depth, paths)
        self._push(results)

    def _measure(self, instance: Any, depth: int, paths: int) -> None:
        if depth > self._limits.depth or paths > self._limits.paths:
            raise damaged(f"tuples are nested more than {self._limits.depth} deep, or hold one another too often")
        self._count(paths)
        if instance:
            self._measures[id(instance)] = (instance, depth, paths)

    def _count(self, objects: int) -> None:
        self._work -= objects
        if self._work < 0:
            raise damaged(f"its tuples and keys take more than {self._limits.work} steps")

    def _push_again(self, value: Any) -> None:
        if type(value) in (tuple, frozenset) and id(value) in self._measures:
            self._count(self._measures[id(value)][2])
        self._push(value)

    def _count_key(self, target: Any, key: Any) -> Any:
        """Return a key after it has been counted; hashes of texts cannot be foreseen."""
        if type(key) not in (str, bytes):
            _, hashes = self._hashes.setdefault(id(target), (target, {}))
            same = hashes[hash(key)] = hashes.get(hash(key), -1) + 1
            self._count(same)
        return key

    def _frozenset(self) -> None:
        self._tuple(self._pop_mark())
        items = self._pop()
        results = frozenset(self._count_key(items, item) for item in items)
        _, depth, paths = self._measures.get(id(items), (items, 0, 0))
        self._measure(results, depth + 1, paths + 1)
        self._push(results)

    def _remember(self, key: int) -> None:
        value = self._top()
        if type(value) is Pending:
            value.keys.append(key)
        self._memo[key] = value

    def _recall(self, key: int) -> None:
        if key not in self._memo:
            raise damaged(f"its pickle asks for object {key}, which it has not stored")
        self._push_again(self._memo[key])

    # ---- texts and numbers

    def _text(self, count: int) -> None:
        self._push(str(self._take(count), "utf-8", "surrogatepass"))

    def _old_text(self, data: bytes) -> None:
        self._push(data if self._encoding == "bytes" else data.decode(self._encoding))

    def _long(self, count: int) -> None:
        self._push(decode_long(self._take(count)))

    def _int_line(self) -> None:
        line = self._line()
        self._push({b"00": False, b"01": True}[line] if line in (b"00", b"01") else int(line, 0))

    def _long_line(self) -> None:
        line = self._line()
        self._push(int(line[:-1] if line.endswith(b"L") else line, 0))

    def _string_line(self) -> None:
        line = self._line()
        if len(line) < 2 or line[0] != line[-1] or line[:1] not in b"\"'":
            raise damaged("a text of its pickle has no quotes")
        self._old_text(codecs.escape_decode(line[1:-1])[0])

    # ---- containers

    def _extend_list(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) not in (list, deque):
            raise refused(f"the archive appends to a {_kind(target)}")
        target.extend(map(_settled, items))

    def _set_items(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) not in (dict, OrderedDict, defaultdict):
            raise refused(f"the archive sets items of a {_kind(target)}")
        if len(items) % 2:
            raise damaged("a key of a dictionary has no value")
        for i in range(0, len(items), 2):
            target[self._count_key(target, _settled(items[i]))] = _settled(items[i + 1])

    def _add_items(self) -> None:
        items = self._pop_mark()
        target = self._top()
        if type(target) is not set:
            raise refused(f"the archive adds to a {_kind(target)}")
        target.update(self._count_key(target, _settled(item)) for item in items)

    def _one_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._set_items([key, value])

    def _dictionary(self) -> None:
        items = self._pop_mark()
        self._push({})
        self._set_items(items)

    # ---- words and the objects that they make

    def _find(self, module: Any, name: Any) -> None:
        if isinstance(module, str) and isinstance(name, str):
            name = _NAMES_OF_PYTHON_2.get((module, name), name)
            module = _MODULES_OF_PYTHON_2.get(module, module)
        self._push(self._vocabulary.find(module, name))

    def _global_line(self) -> None:
        module, name = self._line().decode("utf-8"), self._line().decode("utf-8")
        self._find(module, name)

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        self._find(module, name)

    def _called(self, word: Any, arguments: Any) -> None:
        if not isinstance(word, Word) or type(arguments) is not tuple:
            raise refused(f"the archive calls a {_kind(word)}")
        self._push(word.call(self, arguments))

    def _made(self, word: Any, arguments: Any) -> None:
        if not isinstance(word, Word) or type(arguments) is not tuple:
            raise refused(f"the archive makes an instance of a {_kind(word)}")
        self._push(word.new(self, arguments))

    def _reduce(self) -> None:
        arguments, word = self._pop(), self._pop()
        self._called(word, arguments)

    def _new(self) -> None:
        arguments, word = self._pop(), self._pop()
        self._made(word, arguments)

    def _new_with_keywords(self) -> None:
        keywords, arguments, word = self._pop(), self._pop(), self._pop()
        if keywords != {}:
            raise refused(f"the archive makes an instance of {word} with keywords")
        self._made(word, arguments)

    def _old_instance(self, word: Any, arguments: list[Any]) -> None:
        self._tuple(arguments)
        self._made(word, self._pop())

    def _instance_line(self) -> None:
        self._global_line()
        word = self._pop()
        self._old_instance(word, self._pop_mark())

    def _object(self) -> None:
        items = self._pop_mark()
        if not items:
            raise damaged("an object of its pickle has no class")
        self._old_instance(items[0], items[1:])

    def _build(self) -> None:
        state = self._pop()
        instance = self._top()
        waiting = None if type(instance) is Pending else self._waiting.pop(id(instance), None)
        if type(instance) is Pending:
            becomes = instance.word.build(self, instance, state)
            for key in instance.keys:
                self._memo[key] = becomes
            self._stack[-1] = becomes
        elif waiting is None:
            raise refused(f"the archive changes a {_kind(instance)}")
        else:
            waiting[1].build(self, instance, state)

    def _persistent(self, name: Any) -> None:
        if type(name) is not str:
            raise damaged(f"what is stored beside its pickle is called by a {_kind(name)}")
        self._push(self._persistent_load(name))

    def _protocol(self) -> None:
        version = self._number(1)
        if version > _PROTOCOL:
            raise damaged(f"its pickle is of protocol {version}")

    def _frame(self) -> None:
        length = self._number(8)
        if length > len(self._data) - self._place:
            raise damaged("a part of its pickle is missing")

    def _refuse_extension(self) -> None:
        raise refused("the archive uses a code of copyreg")

    def _refuse_buffer(self) -> None:
        raise refused("the archive needs buffers that are not in it")


def _settled(value: Any) -> Any:
    """Return the form of a word in containers: the thing itself where it is harmless."""
    return value.resolve() if isinstance(value, Word) and value.is_value else value


def _kind(value: Any) -> str:
    return str(value) if isinstance(value, Word) else type(value).__name__


def _check_result(result: Any) -> None:
    """Raise an error if something in a result is only a word, or has never got its contents."""
    todo, seen = [result], set()
    while todo:
        value = todo.pop()
        if isinstance(value, (Word, Pending, Unused)):
            what = value.word if isinstance(value, Pending) else value
            raise refused(f"the archive holds {what} as a value")
        if (
            type(value) in (list, tuple, set, frozenset, deque, dict, OrderedDict, defaultdict)
            and id(value) not in seen
        ):
            seen.add(id(value))
            todo.extend(value)
            if isinstance(value, dict):
                todo.extend(value.values())


#: The first three protocols have the names of Python 2.
_MODULES_OF_PYTHON_2 = {"__builtin__": "builtins", "copy_reg": "copyreg", "exceptions": "builtins"}
_NAMES_OF_PYTHON_2 = {
    ("__builtin__", "long"): "int",
    ("__builtin__", "unicode"): "str",
    ("__builtin__", "xrange"): "range",
}
_STOP = ord(".")


def _constant(value: Any) -> Callable[[Reader], None]:
    return lambda r: r._push(value)


_CODES: dict[int, Callable[[Reader], None]] = {
    code[0]: step
    for code, step in {
        b"\x80": Reader._protocol,
        b"\x95": Reader._frame,
        b"N": _constant(None),
        b"\x88": _constant(True),
        b"\x89": _constant(False),
        b"I": Reader._int_line,
        b"J": lambda r: r._push(int.from_bytes(r._take(4), "little", signed=True)),
        b"K": lambda r: r._push(r._number(1)),
        b"M": lambda r: r._push(r._number(2)),
        b"L": Reader._long_line,
        b"\x8a": lambda r: r._long(r._number(1)),
        b"\x8b": lambda r: r._long(r._number(4)),
        b"F": lambda r: r._push(float(r._line())),
        b"G": lambda r: r._push(struct.unpack(">d", r._take(8))[0]),
        b"S": Reader._string_line,
        b"T": lambda r: r._old_text(r._take(r._number(4))),
        b"U": lambda r: r._old_text(r._take(r._number(1))),
        b"V": lambda r: r._push(str(r._line(), "raw-unicode-escape")),
        b"X": lambda r: r._text(r._number(4)),
        b"\x8c": lambda r: r._text(r._number(1)),
        b"\x8d": lambda r: r._text(r._number(8)),
        b"B": lambda r: r._push(r._take(r._number(4))),
        b"C": lambda r: r._push(r._take(r._number(1))),
        b"\x8e": lambda r: r._push(r._take(r._number(8))),
        b"\x96": lambda r: r._push(bytearray(r._take(r._number(8)))),
        b"]": lambda r: r._push([]),
        b"}": lambda r: r._push({}),
        b"\x8f": lambda r: r._push(set()),
        b")": lambda r: r._push(()),
        b"\x85": lambda r: r._tuple([r._pop()]),
        b"\x86": lambda r: r._tuple([r._pop(), r._pop()][::-1]),
        b"\x87": lambda r: r._tuple([r._pop(), r._pop(), r._pop()][::-1]),
        b"t": lambda r: r._tuple(r._pop_mark()),
        b"l": lambda r: r._push([_settled(item) for item in r._pop_mark()]),
        b"d": Reader._dictionary,
        b"\x91": Reader._frozenset,
        b"a": lambda r: r._extend_list([r._pop()]),
        b"e": lambda r: r._extend_list(r._pop_mark()),
        b"s": Reader._one_item,
        b"u": lambda r: r._set_items(r._pop_mark()),
        b"\x90": Reader._add_items,
        b"(": Reader._mark,
        b"0": Reader._drop,
        b"1": Reader._drop_to_mark,
        b"2": lambda r: r._push_again(r._top()),
        b"p": lambda r: r._remember(int(r._line())),
        b"q": lambda r: r._remember(r._number(1)),
        b"r": lambda r: r._remember(r._number(4)),
        b"\x94": lambda r: r._remember(len(r._memo)),
        b"g": lambda r: r._recall(int(r._line())),
        b"h": lambda r: r._recall(r._number(1)),
        b"j": lambda r: r._recall(r._number(4)),
        b"c": Reader._global_line,
        b"\x93": Reader._stack_global,
        b"R": Reader._reduce,
        b"\x81": Reader._new,
        b"\x92": Reader._new_with_keywords,
        b"i": Reader._instance_line,
        b"o": Reader._object,
        b"b": Reader._build,
        b"P": lambda r: r._persistent(r._line().decode("ascii")),
        b"Q": lambda r: r._persistent(r._pop()),
        b"\x82": Reader._refuse_extension,
        b"\x83": Reader._refuse_extension,
        b"\x84": Reader._refuse_extension,
        b"\x97": Reader._refuse_buffer,
        b"\x98": Reader._refuse_buffer,
    }.items()
}

__all__ = ["Limits", "Pending", "Reader", "damaged"]
