"""The graph in a hash: each node as a row of numbers, and classes whose copies are plain."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from hashlib import blake2b
from types import GetSetDescriptorType
from typing import TYPE_CHECKING, Any, TypeAlias

from .._expression._nodes import Apply, Constant, Variable
from .._expression._op import Op
from .._expression._origin import Origin
from .._traversal._walk import toposort
from ._code import known_name

if TYPE_CHECKING:
    from ._hasher import StructuralHasher


# ---- Hashes of bytes and of arrays

#: Bytes of arrays that are compared by their elements before they are hashed.
_SMALL = 4096


def hex_digest(parts: Iterable[bytes]) -> str:
    """Return a hash of some bytes as 40 hexadecimal digits; the borders between parts count."""
    state = blake2b(digest_size=20)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def is_array(value: Any) -> bool:
    """Tell whether a value is an array of numbers of NumPy's own class."""
    kind = type(value)
    return (kind.__module__, kind.__name__) == ("numpy", "ndarray") and value.dtype.kind in "biufc"


def is_by_columns(value: Any) -> bool:
    """Tell whether the first index of an array runs fastest in memory, and not the last one."""
    return bool(value.flags.f_contiguous and not value.flags.c_contiguous)


def brief_of_array(value: Any) -> Any:
    """Return a key that is equal for small arrays of equal content, faster than their hash; None for others."""
    if value.nbytes > _SMALL:
        return None
    return value.dtype.str, value.shape, value.ndim > 1 and is_by_columns(value), value.tobytes()


def digest_of_array(value: Any) -> bytes:
    """Return a hash of an array that :func:`is_array` takes: of its dtype, shape and elements."""
    by_columns = is_by_columns(value)
    result = blake2b(f"array {value.dtype.str} {value.shape} {by_columns} ".encode(), digest_size=20)
    rows = value.T if by_columns else value
    if not rows.flags.c_contiguous:
        rows = rows.copy()
    result.update(rows.reshape(-1).view("uint8").data)
    return result.digest()


# ---- Classes of variables with plain copies, which add nothing to a hash

#: Methods called when an object is made, shown to somebody or described, which copying a graph does not do.
_NOT_COPYING = frozenset(
    {"__annotations__", "__dir__", "__doc__", "__format__", "__init__", "__init_subclass__", "__module__", "__new__"}
    | {"__repr__", "__sizeof__", "__slots__", "__str__", "__subclasshook__", "_repr_html_", "auto_name"}
    # Python's own notes on a class, from 3.13 and 3.14 on.
    | {"__annotate__", "__annotate_func__", "__annotations_cache__", "__firstlineno__", "__static_attributes__"}
)


@cache
def _looked_at() -> frozenset[str]:
    """Return the attributes of variables on which a copy may depend."""
    return frozenset(dir(Variable)) - _NOT_COPYING | {"__getattr__"}


def copies_plainly(kind: type[Variable]) -> bool:
    """Tell whether copies of the variables of a class are of the plain class that their type has.

    :meth:`Variable.clone` makes them so, if neither it nor anything that it reads has been replaced by code of the
    user's. The other members of the class are then out of reach for all uses of the copy.
    """
    if known_name(type(kind)) is None:
        return False
    table: dict[type, bool] = {}
    for name in _looked_at():
        owner = next(
            (base for base in kind.__mro__ if name in vars(base) and not _is_pythons(vars(base)[name])), object
        )
        if name == "clone" and owner is not Variable:
            return False
        if owner not in table:
            table[owner] = known_name(owner) is not None
        if not table[owner]:
            return False
    return True


def _is_pythons(value: Any) -> bool:
    """Tell whether Python itself has given a class an attribute: `__dict__` and `__weakref__` of its objects."""
    return isinstance(value, GetSetDescriptorType)


def has_attributes_in_the_way(variable: Any) -> bool:
    """Tell whether a variable has an attribute of its own in place of a copy method of its class."""
    return not _looked_at().isdisjoint(vars(variable))


# ---- The variables of one graph, numbered, and the stream of numbers behind a structural hash

#: Stand in the stream of numbers where there is no name, and before entries that are not numbers of variables.
_NO_NAME, _LEAF, _TAG, _CLASS, _ATTRIBUTES = -1, -2, -3, -4, -5
#: ``(scope, roots, numbers, stream, used, Apply) -> nodes``: numbers plain nodes in C; None for a cyclic graph.
WalkInC: TypeAlias = Callable[..., "list[Apply] | None"]


class GraphScope:
    """The variables of one graph, numbered in the order of a walk, and the objects met on the way.

    Parameters
    ----------
    hasher : StructuralHasher
    names : bool
        Whether the names of variables count.
    walk : callable, optional
        Does this class's work in C for nodes that have nothing but an op and one result, and asks for the rest.
    copied : bool
        Whether nothing is done with the graph but to a copy of it: then the class of a variable counts only where the
        copy is no plain variable of the type.

    Attributes
    ----------
    nodes : list of Apply
    leaves : list of Variable
        Inputs, then other variables without an owner.
    ops : list of Op
        The different ones, in the order in which they came up.
    numbers : dict
        Variable -> its number.
    used : bytearray
        For each input, 1 where a node or the graph uses it.
    """

    def __init__(
        self, hasher: StructuralHasher, names: bool, walk: WalkInC | None = None, *, copied: bool = False
    ) -> None:
        self.hasher = hasher
        self.nodes: list[Apply] = []
        self.leaves: list[Variable] = []
        self.ops: list[Op] = []
        self.numbers: dict[Variable, int] = {}
        self.used = bytearray()
        self._names = names
        self._walk = walk
        self._is_copied = copied
        #: Class -> whether the copies of its variables are plain.
        self._plainly: dict[type[Variable], bool] = {}
        self._stream = array("q")
        #: Hash of an op, a type, ... or a name -> its number.
        self._table: dict[Hashable, int] = {}
        #: Number by identity.
        self._seen: dict[int, int] = {}
        self._ops: dict[int, int] = {}

    def add_inputs(self, inputs: Iterable[Variable]) -> None:
        """Number the inputs of the graph."""
        for variable in inputs:
            if variable not in self.numbers:
                self._add_leaf(variable, is_input=True)
        self.used = bytearray(len(self.numbers))

    def add(self, outputs: Sequence[Variable]) -> None:
        """Walk over the nodes that `outputs` need."""
        numbers = self.numbers
        nodes = None
        if self._walk is not None:
            roots = [v.owner for v in outputs if v not in numbers and v.owner is not None]
            nodes = self._walk(self, roots, numbers, self._stream, self.used, Apply)
        if nodes is None:
            nodes = toposort(numbers, outputs)
            for node in nodes:
                row = [numbers[v] if v in numbers else self._add_leaf(v) for v in node.inputs]
                self._note_use(row)
                self._add_node(node, self._number_of_op(node.op), row)
        self.nodes += nodes
        self._add_leaves(outputs)
        self._note_use([numbers[v] for v in outputs])

    def _note_use(self, numbers: Iterable[int]) -> None:
        used = self.used
        count = len(used)
        for number in numbers:
            if number < count:
                used[number] = 1

    def _add_node(self, node: Apply, op: int, row: Sequence[int]) -> None:
        numbers, stream = self.numbers, self._stream
        stream.extend((op, len(row), *row, len(node.outputs)))
        if node._tag is not None or type(node) is not Apply:
            stream.extend((_CLASS, self._number(type(node))))
            self._add_tag(node._tag)
        for variable in node.outputs:
            if variable not in numbers:  # an output that is an input as well has its number
                numbers[variable] = len(numbers)
            self._describe(variable)

    def _number_of_op(self, op: Op) -> int:
        number = self._ops.get(id(op))
        if number is None:
            number = self._ops[id(op)] = self._number(op)
            self.ops.append(op)
        return number

    def _known_type(self, of_type: Any) -> int | None:
        """Return the number of a type that has come up."""
        return self._seen.get(id(of_type))

    def _add_leaves(self, variables: Iterable[Variable]) -> None:
        for variable in variables:
            if variable not in self.numbers:
                self._add_leaf(variable)

    def _add_leaf(self, variable: Variable, is_input: bool = False) -> int:
        number = self.numbers[variable] = len(self.numbers)
        self.leaves.append(variable)
        self._stream.extend((_LEAF, is_input))
        self._describe(variable)
        if isinstance(variable, Constant):
            self._stream.append(self._number(variable.data))
        return number

    def _describe(self, variable: Variable) -> None:
        of_type = self._seen.get(id(variable.type))
        name = variable.name if self._names else None
        self._stream.append(self._number(variable.type) if of_type is None else of_type)
        self._stream.append(_NO_NAME if name is None else self._entry(name))
        if type(variable) is not variable.type.variable_class and not self._becomes_plain(variable):
            self._stream.extend((_CLASS, self._number(type(variable))))
            attributes = vars(variable)
            if attributes and known_name(type(variable)) is None:
                # Methods of the user's may read them where the library calls its own otherwise.
                self._stream.extend((_ATTRIBUTES, self._number(attributes)))
        if variable._tag is not None:
            self._add_tag(variable._tag)

    def _becomes_plain(self, variable: Variable) -> bool:
        """Tell whether a variable of the plain class stands in the place of this one for all that is done."""
        if not self._is_copied:
            return False
        kind = type(variable)
        if kind not in self._plainly:
            self._plainly[kind] = copies_plainly(kind)
        return self._plainly[kind] and not has_attributes_in_the_way(variable)

    def _add_tag(self, tag: Any) -> None:
        content = getattr(tag, "__dict__", tag)
        if content:
            self._stream.extend((_TAG, self._number(content)))

    def _number(self, value: Any) -> int:
        """Return the number of an object that is equal for all that have the same content."""
        cached = self._seen.get(id(value))
        if cached is not None:
            return cached
        number = self._entry(self.hasher.of(value))
        self._seen[id(value)] = number  # the hasher keeps the object
        return number

    def _entry(self, key: Hashable) -> int:
        entry = self._table.get(key)
        if entry is None:
            entry = self._table[key] = len(self._table)
        return entry

    def origins(self) -> list[Origin | None]:
        """Return where everything was made: nodes, leaves, then the nodes inside of the ops of the nodes."""
        result = [node.origin for node in self.nodes]
        result += [leaf.origin for leaf in self.leaves]
        inside = {id(op): self.hasher.origins_in(op) for op in self.ops}
        if any(inside.values()):
            for node in self.nodes:
                result += inside[id(node.op)]
        return result

    def digest(self, outputs: Sequence[Variable]) -> str:
        """Return the hash of all that was met, and of which variables are the outputs."""
        table = (
            key if isinstance(key, bytes) else b"name " + str(key).encode("utf-8", "surrogatepass")
            for key in self._table
        )
        results = array("q", [self.numbers[v] for v in outputs])
        return hex_digest([*table, (self._stream + results).tobytes()])
