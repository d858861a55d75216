"""Where registers die: after which instruction nothing reads them any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from theano_graph import Apply, Constant, FunctionGraph, Variable


def deaths_in_order(
    fgraph: FunctionGraph, order: Sequence[Apply], registers: Mapping[Variable, int]
) -> list[tuple[int, ...]]:
    """Return, for each node, the registers that die there: read for the last time, or never read at all."""
    needed = set(fgraph.outputs)
    last: dict[Variable, int] = {}
    for i, node in enumerate(order):
        for variables in (node.inputs, node.outputs):
            for variable in variables:
                if variable not in needed and (variable.owner is not None or not isinstance(variable, Constant)):
                    last[variable] = i
    dying: list[list[int]] = [[] for _ in order]
    for variable, i in last.items():
        dying[i].append(registers[variable])
    return [tuple(found) for found in dying]


def deaths_by_counting(
    fgraph: FunctionGraph, order: Sequence[Apply], registers: Mapping[Variable, int]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Return when registers die where the order is not known: after how many readings, or after which node.

    Returns
    -------
    readers : tuple of int
        For each register with several readers, how many times it is read; 0 for the others.
    release : list of tuple of int
        For each node, the other registers that die there.
    """
    needed = set(fgraph.outputs)
    edges: dict[Variable, list[int]] = {v: [] for v in registers}
    made: dict[Variable, int] = {}
    for i, node in enumerate(order):
        made.update((v, i) for v in node.outputs)
        for v in node.inputs:
            edges[v].append(i)
    readers, release = [0] * len(registers), [list[int]() for _ in order]
    for v, register in registers.items():
        if v in needed or isinstance(v, Constant):
            continue
        distinct = set(edges[v])
        if len(distinct) > 1:
            readers[register] = len(edges[v])
        elif distinct:
            release[distinct.pop()].append(register)
        elif v in made:
            release[made[v]].append(register)
    return tuple(readers), [tuple(variable) for variable in release]
