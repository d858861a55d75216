"""Replacing variables of a graph, also in the graphs inside its ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from theano_graph import Apply, Constant, clone_replace, graph_inputs, toposort
from theano_scan import Loop, Scan
from theano_tensor.builders import OpFromGraph

from ._helpers import safe_new

Replacer = Callable[[Any], Any]


def map_variables(replacer: Replacer, graphs: Iterable[Any], additional_inputs: Iterable[Any] = ()) -> list[Any]:
    """Return expressions in which variables are replaced, also inside loops and ops that are made of graphs.

    Parameters
    ----------
    replacer : callable
        Gets a variable and returns its replacement, the same variable where there is none. A replacement
        is not replaced again.
    graphs : iterable of Variable
    additional_inputs : iterable of Variable
        Inputs that the results of `replacer` use; any are allowed here.

    Raises
    ------
    NotImplementedError
        If a shared variable with an update would come into an inner graph.

    Examples
    --------
    >>> from theano.scan_module.scan_utils import map_variables
    >>> import theano.tensor as T
    >>> a, b, c = T.dscalars("a", "b", "c")
    >>> (found,) = map_variables(lambda v: c if v is b else v, [a + b])
    >>> float(found.eval({a: 1.0, c: 2.0}))
    3.0
    """
    mapping = _Mapping(replacer)
    return [mapping.of(v) for v in graphs]


class _Mapping:
    """Variables and their replacements; each is asked about once."""

    def __init__(self, replacer: Replacer) -> None:
        self.replacer = replacer
        self.known: dict[Any, Any] = {}
        self.own: set[Any] = set()
        self.nodes: dict[Apply, list[Any]] = {}

    def of(self, variable: Any) -> Any:
        """Return the replacement of a variable, and of all its ancestors."""
        for v in [*graph_inputs([variable]), *(o for n in toposort([], [variable]) for o in n.outputs)]:
            self._one(v)
        return self.known[variable]

    def _one(self, v: Any) -> None:
        if v in self.known:
            return
        new = v if v in self.own else self.replacer(v)
        if new is v:
            self.known[v] = self._rebuilt(v)
            return
        self.own.add(new)
        self.known[v] = self._rebuilt(v)  # where the new expression is made of the old one
        self.known[v] = self.of(new)

    def _rebuilt(self, v: Any) -> Any:
        node = v.owner
        if node is None:
            return v
        if node not in self.nodes:
            self.nodes[node] = self._outputs(node)
        return self.nodes[node][node.outputs.index(v)]

    def _outputs(self, node: Apply) -> list[Any]:
        inputs = [self.known[v] for v in node.inputs]
        if isinstance(node.op, OpFromGraph) or (isinstance(node.op, Scan) and not isinstance(node.op, Loop)):
            return _inside(self.replacer, node, inputs)
        if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
            return list(node.outputs)
        return list(node.clone_with_new_inputs(inputs, strict=False).outputs)


def _inside(replacer: Replacer, node: Apply, outer: list[Any]) -> list[Any]:
    """Return the outputs of a node whose inner graph has variables replaced, too."""
    op: Any = node.op
    inner = _InnerGraph(replacer, node)
    outputs = map_variables(inner.replaced, op.outputs)
    if all(new is old for new, old in zip(outputs, op.outputs, strict=True)):
        same = all(new is old for new, old in zip(outer, node.inputs, strict=True))
        return list(node.outputs) if same else list(node.clone_with_new_inputs(outer, strict=False).outputs)
    inputs = [*op.inputs, *inner.added.values()]
    if isinstance(op, OpFromGraph):
        made: Any = OpFromGraph(inputs, outputs, **op.kwargs)
        outer = outer[: len(op.inputs)]
    else:
        made = Scan(inputs, outputs, op.info)
    return list(made.make_node(*outer, *inner.added).outputs)


class _InnerGraph:
    """Replacements inside an op: variables they use from outside become inputs."""

    def __init__(self, replacer: Replacer, node: Apply) -> None:
        self.replacer, self.op = replacer, node.op
        self.inputs: Sequence[Any] = self.op.inputs
        self.added: dict[Any, Any] = {}

    def replaced(self, v: Any) -> Any:
        """Return the replacement of a variable of the inner graph."""
        new = self.replacer(v)
        if new is v:
            return v
        for root in graph_inputs([new], self.inputs):
            if isinstance(root, Constant) or root in self.inputs or root in self.added:
                continue
            if getattr(root, "update", None) is not None or getattr(root, "default_update", None) is not None:
                raise NotImplementedError(
                    f"Replacement introduces shared variable {root} which has an update associated with it into "
                    f"the inner graph of {self.op}. This is not currently supported."
                )
            self.added[root] = safe_new(root, "_copy")
        return clone_replace(new, self.added) if self.added else new
