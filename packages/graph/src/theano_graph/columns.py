"""Function graphs as columns of numbers: the stored form of a graph that is read much more often than written."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from ._errors import GraphError, format_error
from ._expression._node_state import slot_names
from ._expression._nodes import Apply, Variable
from ._expression._op import Op
from ._expression._origin import Origin
from ._function_graph._clients import OUTPUT, Client
from ._function_graph._fgraph import FunctionGraph

#: The attributes of variables that columns tell.
_TOLD = frozenset(("_tag", "index", "name", "origin", "owner", "type"))
_NOTHING = -1


class GraphColumns:
    """The nodes of a function graph, told by numbers of leaves, ops, types, names and origins.

    Variables are numbered: leaves first, then the outputs of the nodes in their order.

    Attributes
    ----------
    leaves : list of Variable
        Inputs, constants and other variables without an owner.
    ops, types, names, origins : list
        The different ones.
    nodes : list of int
        For each node: its op, origin, number of inputs, their numbers, and how many outputs it has.
    outputs : list of int
        For each output of a node: its type, name and origin; -1 for none.
    tags : list of (int, dict)
        Variables with scratchpads, without test values.
    results : list of int
        The outputs of the graph.
    uses : list of (int, list of (int, int))
        The clients of variables that have several: numbers of nodes (-1 for the graph) and of inputs.
    n_inputs : int
        How many of the leaves are the inputs of the graph.
    """

    # Written out: the generated constructor of its annotations compiles text, at the first function of each process.
    __slots__ = (
        "leaves",
        "n_inputs",
        "names",
        "nodes",
        "ops",
        "origins",
        "outputs",
        "results",
        "tags",
        "types",
        "uses",
    )
    leaves: list[Variable]
    ops: list[Op]
    types: list[Any]
    names: list[str]
    origins: list[Origin]
    nodes: list[int]
    outputs: list[int]
    tags: list[tuple[int, dict[str, Any]]]
    results: list[int]
    uses: list[tuple[int, list[tuple[int, int]]]]
    n_inputs: int

    def __init__(self, **columns: Any) -> None:
        for name in self.__slots__:
            setattr(self, name, columns[name])


class _Numbered:
    """Objects by number; equal keys are one object."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._numbers: dict[Hashable, int] = {}

    def number(self, item: Any, key: Hashable) -> int:
        entry = self._numbers.get(key)
        if entry is None:
            entry = self._numbers[key] = len(self.items)
            self.items.append(item)
        return entry


class _Writer:
    def __init__(self, op_of: Callable[[Apply], Op]) -> None:
        self.op_of = op_of
        self.numbers: dict[Variable, int] = {}
        self.ops, self.types, self.names, self.origins = _Numbered(), _Numbered(), _Numbered(), _Numbered()
        self.nodes: list[int] = []
        self.outputs: list[int] = []
        self.tags: list[tuple[int, dict[str, Any]]] = []
        self._plain: set[type] = set()

    def origin(self, origin: Origin | None) -> int:
        return _NOTHING if origin is None else self.origins.number(origin, id(origin))

    def output(self, variable: Variable) -> None:
        kind = type(variable)
        if kind not in self._plain:
            if kind is not variable.type.variable_class or set(slot_names(kind)) != _TOLD:
                raise _refusal(f"variables of the class {kind.__qualname__} have more than columns can tell")
            self._plain.add(kind)
        name = variable.name
        self.outputs += (
            self.types.number(variable.type, id(variable.type)),
            _NOTHING if name is None else self.names.number(name, name),
            self.origin(variable.origin),
        )
        if variable._tag is not None and vars(variable._tag):
            marks = _plain_tag(vars(variable._tag))
            if marks:
                self.tags.append((self.numbers[variable], marks))

    def node(self, node: Apply) -> None:
        if type(node) is not Apply or (node._tag is not None and vars(node._tag)):
            raise _refusal(f"the node of {node.op} has more than columns can tell")
        op = self.op_of(node)
        self.nodes += (self.ops.number(op, id(op)), self.origin(node.origin), len(node.inputs))
        self.nodes += [self.numbers[v] for v in node.inputs]
        self.nodes.append(len(node.outputs))
        for variable in node.outputs:
            self.output(variable)


def graph_columns(
    fgraph: FunctionGraph, op_of: Callable[[Apply], Op] | None = None
) -> tuple[GraphColumns, dict[Variable, int], list[Apply]]:
    """Write a function graph as columns; return the number of each variable and the nodes, too.

    Parameters
    ----------
    fgraph : FunctionGraph
    op_of : callable, optional
        Gives the op of a node to be written in place of its own.

    Raises
    ------
    GraphError
        If a node is of a class of its own, or has more attributes than columns have.
    """
    leaves, nodes, uses = fgraph.contents()
    inputs = list(fgraph.inputs)
    if leaves[: len(inputs)] != inputs or any(v.owner is not None for v in leaves):
        raise _refusal("an input of the graph is the result of a computation")
    writer = _Writer(op_of or (lambda node: node.op))
    numbers = writer.numbers
    for variable in leaves:
        numbers[variable] = len(numbers)
    for node in nodes:
        for variable in node.outputs:
            numbers[variable] = len(numbers)
    for node in nodes:
        writer.node(node)
    positions = {node: i for i, node in enumerate(nodes)}
    clients = [
        (numbers[v], [(_NOTHING if isinstance(user, str) else positions[user], i) for user, i in users])
        for v, users in uses
    ]
    results = [numbers[v] for v in fgraph.outputs]
    columns = GraphColumns(
        leaves=leaves,
        ops=writer.ops.items,
        types=writer.types.items,
        names=writer.names.items,
        origins=writer.origins.items,
        nodes=writer.nodes,
        outputs=writer.outputs,
        tags=writer.tags,
        results=results,
        uses=clients,
        n_inputs=len(inputs),
    )
    return columns, numbers, nodes


def graph_from_columns(columns: GraphColumns) -> tuple[FunctionGraph, list[Variable], list[Apply]]:
    """Return a function graph that was written as columns, its variables by number, and its nodes."""
    variables, nodes, inputs = _nodes_of(columns)
    for node, numbers in zip(nodes, inputs, strict=True):
        node.inputs = [variables[i] for i in numbers]
    for number, marks in columns.tags:
        vars(variables[number].tag).update(marks)
    clients: list[tuple[Variable, list[Client]]] = [
        (variables[v], [(OUTPUT if user == _NOTHING else nodes[user], i) for user, i in users])
        for v, users in columns.uses
    ]
    results = [variables[i] for i in columns.results]
    fgraph = FunctionGraph.from_contents(columns.leaves[: columns.n_inputs], results, (columns.leaves, nodes, clients))
    return fgraph, variables, nodes


def _nodes_of(columns: GraphColumns) -> tuple[list[Variable], list[Apply], list[list[int]]]:
    """Make the nodes without their inputs; return all variables, the nodes, and the numbers of their inputs."""
    variables = list(columns.leaves)
    nodes: list[Apply] = []
    inputs: list[list[int]] = []
    # The last one belongs to -1.
    ops, origins, names = columns.ops, [*columns.origins, None], [*columns.names, None]
    kinds = [(of_type, of_type.variable_class) for of_type in columns.types]
    rows, described = columns.nodes, iter(columns.outputs)
    new: Any = object.__new__
    at, end = 0, len(rows)
    while at < end:
        node = new(Apply)
        node.op, node.origin = ops[rows[at]], origins[rows[at + 1]]
        node._tag = node._mark = node._membership = None
        start = at + 3
        at = start + rows[at + 2]
        inputs.append(rows[start:at])
        outputs = node.outputs = []
        for index in range(rows[at]):
            of_type, kind = kinds[next(described)]
            output = new(kind)
            output.type, output.owner, output.index = of_type, node, index
            output.name, output.origin, output._tag = names[next(described)], origins[next(described)], None
            outputs.append(output)
        variables += outputs
        nodes.append(node)
        at += 1
    return variables, nodes, inputs


def _plain_tag(marks: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a scratchpad of numbers and texts only; a test value is of use where it was set."""
    marks = {name: value for name, value in marks.items() if name != "test_value"}
    if any(type(value) not in (bool, int, float, str, type(None)) for value in marks.values()):
        raise _refusal(f"a scratchpad holds {', '.join(marks)}")
    return marks


def _refusal(why: str) -> GraphError:
    return GraphError(format_error(f"the graph cannot be written as columns: {why}", hint="pickle it"))
