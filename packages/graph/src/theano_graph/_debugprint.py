"""Text of a graph as an indented tree, one line for each use of a variable."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Literal

from ._errors import compose
from ._nodes import Apply, Constant, Variable
from ._printable import PrintableGraph, inner_graph, letters, printable_graph
from ._walk import toposort

Ids = Literal["CHAR", "int", "id", ""]
IdTable = MutableMapping[Any, str]


@dataclass(frozen=True)
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
        self.total_time = sum(graph.times.values())
        self.inner: list[tuple[Apply, PrintableGraph]] = []
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

    def _line(self, variable: Variable) -> str:
        node = variable.owner
        thing = variable if node is None else node
        identifier = self._id(thing)
        parts = [str(variable) if node is None else _op_text(node, variable)]
        if identifier:
            parts.append(identifier)
        if self.options.print_type:
            parts.append(f"<{variable.type!r}>")
        if node is None:
            self.done[_key(thing)] = identifier
            if variable in self.outside:
                outer = self.outside[variable]
                parts.append(f"-> {self._id(outer if outer.owner is None else outer.owner) or outer}")
        else:
            parts.append(f"'{variable.name or ''}'")
            parts.extend(self._notes(node))
        if self.options.print_storage and variable in self.graph.storage:
            parts.append(str(self.graph.storage[variable]))
        if len(self.clients.get(variable, ())) > 1:
            parts.append(self._clients_text(variable))
        return " ".join(parts)

    def _notes(self, node: Apply) -> Iterator[str]:
        """Yield what is told of a node behind its name."""
        if node in self.positions:
            yield f"  {self.positions[node]}"
        if node in self.graph.times:
            yield self._time_text(self.graph.times[node])
        if self.options.print_view_map and node.op.view_map:
            yield f"v={_map_text(node.op.view_map)}"
        if self.options.print_destroy_map and node.op.destroy_map:
            yield f"d={_map_text(node.op.destroy_map)}"

    def _time_text(self, seconds: float) -> str:
        share = seconds / self.total_time if self.total_time else 0.0
        return f"--> {seconds:.3g} s ({share:.1%})"

    def _clients_text(self, variable: Variable) -> str:
        shown = (
            ("output" if client is None else self._id(client) or str(client.op), i)
            for client, i in self.clients[variable]
        )
        return f"clients:[{', '.join(str(pair) for pair in shown)}]"

    def lines(self) -> Iterator[str]:
        """Yield the lines, without line ends: the graph, then the graphs inside its ops, and inside theirs."""
        yield from self._tree(self.graph, "")
        if self.inner:
            yield ""
            yield "Inner graphs:"
        # The list grows while it is gone through.
        for node, graph in self.inner:
            if len(graph.inputs) == len(node.inputs):
                self.outside.update(zip(graph.inputs, node.inputs, strict=True))
            yield ""
            yield " ".join(filter(None, (str(node.op), self._id(node))))
            yield from self._tree(graph, " >")

    def _tree(self, graph: PrintableGraph, start: str) -> Iterator[str]:
        depth = self.options.depth
        for output in graph.outputs:
            # One item is a variable, what stands before its line, what stands before the lines below it, and its level.
            work: list[tuple[Variable, str, str, int]] = [(output, start, start, 1)]
            while work:
                variable, prefix, below, level = work.pop()
                yield prefix + self._line(variable)
                node = variable.owner
                if node is None or node in self.done or (depth > 0 and level >= depth):
                    continue
                self.done[node] = self._id(node)
                self._note_inner(node)
                if self.options.stop_on_name and variable.name is not None:
                    continue
                last = len(node.inputs) - 1
                for i in range(last, -1, -1):
                    following = below + ("  " if i == last else " |")
                    work.append((node.inputs[i], below + " |", following, level + 1))

    def _note_inner(self, node: Apply) -> None:
        graph = inner_graph(node.op)
        if graph is not None:
            self.inner.append((node, graph))


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


def _clients(graph: PrintableGraph) -> dict[Variable, list[tuple[Apply | None, int]]]:
    found: dict[Variable, list[tuple[Apply | None, int]]] = {}
    for node in toposort((), graph.outputs):
        for i, variable in enumerate(node.inputs):
            if variable.owner is not None:
                found.setdefault(variable, []).append((node, i))
    for i, variable in enumerate(graph.outputs):
        found.setdefault(variable, []).append((None, i))
    return found


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
        How nodes are told apart: letters, numbers, Python's ids, or not at all. Constants of one type and value share
        one.
    stop_on_name : bool
        Do not show what is below a variable that has a name.
    done : dict, optional
        Filled with the ids of what has been printed. What is in it already is not printed again below its line: give
        one dictionary to several calls that shall share their ids.
    print_storage : bool
        Show the stored values of a compiled function.
    print_clients : bool
        Show the clients of a computed variable that has several: their ids, and the positions at which they take it.
    used_ids : dict, optional
        Filled with the ids of all that has been mentioned, printed or not (clients, nodes beyond `depth`).
    print_view_map, print_destroy_map : bool
        Show which outputs of a node are views of which inputs (``v={0: [0]}``), or overwrite them (``d={0: [0]}``).

    Returns
    -------
    str, file or None
        The text if `file` is "str", else `file`. A line shows a variable: its name, or the op that computes it; its
        id; its type, if wanted; for a computed one, its name in quotes, the position of the node in the order of
        execution, if there is one, and its time and the share of it, if the function was profiled. What is below a
        node is shown the first time only. The graphs inside ops come after the trees, with ``-> [id]`` at inputs that
        stand for variables outside.

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
        raise ValueError(compose(f"ids cannot be {ids!r}", mend="use 'CHAR', 'int', 'id' or ''"))
    if not isinstance(depth, int):
        raise TypeError(compose(f"depth is a number of levels, not {depth!r}", mend="pass an int, -1 for all levels"))
    if file is not None and file != "str" and not hasattr(file, "write"):
        raise TypeError(compose(f"cannot write to {file!r}", mend="pass a text file, 'str' or None"))
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
