"""The allowlist of archives: registered classes, functions and values, and the values that they may contain."""

from __future__ import annotations

import importlib
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from .._errors import format_error
from .._expression._nodes import Variable
from .._expression._op import PureOp
from .._expression._type import Type
from .._function_graph._fgraph import FunctionGraph
from .._modules import UnsafeArchiveError, current_module, load_aliases, word_modules

if TYPE_CHECKING:
    from ._reader import Reader


# ---- The allowlist: names, their arguments, their results

_TRUST = "load it with safe=False if you trust its author: it can run any code then"


def refused(what: str, hint: str = _TRUST) -> UnsafeArchiveError:
    """Return the error for something that is not loaded with ``safe=True``.

    Examples
    --------
    >>> print(refused("the archive calls os.system").args[0].splitlines()[0])
    the archive calls os.system, which is not loaded with safe=True
    """
    return UnsafeArchiveError(format_error(f"{what}, which is not loaded with safe=True", hint=hint))


class Word:
    """A name that archives may use. Subclasses allow actions; here there are none.

    Parameters
    ----------
    module, name : str
        The name in pickles. The module is imported when the word is used.
    source : str, optional
        The module that has it, where that is another one.

    Attributes
    ----------
    is_value : bool
        Whether it may stand in results as it is, as a class of exceptions does.
    """

    is_value = False

    def __init__(self, module: str, name: str, source: str | None = None) -> None:
        self.module = module
        self.name = name
        self._source = source or module

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"

    def resolve(self) -> Any:
        """Return the object of the word; its module is imported."""
        target: Any = importlib.import_module(self._source)
        for part in self.name.split("."):
            target = getattr(target, part)
        return target

    def call(self, reader: Reader, arguments: tuple[Any, ...]) -> Any:
        """Return the result of a call."""
        raise refused(f"the archive calls {self}")

    def new(self, reader: Reader, arguments: tuple[Any, ...]) -> Any:
        """Return a new, empty instance."""
        raise refused(f"the archive makes an instance of {self}")

    def build(self, reader: Reader, instance: Any, state: Any) -> Any:
        """Give something that was made from this word its contents; returns its replacement, if any."""
        raise refused(f"the archive sets the contents of {self}")


class Function(Word):
    """A function, replaced by one of our own that checks its arguments.

    Parameters
    ----------
    module, name : str
    checked : callable
        Called with the reader and the arguments.
    """

    def __init__(self, module: str, name: str, checked: Callable[..., Any]) -> None:
        super().__init__(module, name)
        self._checked = checked

    def call(self, reader: Reader, arguments: tuple[Any, ...]) -> Any:
        """Return the result of our own function on the arguments."""
        return self._checked(reader, *arguments)


class Value(Word):
    """Something that may stand in results as it is: a class of exceptions, a function without arguments of its own."""

    is_value = True


class Form:
    """Instances of some classes, made from the contents of archives."""

    def new(self, reader: Reader, word: ClassWord, arguments: tuple[Any, ...]) -> Any:
        """Return a new, empty instance."""
        if arguments:
            raise refused(f"the archive makes an instance of {word} with arguments")
        return object.__new__(word.target)

    def call(self, reader: Reader, word: ClassWord, arguments: tuple[Any, ...]) -> Any:
        """Return the result of calling the class."""
        raise refused(f"the archive calls {word}")

    def build(self, reader: Reader, word: ClassWord, instance: Any, state: Any) -> Any:
        """Give an instance its contents; returns its replacement, if any."""
        raise refused(f"the archive sets the contents of {word}")


class Unused:
    """Stands for something that is made anew when it is needed; no contents may refer to it."""


class UnusedForm(Form):
    """Objects that are made anew when they are needed: nothing of the class is made here."""

    def new(self, reader: Reader, word: ClassWord, arguments: tuple[Any, ...]) -> Any:
        """Return something in their place."""
        return Unused()

    def build(self, reader: Reader, word: ClassWord, instance: Any, state: Any) -> Any:
        """Take no notice of their contents."""


class ClassWord(Word):
    """A class of the library, whose instances are made in the way of its kind.

    Parameters
    ----------
    module, name : str
    form : Form, optional
        By default, that of the nearest class that has one.
    source : str, optional
        The module that has it, where that is another one.
    """

    def __init__(self, module: str, name: str, form: Form | None = None, source: str | None = None) -> None:
        super().__init__(module, name, source)
        self._form = form
        self._target: type | None = None

    @property
    def target(self) -> type:
        """The class."""
        if self._target is None:
            value = self.resolve()
            if not isinstance(value, type):
                raise refused(f"the archive takes {self} for a class")
            self._target = value
        return self._target

    @property
    def form(self) -> Form:
        """How instances are made."""
        if self._form is None:
            self._form = next((FORMS[base] for base in self.target.__mro__ if base in FORMS), Form())
        return self._form

    def call(self, reader: Reader, arguments: tuple[Any, ...]) -> Any:
        """Return the result of a call."""
        return self.form.call(reader, self, arguments)

    def new(self, reader: Reader, arguments: tuple[Any, ...]) -> Any:
        """Return a new, empty instance, which waits for its contents."""
        result = self.form.new(reader, self, arguments)
        reader.await_contents(result, self)
        return result

    def build(self, reader: Reader, instance: Any, state: Any) -> Any:
        """Give an instance its contents."""
        return self.form.build(reader, self, instance, state)


#: Class -> how its instances, and those of its subclasses, are made.
FORMS: dict[type, Form] = {}


class Vocabulary:
    """All words that archives may use.

    Parameters
    ----------
    words : iterable of Word
    """

    def __init__(self, words: Iterable[Word] = ()) -> None:
        self._words: dict[tuple[str, str], Word] = {(word.module, word.name): word for word in words}

    def __iter__(self) -> Iterator[Word]:
        return iter(self._words.values())

    def find(self, module: Any, name: Any) -> Word:
        """Return a word.

        Raises
        ------
        UnsafeArchiveError
            If it is none.
        """
        word = None
        if isinstance(module, str) and isinstance(name, str):
            word = self._words.get((module, name)) or self._words.get((current_module(module, importing=False), name))
        if word is None:
            hint = f"import theano before; or {_TRUST}" if str(module).startswith("theano.") else _TRUST
            raise refused(f"the archive needs {_short(module)}.{_short(name)}", hint)
        return word


def _short(text: Any) -> str:
    result = text if isinstance(text, str) else repr(text)
    return result if len(result) <= 80 else f"{result[:77]}..."


class _Known:
    """The vocabulary of the layers that have been imported so far."""

    modules: tuple[str, ...] = ()
    vocabulary = Vocabulary()


def vocabulary() -> Vocabulary:
    """Return all words of the layers that have been imported.

    Examples
    --------
    >>> str(vocabulary().find("builtins", "complex"))
    'builtins.complex'
    """
    if _Known.modules != word_modules():
        modules = word_modules()
        for package in {name.partition(".")[0] for name in modules}:
            load_aliases(package)  # an archive makes its reader import nothing
        _Known.vocabulary = Vocabulary(word for name in modules for word in importlib.import_module(name).words())
        _Known.modules = modules
    return _Known.vocabulary


def class_words(names: Mapping[str, str]) -> Iterator[Word]:
    """Yield a word for each class of some modules: module -> names, separated by spaces.

    Examples
    --------
    >>> [str(word) for word in class_words({"theano_graph": "Type Op"})]
    ['theano_graph.Type', 'theano_graph.Op']
    """
    for module, listed in names.items():
        for name in listed.split():
            yield ClassWord(module, name)


# ---- Contents of objects, copied from plain things

#: Texts that say how something is done: words, dtypes, formats. Nothing that means anything between other words.
_CHOICE = re.compile(r"[\w.+\-<>=|]{0,200}", re.ASCII)
#: Attributes that hold texts for people.
TEXTS = frozenset({"label", "message", "msg", "name", "reason"})
#: Numbers under these names say how many things there are: as many are made.
_COUNTS = re.compile(
    r"n|n_.*|nin|nout|ndim.*|.*_ndim|len_splits|count|sequences|states|convdim|dims?|order|depth|i|axis"
)
_MOST = 10_000
_DEPTH = 40
#: Classes whose instances are plain, beside numbers and texts; layers add theirs.
LEAVES: list[type] = [Type, PureOp, Variable, Enum, FunctionGraph]
_NUMBERS = (type(None), bool, int, float, complex, bytes)


class Contents:
    """A copy of some contents, and the variables that were met.

    Parameters
    ----------
    whose : str
        For errors.
    """

    def __init__(self, whose: str) -> None:
        self._whose = whose
        self._known: dict[int, tuple[Any, Any]] = {}
        self.variables: list[Variable] = []
        self.things: list[Any] = []

    def attributes(self, state: Any) -> dict[str, Any]:
        """Return a copy of attributes.

        Raises
        ------
        UnsafeArchiveError
            If they are none, or hold anything that is not plain.
        """
        if type(state) is not dict:
            raise refused(f"the contents of {self._whose} are a {type(state).__name__} in place of attributes")
        result = {}
        for name, value in state.items():
            if type(name) is not str or not name.isidentifier() or name.startswith("__"):
                raise refused(f"{self._whose} has an attribute {name!r:.60}")
            result[name] = self.copy(value, name)
        return result

    def copy(self, value: Any, name: str = "", depth: int = 0) -> Any:
        """Return a copy of plain contents; `name` is that of the attribute that they belong to."""
        kind = type(value)
        if kind is str:
            if name not in TEXTS and not _CHOICE.fullmatch(value):
                raise refused(f"{self._whose} has the text {value!r:.60} as `{name}`")
            return value
        if kind is int and not -_MOST <= value <= _MOST and _COUNTS.fullmatch(name):
            raise refused(f"{self._whose} has the number {value!s:.40} as `{name}`")
        if kind in _NUMBERS:
            return value
        if kind in (list, tuple, set, frozenset, dict, OrderedDict):
            return self._container(value, name, depth)
        if isinstance(value, Variable):
            self.variables.append(value)
        # A class or a function can only have come from a word that says so.
        if isinstance(value, Word) or not (isinstance(value, (*LEAVES, type)) or callable(value)):
            raise refused(f"{self._whose} has {value if isinstance(value, Word) else f'a {kind.__name__}'} as `{name}`")
        self.things.append(value)
        return value

    def _container(self, value: Any, name: str, depth: int) -> Any:
        if depth > _DEPTH:
            raise refused(f"the contents of {self._whose} are nested more than {_DEPTH} deep")
        cached = self._known.get(id(value))
        if cached is not None:
            return cached[1]
        if isinstance(value, dict):
            # Keys name the meaning of their values, as the names of attributes do.
            result: Any = type(value)(
                (self.copy(k, name, depth + 1), self.copy(v, k if type(k) is str else name, depth + 1))
                for k, v in value.items()
            )
        else:
            result = type(value)([self.copy(item, name, depth + 1) for item in value])
        self._known[id(value)] = (value, result)
        return result


def is_same(first: Any, second: Any) -> bool:
    """Tell whether contents are equal, and of the same classes: True is not 1."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(is_same, first, second))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(is_same(first[key], second[key]) for key in first)
    if isinstance(first, float):
        return first == second or (first != first and second != second)
    return bool(first == second)
