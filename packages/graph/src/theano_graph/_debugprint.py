"""Text of a graph as an indented tree, one line for each use of a variable."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Literal

from ._errors import compose
from ._fgraph import FunctionGraph
from ._nodes import Apply, Variable

Ids = Literal["CHAR", "int", "id", ""]


@dataclass(frozen=True)
class PrintableGraph:
    """What :func:`debugprint` shows of an object.

    Attributes
    ----------
    outputs : sequence of Variable
        Roots of the trees.
    order : sequence of Apply
        The nodes in the order in which they run; their positions are printed. Empty when there is no order.
    storage : mapping
        Variable -> the list that holds its value, for ``print_storage``.
    """

    outputs: Sequence[Variable]
    order: Sequence[Apply] = ()
    storage: Mapping[Variable, Any] = field(default_factory=dict)


@functools.singledispatch
def printable_graph(obj: Any) -> PrintableGraph:
    """Return what :func:`debugprint` shows of `obj`; higher layers register their own classes (compiled functions)."""
    raise TypeError(
        compose(
            f"debugprint cannot show an object of type {type(obj).__name__}",
            mend="pass a variable, a node, a list of variables, a FunctionGraph or a compiled function",
        )
    )


@printable_graph.register(Variable)
def _of_variable(obj: Variable) -> PrintableGraph:
    return PrintableGraph([obj])


@printable_graph.register(Apply)
def _of_node(obj: Apply) -> PrintableGraph:
    return PrintableGraph(obj.outputs)


@printable_graph.register(FunctionGraph)
def _of_fgraph(obj: FunctionGraph) -> PrintableGraph:
    return PrintableGraph(obj.outputs, obj.toposort())


@printable_graph.register(list)
@printable_graph.register(tuple)
def _of_list(obj: Sequence[Any]) -> PrintableGraph:
    parts = [printable_graph(item) for item in obj]
    storage: dict[Variable, Any] = {}
    for part in parts:
        storage.update(part.storage)
    order = parts[0].order if len(parts) == 1 else [node for part in parts for node in part.order]
    return PrintableGraph([v for part in parts for v in part.outputs], order, storage)


def _letters(number: int) -> str:
    text = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("A") + digit) + text
    return text


class _Printer:
    def __init__(
        self, graph: PrintableGraph, ids: Ids, print_type: bool, stop_on_name: bool, depth: int, storage: bool
    ) -> None:
        self.graph = graph
        self.ids = ids
        self.print_type = print_type
        self.stop_on_name = stop_on_name
        self.depth = depth
        self.print_storage = storage
        self.positions = {node: i for i, node in enumerate(graph.order)}
        self.numbers: dict[Any, int] = {}
        self.printed: set[Apply] = set()
        self.lines: list[str] = []

    def _id(self, key: Variable | Apply) -> str:
        number = self.numbers.setdefault(key, len(self.numbers))
        match self.ids:
            case "CHAR":
                return f" [id {_letters(number)}]"
            case "int":
                return f" [id {number}]"
            case "id":
                return f" [id {id(key)}]"
        return ""

    def _line(self, variable: Variable) -> str:
        node = variable.owner
        kind = f" <{variable.type}>" if self.print_type else ""
        if node is None:
            return f"{variable}{self._id(variable)}{kind}{self._stored(variable)}"
        label = str(node.op) if len(node.outputs) == 1 else f"{node.op}.{variable.index}"
        position = f"   {self.positions[node]}" if node in self.positions else ""
        return f"{label}{self._id(node)}{kind} '{variable.name or ''}'{position}{self._stored(variable)}"

    def _stored(self, variable: Variable) -> str:
        return f" {self.graph.storage[variable]}" if self.print_storage and variable in self.graph.storage else ""

    def run(self) -> str:
        for output in self.graph.outputs:
            # One item is a variable, what stands before its line, what stands before the lines below it, and its level.
            work: list[tuple[Variable, str, str, int]] = [(output, "", "", 1)]
            while work:
                variable, prefix, below, level = work.pop()
                self.lines.append(prefix + self._line(variable))
                node = variable.owner
                if node is None or node in self.printed or (self.depth > 0 and level >= self.depth):
                    continue
                self.printed.add(node)
                if self.stop_on_name and variable.name is not None:
                    continue
                last = len(node.inputs) - 1
                for i in range(last, -1, -1):
                    following = below + ("  " if i == last else " |")
                    work.append((node.inputs[i], below + " |", following, level + 1))
        return "\n".join(self.lines) + "\n"


def debugprint(
    obj: Any,
    depth: int = -1,
    print_type: bool = False,
    file: IO[str] | Literal["str"] | None = None,
    ids: Ids = "CHAR",
    stop_on_name: bool = False,
    print_storage: bool = False,
) -> str | IO[str] | None:
    r"""Print a graph as an indented tree.

    Parameters
    ----------
    obj : Variable, Apply, FunctionGraph, compiled function, or list of these
    depth : int
        Number of levels to show; -1 for all.
    print_type : bool
        Show the type of each variable.
    file : text file or "str", optional
        Where to print; None is standard output, "str" returns the text.
    ids : {"CHAR", "int", "id", ""}
        How nodes are told apart: letters, numbers, Python's ids, or not at all.
    stop_on_name : bool
        Do not show what is below a variable that has a name.
    print_storage : bool
        Show the stored values of a compiled function.

    Returns
    -------
    str, file or None
        The text if `file` is "str", else `file`.

    Raises
    ------
    TypeError
        If `obj` is nothing that can be shown.

    Examples
    --------
    >>> from theano_graph import Generic
    >>> debugprint(Generic()("x"), file="str")
    'x [id A]\n'
    """
    if ids not in ("CHAR", "int", "id", ""):
        raise ValueError(compose(f"ids cannot be {ids!r}", mend="use 'CHAR', 'int', 'id' or ''"))
    text = _Printer(printable_graph(obj), ids, print_type, stop_on_name, depth, print_storage).run()
    if file == "str":
        return text
    if file is None:
        print(text, end="")
        return None
    file.write(text)
    return file
