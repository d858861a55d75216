"""Graphs as text: one line for each use of a variable, and expressions in a line."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, MutableMapping, Sequence
from typing import IO, Any, Literal

from .._errors import format_error
from .._expression._nodes import Apply, Constant, Variable
from .._record import record
from .._traversal._walk import toposort
from ._printable import PrintableGraph, inner_graph, letters, outer_inputs, printable_graph

# ---- Graphs as one line of text

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
    """Return the text of one node and of its ancestors up to `inputs`; see :func:`as_string`."""
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


# ---- Text of a graph as an indented tree, one line for each use of a variable

Ids = Literal["CHAR", "int", "id", ""]
IdTable = MutableMapping[Any, str]

_ABOUT_TIMES = """
Timing Info
-----------
--> <time> <% time> - <total time> <% total time>'

<time>         seconds that this node has taken
<% time>       its share of the time of all calls
<total time>   seconds of this node and of all that it is computed from
<% total time> their share of the time of all calls

N.B.:
* Ancestors shared by several inputs of a node count for each of them, so that <total time> may be too great,
  never too small: a node whose <total time> is small is not worth the trouble of removing it.
"""


@record
class TreeOptions:
    """How a tree is printed; see :func:`debugprint`."""

    depth: int = -1
    print_type: bool = False
    ids: Ids = "CHAR"
    stop_on_name: bool = False
    print_storage: bool = False
    print_clients: bool = False
    print_view_map: bool = False
    print_destroy_map: bool = False


class TreePrinter:
    """Makes the lines of :func:`debugprint` one by one, so that a reader may stop early.

    Parameters
    ----------
    graph : PrintableGraph
    options : TreeOptions
    done : dict, optional
        Id of each object that has been printed.
    used_ids : dict, optional
        Id of each object that has been mentioned.
    """

    def __init__(
        self, graph: PrintableGraph, options: TreeOptions, done: IdTable | None = None, used_ids: IdTable | None = None
    ) -> None:
        self.graph = graph
        self.options = options
        self.positions = {node: i for i, node in enumerate(graph.order)}
        self.done: IdTable = {} if done is None else done
        self.used: IdTable = {} if used_ids is None else used_ids
        for key, text in self.done.items():
            self.used.setdefault(key, text)
        self.clients = _clients(graph) if options.print_clients else {}
        self.totals = _totals(graph) if graph.times else {}
        self.call_time = graph.call_time or sum(graph.times.values())
        self.inner: list[tuple[Variable, PrintableGraph]] = []
        self._opened: set[Apply] = set()
        self.outside: dict[Variable, Variable] = {}

    def _id(self, thing: Variable | Apply) -> str:
        key = _key(thing)
        if key not in self.used:
            number = len(self.used)
            match self.options.ids:
                case "CHAR":
                    self.used[key] = f"[id {letters(number)}]"
                case "int":
                    self.used[key] = f"[id {number}]"
                case "id":
                    self.used[key] = f"[id {id(thing)}]"
                case _:
                    self.used[key] = ""
        return self.used[key]

    def _line(self, variable: Variable, positions: bool = True) -> str:
        node = variable.owner
        kind = f" <{variable.type!r}>" if self.options.print_type else ""
        if node is None:
            identifier, notes = self._leaf_notes(variable)
            return f"{variable} {identifier}{kind}{notes}"
        position = str(self.positions[node]) if positions and node in self.positions else ""
        line = (
            f"{_op_text(node, variable)} {self._id(node)}{kind} '{variable.name or ''}' "
            f"{self._maps_text(node)} {position}{self._storage_text(node.outputs[0])}"
        )
        if len(self.clients.get(variable, ())) > 1:
            line += f" {self._clients_text(variable)}"
        return line + (self._time_text(node) if node in self.graph.times else "")

    def _leaf_notes(self, variable: Variable) -> tuple[str, str]:
        """Return the id of a variable without an owner, and the text behind its type."""
        identifier = self.done[_key(variable)] = self._id(variable)
        if variable not in self.outside:
            return identifier, self._storage_text(variable)
        outer = self.outside[variable]
        return identifier, f" -> {self._id(outer if outer.owner is None else outer.owner) or outer}"

    def _maps_text(self, node: Apply) -> str:
        """Return the inputs that a node overwrites, and the inputs of its views, where that is asked for."""
        options = self.options
        destroyed = f"d={_map_text(node.op.destroy_map)}" if options.print_destroy_map and node.op.destroy_map else ""
        viewed = f"v={_map_text(node.op.view_map)}" if options.print_view_map and node.op.view_map else ""
        return f"{destroyed} {viewed}"

    def _storage_text(self, variable: Variable) -> str:
        shown = self.options.print_storage and variable in self.graph.storage
        return f" {self.graph.storage[variable]}" if shown else ""

    def _time_text(self, node: Apply) -> str:
        """Return the time of a node, and that of it and all that it needs, with their shares."""
        seconds, total = self.graph.times[node], self.totals[node]
        share = 100 / self.call_time if self.call_time else 0.0
        return f" --> {seconds:8.2e}s {seconds * share:4.1f}% {total:8.2e}s {total * share:4.1f}%"

    def _clients_text(self, variable: Variable) -> str:
        if None in self.clients[variable]:
            # Takes part in the numbering, as before.
            self.used.setdefault("output", "output")
        shown = (
            ("output", "") if client is None else (self._id(client) or str(client.op), self.positions.get(client, ""))
            for client in self.clients[variable]
        )
        return f"clients:[{', '.join(str(pair) for pair in shown)}]"

    def lines(self) -> Iterator[str]:
        """Yield the lines, without line ends: the graph, then the graphs inside its ops, and inside theirs."""
        if any(self.graph.times.values()):
            yield from _ABOUT_TIMES.splitlines()
        yield from self._tree(self.graph, "")
        if self.inner:
            yield ""
            yield self.inner[0][1].title or "Inner graphs:"
        # The list grows while it is gone through.
        for variable, graph in self.inner:
            self.outside.update(outer_inputs(_node_of(variable), graph))
            yield ""
            yield self._line(variable, positions=False)
            yield from self._tree(graph, " >")

    def _tree(self, graph: PrintableGraph, start: str) -> Iterator[str]:
        depth = self.options.depth
        for output in graph.outputs:
            # One item is a variable, the text before its line, the text before the lines below it, and its level.
            self._note_inner(output)
            work: list[tuple[Variable, str, str, int]] = [(output, start, start, 1)]
            while work:
                variable, prefix, below, level = work.pop()
                yield prefix + self._line(variable)
                node = variable.owner
                if node is None or node in self.done or (depth > 0 and level >= depth):
                    continue
                self.done[node] = self._id(node)
                if self.options.stop_on_name and variable.name is not None:
                    continue
                for v in node.inputs:
                    self._note_inner(v)
                last = len(node.inputs) - 1
                for i in range(last, -1, -1):
                    following = below + ("  " if i == last else " |")
                    work.append((node.inputs[i], below + " |", following, level + 1))

    def _note_inner(self, variable: Variable) -> None:
        """Remember the graph inside the op that computes a variable, once for each use where the op wants that."""
        node = variable.owner
        graph = None if node is None else inner_graph(node.op)
        if graph is None or (node in self._opened and graph.title is None):
            return
        assert node is not None, "a graph was found inside the node's op"
        self._opened.add(node)
        self.inner.append((variable, graph))


def _node_of(variable: Variable) -> Apply:
    assert variable.owner is not None, "only the output of a node has a graph inside"
    return variable.owner


def _totals(graph: PrintableGraph) -> dict[Apply, float]:
    """Return for each node its time and that of its ancestors; a node needed twice counts twice."""
    totals: dict[Apply, float] = {}
    for node in toposort((), graph.outputs):
        below = {v.owner for v in node.inputs if v.owner is not None}
        totals[node] = graph.times.get(node, 0.0) + sum(totals[other] for other in below)
    return totals


def _map_text(positions: Mapping[int, Sequence[int]]) -> str:
    return str({output: list(inputs) for output, inputs in positions.items()})


def _key(thing: Variable | Apply) -> Hashable:
    """Constants of one value share an id; all else has its own."""
    if isinstance(thing, Constant):
        # The type stands beside the signature because a signature need not tell types of one dtype apart.
        return (thing.name, thing.type, thing.signature())
    return thing


def _op_text(node: Apply, variable: Variable) -> str:
    return str(node.op) if len(node.outputs) == 1 else f"{node.op}.{variable.index}"


def _clients(graph: PrintableGraph) -> dict[Variable, list[Apply | None]]:
    """Return the uses of each computed variable, one entry for each use; None stands for the outputs."""
    result: dict[Variable, list[Apply | None]] = {}
    for variable in graph.outputs:
        result.setdefault(variable, []).append(None)
    for node in toposort((), graph.outputs):
        for variable in node.inputs:
            if variable.owner is not None:
                result.setdefault(variable, []).append(node)
    return result


def debugprint(
    obj: Any,
    depth: int = -1,
    print_type: bool = False,
    file: IO[str] | Literal["str"] | None = None,
    ids: Ids = "CHAR",
    stop_on_name: bool = False,
    done: IdTable | None = None,
    print_storage: bool = False,
    print_clients: bool = False,
    used_ids: IdTable | None = None,
    *,
    print_view_map: bool = False,
    print_destroy_map: bool = False,
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
        The labels of nodes: letters, numbers, Python's ids, or none. Constants of one type and value share
        one.
    stop_on_name : bool
        Stop at variables that have a name.
    done : dict, optional
        Filled with the ids of the printed nodes. A node that is in it already is not printed again below its line: give
        one dictionary to several calls that shall share their ids.
    print_storage : bool
        Show the stored values of a compiled function.
    print_clients : bool
        Show the clients of a computed variable that has several: their ids, and their positions in the order of
        execution.
    used_ids : dict, optional
        Filled with the ids of all that has been mentioned, printed or not (clients, nodes beyond `depth`).
    print_view_map, print_destroy_map : bool
        Show which outputs of a node are views of which inputs (``v={0: [0]}``), or overwrite them (``d={0: [0]}``).

    Returns
    -------
    str, file or None
        The text if `file` is "str", else `file`. A line shows a variable: its name, or the op that computes it; its
        id; its type, if wanted; for a computed one, its name in quotes, the position of the node in the order of
        execution, if there is one, and, if the function was profiled, its time and that of all it needs, with their
        shares. The graph below a node is shown the first time only. The graphs inside ops come after the trees, with
        ``-> [id]`` at inputs that stand for variables outside.

    Raises
    ------
    TypeError
        If `obj` is nothing that can be shown.
    ValueError
        If `ids` is none of the four.

    Examples
    --------
    >>> from theano_graph import Generic
    >>> debugprint(Generic()("x"), file="str")
    'x [id A]\n'
    """
    if ids not in ("CHAR", "int", "id", ""):
        raise ValueError(format_error(f"ids cannot be {ids!r}", hint="use 'CHAR', 'int', 'id' or ''"))
    if not isinstance(depth, int):
        raise TypeError(
            format_error(f"depth is a number of levels, not {depth!r}", hint="pass an int, -1 for all levels")
        )
    if file is not None and file != "str" and not hasattr(file, "write"):
        raise TypeError(format_error(f"cannot write to {file!r}", hint="pass a text file, 'str' or None"))
    options = TreeOptions(
        depth, print_type, ids, stop_on_name, print_storage, print_clients, print_view_map, print_destroy_map
    )
    lines = TreePrinter(printable_graph(obj), options, done, used_ids).lines()
    text = "".join(f"{line}\n" for line in lines)
    if file == "str":
        return text
    if file is None:
        print(text, end="")
        return None
    file.write(text)
    return file
