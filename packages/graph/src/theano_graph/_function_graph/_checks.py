"""Checks of graphs: cycles, foreign variables, types of replacements."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from .._errors import CycleError, GraphError, IncompatibleReplacementError, MissingInputError, format_error
from .._expression._nodes import Apply, Variable, describe
from ._clients import Client, Membership

if TYPE_CHECKING:
    from ._fgraph import FunctionGraph


# ---- Positions of nodes, which tell quickly that a change closes no cycle
#
# Each node has a number that is greater than those of the nodes it depends on. A variable whose node comes before all
# users of another one cannot depend on them: most replacements are cleared by comparing two numbers. Where the numbers
# do
# not tell, only the part of the graph that lies between them is walked, and its nodes get smaller numbers, so
# that
# the same question is cheap the next time.

#: Distance of neighbours in a fresh numbering: that many halvings of a gap fit before the nodes are numbered anew.
SPACING = 1 << 64


def number(nodes: Iterable[Apply], start: int = 0) -> None:
    """Give nodes that are in topological order fresh positions, all above `start`."""
    for node in nodes:
        start += SPACING
        node._position = start


def is_before(node: Apply, clients: Iterable[Client]) -> bool:
    """Tell whether the positions alone show that a node does not depend on clients, all in one graph with it."""
    position = node._position
    for user, _ in clients:  # noqa: SIM110  # asked at each change, and a generator costs twice as much
        if not isinstance(user, str) and user._position <= position:
            return False
    return True


def before_users(new: Variable, users: Collection[Apply], here: Membership, old: Variable) -> bool:
    """Give the nodes of `new` positions before those of `users`, which are going to use it.

    Parameters
    ----------
    new : Variable
    users : collection of Apply
        Nodes of the graph, or on their way into it.
    here : Membership
        The mark of the graph's nodes; others that `new` needs are on their way into it and have no
        position yet.
    old : Variable
        The variable that `new` replaces; named in errors.

    Returns
    -------
    bool
        False if there was no room between two positions: the graph must be numbered afresh, and this called again.

    Raises
    ------
    CycleError
        If `new` depends on one of the users. Positions are as before.
    """
    root = new.owner
    if root is None:
        return True
    limit: int | None = None
    for user in users:
        if user._membership is here and (limit is None or user._position < limit):
            limit = user._position
    if root._membership is here and (limit is None or root._position < limit):
        return True
    behind = _behind(root, users, here, limit, old)
    moved = set(behind)
    feeding = (v.owner for node in behind for v in node.inputs)
    low = max((node._position for node in feeding if node is not None and node not in moved), default=0)
    if limit is None:
        number(behind, low)
        return True
    step = (limit - low) // (len(behind) + 1)
    if not step:
        return False
    for i, node in enumerate(behind):
        node._position = low + step * (i + 1)
    return True


def _behind(root: Apply, users: Collection[Apply], here: Membership, limit: int | None, old: Variable) -> list[Apply]:
    """Return `root` and its ancestors, without the nodes of the graph below `limit`; inputs first."""
    order: list[Apply] = []
    seen: set[Apply] = set()
    path: list[Apply] = []
    stack: list[tuple[Apply, bool]] = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(path.pop())
            continue
        if node in seen:
            continue
        seen.add(node)
        path.append(node)
        if node in users:
            raise _cycle(path, old)
        stack.append((node, True))
        for variable in node.inputs:
            owner = variable.owner
            if owner is None or owner in seen:
                continue
            if owner._membership is here and (limit is None or owner._position < limit):
                continue
            stack.append((owner, False))
    return order


def _cycle(path: Sequence[Apply], old: Variable) -> CycleError:
    """Return the error for a replacement of `old` by the result of the first node, which needs the last one."""
    names = [str(node.op) for node in reversed(path)]
    if len(names) > 8:
        names[4:-4] = [f"... {len(names) - 8} more ..."]
    return CycleError(
        format_error(
            f"`{old}` cannot be replaced by something made from it: the graph would have a cycle",
            context=[f"the cycle: {' -> '.join([*names, names[0]])}", describe(old), describe(path[0].outputs[0])],
            hint="make the replacement from the inputs of the replaced variable, or change the inputs one by one",
        )
    )


# ---- Refused changes, and their errors


def check_boundary(inputs: Iterable[Variable], outputs: Iterable[Variable]) -> tuple[list[Variable], list[Variable]]:
    """Return the inputs and outputs of a new graph as lists; refuse non-variables and inputs given twice."""
    for kind, sequence in (("inputs", inputs), ("outputs", outputs)):
        if isinstance(sequence, Variable):
            raise TypeError(
                format_error(
                    f"the {kind} of a function graph are a list of variables, not one variable",
                    context=[describe(sequence)],
                    hint=f"pass [{sequence}]",
                )
            )
        if not isinstance(sequence, Iterable):
            raise TypeError(
                format_error(
                    f"the {kind} of a function graph are a list of variables, not {sequence!r}", hint="pass a list"
                )
            )
    inputs, outputs = list(inputs), list(outputs)
    for kind, variables in (("input", inputs), ("output", outputs)):
        for i, variable in enumerate(variables):
            if not isinstance(variable, Variable):
                raise TypeError(
                    format_error(
                        f"{kind} {i} of a function graph is no variable: {variable!r}",
                        hint="pass variables; a value becomes one through Type.make_constant",
                    )
                )
    seen: set[Variable] = set()
    for variable in inputs:
        if variable in seen:
            raise GraphError(
                format_error("an input is given twice", context=[describe(variable)], hint="list each input once")
            )
        seen.add(variable)
    return inputs, outputs


def check_updates(mapping: Mapping[int, int] | None, n_inputs: int, n_outputs: int) -> dict[int, int] | None:
    """Return a copy of a mapping from output to input indices; refuse indices of nothing."""
    if mapping is None:
        return None
    hint = "map the index of an output to that of the input that takes its value"
    if not isinstance(mapping, Mapping):
        raise TypeError(format_error(f"update_mapping is a mapping of indices, not {mapping!r}", hint=hint))
    for output, updated in mapping.items():
        for kind, index, count in (("output", output, n_outputs), ("input", updated, n_inputs)):
            if not isinstance(index, int) or not 0 <= index < count:
                raise GraphError(
                    format_error(f"update_mapping names {kind} {index!r}: the graph has {count} {kind}s", hint=hint)
                )
    if len(set(mapping.values())) != len(mapping):
        raise GraphError(format_error(f"update_mapping updates an input twice: {dict(mapping)}", hint=hint))
    return dict(mapping)


def check_newcomer(node: Apply, left: Membership) -> None:
    """Refuse a node of another graph, and one whose outputs say something else."""
    membership = node._membership
    if membership is not None and membership is not left and membership.is_current():
        raise GraphError(
            format_error(
                f"{node.op} belongs to another function graph",
                context=[describe(node.outputs[0])],
                hint="copy it (clone=True, clone_graph), or `disown()` the other graph if it is not needed",
            )
        )
    for i, output in enumerate(node.outputs):
        if output.owner is not node or output.index != i:
            raise GraphError(
                format_error(
                    f"output {i} of {node.op} says that it is output {output.index} of another node",
                    context=[describe(output)],
                    hint="leave `owner` and `index` to Apply",
                )
            )


_MEND = "change the graph through its own methods only"


def check_nodes(arrived: Sequence[Apply], order: Sequence[Apply], here: Membership) -> None:
    """Refuse a graph whose nodes differ from the ancestors of its outputs, which are `order`."""
    if len(arrived) == len(order) and all(node._membership is here for node in order):
        return
    stray = next(iter(set(order) ^ set(arrived)))
    raise GraphError(
        format_error(
            "the nodes of the graph are not those that lead to its outputs",
            context=[f"{stray}" + (f" made at {stray.origin}" if stray.origin is not None else "")],
            hint=_MEND,
        )
    )


def check_position(node: Apply, used: Variable, inputs: Container[Variable]) -> None:
    """Refuse a node whose number is not greater than those of its inputs' nodes."""
    owner = used.owner
    if owner is not None and used not in inputs and owner._position >= node._position:
        raise GraphError(format_error(f"{node.op} comes before what it needs", context=[describe(used)], hint=_MEND))


def wrong_clients(variable: Variable) -> GraphError:
    """Return the error for a variable of which the graph knows clients that it does not have, or not all."""
    return GraphError(
        format_error(
            f"the clients of `{variable}` are not those of the graph", context=[describe(variable)], hint=_MEND
        )
    )


def fitting(old: Variable, new: object, reason: object) -> Variable:
    """Return `new`, converted if need be, as something that can stand where `old` stands."""
    if not isinstance(new, Variable):
        raise TypeError(
            format_error(
                f"only a variable can stand in a graph, not {new!r}",
                context=[describe(old)],
                hint=f"make a constant of it: Type.make_constant of {old.type.describe()}",
            )
        )
    if old.type.is_super(new.type):
        return new
    try:
        return old.type.narrow_variable(new)
    except TypeError as error:
        raise IncompatibleReplacementError(
            format_error(
                f"a variable of type {old.type.describe()} cannot be replaced by one of type {new.type.describe()}"
                + (f" (wanted by {reason})" if reason is not None else ""),
                context=[describe(old), describe(new)],
                hint="let the replacement have the type of the replaced variable, for instance through a cast",
            )
        ) from error


def foreign(graph: FunctionGraph, variable: object, verb: str) -> GraphError:
    """Return the error for a variable that is not in the graph."""
    if not isinstance(variable, Variable):
        return GraphError(
            format_error(f"only a variable can {verb}, not {variable!r}", hint="pass one of `fgraph.variables`")
        )
    hint = "pass one of `fgraph.variables`"
    if variable in graph.memo:
        hint = "the graph works on copies: pass `fgraph.memo[variable]`, or make the graph with clone=False"
    return GraphError(
        format_error(f"a variable that is not in this graph cannot {verb}", context=[describe(variable)], hint=hint)
    )


def missing(leaf: Variable, nodes: Sequence[Apply], reason: object) -> MissingInputError:
    """Return the error for a variable that the graph needs but does not have."""
    where = [describe(leaf)]
    for node in nodes:
        if leaf in node.inputs:
            where.append(f"used by {node.op}" + (f" at {node.origin}" if node.origin is not None else ""))
            break
    what = f"the graph needs `{leaf}`, which is neither an input nor a constant"
    if reason not in (None, "init"):
        what += f" (brought in by {reason})"
    return MissingInputError(
        format_error(what, context=where, hint="add it to the inputs, or give it a value (givens, a shared variable)")
    )
