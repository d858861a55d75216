"""Structural hashes of values and graphs, the same in all processes."""

from __future__ import annotations

import io
import pickle
import struct
import sys
import threading
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, TypeAlias

from .._errors import TheanoError, format_error
from .._expression._nodes import Apply, Variable
from .._expression._op import PureOp
from .._expression._origin import Origin
from .._function_graph._fgraph import FunctionGraph
from ._code import NoStructuralHashError, Taken, global_name, known_name, parts_of_class, parts_of_function
from ._scope import GraphScope, brief_of_array, digest_of_array, is_array

# ---- Canonical pickles: equal for equal content, and made in C, where a walk in Python takes ten times as long

#: The mark of sets in pickles: their elements come in another order in each process.
_OF_SETS = (pickle.EMPTY_SET, pickle.FROZENSET)
#: Objects that are hashed by a walk over their graph, without the lines where it was made.
_GRAPHS = (Variable, Apply, FunctionGraph, Origin)


class _NotCanonicalError(Exception):
    """An object has to be looked at by a walk."""


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, cache: dict[Any, bool]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._known_code = cache
        # Without references to earlier objects: whether equal parts are one object does not count.
        self.fast = True

    def reducer_override(self, obj: Any) -> Any:
        code: Any = obj
        if not isinstance(obj, (type, FunctionType, BuiltinFunctionType)):
            code = type(obj)
            if isinstance(obj, _GRAPHS) or getattr(obj, "__wrapped__", None) is not None:
                raise _NotCanonicalError
        is_known = self._known_code.get(code)
        if is_known is None:
            is_known = self._known_code[code] = known_name(code) is not None
        if not is_known:
            raise _NotCanonicalError
        return NotImplemented


def canonical_pickle(value: Any, known: dict[Any, bool]) -> bytes | None:
    """Return a pickle that is equal for all objects of equal content, in each process; None where there is none.

    There is none of objects that hold code of the user's, graphs, or sets.

    Parameters
    ----------
    value : object
    known : dict
        Facts about functions and classes: whether their code is named by versions.
    """
    file = io.BytesIO()
    try:
        _Pickler(file, known).dump(value)
    except Exception:  # noqa: BLE001  # after any error, the object has to be looked at
        return None
    result = file.getvalue()
    return None if any(mark in result for mark in _OF_SETS) else result


# ---- Structural hashes of graphs, and of the values that ops and types consist of

#: Greater than the number of any object that is being hashed.
_NOTHING = sys.maxsize
#: Thread-local objects and locks: their content belongs to a run, not to the program.
_OF_RUN: tuple[type, ...] = (threading.local, type(threading.Lock()), type(threading.RLock()))
#: Bytes of arrays in objects that are compared by their pickles.
_SMALL = 4096
#: Values of attributes that are equal only where they are the same, if they are of one type: zeros have signs.
_EXACT: frozenset[type] = frozenset((str, int, bool, type(None)))
#: The flag of classes whose objects have nothing but attributes, unless another base says so.
_MADE_IN_PYTHON = 1 << 9
#: So many functions and classes may be behind names that code takes from modules: a module may lead to a whole library.
_MOST_TAKEN = 100
#: So many times functions and classes may be gone through for one graph, which takes a quarter of a second.
_MOST_CODE = 5000
#: A hash, where the nodes inside of the object were made, and the object.
_Known: TypeAlias = tuple[bytes, "tuple[Origin | None, ...]", Any]


def structural_hash(inputs: Sequence[Variable], outputs: Sequence[Variable], *, names: bool = False) -> str:
    """Return a text that is equal for graphs which compute the same by the same nodes, in this and any other process.

    Ops and types count by their parts, constants by their content (each NaN by its bits), inputs by position
    and type. The places where nodes were made do not count. A node shared in one graph and computed twice in another
    differs.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
        The graph; other variables without an owner than `inputs` count by type and name.
    names : bool
        Whether the names of variables count.

    Returns
    -------
    str
        40 hexadecimal digits. Compare them between equal versions of Python, NumPy and this library only.

    Raises
    ------
    NoStructuralHashError
        If something in the graph has no content that can be compared: an op whose class has no `__props__`, say.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano_graph.hashing import structural_hash
    >>> x, y = T.dvector(), T.dvector()
    >>> structural_hash([x], [T.exp(x) + 1]) == structural_hash([y], [T.exp(y) + 1])
    True
    >>> structural_hash([x], [T.exp(x) + 1]) == structural_hash([x], [T.exp(x) + 2])
    False
    """
    scope = GraphScope(StructuralHasher(), names)
    scope.add_inputs(inputs)
    scope.add(outputs)
    return scope.digest(outputs)


class StructuralHasher:
    """Hashes values by their content; it knows hashed values by identity, and keeps them alive.

    Attributes
    ----------
    has_user_code : bool
        Whether code of the user's was among the hashed values.
    """

    def __init__(self) -> None:
        self.has_user_code = False
        self._known: dict[int, _Known] = {}
        #: The same by keys that are equal for objects of equal content, and made in C: attributes, elements, pickles.
        self._by_content: dict[Any, _Known] = {}
        #: Functions and classes: whether their code is named by versions.
        self._known_code: dict[Any, bool] = {}
        self._open: dict[int, int] = {}
        #: The outermost object that one which is being hashed refers back to.
        self._lowest = _NOTHING
        self._origins: list[Origin | None] = []
        #: How many functions and classes have been met behind names that code takes from modules.
        self._n_taken = 0
        #: How many times a function or class of the user's has been gone through.
        self._n_code = 0
        self._is_taken = False

    def origins_in(self, value: Any) -> tuple[Origin | None, ...]:
        """Return where the nodes inside of an object that has been hashed were made, in the order of the hash."""
        cached = self._known.get(id(value))
        return () if cached is None else cached[1]

    def add_origins(self, origins: Iterable[Origin | None]) -> None:
        """Note where nodes inside of the object that is being hashed were made."""
        self._origins += origins

    def of(self, value: Any) -> bytes:
        """Return a hash of a value by its content.

        Raises
        ------
        NoStructuralHashError
            If it has none.
        """
        cached = self._known.get(id(value))
        if cached is not None:
            return cached[0]
        brief = brief_of_array(value) if is_array(value) else _attributes(value)
        same = None if brief is None else self._by_content.get(brief)
        if same is None:
            self._hash(value)
            same = self._known[id(value)]
            if brief is not None:
                self._by_content[brief] = same
        else:
            self._known[id(value)] = (same[0], same[1], value)
        return same[0]

    def _hash(self, value: Any) -> None:
        """Make known the hash of a value."""
        if is_array(value):
            # Without the copies that pickles make of large values.
            self._known[id(value)] = digest_of_array(value), (), value
            return
        brief = _pickled(value)
        same = None if brief is None else self._by_content.get(brief)
        if same is not None:
            self._known[id(value)] = (same[0], same[1], value)
            return
        content = None if brief is None else canonical_pickle(value, self._known_code)
        if content is None:
            self._walked(value)
        else:
            self._known[id(value)] = blake2b(b"pickle " + content, digest_size=20).digest(), (), value
        # Pickles of the user's objects may leave out differences between them.
        if brief is not None and (content is not None or not self.has_user_code):
            self._by_content[brief] = self._known[id(value)]

    def _walked(self, value: Any) -> bytes:
        try:
            return self._known_or_new(value)
        except TheanoError:
            raise
        except Exception as error:  # any error of users' objects; too deep a nesting
            why = f"looking at what it holds fails ({type(error).__name__}: {error})"
            raise _refusal(value, why, "leave out of it what cannot be pickled") from error

    def _known_or_new(self, value: Any) -> bytes:
        mark = id(value)
        cached = self._known.get(mark)
        if cached is not None:
            self._origins += cached[1]
            return cached[0]
        depth = len(self._open)
        if mark in self._open:
            # An object that leads to itself, as a class to its methods: told by how far above it is.
            self._lowest = min(self._lowest, self._open[mark])
            return b"up %d" % (depth - self._open[mark])
        outer, self._origins = self._origins, []
        lowest, self._lowest = self._lowest, _NOTHING
        self._open[mark] = depth
        try:
            result = blake2b(self._content(value), digest_size=20).digest()
        finally:
            del self._open[mark]
            inner, self._origins = tuple(self._origins), outer
            level, self._lowest = self._lowest, min(lowest, self._lowest)
        self._origins += inner
        if level >= depth:  # an object that refers to one above it has another content elsewhere
            self._lowest = lowest
            self._known[mark] = result, inner, value
        return result

    def _content(self, value: Any) -> bytes:
        plain = _plain(value)
        if plain is not None:
            return plain
        kind = type(value)
        if kind in (tuple, list):
            if value and all(isinstance(v, Variable) for v in value):
                return self._of_variables(value)
            return b"%s %d " % (kind.__name__.encode(), len(value)) + b"".join(map(self._short, value))
        if kind is dict:
            return b"dict " + b"".join(self._short(k) + self._short(v) for k, v in value.items())
        if kind in (set, frozenset):
            return b"set " + b"".join(sorted(map(self._short, value)))
        if isinstance(value, (Variable, Apply)):
            return self._of_variables([value] if isinstance(value, Variable) else list(value.outputs))
        if isinstance(value, FunctionGraph):
            return self._of_graph(value.inputs, value.outputs)
        if isinstance(value, (type, FunctionType, BuiltinFunctionType)) or kind.__name__ == "ufunc":
            return self._of_code(value)
        if isinstance(value, MethodType):
            return b"method " + self._short(value.__func__) + self._short(value.__self__)
        return self._of_object(value)

    def _short(self, value: Any) -> bytes:
        plain = _plain(value)
        if plain is not None:
            return b"%d " % len(plain) + plain
        return self._known_or_new(value)

    def _of_variables(self, variables: Sequence[Variable]) -> bytes:
        return self._of_graph((), variables)

    def _of_graph(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> bytes:
        scope = GraphScope(self, True)
        scope.add_inputs(inputs)
        scope.add(outputs)
        self._origins += scope.origins()
        return b"graph " + scope.digest(outputs).encode()

    def _of_code(self, value: Any) -> bytes:
        name = known_name(value)
        if name is not None:
            return b"global " + name.encode()
        self.has_user_code = True
        self._n_code += 1
        if self._n_code > _MOST_CODE:  # code that leads to itself in many ways is gone through once for each of them
            raise _refusal(value, "too much code leads to it", "let fewer classes and functions name each other")
        self._n_taken += self._is_taken
        if self._n_taken > _MOST_TAKEN:
            raise _refusal(value, "too much code is behind a module that is used", "import from it what is used")
        if isinstance(value, type):
            if global_name(value) is None:
                raise _refusal(value, "no other process can import it", "define it at the top of a module")
            parts = parts_of_class(value)
        elif isinstance(value, FunctionType):
            parts = parts_of_function(value)
        else:
            raise _refusal(value, "its code cannot be read", "write it in Python")
        head = f"code {value.__module__}:{value.__qualname__} ".encode()
        return head + b"".join(name.encode() + b" " + self._of_part(part) for name, part in parts)

    def _of_part(self, part: Any) -> bytes:
        """Hash a part of a class or function."""
        if type(part) is not Taken:
            return self._short(part)
        outer, self._is_taken = self._is_taken, True
        try:
            return self._short(part.value)
        finally:
            self._is_taken = outer

    def _of_object(self, value: Any) -> bytes:
        kind = type(value)
        if isinstance(value, _OF_RUN):
            return b"of a run " + (kind.__name__.encode() if kind in _OF_RUN else self._short(kind))
        if isinstance(value, PureOp) and kind.__props__ is None and known_name(kind) is None:
            raise _refusal(value, "its class has no __props__", "name the attributes that matter: __props__ = (...)")
        try:
            reduced = value.__reduce_ex__(2)
        except Exception as error:
            raise _refusal(value, f"it cannot be pickled ({error})", "leave it out of what the op holds") from error
        head = b"object " + self._short(kind)
        if isinstance(value, PureOp) and kind.__props__ and known_name(kind) is None:
            # Pickles may leave out the code behind the names of a user's class.
            head += b"props " + self._short([getattr(value, name) for name in kind.__props__])
        if isinstance(reduced, str):
            return head + reduced.encode() + self._of_named(value)
        function, arguments, *others = reduced
        pieces = [self._short(function), self._short(arguments)]
        # State, then items of lists and of dictionaries, which come as iterators.
        pieces += [self._short(list(part) if hasattr(part, "__next__") else part) for part in others]
        if getattr(value, "__wrapped__", None) is not None:
            # Around something else: the function of the pickle may find it by names alone.
            pieces.append(self._short(vars(value) if hasattr(value, "__dict__") else value.__wrapped__))
        return head + b"".join(pieces)

    def _of_named(self, value: Any) -> bytes:
        """Hash the parts of an object that its pickle leaves out because it names the object only."""
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:  # a cache around a function, say
            return b" wraps " + self._short(wrapped)
        if known_name(type(value)) is None and known_name(value) is None:
            raise _refusal(value, "it is pickled by its name alone", "let its pickle say what it holds")
        return b""


def _attributes(value: Any) -> Any:
    """Return a key that is equal for ops of equal content that have texts and whole numbers only; None for others."""
    if not isinstance(value, PureOp):
        return None
    kind: Any = type(value)
    namespace = getattr(value, "__dict__", None)
    if namespace is None or not _has_attributes_alone(kind):
        return None
    contents = tuple(namespace.values())
    types = tuple(map(type, contents))
    return (kind, tuple(namespace), contents, types) if _EXACT.issuperset(types) else None


@cache
def _has_attributes_alone(kind: type) -> bool:
    made_in_python = all(base is object or base.__flags__ & _MADE_IN_PYTHON for base in kind.__mro__)
    return made_in_python and not any(vars(base).get("__slots__") for base in kind.__mro__)


def _pickled(value: Any) -> bytes | None:
    """Return the pickle of a small object; None where there is none."""
    try:
        if getattr(value, "nbytes", 0) > _SMALL:
            return None
        result: bytes = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        return result
    except Exception:  # noqa: BLE001  # after any error, the object has to be looked at
        return None


def _plain(value: Any) -> bytes | None:
    """Return the content of a value of Python's simplest types; None for others."""
    kind: type = type(value)
    result: bytes | None = None
    if value is None or kind is bool or value is Ellipsis or value is NotImplemented:
        result = str(value).encode()
    elif kind is str:
        result = b"str " + value.encode("utf-8", "surrogatepass")
    elif kind is int:
        result = b"int " + hex(value).encode()
    elif kind is float:
        result = b"float " + struct.pack("<d", value)
    elif kind is complex:
        result = b"complex " + struct.pack("<dd", value.real, value.imag)
    elif kind is bytes:
        result = b"bytes " + value
    elif kind is slice:
        parts = [part for side in (value.start, value.stop, value.step) if (part := _plain(side)) is not None]
        if len(parts) == 3:
            result = b"slice " + b",".join(parts)
    return result


def _refusal(value: Any, why: str, hint: str) -> NoStructuralHashError:
    what = value if isinstance(value, type) else type(value)
    name = f"{what.__module__}.{what.__qualname__}"
    return NoStructuralHashError(
        format_error(f"{name} has no content that other processes could compare: {why}", hint=hint)
    )
