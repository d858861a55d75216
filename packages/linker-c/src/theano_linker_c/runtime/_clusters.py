"""Nodes that run together: the nodes that a rule claims become one instruction of a program.

A higher layer registers a :class:`ClusterRule` for the classes of its ops. When a graph is lowered, the nodes that a
rule claims under one key are put together, as far as nothing between them needs a node outside: each cluster is an
instruction whose results are the ones that others read. Graphs without such ops are lowered as if there were no rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from theano_graph import Apply, FunctionGraph, Op, RuleTable, Variable, batch_rule, record

from .._perform import Runner, call_form
from ._errors import NodeError
from ._instructions import ALWAYS, when_needed


@record
class ClusterRule:
    """How nodes of some ops run together.

    Parameters
    ----------
    claims : callable
        ``(node) -> key``: nodes with equal keys may run together; None for a node that runs by itself. A node whose op
        overwrites an input is never asked for.
    build : callable
        ``(nodes, inputs, outputs) -> runner``: computes the values of the outputs from those of the inputs. The
        nodes come in an order in which they can run. A failure that belongs to one of them is raised as
        :class:`NodeError`, so that messages name that node.
    late : callable, optional
        ``(nodes) -> nodes``: of all that it claims in a graph, the nodes that run apart from the others, and as late as
        their readers let them. So a node that waits for one device does not keep another one waiting.
    keep : callable, optional
        ``(runner, name) -> state``: the data with which another process makes the runner again, for a pickle. The name
        stands for the function on disk and the place of the cluster in it; a runner may keep more on disk under it.
        Functions with clusters of a rule without `keep` and `restore` are not cached on disk.
    restore : callable, optional
        ``(nodes, inputs, outputs, state, name) -> runner``, in place of `build`, for nodes like those of that process.
    """

    claims: Callable[[Apply], Hashable | None]
    build: Callable[[Sequence[Apply], Sequence[Variable], Sequence[Variable]], Runner]
    late: Callable[[Sequence[Apply]], Collection[Apply]] | None = None
    keep: Callable[[Any, str], Any] | None = None
    restore: Callable[[Sequence[Apply], Sequence[Variable], Sequence[Variable], Any, str], Runner] | None = None


#: Class of ops -> how their nodes run together.
cluster_rule: RuleTable[ClusterRule] = RuleTable("cluster_rule")


class Cluster(Op):
    """The op of the instruction that some nodes have become.

    Parameters
    ----------
    nodes : sequence of Apply
    inputs, outputs : sequence of Variable
        Values from other nodes, and values that other nodes or the caller read.
    run : callable
        The runner that a rule has built of them.
    """

    def __init__(
        self, nodes: Sequence[Apply], inputs: Sequence[Variable], outputs: Sequence[Variable], run: Runner
    ) -> None:
        self.nodes = tuple(nodes)
        self.view_map = _views(nodes, inputs, outputs)
        self.run = run

    def __str__(self) -> str:
        count = len(self.nodes)
        return f"Cluster{{{count} node{'s' * (count != 1)}}}"

    def make_node(self, *inputs: Any) -> Apply:
        """Refuse: nodes of a cluster are made when a graph is lowered."""
        raise TypeError(f"{self} is made of nodes of a graph, when that is lowered, and cannot be applied")

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Run all nodes."""
        for cell, value in zip(output_storage, self.run(list(inputs)), strict=True):
            cell[0] = value

    def needs_no_native_form(self, node: Apply) -> bool:
        """Tell that this is native code, though not of the target's."""
        return True


@call_form.register(Cluster)
def _cluster_form(node: Apply) -> Runner:
    run: Runner = node.op.run
    return run


class Contraction(NamedTuple):
    """The nodes of a graph in the order in which they run, where some have become one.

    Attributes
    ----------
    order : list of Apply
        Nodes of the graph, and nodes of clusters, whose outputs are variables of the nodes inside.
    clusters : mapping of Apply to Apply
        A node inside of a cluster -> the node of the cluster.
    """

    order: list[Apply]
    clusters: Mapping[Apply, Apply]


def contract(fgraph: FunctionGraph, order: Sequence[Apply], *, lazy: bool) -> Contraction:
    """Put together the nodes that rules claim. Cost is linear in the number of nodes, but for one sort.

    Parameters
    ----------
    fgraph : FunctionGraph
    order : sequence of Apply
        The nodes in an order in which they can run.
    lazy : bool
        Whether nodes that no result needs are left out in a call: then only nodes that are needed in the same calls
        run together.
    """
    ops = {type(node.op): node.op for node in order}
    rules = {kind: cluster_rule.get(op) for kind, op in ops.items()}
    if not any(rules.values()):
        return Contraction(list(order), {})
    claims = _claims(order, rules)
    late = _late(claims, rules)
    groups = _groups(fgraph, order, claims, late, when_needed(order, fgraph.outputs) if lazy else {})
    if not groups:
        return Contraction(list(order), {})
    clusters: dict[Apply, Apply] = {}
    for nodes in groups:
        rule = rules[type(nodes[0].op)]
        assert rule is not None, "grouped nodes have been claimed"
        cluster = _cluster_node(fgraph, nodes, rule)
        clusters.update((node, cluster) for node in nodes)
    return Contraction(_sorted(order, clusters, late, fgraph.orderings()), clusters)


def _claims(order: Sequence[Apply], rules: Mapping[type, ClusterRule | None]) -> dict[Apply, Hashable]:
    """Return the nodes that rules claim, with the rule and its key."""
    claims: dict[Apply, Hashable] = {}
    for node in order:
        rule = rules[type(node.op)]
        claim = None if rule is None or node.op.destroy_map else rule.claims(node)
        if claim is not None:
            claims[node] = id(rule), claim
    return claims


def _late(claims: Mapping[Apply, Hashable], rules: Mapping[type, ClusterRule | None]) -> set[Apply]:
    """Return the claimed nodes that run as late as they can."""
    nodes: set[Apply] = set()
    for rule in {id(rule): rule for rule in rules.values() if rule is not None and rule.late is not None}.values():
        assert rule.late is not None, "others have been left out"
        nodes.update(rule.late([node for node in claims if rules[type(node.op)] is rule]))
    return nodes


def _groups(
    fgraph: FunctionGraph,
    order: Sequence[Apply],
    claims: Mapping[Apply, Hashable],
    late: Collection[Apply],
    needed: Mapping[Apply, int],
) -> list[list[Apply]]:
    """Return the nodes of each cluster.

    The phase of a node says how many times a path that leads to it has left a cluster. Nodes of one key and one phase
    are a cluster: a path from one cluster to another has left the first one, so no two need each other.
    """
    before = fgraph.orderings()
    keys: dict[Apply, Hashable | None] = {}
    phases: dict[Apply, int] = {}
    groups: dict[Hashable, list[Apply]] = {}
    for node in order:
        key = keys[node] = (claims[node], node in late, needed.get(node, ALWAYS)) if node in claims else None
        phase = 0
        for other in _needs(node, before):
            if other in phases:
                left = keys[other] is not None and keys[other] != key
                phase = max(phase, phases[other] + left)
        phases[node] = phase
        if key is not None:
            groups.setdefault((key, phase), []).append(node)
    return list(groups.values())


def _needs(node: Apply, before: Mapping[Apply, Sequence[Apply]]) -> list[Apply]:
    """Return the nodes that run before a node."""
    owners = [v.owner for v in node.inputs if v.owner is not None]
    return [*owners, *before.get(node, ())] if before else owners


def _cluster_node(fgraph: FunctionGraph, nodes: Sequence[Apply], rule: ClusterRule) -> Apply:
    inside = set(nodes)
    inputs = dict.fromkeys(v for node in nodes for v in node.inputs if v.owner not in inside)
    outputs = [
        v
        for node in nodes
        for v in node.outputs
        if any(client == "output" or client not in inside for client, _ in fgraph.clients(v))
    ]
    run = rule.build(tuple(nodes), tuple(inputs), tuple(outputs))
    return _node_of(Cluster(nodes, list(inputs), outputs, run), list(inputs), outputs)


def _node_of(op: Cluster, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Apply:
    node = Apply(op, list(inputs), [])
    # They are still those of the nodes inside, which other nodes read and messages name.
    node.outputs = list(outputs)
    node.origin = op.nodes[-1].origin
    return node


def state_of_cluster(op: Cluster, name: str) -> Any:
    """Return the data with which another process makes a cluster again; None where it cannot.

    Parameters
    ----------
    op : Cluster
    name : str
        Stands for the cluster on disk.
    """
    rule = cluster_rule.get(op.nodes[0].op)
    return None if rule is None or rule.keep is None or rule.restore is None else rule.keep(op.run, name)


def restored_cluster(
    nodes: Sequence[Apply], inputs: Sequence[Variable], outputs: Sequence[Variable], state: Any, name: str
) -> Apply:
    """Return the node of a cluster of nodes like those of which another process has told the state."""
    rule = cluster_rule.get(nodes[0].op)
    assert rule is not None and rule.restore is not None, "the rules are those of the process that kept the state"
    return _node_of(Cluster(nodes, inputs, outputs, rule.restore(nodes, inputs, outputs, state, name)), inputs, outputs)


def _views(nodes: Sequence[Apply], inputs: Sequence[Variable], outputs: Sequence[Variable]) -> dict[int, list[int]]:
    """Return in the memory of which inputs each output may lie."""
    memory: dict[Variable, frozenset[int]] = {v: frozenset([i]) for i, v in enumerate(inputs)}
    nothing: frozenset[int] = frozenset()
    for node in nodes:
        for k, sources in node.op.view_map.items():
            memory[node.outputs[k]] = nothing.union(*(memory.get(node.inputs[s], nothing) for s in sources))
    return {k: sorted(roots) for k, v in enumerate(outputs) if (roots := memory.get(v))}


def _sorted(
    order: Sequence[Apply],
    clusters: Mapping[Apply, Apply],
    late: Collection[Apply],
    before: Mapping[Apply, Sequence[Apply]],
) -> list[Apply]:
    """Return the nodes and the clusters so that each comes after its needs, and otherwise in their order.

    A cluster comes where the last of its nodes came; one that is `late` comes when there is nothing else.
    """
    places: dict[Apply, int] = {}
    needs: dict[Apply, set[Apply]] = {}
    for i, node in enumerate(order):
        item = clusters.get(node, node)
        places[item] = i + len(order) * (node in late)
        predecessors = needs.setdefault(item, set())
        predecessors.update(clusters.get(other, other) for other in _needs(node, before))
    readers: dict[Apply, list[Apply]] = {item: [] for item in places}
    for item, predecessors in needs.items():
        predecessors.intersection_update(places)
        predecessors.discard(item)
        for other in predecessors:
            readers[other].append(item)
    ready = [(places[item], item) for item, found in needs.items() if not found]
    heapify(ready)
    done: list[Apply] = []
    while ready:
        _, item = heappop(ready)
        done.append(item)
        for reader in readers[item]:
            needs[reader].discard(item)
            if not needs[reader]:
                heappush(ready, (places[reader], reader))
    return done


batch_rule.declare_absent(Cluster, "it is made where a graph is compiled")

__all__ = ["Cluster", "ClusterRule", "Contraction", "NodeError", "cluster_rule", "contract"]
