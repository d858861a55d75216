"""Graphs as one line of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .._expression._nodes import Apply, Variable
from .._traversal._walk import toposort

LeafFormatter = Callable[[Variable], str]
NodeFormatter = Callable[[Apply, Sequence[str]], str]


def default_node_formatter(node: Apply, arguments: Sequence[str]) -> str:
    """Return ``op(argument, argument)``.

    Parameters
    ----------
    node : Apply
    arguments : sequence of str
        The texts of its inputs.
    """
    return f"{node.op}({', '.join(arguments)})"


def as_string(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    leaf_formatter: LeafFormatter = str,
    node_formatter: NodeFormatter = default_node_formatter,
) -> list[str]:
    """Return one line of text for each output: nested calls, shared parts marked ``*n -> ...`` and ``*n``.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
    leaf_formatter : callable, optional
        Gives the text of an input, a constant or another variable without an owner.
    node_formatter : callable, optional
        Gives the text of a node from the node and the texts of its inputs.

    Examples
    --------
    For ``y = add(x, x)`` the text is ``add(x, x)``; in ``mul(y, y)`` it is ``mul(*1 -> add(x, x), *1)``. The second
    output of an op is ``*1::1``.
    """
    stop = set(inputs)
    uses: dict[Apply, int] = {}
    read = [variable for node in toposort(inputs, outputs) for variable in node.inputs]
    for variable in (*read, *outputs):
        if variable.owner is not None and variable not in stop:
            uses[variable.owner] = uses.get(variable.owner, 0) + 1
    write = _Writer(stop, uses, leaf_formatter, node_formatter)
    if node_formatter is default_node_formatter:
        return [write.linear(output) for output in outputs]
    return [write.formatted(output) for output in outputs]


def op_as_string(
    inputs: Sequence[Variable],
    node: Apply,
    leaf_formatter: LeafFormatter = str,
    node_formatter: NodeFormatter = default_node_formatter,
) -> str:
    """Return the text of one node and of what it needs from `inputs`; see :func:`as_string`."""
    return node_formatter(node, as_string(inputs, node.inputs, leaf_formatter, node_formatter))


class _Writer:
    """Texts of several outputs of one graph, which share the numbers of their common parts."""

    def __init__(
        self, stop: set[Variable], uses: Mapping[Apply, int], leaf: LeafFormatter, format_node: NodeFormatter
    ) -> None:
        self.stop = stop
        self.uses = uses
        self.leaf = leaf
        self.format_node = format_node
        self.numbers: dict[Apply, int] = {}

    def _plain(self, variable: Variable) -> str | None:
        """Return the text of a variable that is not spelled out (any more), or None."""
        if variable.owner is None or variable in self.stop:
            return self.leaf(variable)
        number = self.numbers.get(variable.owner)
        if number is None:
            return None
        return f"*{number}" if len(variable.owner.outputs) == 1 else f"*{number}::{variable.index}"

    def _mark(self, node: Apply) -> str:
        if self.uses.get(node, 0) < 2:
            return ""
        self.numbers[node] = len(self.numbers) + 1
        return f"*{self.numbers[node]} -> "

    def linear(self, output: Variable) -> str:
        """Return the text in the default form, in time linear in its length."""
        parts: list[str] = []
        work: list[str | Variable] = [output]  # text to emit or variables to expand
        while work:
            item = work.pop()
            text = item if isinstance(item, str) else self._plain(item)
            if text is not None:
                parts.append(text)
                continue
            assert isinstance(item, Variable) and item.owner is not None, "text and leaves have been written"
            node = item.owner
            parts.append(self._mark(node))
            parts.append(str(node.op))
            # The first output goes without a number where it is written out.
            work.append(f")::{item.index}" if item.index else ")")
            for i in range(len(node.inputs) - 1, -1, -1):
                work.append(node.inputs[i])
                if i:
                    work.append(", ")
            work.append("(")
        return "".join(parts)

    def formatted(self, output: Variable) -> str:
        """Return the text with each node written by the formatter."""
        texts: list[str] = []
        # A variable to write, or a node whose arguments lie on top of `texts`, with its mark.
        work: list[tuple[Variable, str | None]] = [(output, None)]
        while work:
            variable, mark = work.pop()
            node = variable.owner
            if mark is None:
                text = self._plain(variable)
                if text is not None:
                    texts.append(text)
                    continue
                assert node is not None, "variables without an owner have been written"
                work.append((variable, self._mark(node)))
                work.extend((v, None) for v in reversed(node.inputs))
                continue
            assert node is not None, "only results of nodes are marked"
            first = len(texts) - len(node.inputs)
            text = self.format_node(node, texts[first:])
            del texts[first:]
            texts.append(mark + text + (f"::{variable.index}" if variable.index else ""))
        return texts[0]
