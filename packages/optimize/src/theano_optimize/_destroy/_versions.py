"""Which variables lie in the same version of a piece of memory, and who overwrites it; kept up to date by changes.

A version has a *root*: the variable that is a view of nothing in it. Its other members are views, views of views, and
so on. All questions are answered by dictionary look-ups; a change costs as many steps as variables get another root.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from theano_graph import Apply, FunctionGraph, Variable

from ._maps import destroyed_inputs, source_of

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
        return self._destroyed  # type: ignore[return-value]  # the keys are what is promised

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
        """Return what is known, without order, to compare with the state of another object for the same graph."""
        return {
            "root": dict(self._root),
            "members": {root: set(views) for root, views in self._members.items()},
            "destroyers": {root: set(nodes) for root, nodes in self._destroyers.items()},
            "destroyed": {node: set(roots) for node, roots in self._destroyed.items()},
            "output uses": dict(self._output_uses),
        }

    # ---- changes

    def add_node(self, node: Apply) -> None:
        """Take in a node; those that it depends on are there."""
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
