"""Copies of graphs: clones of nodes, and deep copies with all their attributes."""

from __future__ import annotations

import copy
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._errors import GraphError, format_error
from .._expression._node_state import UNSET, new_node, slot_values
from .._expression._nodes import Apply, Constant, Variable, describe
from ._postorder import NumberedMarks, nodes_in_order, numbered_marks, variable_of, variables_of
from ._walk import toposort

if TYPE_CHECKING:
    from .._expression._nodes import Node


# ---- Copies of graphs, and their comparison


def clone_get_equiv(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    copy_inputs: bool = True,
    copy_orphans: bool = True,
    memo: dict[Any, Any] | None = None,
) -> dict[Any, Any]:
    """Copy the graph between `inputs` and `outputs`.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
    copy_inputs : bool
        Whether inputs are copied or used again.
    copy_orphans : bool
        Whether constants and other variables without an owner are copied or used again.
    memo : dict, optional
        Nodes that have a copy already; extended in place.

    Returns
    -------
    dict
        Original variable or node -> its copy.
    """
    memo = {} if memo is None else memo
    inputs, outputs = variables_of("inputs", inputs), variables_of("outputs", outputs)
    for variable in inputs:
        if variable not in memo:
            memo[variable] = variable.clone() if copy_inputs else variable
    for node in toposort([*inputs, *(v for v in memo if isinstance(v, Variable))], outputs):
        if node in memo:
            continue
        new_inputs = []
        for variable in node.inputs:
            if variable not in memo:
                memo[variable] = variable.clone() if copy_orphans else variable
            new_inputs.append(memo[variable])
        copy = node.clone_with_new_inputs(new_inputs)
        memo[node] = copy
        for old, new in zip(node.outputs, copy.outputs, strict=True):
            memo.setdefault(old, new)
    for variable in outputs:
        if variable not in memo:
            memo[variable] = variable.clone() if copy_orphans else variable
    return memo


def clone_graph(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    copy_inputs: bool = True,
    copy_orphans: bool | None = None,
) -> tuple[list[Any], list[Any]]:
    """Copy the graph between `inputs` and `outputs`; return the copies of both.

    `copy_orphans` follows `copy_inputs` when it is None.
    """
    equiv = clone_get_equiv(inputs, outputs, copy_inputs, copy_inputs if copy_orphans is None else copy_orphans)
    return [equiv[v] for v in inputs], [equiv[v] for v in outputs]


def clone_replace(
    outputs: Variable | Sequence[Variable],
    replace: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = (),
    strict: bool = True,
) -> Any:
    """Return `outputs` computed with some variables replaced; independent parts are shared, not copied.

    Parameters
    ----------
    outputs : Variable or sequence of Variable
    replace : mapping or pairs
        Variable -> its replacement. Replacements are not themselves replaced.
    strict : bool
        Whether replacements must have (or be converted to) the type of the replaced variables.

    Returns
    -------
    Variable or list of Variable
        As `outputs`.

    Raises
    ------
    TypeError
        If a replacement does not fit and `strict` is true.
    """
    single = isinstance(outputs, Variable)
    targets = [outputs] if isinstance(outputs, Variable) else variables_of("outputs", outputs)
    pairs = replace.items() if isinstance(replace, Mapping) else replace
    memo: dict[Variable, Any] = {}
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                format_error(
                    f"a replacement is a pair of variables, not {pair!r}", hint="pass a mapping, or pairs (old, new)"
                )
            )
        old, new = pair
        if not isinstance(old, Variable):
            raise GraphError(
                format_error(
                    f"only variables can be replaced, not {old!r}", hint="map variables to variables or values"
                )
            )
        memo[old] = old.type.narrow_variable(new) if strict or not isinstance(new, Variable) else new
    for node in toposort(list(memo), targets):
        if all(memo.get(v, v) is v for v in node.inputs):
            continue
        copy = node.clone_with_new_inputs([memo.get(v, v) for v in node.inputs], strict=strict)
        for before, after in zip(node.outputs, copy.outputs, strict=True):
            memo.setdefault(before, after)
    result = [memo.get(v, v) for v in targets]
    return result[0] if single else result


def equal_computations(
    xs: Sequence[Variable], ys: Sequence[Variable], in_xs: Sequence[Variable] = (), in_ys: Sequence[Variable] = ()
) -> bool:
    """Tell whether two lists of outputs are computed in the same way.

    Parameters
    ----------
    xs, ys : sequence of Variable
        Outputs, compared in order.
    in_xs, in_ys : sequence of Variable
        Inputs that stand for each other.

    Returns
    -------
    bool
        True if the graphs have the same form, equal ops, equal constants and corresponding inputs.
    """
    xs, ys = variables_of("xs", xs), variables_of("ys", ys)
    in_xs, in_ys = variables_of("in_xs", in_xs or ()), variables_of("in_ys", in_ys or ())
    if len(in_xs) != len(in_ys):
        raise GraphError(
            format_error(
                f"the inputs of the two graphs do not correspond: {len(in_xs)} and {len(in_ys)}",
                hint="list in in_ys, for each variable of in_xs, the one that stands for it",
            )
        )
    if len(xs) != len(ys):
        return False
    if any(a.type.exact != b.type.exact for a, b in zip([*xs, *in_xs], [*ys, *in_ys], strict=True)):
        return False
    left_inputs = dict(zip(in_xs, range(len(in_xs)), strict=True))
    right_inputs = dict(zip(in_ys, range(len(in_ys)), strict=True))
    same = _compare(xs, ys, left_inputs, right_inputs)
    return _same_numbers(xs, ys, left_inputs, right_inputs) if same is None else same


def _same_numbers(
    xs: Sequence[Variable], ys: Sequence[Variable], in_xs: dict[Variable, int], in_ys: dict[Variable, int]
) -> bool:
    """Compare two graphs by numbers of structures: linear however they share parts, but with a hash for each node."""
    numbers: dict[Any, int] = {}
    return _number(xs, in_xs, numbers) == _number(ys, in_ys, numbers)


def _compare(
    xs: Sequence[Variable], ys: Sequence[Variable], in_xs: Mapping[Variable, int], in_ys: Mapping[Variable, int]
) -> bool | None:
    """Walk two graphs in step; None where a node of the first would stand for several of the second.

    That happens where the graphs share different parts; to go on by pairs could take very long then.
    """
    with numbered_marks() as others:
        return None if others is None else _compare_marked(xs, ys, in_xs, in_ys, others)


def _compare_marked(
    xs: Sequence[Variable],
    ys: Sequence[Variable],
    in_xs: Mapping[Variable, int],
    in_ys: Mapping[Variable, int],
    others: NumberedMarks,
) -> bool | None:
    # Each node of the first graph is marked with the number of its counterpart.
    first, stands_for = others.first, others.things
    left, right = list(xs), list(ys)
    while left:
        a, b = left.pop(), right.pop()
        if a in in_xs or b in in_ys:
            if in_xs.get(a) != in_ys.get(b):
                return False
            continue
        node, other = a.owner, b.owner
        if node is None or other is None:
            if node is not other or not (a is b or _equal_constants(a, b)):
                return False
            continue
        if a.index != b.index:
            return False
        mark = node._mark
        if mark.__class__ is int and mark >= first:
            if stands_for[mark - first] is not other:
                return None
            continue
        node._mark = first + len(stands_for)
        stands_for.append(other)
        if (node.op is not other.op and node.op != other.op) or len(node.inputs) != len(other.inputs):
            return False
        left += node.inputs
        right += other.inputs
    return True


def _equal_constants(a: Variable, b: Variable) -> bool:
    return isinstance(a, Constant) and isinstance(b, Constant) and a.signature() == b.signature()


def _number(outputs: Sequence[Variable], inputs: dict[Variable, int], numbers: dict[Any, int]) -> list[tuple[int, int]]:
    """Give each node the number of its structure; equal numbers mean equal computations (hash consing)."""
    of_node: dict[Apply, int] = {}

    def key(variable: Variable) -> Any:
        if variable in inputs:
            return ("input", inputs[variable])
        if variable.owner is not None:
            return (of_node[variable.owner], variable.index)
        if isinstance(variable, Constant):
            return ("constant", variable.signature())
        return ("free", variable)

    for node in toposort(list(inputs), outputs):
        structure = (node.op, tuple(key(v) for v in node.inputs))
        of_node[node] = numbers.setdefault(structure, len(numbers))
    return [(numbers.setdefault(("output", key(v)), len(numbers)), 0) for v in outputs]


def is_same_graph(
    first: Variable,
    second: Variable,
    givens: Mapping[Variable, Variable] | Iterable[tuple[Variable, Variable]] | None = None,
    debug: bool = False,
) -> bool:
    """Tell whether two variables are computed in the same way: the same ops in the same form on the same inputs.

    Parameters
    ----------
    first, second : Variable
    givens : mapping or pairs, optional
        Variable -> its replacement, in both graphs.
    debug : bool
        For tests: verify the answer in two other ways, by pairs, which may take long where parts are shared, and by
        hashes.

    Raises
    ------
    GraphError
        If `debug` is true and the ways to compare disagree.
    """
    variable_of("the first", first)
    variable_of("the second", second)
    if givens:
        pairs = dict(givens)
        first, second = clone_replace([first, second], pairs)
    same = equal_computations([first], [second])
    if debug and not same == _same_in_step(first, second) == _same_numbers([first], [second], {}, {}):
        raise GraphError(
            format_error(
                "two ways to compare graphs disagree",
                context=[describe(first), describe(second)],
                hint="make sure that ops and types that are equal have equal hashes",
            )
        )
    return same


def _same_in_step(first: Variable, second: Variable) -> bool:
    """Compare two graphs pair by pair, by equality instead of hashes."""
    pairs = [(first, second)]
    seen: set[tuple[Variable, Variable]] = set()
    while pairs:
        a, b = pair = pairs.pop()
        if a is b or pair in seen:
            continue
        seen.add(pair)
        if a.type.exact != b.type.exact:
            return False
        if a.owner is None or b.owner is None:
            if not _equal_constants(a, b):
                return False
            continue
        if a.owner.op != b.owner.op or a.index != b.index or len(a.owner.inputs) != len(b.owner.inputs):
            return False
        pairs.extend(zip(a.owner.inputs, b.owner.inputs, strict=True))
    return True


# ---- Deep copies of graphs of any depth, and the order of ancestors that copies and pickles need


def deep_copy(node: Node, memo: dict[int, Any]) -> Any:
    """Return a deep copy of `node` and of its ancestors, except nodes that `memo` has copies of."""
    for ancestor in in_order(node, memo):
        if id(ancestor) not in memo:
            _copy_one(ancestor, memo)
    return memo[id(node)]


def _copy_one(node: Node, memo: dict[int, Any]) -> None:
    """Put a deep copy of `node` in `memo`, which has those of its parents; the outputs of an apply node go with it."""
    new = memo[id(node)] = new_node(type(node))
    for output in getattr(node, "outputs", ()):
        if id(output) not in memo:
            _copy_one(output, memo)
    for slot, value in slot_values(node):
        if slot in ("inputs", "outputs"):
            copied: Any = [memo[id(v)] for v in value]
        elif value is None or slot == "origin":
            copied = value  # origins never change
        else:
            cached = memo.get(id(value), UNSET)
            copied = copy.deepcopy(value, memo) if cached is UNSET else cached
        setattr(new, slot, copied)
    attributes = getattr(node, "__dict__", None)
    if attributes:
        new.__dict__.update(copy.deepcopy(attributes, memo))


class _ByIdentity:
    """A container of nodes whose ``id`` is in another one."""

    def __init__(self, ids: Collection[int]) -> None:
        self._ids = ids

    def __contains__(self, node: object) -> bool:
        return id(node) in self._ids


def in_order(node: Node, without: Collection[int] = ()) -> list[Node]:
    """Return the ancestors of a node and the node, inputs first, without the outputs of apply nodes.

    The walk stops at nodes whose ``id`` is in `without`.
    """
    stop: Container[Any] = _ByIdentity(without) if without else ()
    last: Any = node if hasattr(node, "outputs") else getattr(node, "owner", None)
    order: list[Node] = []
    leaves: set[Node] = set()
    for applied in [] if last is None or last in stop else nodes_in_order([last], stop):
        for variable in applied.inputs:
            if variable.owner is None and variable not in leaves and variable not in stop:
                leaves.add(variable)
                order.append(variable)
        order.append(applied)
    return order if last is not None or node in stop else [node]
