"""What nodes hold, as columns of numbers and of different objects: how pickles tell it, and how it is put back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import islice, repeat
from operator import attrgetter, is_
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

from .._errors import GraphError, format_error
from .._expression._node_state import UNSET, is_plain, new_node, slot_names
from .._traversal._postorder import NO_PLACE, places_of

if TYPE_CHECKING:
    from .._expression._nodes import Apply, Variable

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
#: What :func:`linked` and :func:`new_apply` restore.
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
            found = _signatures.get((type(node), type(output)))
            if found is not None:
                return found
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
    found: dict[type, list[Any]] = {kind: [] for kind in kinds}
    for node in nodes:
        found[type(node)].append(node)
    return found


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
            place, index = NO_PLACE, 0
            if owner is not None:
                index = variable.index
                if index < len(owner.outputs) and owner.outputs[index] is variable:
                    place = place_of(owner)
            if place < 0:
                place, index = leaves.get(id(variable), NO_PLACE), 0
            if place < 0:  # neither an output of a node nor a leaf: the pickler writes it as it does anything
                place = ~len(others)
                others.append(variable)
            places.append(place)
            indices.append(index)
    return places, _short(indices), others


def _short(numbers: list[int]) -> Numbers:
    return numbers[0] if numbers and numbers.count(numbers[0]) == len(numbers) else numbers


def strangers(asked: Sequence[Apply]) -> list[tuple[int, int, Variable]]:
    """Return the outputs that do not come with their nodes, with the number of the node and the index of the output."""
    return [
        (i, index, output)
        for i, node in enumerate(asked)
        for index, (output, made) in enumerate(zip(node.outputs, (signature(node) or ())[1:], strict=True))
        if made is None
    ]


def values_of(asked: Sequence[Apply], apart: Container[int]) -> Values:
    """Return what nodes and their outputs hold, but for those outputs whose ``id`` is in `apart`.

    Some nodes at a time: all that they hold is read while they are in the caches.
    """
    found: Values = {}
    for start in range(0, len(asked), _AT_A_TIME):
        nodes = asked[start : start + _AT_A_TIME]
        outputs = [output for node in nodes for output in node.outputs]
        if apart:
            outputs = [output for output in outputs if id(output) not in apart]
        for kind, members in {**by_class(nodes), **by_class(outputs)}.items():
            if kind not in found:
                names = (*slot_names(kind), "__dict__") if kind.__dictoffset__ else slot_names(kind)
                found[kind] = {name: [] for name in names if name not in _LINKS}
            for name, values in found[kind].items():
                values += _read(members, name)
    return found


def _read(members: Sequence[Any], name: str) -> list[Any]:
    if name == "__dict__":
        return [vars(member) or None for member in members] if any(map(vars, members)) else [None] * len(members)
    try:
        return list(map(attrgetter(name), members))
    except AttributeError:
        return [getattr(member, name, UNSET) for member in members]


def tables(values: Values, wanted: Callable[[str], bool]) -> list[Column]:
    """Return the columns of those attributes, by class, for which `wanted` is true."""
    return [
        (kind, name, *_numbered(column))
        for kind, columns in values.items()
        for name, column in columns.items()
        if wanted(name) and (name != "__dict__" or any(column))
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
    for index, made in enumerate(classes):
        if made is None:
            outputs.append(None)
            continue
        output = new_node(made)
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
    applied = [n for n in nodes if hasattr(n, "outputs")] if asked is None else [nodes[place] for place in asked]
    made = [output for node in applied for output in node.outputs if output is not None]
    for i, index, output in strange:
        applied[i].outputs[index] = output
    firsts = [found[0] if (found := getattr(node, "outputs", None)) else node for node in nodes]
    firsts += reversed(others)  # where negative places find them
    if indices == 0:
        inputs = map(firsts.__getitem__, places)
    else:
        inputs = map(_input(nodes, firsts), places, _long(indices))
    for node, count in zip(applied, _long(counts), strict=False):
        node.inputs = list(islice(inputs, count))
    return {**by_class(applied), **by_class(made)}


def _input(nodes: Sequence[Any], firsts: Sequence[Any]) -> Callable[[int, int], Any]:
    def find(place: int, index: int) -> Any:
        return nodes[place].outputs[index] if index and hasattr(nodes[place], "outputs") else firsts[place]

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
