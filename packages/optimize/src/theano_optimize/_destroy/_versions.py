"""Memory that variables share: views, overwritten operands, and the versions of a piece of memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from theano_graph import Apply, FunctionGraph, Variable

# ---- The `view_map` and `destroy_map` of ops, as relations of variables


def destroyed_inputs(node: Apply) -> list[int]:
    """Return the numbers of the inputs that `node` overwrites, in order.

    Examples
    --------
    >>> from theano_graph import Generic, Op
    >>> class Overwrite(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    ...     destroy_map = {0: [0]}
    >>> destroyed_inputs(Overwrite().make_node(Generic()()))
    [0]
    """
    destroy_map = node.op.destroy_map
    return sorted({i for inputs in destroy_map.values() for i in inputs}) if destroy_map else []


def views_several(node: Apply) -> bool:
    """Tell whether an output of `node` is declared a view of more than one input: nobody knows in which it lies."""
    view_map = node.op.view_map
    return bool(view_map) and any(len(set(inputs)) > 1 for inputs in view_map.values())


def viewed_inputs(node: Apply) -> list[Variable]:
    """List the inputs in which outputs of `node` may lie."""
    return [node.inputs[i] for inputs in node.op.view_map.values() for i in inputs]


def source_of(variable: Variable) -> Variable | None:
    """Return the variable that `variable` shares its *version* with, or None where it starts one of its own.

    A version is the content of a piece of memory between two nodes that overwrite it: a variable and all views of it.
    The output of a node that overwrites an input starts the next version; outputs that overwrite the same input, and
    views of that input by the same node, belong to the version of the first such output.
    """
    node, index = variable.owner, variable.index
    if node is None or index is None:
        return None
    op = node.op
    destroy_map, view_map = op.destroy_map, op.view_map
    if not destroy_map:
        return _input(node, view_map[index][0]) if view_map and view_map.get(index) else None
    overwritten = set(destroy_map.get(index, ()))
    first = index
    if not overwritten:
        sources = view_map.get(index)
        if not sources:
            return None
        if sources[0] not in destroyed_inputs(node):
            return _input(node, sources[0])
        overwritten = {sources[0]}
        first = -1
    first = _first_output(node, overwritten, first)
    return None if first == index else _output(node, first)


def _first_output(node: Apply, overwritten: set[int], start: int) -> int:
    """Return the first output that overwrites an input in common with others that do, from `overwritten` on."""
    destroy_map = node.op.destroy_map
    source = start
    seen = set(overwritten)
    growing = True
    while growing:
        growing = False
        for output, inputs in destroy_map.items():
            if not seen.isdisjoint(inputs):
                if not seen.issuperset(inputs):
                    seen.update(inputs)
                    growing = True
                source = output if source < 0 else min(source, output)
    return source


def _input(node: Apply, i: int) -> Variable:
    variable: Variable = node.inputs[i]
    return variable


def _output(node: Apply, i: int) -> Variable:
    variable: Variable = node.outputs[i]
    return variable


def tolerated(node: Apply, destroyed: int, other: int) -> bool:
    """Tell whether the op can cope with input `other` lying in the memory that it overwrites as input `destroyed`.

    An op says so by pairs of numbers: ``destroyhandler_tolerate_same`` where both may be the very same variable,
    ``destroyhandler_tolerate_aliased`` where any overlap is harmless.
    """
    pair = (destroyed, other)
    if pair in _pairs(node, "destroyhandler_tolerate_aliased"):
        return True
    same = pair in _pairs(node, "destroyhandler_tolerate_same")
    return same and node.inputs[destroyed] is node.inputs[other]


def _pairs(node: Apply, attribute: str) -> list[tuple[int, int]]:
    return [(first, second) for first, second in getattr(node.op, attribute, ())]


# ---- Variables that share memory through views, and variables that are overwritten


def is_destroyed(fgraph: FunctionGraph, variable: Variable) -> bool:
    """Tell whether a node of `fgraph` overwrites `variable` or a view of it.

    Examples
    --------
    >>> from theano_graph import FunctionGraph, Generic
    >>> x = Generic()("x")
    >>> is_destroyed(FunctionGraph([x], [x], clone=False), x)
    False
    """
    stack = [variable]
    seen = {variable}
    while stack:
        for client, i in fgraph.clients(stack.pop()):
            if not isinstance(client, Apply):
                continue
            if i in destroyed_inputs(client):
                return True
            if client.op.view_map:
                for output in client.outputs:
                    if output not in seen and i in client.op.view_map.get(output.index, ()):
                        seen.add(output)
                        stack.append(output)
    return False


# ---- Versions of memory: their variables, and the node that overwrites them
#
# A version has a *root*: the variable that is a view of nothing in it. Its other members are views, views of views, and
# so on. All questions are answered by dictionary look-ups; a change costs as many steps as variables get another root.

Nodes = dict[Apply, None]


class Versions:
    """The versions of one function graph; see the text of the module.

    Attributes
    ----------
    unchecked : dict
        Roots of versions that may have become illegal; the owner of the object clears it.
    """

    def __init__(self) -> None:
        self._root: dict[Variable, Variable] = {}
        self._members: dict[Variable, dict[Variable, None]] = {}
        self._destroyers: dict[Variable, Nodes] = {}
        self._destroyed: dict[Apply, list[Variable]] = {}
        self._output_uses: dict[Variable, int] = {}
        self.unchecked: dict[Variable, None] = {}

    # ---- questions

    def root_of(self, variable: Variable) -> Variable:
        """Return the root of the version of `variable`."""
        return self._root.get(variable, variable)

    def members(self, root: Variable) -> Iterator[Variable]:
        """Yield the variables of a version, the root first."""
        yield root
        yield from self._members.get(root, ())

    def destroyers_of(self, root: Variable) -> Nodes:
        """Return the nodes that overwrite the version; not to be changed."""
        return self._destroyers.get(root, {})

    def destroyed_by(self, node: Apply) -> list[Variable]:
        """Return the roots of the versions that `node` overwrites, in the order of its inputs, each once."""
        return self._destroyed.get(node, [])

    @property
    def destroyers(self) -> Nodes:
        """All nodes that overwrite something, in order of arrival; not to be changed."""
        return self._destroyed  # type: ignore[return-value]  # only the keys are promised

    @property
    def destroyed_roots(self) -> list[Variable]:
        """The roots of all versions that are overwritten."""
        return list(self._destroyers)

    def is_output(self, root: Variable) -> bool:
        """Tell whether an output of the graph lies in the version."""
        return self._output_uses.get(root, 0) > 0

    def readers(self, fgraph: FunctionGraph, root: Variable) -> Iterator[Apply]:
        """Yield the nodes that read the version or overwrite it; a node comes once for each use."""
        for variable in self.members(root):
            for client, _ in fgraph.clients(variable):
                if isinstance(client, Apply):
                    yield client

    def logical_state(self) -> dict[str, object]:
        """Return the state, without order, to compare with the state of another object for the same graph."""
        return {
            "root": dict(self._root),
            "members": {root: set(views) for root, views in self._members.items()},
            "destroyers": {root: set(nodes) for root, nodes in self._destroyers.items()},
            "destroyed": {node: set(roots) for node, roots in self._destroyed.items()},
            "output uses": dict(self._output_uses),
        }

    # ---- changes

    def add_node(self, node: Apply) -> None:
        """Take in a node; its prerequisites are there."""
        op = node.op
        if op.view_map or op.destroy_map:
            for output in node.outputs:
                source = source_of(output)
                if source is not None:
                    self._enter(output, self.root_of(source))
            if op.destroy_map:
                self._note_destroyed(node)

    def remove_node(self, node: Apply) -> None:
        """Let go of a node; nothing uses its outputs."""
        if node in self._destroyed:
            self._forget_destroyed(node)
        for output in node.outputs:
            self._leave(output)
            self._output_uses.pop(output, None)
            self.unchecked.pop(output, None)

    def add_output(self, variable: Variable) -> None:
        """Note that an output of the graph is `variable`."""
        root = self.root_of(variable)
        self._output_uses[root] = self._output_uses.get(root, 0) + 1
        self._touch(root)

    def change_input(
        self, fgraph: FunctionGraph, node: Apply | Literal["output"], i: int, old: Variable, new: Variable
    ) -> None:
        """Note that input `i` of `node`, or output `i` of the graph, is `new` and no longer `old`."""
        if isinstance(node, str):
            self._count_output(self.root_of(old), -1)
            self.add_output(new)
            return
        op = node.op
        if op.view_map:
            for output in node.outputs:
                source = source_of(output)
                if source is not None and source is node.inputs[i]:
                    self._move(fgraph, output, self.root_of(new))
        if op.destroy_map:
            self._note_destroyed(node)

    def _move(self, fgraph: FunctionGraph, top: Variable, root: Variable) -> None:
        """Give `top` and all views of it another root."""
        old = self.root_of(top)
        if old is root:
            return
        affected: Nodes = {}
        stack = [top]
        while stack:
            variable = stack.pop()
            self._leave(variable)
            self._enter(variable, root)
            for client, i in fgraph.clients(variable):
                if isinstance(client, str):
                    self._count_output(old, -1)
                    self._count_output(root, 1)
                    continue
                if client in self._destroyed:
                    affected[client] = None
                if client.op.view_map:
                    stack.extend(
                        o
                        for o in client.outputs
                        if i in client.op.view_map.get(o.index, ())
                        and source_of(o) is variable
                        and self.root_of(o) is old
                    )
        for client in affected:
            self._note_destroyed(client)
        self._touch(root)

    def _enter(self, variable: Variable, root: Variable) -> None:
        self._root[variable] = root
        self._members.setdefault(root, {})[variable] = None

    def _leave(self, variable: Variable) -> None:
        root = self._root.pop(variable, None)
        if root is not None:
            members = self._members[root]
            del members[variable]
            if not members:
                del self._members[root]

    def _count_output(self, root: Variable, change: int) -> None:
        count = self._output_uses.get(root, 0) + change
        if count:
            self._output_uses[root] = count
        else:
            self._output_uses.pop(root, None)

    def _note_destroyed(self, node: Apply) -> None:
        self._forget_destroyed(node)
        roots = list(dict.fromkeys(self.root_of(node.inputs[i]) for i in destroyed_inputs(node)))
        self._destroyed[node] = roots
        for root in roots:
            self._destroyers.setdefault(root, {})[node] = None
            self.unchecked[root] = None

    def _forget_destroyed(self, node: Apply) -> None:
        for root in self._destroyed.pop(node, ()):
            nodes = self._destroyers[root]
            nodes.pop(node, None)
            if not nodes:
                del self._destroyers[root]
                self.unchecked.pop(root, None)

    def _touch(self, root: Variable) -> None:
        if root in self._destroyers:
            self.unchecked[root] = None
