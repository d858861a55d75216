"""Pickles of graphs of any depth: nodes first, one by one and empty, then all their attributes, in tables.

A pickler follows references depth first and remembers each object that it writes. A long chain of nodes would overflow
its stack, and half a dozen objects for each node would fill its memory. Therefore the first node that a pickler meets
hands over all its ancestors, inputs first, by a generator. Each is written in few words: its class and those of its
outputs. Attributes follow by columns, in which a node is a number. A node that the pickler meets once more stands in
its memo, and a variable is written as an output of its node.

The generator notes which nodes the pickler reduced: it had met the others before, and they are not filled again. The
ancestors of such a node were written too, so a bounded reverse search, over more nodes in each step, finds where a
graph that is partly written begins to be new. So a list of all variables of a graph, from the inputs on, is not walked
through once for each.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, repeat
from operator import attrgetter, is_
from types import FrameType, MemberDescriptorType
from typing import TYPE_CHECKING, Any

from ._errors import GraphError, format_error
from ._expression._node_state import UNSET, is_plain, new_node, pickling_hook, slot_names
from ._traversal._clone import deep_copy, in_order
from ._traversal._postorder import NO_PLACE, places_of

if TYPE_CHECKING:
    from ._expression._nodes import Apply, Variable


# ---- The search for the nodes that are new to a pickler

#: How many nodes each step of the search visits, at least. Where the last step still finds new nodes, all ancestors are
#: collected.
_SIZES = (4, 64, 1024, 16384)


class PicklingFrontier:
    """A bounded reverse search: ancestors of a node, breadth first, more of them each time.

    Between two steps the pickler writes the nodes that it has been given. The search ends at nodes that it has written
    before. Where it has not ended after some 17,500 nodes, all ancestors are collected.

    Parameters
    ----------
    last : Apply
    """

    __slots__ = ("_frontier", "_is_given_up", "_last", "_seen")

    def __init__(self, last: Apply) -> None:
        self._last = last
        #: Nodes in order of arrival.
        self._seen: dict[Any, None] = {last: None}
        #: New nodes, and some that may be, whose inputs have not been looked at.
        self._frontier: deque[Apply] = deque((last,))
        self._is_given_up = False

    def each(self) -> Iterator[Callable[[Container[Apply]], list[Any]]]:
        """Yield the steps: each takes those of the nodes before that the pickler knew, and returns the next nodes."""
        for size in _SIZES:
            yield partial(self._search_step, size)

    def _search_step(self, size: int, names: Container[Apply]) -> list[Any]:
        self._settle(names)
        seen, frontier = self._seen, self._frontier
        result: list[Any] = []
        while frontier and len(result) < size and not self._is_given_up:
            for variable in frontier.popleft().inputs:
                node = variable if variable.owner is None else variable.owner
                if node in seen:
                    continue
                seen[node] = None
                result.append(node)
                if node is not variable:
                    frontier.append(node)
                    # A node with pickles of its own kind needs all its ancestors before it.
                    self._is_given_up |= not is_plain(type(node))
        if self._is_given_up:
            for node in result:
                del seen[node]
            return []
        result.reverse()
        return result

    def all(self, seen: Container[Apply], collect: Callable[[], list[Any]]) -> list[Any]:
        """Return all nodes that matter: the seen ones, and those of `collect` besides if new ones came to the end."""
        self._settle(seen)
        others: list[Any] = []
        if self._frontier or self._is_given_up:
            others = [node for node in collect() if node not in self._seen]
        return [*self._seen, *others]

    def _settle(self, seen: Container[Apply]) -> None:
        if seen:
            self._frontier = deque(node for node in self._frontier if node not in seen)


# ---- Attributes of nodes as columns: written, and restored

#: A number for each of some things, or one number where all have the same.
Numbers = list[int] | int
#: A class, an attribute, its different values, and for each node the number of its value; None if there is one for all.
Column = tuple[type, str, list[Any], "list[int] | None"]

#: Class -> attribute -> its values.
Values = dict[type, dict[str, list[Any]]]

#: How many nodes are read at a time.
_AT_A_TIME = 2048
#: Stands for the number of a value where an attribute is not set.
_ABSENT = -1
#: The state that :func:`linked` and :func:`new_apply` restore.
_LINKS = ("inputs", "outputs", "owner", "index")
#: Tuples of a node's class and those of its outputs: one object for all nodes that have the same.
_signatures: dict[tuple[type | None, ...], tuple[type | None, ...]] = {}


# ---- writing


def is_own_output(variable: Variable) -> bool:
    """Tell whether the variable has an owner, which has it as the output that it says."""
    owner, index = variable.owner, variable.index
    return owner is not None and index is not None and index < len(owner.outputs) and owner.outputs[index] is variable


def signature(node: Apply) -> tuple[type | None, ...] | None:
    """Return the arguments of :func:`new_apply` for a node like this one; None for one with pickles of its own kind."""
    if len(node.outputs) == 1:
        (output,) = node.outputs
        if output.owner is node and output.index == 0:
            entry = _signatures.get((type(node), type(output)))
            if entry is not None:
                return entry
    if not is_plain(type(node)):
        return None
    comes_with = [is_plain(type(o)) and o.owner is node and o.index == i for i, o in enumerate(node.outputs)]
    key = (type(node), *(type(o) if comes else None for o, comes in zip(node.outputs, comes_with, strict=True)))
    return _signatures.setdefault(key, key)


def by_class(nodes: Sequence[Any]) -> dict[type, list[Any]]:
    """Return nodes by their classes."""
    kinds = dict.fromkeys(map(type, nodes))
    if len(kinds) == 1:
        return {next(iter(kinds)): list(nodes)}
    result: dict[type, list[Any]] = {kind: [] for kind in kinds}
    for node in nodes:
        result[type(node)].append(node)
    return result


def links(nodes: Sequence[Any], asked: Sequence[Apply]) -> tuple[Any, ...]:
    """Return how the nodes that were asked for are connected: all arguments of :func:`linked` but the first."""
    everyone = len(asked) == sum(hasattr(node, "outputs") for node in nodes)
    with places_of(nodes) as place_of:
        return (
            None if everyone else [place_of(node) for node in asked],
            _short([len(node.inputs) for node in asked]),
            *_inputs(nodes, asked, place_of),
        )


def _inputs(
    nodes: Sequence[Any], asked: Sequence[Apply], place_of: Callable[[Apply], int]
) -> tuple[list[int], Numbers, list[Variable]]:
    leaves = {id(node): i for i, node in enumerate(nodes) if not hasattr(node, "outputs")}
    places: list[int] = []
    indices: list[int] = []
    others: list[Variable] = []
    for node in asked:
        for variable in node.inputs:
            owner = variable.owner
            position, index = NO_PLACE, 0
            if owner is not None:
                index = variable.index
                if index < len(owner.outputs) and owner.outputs[index] is variable:
                    position = place_of(owner)
            if position < 0:
                position, index = leaves.get(id(variable), NO_PLACE), 0
            if position < 0:  # neither an output of a node nor a leaf: the pickler writes it as it does anything
                position = ~len(others)
                others.append(variable)
            places.append(position)
            indices.append(index)
    return places, _short(indices), others


def _short(numbers: list[int]) -> Numbers:
    return numbers[0] if numbers and numbers.count(numbers[0]) == len(numbers) else numbers


def strangers(asked: Sequence[Apply]) -> list[tuple[int, int, Variable]]:
    """Return the outputs that do not come with their nodes, with the number of the node and the index of the output."""
    return [
        (i, index, output)
        for i, node in enumerate(asked)
        for index, (output, output_class) in enumerate(zip(node.outputs, (signature(node) or ())[1:], strict=True))
        if output_class is None
    ]


def values_of(asked: Sequence[Apply], apart: Container[int]) -> Values:
    """Return the states of nodes and their outputs, but for the outputs whose ``id`` is in `apart`.

    Some nodes at a time: all that they hold is read while they are in the caches.
    """
    result: Values = {}
    for start in range(0, len(asked), _AT_A_TIME):
        nodes = asked[start : start + _AT_A_TIME]
        outputs = [output for node in nodes for output in node.outputs]
        if apart:
            outputs = [output for output in outputs if id(output) not in apart]
        for kind, members in {**by_class(nodes), **by_class(outputs)}.items():
            if kind not in result:
                names = (*slot_names(kind), "__dict__") if kind.__dictoffset__ else slot_names(kind)
                result[kind] = {name: [] for name in names if name not in _LINKS}
            for name, values in result[kind].items():
                values += _read(members, name)
    return result


def _read(members: Sequence[Any], name: str) -> list[Any]:
    if name == "__dict__":
        return [vars(member) or None for member in members] if any(map(vars, members)) else [None] * len(members)
    try:
        return list(map(attrgetter(name), members))
    except AttributeError:
        return [getattr(member, name, UNSET) for member in members]


def tables(values: Values, predicate: Callable[[str], bool]) -> list[Column]:
    """Return the columns of those attributes, by class, for which `wanted` is true."""
    return [
        (kind, name, *_numbered(column))
        for kind, columns in values.items()
        for name, column in columns.items()
        if predicate(name) and (name != "__dict__" or any(column))
    ]


def _numbered(values: list[Any]) -> tuple[list[Any], list[int] | None]:
    if all(map(is_, values, repeat(values[0]))) and values[0] is not UNSET:
        return values[:1], None
    different = dict(zip(map(id, values), values, strict=True))
    different.pop(id(UNSET), None)
    numbers: dict[int, int] = dict(zip(different, range(len(different)), strict=True))
    return list(different.values()), [numbers.get(id(value), _ABSENT) for value in values]


# ---- reading


def new_apply(kind: type[Apply], *classes: type[Variable] | None) -> Apply:
    """Return a node of the class `kind` without attributes but for outputs of these classes; None leaves one open."""
    node = new_node(kind)
    outputs: list[Any] = []
    node.outputs = outputs
    for index, output_class in enumerate(classes):
        if output_class is None:
            outputs.append(None)
            continue
        output = new_node(output_class)
        output.owner = node
        output.index = index
        outputs.append(output)
    return node


def output_of(node: Apply, index: int) -> Any:
    """Return an output of a node: how pickles refer to it."""
    return node.outputs[index]


def linked(
    nodes: Sequence[Any],
    asked: Sequence[int] | None,
    counts: Numbers,
    places: Sequence[int],
    indices: Numbers,
    others: Sequence[Variable],
    strange: Iterable[tuple[int, int, Variable]] = (),
) -> dict[type, list[Any]]:
    """Give nodes their inputs, and those outputs that could not be made with them.

    Parameters
    ----------
    nodes : sequence of Apply and Variable
    asked : sequence of int, optional
        Which of them; all apply nodes by default.
    counts : list of int or int
        How many inputs each has.
    places, indices : sequence of int
        For each input its place, or that of its owner, in `nodes`, and its index among the outputs of that. A negative
        place counts in `others`.
    others : sequence of Variable
    strange : iterable of tuples
        Number of a node, index of an output and the output.

    Returns
    -------
    dict
        Class -> nodes and outputs of it, as :func:`filled` takes them.
    """
    applied = [n for n in nodes if hasattr(n, "outputs")] if asked is None else [nodes[position] for position in asked]
    outputs = [output for node in applied for output in node.outputs if output is not None]
    for i, index, output in strange:
        applied[i].outputs[index] = output
    firsts = [results[0] if (results := getattr(node, "outputs", None)) else node for node in nodes]
    firsts += reversed(others)  # where negative places find them
    if indices == 0:
        inputs = map(firsts.__getitem__, places)
    else:
        inputs = map(_input(nodes, firsts), places, _long(indices))
    for node, count in zip(applied, _long(counts), strict=False):
        node.inputs = list(islice(inputs, count))
    return {**by_class(applied), **by_class(outputs)}


def _input(nodes: Sequence[Any], firsts: Sequence[Any]) -> Callable[[int, int], Any]:
    def find(position: int, index: int) -> Any:
        return nodes[position].outputs[index] if index and hasattr(nodes[position], "outputs") else firsts[position]

    return find


def _long(numbers: Numbers) -> Iterable[int]:
    return repeat(numbers) if isinstance(numbers, int) else numbers


def filled(groups: dict[type, list[Any]], columns: Iterable[Column]) -> None:
    """Give nodes the values of some attributes."""
    for kind, name, different, numbers in columns:
        members = groups[kind]
        values: Iterator[Any] = repeat(different[0]) if numbers is None else map(different.__getitem__, numbers)
        if name == "__dict__":
            for member, value in zip(members, values, strict=False):
                vars(member).update(value or {})
            continue
        if name not in slot_names(kind):
            raise GraphError(
                format_error(
                    f"{kind.__name__} has no attribute `{name}`", hint="use the version of the class that was pickled"
                )
            )
        descriptor = getattr(kind, name)
        if numbers is not None and _ABSENT in numbers:
            for member, number in zip(members, numbers, strict=True):
                if number != _ABSENT:
                    setattr(member, name, different[number])
        elif isinstance(descriptor, MemberDescriptorType):
            deque(map(descriptor.__set__, members, values), maxlen=0)
        else:
            for member, value in zip(members, values, strict=False):
                setattr(member, name, value)


#: In which stage attributes are read: first the ones that describe a node, last the ones that may refer to other nodes;
#: 1 for all others.
_STAGES = {"type": 0, "name": 0, "origin": 0, "_tag": 2, "__dict__": 2}


class _Open(threading.local):
    """The stores whose nodes a pickler of this thread is reading."""

    def __init__(self) -> None:
        self.stores: list[weakref.ref[NodeStore]] = []


_open = _Open()


def store_asked_for(node: Apply) -> NodeStore | None:
    """Return the store that has just handed over `node`, once; None if there is none."""
    for reference in _open.stores:
        store = reference()
        if store is not None and node in store.waiting and store.is_being_read():
            del store.waiting[node]
            return store
    return None


class NodeStore:
    """Some nodes, each after its references, and their pickled state.

    Parameters
    ----------
    collect : callable
        Gives the nodes, without the outputs of apply nodes; called when the pickler arrives here.
    last : Apply, optional
        The last of them, if the pickler is writing it at that time, so that it does not ask for it.
    """

    __slots__ = (
        "__weakref__",
        "_collect",
        "_frontier",
        "_reader",
        "_reference",
        "asked",
        "has_strangers",
        "last",
        "nodes",
        "waiting",
    )

    def __init__(self, collect: Callable[[], list[Any]], last: Apply | None = None) -> None:
        self._collect = collect
        self.last = last
        self._reference = weakref.ref(self)
        self.nodes: list[Any] = []
        self._reader: FrameType | None = None
        self._frontier = PicklingFrontier(last) if last is not None else None
        #: Nodes that were handed over and that the pickler has not asked yet: it takes some at once, never all.
        self.waiting: dict[Apply, None] = {}
        #: The nodes that it has asked for: they are new to it. When it has read all of them, they are in order.
        self.asked: list[Apply] = []
        #: Whether some of their outputs are not made with them.
        self.has_strangers = False

    def stages(self) -> tuple[Any, ...]:
        """Return the parts that a pickler writes, in this order; a part fills nodes when it is read."""
        nodes = _Nodes(self, self._all)
        connected = _Links(nodes)
        searches = [] if self._frontier is None else [_Nodes(self, search) for search in self._frontier.each()]
        return (*searches, nodes, connected, *(_Values(connected, stage) for stage in range(3)))

    def _all(self, seen: Container[Apply]) -> list[Any]:
        self.nodes = self._collect() if self._frontier is None else self._frontier.all(seen, self._collect)
        return self.nodes

    def hand_over(self, collect: Callable[[Container[Apply]], list[Any]]) -> Iterator[Any]:
        """Yield the nodes of `collect`, which learns which of the nodes before the pickler knew."""
        if self._reference not in _open.stores:
            _open.stores.append(self._reference)
        self._reader = sys._getframe(1)
        nodes = collect(self.waiting)
        waiting = self.waiting
        waiting.clear()
        try:
            for node in nodes:
                if hasattr(node, "outputs"):
                    waiting[node] = None
                yield node
        except GeneratorExit:  # the pickler has failed
            self.close()
            raise

    def is_being_read(self) -> bool:
        """Tell whether the reader of the nodes is still at work, and not only kept by the traceback of its error."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame is not self._reader:
            frame = frame.f_back
        return frame is not None

    def take(self, node: Apply, made_from: tuple[type | None, ...]) -> None:
        """Note that the pickler has asked for a node, and how it is made."""
        self.asked.append(node)
        if None in made_from:
            self.has_strangers = True

    def finish(self) -> None:
        """Note that the pickler has read the nodes."""
        self.close()
        if self.last is not None:
            self.take(self.last, signature(self.last) or ())
        applied = [node for node in self.nodes if hasattr(node, "outputs")]
        if len(self.asked) < len(applied):
            asked = set(self.asked)
            applied = [node for node in applied if node in asked]
        self.asked = applied

    def close(self) -> None:
        """Take back the nodes that were handed over and not asked for."""
        self.waiting.clear()
        self._reader = None
        if self._reference in _open.stores:
            _open.stores.remove(self._reference)


class _Nodes:
    """Nodes of a store; a plain list when it is read."""

    __slots__ = ("collect", "store")

    def __init__(self, store: NodeStore, collect: Callable[[Container[Apply]], list[Any]]) -> None:
        self.store = store
        self.collect = collect

    def __reduce__(self) -> tuple[Any, ...]:
        return (list, (), None, self.store.hand_over(self.collect))


class _Links:
    """The inputs of the nodes that are new to the pickler; when it is read, these and their outputs by class."""

    __slots__ = ("nodes", "values")

    def __init__(self, nodes: _Nodes) -> None:
        self.nodes = nodes
        self.values: Values = {}

    def __reduce__(self) -> tuple[Any, ...]:
        store = self.nodes.store
        store.finish()
        strange = strangers(store.asked) if store.has_strangers else []
        self.values = values_of(store.asked, {id(output) for _, _, output in strange})
        return (linked, (self.nodes, *links(store.nodes, store.asked), *([strange] if strange else [])))


class _Values:
    """The values of some attributes of the nodes that are new to the pickler."""

    __slots__ = ("links", "stage")

    def __init__(self, links: _Links, stage: int) -> None:
        self.links = links
        self.stage = stage

    def __reduce__(self) -> tuple[Any, ...]:
        return (filled, (self.links, tables(self.links.values, lambda name: _STAGES.get(name, 1) == self.stage)))


# ---- Reduction of nodes, registered with them


def reduce_variable(variable: Variable) -> tuple[Any, ...] | None:
    """Return an output of a node as its node and its number; None for other variables."""
    owner = variable.owner
    if owner is None or not (is_plain(type(variable)) and is_plain(type(owner)) and is_own_output(variable)):
        return None
    return (output_of, (owner, variable.index))


def reduce_apply(node: Apply, with_attributes: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the reduced form of a node, with all its ancestors before it unless they are being written already."""
    store = store_asked_for(node)
    made_from = signature(node)
    if made_from is not None:
        if store is not None:
            store.take(node, made_from)
            return (new_apply, made_from)
        store = NodeStore(lambda: in_order(node), node)
        return (new_apply, made_from, store.stages())
    reduced = with_attributes()
    if store is None and reduced[0] is new_node:
        ancestors = NodeStore(lambda: in_order(node)[:-1])
        return (new_node, (type(node), ancestors.stages()), *reduced[2:])
    return reduced


pickling_hook.reduce_variable = reduce_variable
pickling_hook.reduce_apply = reduce_apply
pickling_hook.deep_copy = deep_copy
