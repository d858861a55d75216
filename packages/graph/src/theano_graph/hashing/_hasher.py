"""Structural hashes of graphs, and of the values that ops and types consist of."""

from __future__ import annotations

import pickle
import struct
import sys
import threading
from array import array
from collections.abc import Hashable, Iterable, Sequence
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, TypeAlias

from .._errors import TheanoError, compose
from .._expression._nodes import Apply, Constant, Variable
from .._expression._op import PureOp
from .._expression._origin import Origin
from .._function_graph._fgraph import FunctionGraph
from .._traversal._walk import toposort
from ._canonical import canonical_pickle
from ._code import global_name, known_name, parts_of_class, parts_of_function
from ._errors import NoStructuralHashError

#: Stand in the stream of numbers where there is no name, and before what is not a number of a variable.
_NO_NAME, _LEAF, _TAG, _CLASS = -1, -2, -3, -4
#: Greater than the number of any object that is being hashed.
_NOTHING = sys.maxsize
#: What threads have of their own, and locks: their content belongs to a run, and tells nothing of the program.
_OF_RUN: tuple[type, ...] = (threading.local, type(threading.Lock()), type(threading.RLock()))
#: Bytes of arrays that are compared by their pickles.
_SMALL = 4096
#: Begins what is known of a number, which no pickle does.
_NUMBER = b"number "
#: A hash, where the nodes inside of the object were made, and the object.
_Known: TypeAlias = tuple[bytes, "tuple[Origin | None, ...]", Any]


def structural_hash(inputs: Sequence[Variable], outputs: Sequence[Variable], *, names: bool = False) -> str:
    """Return a text that is equal for graphs which compute the same by the same nodes, in this and any other process.

    Ops and types count by what they consist of, constants by their content (each NaN by its bits), inputs by position
    and type. Where nodes were made does not count. What is shared in one graph and computed twice in another differs.

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


def hex_digest(parts: Iterable[bytes]) -> str:
    """Return a hash of some bytes as 40 hexadecimal digits; the borders between parts count."""
    state = blake2b(digest_size=20)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


class StructuralHasher:
    """Hashes values by their content; what it has hashed once it knows by identity, and keeps alive.

    Attributes
    ----------
    has_user_code : bool
        Whether code of the user's was among what has been hashed.
    """

    def __init__(self) -> None:
        self.has_user_code = False
        self._known: dict[int, _Known] = {}
        #: What is known of objects by their pickles: equal pickles are of equal content, and are made in C.
        self._by_pickle: dict[bytes, _Known] = {}
        #: Functions and classes: whether their code is named by versions.
        self._known_code: dict[Any, bool] = {}
        self._open: dict[int, int] = {}
        #: The outermost object that one which is being hashed refers back to.
        self._lowest = _NOTHING
        self._origins: list[Origin | None] = []

    def origins_in(self, value: Any) -> tuple[Origin | None, ...]:
        """Return where the nodes inside of an object that has been hashed were made, in the order of the hash."""
        known = self._known.get(id(value))
        return () if known is None else known[1]

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
        known = self._known.get(id(value))
        if known is not None:
            return known[0]
        brief = _pickled(value)
        same = None if brief is None else self._by_pickle.get(brief)
        if same is not None:
            self._known[id(value)] = (same[0], same[1], value)
            return same[0]
        if brief is None and _is_array(value):
            # Without the copies that pickles make of what may be large.
            found = _digest_of_array(value)
            self._known[id(value)] = found, (), value
            return found
        if brief is None or brief.startswith(_NUMBER):
            whole = brief
        else:
            whole = canonical_pickle(value, self._known_code)
        if whole is None:
            found = self._walked(value)
        else:
            found = blake2b(b"pickle " + whole, digest_size=20).digest()
            self._known[id(value)] = found, (), value
        if brief is not None:
            self._by_pickle[brief] = self._known[id(value)]
        return found

    def _walked(self, value: Any) -> bytes:
        try:
            return self._known_or_new(value)
        except TheanoError:
            raise
        except Exception as error:  # whatever objects of users raise; too deep a nesting
            why = f"looking at what it holds fails ({type(error).__name__}: {error})"
            raise _refusal(value, why, "leave out of it what cannot be pickled") from error

    def _known_or_new(self, value: Any) -> bytes:
        mark = id(value)
        known = self._known.get(mark)
        if known is not None:
            self._origins += known[1]
            return known[0]
        depth = len(self._open)
        if mark in self._open:
            # An object that leads to itself, as a class to its methods: told by how far above it is.
            self._lowest = min(self._lowest, self._open[mark])
            return b"up %d" % (depth - self._open[mark])
        outer, self._origins = self._origins, []
        lowest, self._lowest = self._lowest, _NOTHING
        self._open[mark] = depth
        try:
            found = blake2b(self._content(value), digest_size=20).digest()
        finally:
            del self._open[mark]
            inner, self._origins = tuple(self._origins), outer
            own, self._lowest = self._lowest, min(lowest, self._lowest)
        self._origins += inner
        if own >= depth:  # what refers to an object above it has another content elsewhere
            self._lowest = lowest
            self._known[mark] = found, inner, value
        return found

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
        if isinstance(value, type):
            if global_name(value) is None:
                raise _refusal(value, "no other process can import it", "define it at the top of a module")
            parts = parts_of_class(value)
        elif isinstance(value, FunctionType):
            parts = parts_of_function(value)
        else:
            raise _refusal(value, "its code cannot be read", "write it in Python")
        head = f"code {value.__module__}:{value.__qualname__} ".encode()
        return head + b"".join(name.encode() + b" " + self._short(part) for name, part in parts)

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
        if isinstance(reduced, str):
            return head + reduced.encode() + self._of_named(value)
        function, arguments, *rest = reduced
        pieces = [self._short(function), self._short(arguments)]
        # State, then items of lists and of dictionaries, which come as iterators.
        pieces += [self._short(list(part) if hasattr(part, "__next__") else part) for part in rest]
        if getattr(value, "__wrapped__", None) is not None:
            # Around something else: the function of the pickle may find it by names alone.
            pieces.append(self._short(vars(value) if hasattr(value, "__dict__") else value.__wrapped__))
        return head + b"".join(pieces)

    def _of_named(self, value: Any) -> bytes:
        """Hash what the pickle of an object leaves out because it names the object only."""
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:  # a cache around a function, say
            return b" wraps " + self._short(wrapped)
        if known_name(type(value)) is None and known_name(value) is None:
            raise _refusal(value, "it is pickled by its name alone", "let its pickle say what it holds")
        return b""


class GraphScope:
    """The variables of one graph, numbered in the order of a walk, and what was met on the way.

    Attributes
    ----------
    nodes : list of Apply
    leaves : list of Variable
        Inputs, then what else has no owner.
    numbers : dict
        Variable -> its number.
    """

    def __init__(self, hasher: StructuralHasher, names: bool) -> None:
        self.hasher = hasher
        self.nodes: list[Apply] = []
        self.leaves: list[Variable] = []
        self.numbers: dict[Variable, int] = {}
        self._names = names
        self._stream: list[int] = []
        #: Hash of an op, a type, ... or a name -> its number.
        self._table: dict[Hashable, int] = {}
        #: Number by identity.
        self._seen: dict[int, int] = {}

    def add_inputs(self, inputs: Iterable[Variable]) -> None:
        """Number the inputs of the graph."""
        for variable in inputs:
            if variable not in self.numbers:
                self._add_leaf(variable, is_input=True)

    def add(self, outputs: Sequence[Variable]) -> None:
        """Walk over the nodes that `outputs` need."""
        numbers, stream, seen = self.numbers, self._stream, self._seen
        add_row = stream.extend
        nodes = toposort(numbers, outputs)
        self.nodes += nodes
        for node in nodes:
            try:
                row = [numbers[v] for v in node.inputs]
            except KeyError:
                row = [numbers[v] if v in numbers else self._add_leaf(v) for v in node.inputs]
            op = seen.get(id(node.op))
            if op is None:
                op = self._number(node.op)
            if len(node.outputs) == 1 and node._tag is None and type(node) is Apply:
                # Most nodes: the same numbers as below, without a call.
                variable = node.outputs[0]
                of_type = seen.get(id(variable.type))
                plain = type(variable) is variable.type.variable_class and variable.name is variable._tag is None
                if of_type is not None and plain and variable not in numbers:
                    numbers[variable] = len(numbers)
                    add_row((op, len(row), *row, 1, of_type, _NO_NAME))
                    continue
            add_row((op, len(row), *row, len(node.outputs)))
            if node._tag is not None or type(node) is not Apply:
                stream += (_CLASS, self._number(type(node)))
                self._add_tag(node._tag)
            for variable in node.outputs:
                if variable not in numbers:  # what is an input as well has its number
                    numbers[variable] = len(numbers)
                self._describe(variable)
        self._add_leaves(outputs)

    def _add_leaves(self, variables: Iterable[Variable]) -> None:
        for variable in variables:
            if variable not in self.numbers:
                self._add_leaf(variable)

    def _add_leaf(self, variable: Variable, is_input: bool = False) -> int:
        number = self.numbers[variable] = len(self.numbers)
        self.leaves.append(variable)
        self._stream += (_LEAF, is_input)
        self._describe(variable)
        if isinstance(variable, Constant):
            self._stream.append(self._number(variable.data))
        return number

    def _describe(self, variable: Variable) -> None:
        of_type = self._seen.get(id(variable.type))
        name = variable.name if self._names else None
        self._stream.append(self._number(variable.type) if of_type is None else of_type)
        self._stream.append(_NO_NAME if name is None else self._entry(name))
        if type(variable) is not variable.type.variable_class:
            self._stream += (_CLASS, self._number(type(variable)))
        if variable._tag is not None:
            self._add_tag(variable._tag)

    def _add_tag(self, tag: Any) -> None:
        content = getattr(tag, "__dict__", tag)
        if content:
            self._stream += (_TAG, self._number(content))

    def _number(self, value: Any) -> int:
        """Return the number of an object that is equal for all that have the same content."""
        known = self._seen.get(id(value))
        if known is not None:
            return known
        number = self._entry(self.hasher.of(value))
        self._seen[id(value)] = number  # the hasher keeps the object
        return number

    def _entry(self, key: Hashable) -> int:
        found = self._table.get(key)
        if found is None:
            found = self._table[key] = len(self._table)
        return found

    def origins(self) -> list[Origin | None]:
        """Return where everything was made: nodes, leaves, then the nodes inside of the ops of the nodes."""
        found = [node.origin for node in self.nodes]
        found += [leaf.origin for leaf in self.leaves]
        inside = {mark: self.hasher.origins_in(op) for mark, op in {id(n.op): n.op for n in self.nodes}.items()}
        if any(inside.values()):
            for node in self.nodes:
                found += inside[id(node.op)]
        return found

    def digest(self, outputs: Sequence[Variable]) -> str:
        """Return the hash of all that was met, and of which variables are the outputs."""
        table = (key if isinstance(key, bytes) else b"name " + str(key).encode() for key in self._table)
        stream = array("q", [*self._stream, *(self.numbers[v] for v in outputs)])
        return hex_digest([*table, stream.tobytes()])


def _is_array(value: Any) -> bool:
    """Tell whether a value is an array of numbers of NumPy's own class."""
    kind = type(value)
    return (kind.__module__, kind.__name__) == ("numpy", "ndarray") and value.dtype.kind in "biufc"


def _digest_of_array(value: Any) -> bytes:
    by_columns = bool(value.flags.f_contiguous and not value.flags.c_contiguous)
    found = blake2b(f"array {value.dtype.str} {value.shape} {by_columns} ".encode(), digest_size=20)
    rows = value.T if by_columns else value
    if not rows.flags.c_contiguous:
        rows = rows.copy()
    found.update(rows.reshape(-1).view("uint8").data)
    return found.digest()


def _pickled(value: Any) -> bytes | None:
    """Return the pickle of a small object; None where there is none."""
    try:
        size = getattr(value, "nbytes", None)
        if size is not None:
            if size > _SMALL:
                return None
            if _is_array(value) and value.ndim == 0:
                # The most frequent ones by far; a pickle takes longer.
                return _NUMBER + f"{value.dtype.str} ".encode() + bytes(value.tobytes())
        found: bytes = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        return found
    except Exception:  # noqa: BLE001  # whatever it is, the object has to be looked at
        return None


def _plain(value: Any) -> bytes | None:
    """Return the content of a value of Python's simplest types; None for others."""
    kind: type = type(value)
    found: bytes | None = None
    if value is None or kind is bool or value is Ellipsis or value is NotImplemented:
        found = str(value).encode()
    elif kind is str:
        found = b"str " + value.encode("utf-8", "surrogatepass")
    elif kind is int:
        found = b"int " + hex(value).encode()
    elif kind is float:
        found = b"float " + struct.pack("<d", value)
    elif kind is complex:
        found = b"complex " + struct.pack("<dd", value.real, value.imag)
    elif kind is bytes:
        found = b"bytes " + value
    elif kind is slice:
        parts = [part for side in (value.start, value.stop, value.step) if (part := _plain(side)) is not None]
        if len(parts) == 3:
            found = b"slice " + b",".join(parts)
    return found


def _refusal(value: Any, why: str, mend: str) -> NoStructuralHashError:
    what = value if isinstance(value, type) else type(value)
    name = f"{what.__module__}.{what.__qualname__}"
    return NoStructuralHashError(compose(f"{name} has no content that other processes could compare: {why}", mend=mend))
