"""Orders of nodes, inputs first, without recursion; checks of the arguments of walks."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from .._errors import CycleError, format_error
from .._expression._nodes import Apply, Variable, describe

# ---- Checks of arguments


def variables_of(role: str, given: Any) -> list[Variable]:
    """Return variables as a list.

    Parameters
    ----------
    role : str
        Their name in errors, in the plural: "outputs".
    given : iterable of Variable

    Raises
    ------
    TypeError
        If it is a single variable, no iterable, or something in it is no variable.
    """
    if isinstance(given, Variable):
        raise TypeError(
            format_error(
                f"{role} are a list of variables, not one variable",
                context=[describe(given)],
                hint=f"pass [{given}]",
            )
        )
    if not isinstance(given, Iterable):
        raise TypeError(format_error(f"{role} are a list of variables, not {given!r}", hint="pass a list or tuple"))
    variables = list(given)
    for i, variable in enumerate(variables):
        if not isinstance(variable, Variable):
            raise TypeError(_no_variable(f"{i} of the {role}", variable))
    return variables


def variable_of(role: str, argument: Any) -> Variable:
    """Return `given`, which must be a variable; `role` names it in the TypeError."""
    if not isinstance(argument, Variable):
        raise TypeError(_no_variable(role, argument))
    return argument


def node_of(role: str, argument: Any) -> Apply:
    """Return `given`, which must be an apply node; `role` names it in the TypeError."""
    if not isinstance(argument, Apply):
        hint = "pass `variable.owner`" if isinstance(argument, Variable) else "pass an apply node"
        where = [describe(argument)] if isinstance(argument, Variable) else []
        raise TypeError(format_error(f"{role} is no apply node: {argument!r}", context=where, hint=hint))
    return argument


def _no_variable(role: str, argument: object) -> str:
    if isinstance(argument, Apply):
        where = [f"{argument}" + (f" made at {argument.origin}" if argument.origin is not None else "")]
        return format_error(f"{role} is a node, not a variable", context=where, hint="pass its outputs: `node.outputs`")
    return format_error(
        f"{role} is no variable: {argument!r}", hint="pass variables; a value becomes one through Type.make_constant"
    )


# ---- Postorder, of anything and of nodes

NodeT = TypeVar("NodeT")


def nodes_in_order(
    roots: Sequence[Apply], stop: Container[Variable] = (), last_input_first: bool = False
) -> list[Apply]:
    """Return the nodes that `roots` need, these included, each after the owners of its inputs.

    The walk does not go beyond variables that are in `stop`. It follows the inputs of a node from the first to the
    last one, or the other way round.

    Raises
    ------
    CycleError
        If a node depends on itself.
    """
    order = _marked_postorder(roots, stop, last_input_first)
    if order is not None:
        return order
    step = -1 if last_input_first else 1
    return postorder(
        roots, lambda node: [v.owner for v in node.inputs[::step] if v.owner is not None and v not in stop]
    )


class _Walk:
    """A walk that may leave marks on nodes, as long as this lives: also after an interrupt, it ends with the walk."""

    __slots__ = ("__weakref__",)


class _Marking:
    """The right to leave marks on nodes, and the next number that no walk has written on one.

    A walk that finds another one leaving marks, in another thread or further up on the stack of this one, goes without.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # the collector may run something that walks while this thread has it
        self._walk: weakref.ref[_Walk] | None = None
        self.next_number = 0

    def begin(self, walk: _Walk) -> bool:
        """Let a walk leave marks; False where another one does."""
        with self._lock:
            if self._walk is not None and self._walk() is not None:
                return False
            self._walk = weakref.ref(walk)
            return True

    def end(self) -> None:
        """Let the next walk leave marks."""
        self._walk = None

    def free(self) -> None:
        """Forget, in a child after a fork, the walks of threads that are not there."""
        self._lock, self._walk = threading.RLock(), None


_marking = _Marking()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_marking.free)


class NumberedMarks:
    """Things by the numbers that a walk writes on nodes: from `first` on, which no walk has used before."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.things: list[Any] = []


@contextlib.contextmanager
def numbered_marks() -> Iterator[NumberedMarks | None]:
    """Let a walk number nodes, as the attribute `_mark`; None where another one has marks on its way."""
    walk = _Walk()
    if not _marking.begin(walk):
        yield None
        return
    marks = NumberedMarks(_marking.next_number)
    try:
        yield marks
    finally:
        _marking.next_number += len(marks.things)
        _marking.end()


#: The place of a node that has none.
NO_PLACE = -1


@contextlib.contextmanager
def places_of(nodes: Sequence[Any]) -> Iterator[Callable[[Apply], int]]:
    """Give a function that tells where in `nodes` an apply node is; :data:`NO_PLACE` where it is not there.

    Things that are no apply nodes are counted, and have no place.
    """
    with numbered_marks() as marks:
        if marks is None:  # another walk has marks on its way
            places = {id(node): position for position, node in enumerate(nodes)}
            yield lambda node: places.get(id(node), NO_PLACE)
            return
        first = marks.first
        marks.things.extend(nodes)
        for mark, node in enumerate(nodes, first):
            if hasattr(node, "outputs"):
                node._mark = mark

        def place_of(node: Apply) -> int:
            mark = node._mark
            return mark - first if mark.__class__ is int and mark >= first else NO_PLACE

        yield place_of


def _marked_postorder(roots: Sequence[Apply], stop: Container[Variable], last_input_first: bool) -> list[Apply] | None:
    """Return the result of :func:`postorder` for the owners of inputs; None where it must be asked instead.

    The walk's notes on a node are written on the node: a dictionary of a million nodes is memory in which no two
    look-ups lie close together, and takes longer than all the rest.
    """
    walk = _Walk()
    if not _marking.begin(walk):
        return None
    try:
        return _walk_with_marks(roots, stop, last_input_first)
    finally:
        _marking.end()


def _walk_with_marks(roots: Sequence[Apply], stop: Container[Variable], last_input_first: bool) -> list[Apply] | None:
    opened, done = object(), object()
    order: list[Apply] = []
    # One entry to open a node, which stays until the entries above it are done, to close it.
    waiting = list(reversed(roots))
    while waiting:
        node = waiting[-1]
        mark = node._mark
        if mark is done:
            waiting.pop()
            continue
        if mark is not opened:
            node._mark = opened
            below = []
            for variable in node.inputs:
                owner = variable.owner
                if owner is not None and owner._mark is not done and variable not in stop:
                    if owner._mark is opened:
                        return None  # a cycle, which the other walk describes
                    below.append(owner)
            if below:
                if not last_input_first:
                    below.reverse()
                waiting += below
                continue
        waiting.pop()
        node._mark = done
        order.append(node)
    return order


def postorder(roots: Iterable[NodeT], dependencies: Callable[[NodeT], list[NodeT]]) -> list[NodeT]:
    """Return all objects reachable from `roots`, each after its `dependencies`.

    Raises
    ------
    CycleError
        If something depends on itself.
    """
    order: list[NodeT] = []
    # Whether a node that was opened is done; the others are the path to the present one, in order.
    done: dict[NodeT, bool] = {}
    # Holds nothing but nodes: one entry to open a node, which stays until the entries above it are done, to close it.
    stack = list(roots)
    stack.reverse()
    while stack:
        node = stack[-1]
        cached = done.get(node)
        if cached is None:
            done[node] = False
            for dependency in reversed(dependencies(node)):
                state = done.get(dependency)
                if state is None:
                    stack.append(dependency)
                elif not state:
                    raise _cycle([n for n, is_done in done.items() if not is_done], dependency)
            continue
        stack.pop()
        if not cached:
            done[node] = True
            order.append(node)
    return order


def sources_first(
    outputs: Iterable[NodeT],
    dependencies: Callable[[NodeT], Iterable[NodeT] | None],
    clients: dict[NodeT, list[NodeT]] | None = None,
) -> list[NodeT]:
    """Return all objects reachable from `outputs`, dependencies first: all without any, then their dependents.

    Parameters
    ----------
    outputs : iterable
        Any hashable objects.
    dependencies : callable
        Gives the prerequisites of one of them; called once for each.
    clients : dict, optional
        Filled with object -> its direct dependents, once for each time that they name it.

    Raises
    ------
    CycleError
        If something depends on itself.

    Examples
    --------
    >>> sources_first([6, 5], lambda n: [n - 1, n - 2] if n > 1 else [])
    [1, 0, 2, 3, 4, 5, 6]
    """
    needs: dict[NodeT, list[NodeT]] = {}
    users: dict[NodeT, list[NodeT]] = {} if clients is None else clients
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node not in needs:
            needs[node] = requirements = list(dependencies(node) or ())
            for dependency in requirements:
                users.setdefault(dependency, []).append(node)
            stack.extend(requirements)
    missing = {node: len(set(requirements)) for node, requirements in needs.items()}
    order = [node for node, count in missing.items() if not count]
    for node in order:  # grows on the way
        for user in dict.fromkeys(users.get(node, ())):
            missing[user] -= 1
            if not missing[user]:
                order.append(user)
    if len(order) != len(needs):
        return postorder(needs, needs.__getitem__)  # tells of the cycle
    return order


def _cycle(path: list[NodeT], closing: NodeT) -> CycleError:
    names = [label(node) for node in path[path.index(closing) :]]
    if len(names) > 8:
        names[4:-4] = [f"... {len(names) - 8} more ..."]
    return CycleError(
        format_error(
            f"the graph has a cycle through {label(closing)}",
            context=names,
            hint="undo the change or the ordering that made a node depend on itself",
        )
    )


def label(node: object) -> str:
    """Return the name of a node in errors: its op and where it was made."""
    origin = getattr(node, "origin", None)
    text = str(getattr(node, "op", node))
    return text if origin is None else f"{text} made at {origin}"
