"""Groups of steps that become one: which ones may, and the steps in an order in which the groups can run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from ...region import Fusion, Step, ordered

__all__ = ["MakeFusion", "Numbered", "connected_groups", "with_groups", "with_sources"]

Numbered: TypeAlias = tuple[int, Step]
#: Makes a fusion of parts, which gives some values to others.
MakeFusion: TypeAlias = Callable[[Sequence[Numbered], Sequence[int]], Fusion]


def _makers(steps: Sequence[Numbered]) -> dict[int, int]:
    """Return the position of the step that makes each value."""
    return {v: i for i, (_, step) in enumerate(steps) for v in step.outputs}


def connected_groups(steps: Sequence[Numbered], members: Collection[int], links: Collection[int]) -> list[list[int]]:
    """Return groups of members that values connect, none of which needs another one by way of other steps.

    Parameters
    ----------
    steps : sequence of Numbered
    members : collection of int
        Positions of the steps that may be in a group.
    links : collection of int
        The values by which members are connected.
    """
    makers = _makers(steps)
    phases = [0] * len(steps)
    roots = list(range(len(steps)))

    def root(i: int) -> int:
        while roots[i] != i:
            roots[i] = roots[roots[i]]
            i = roots[i]
        return i

    for i, (_, step) in enumerate(steps):
        for v in step.inputs:
            j = makers.get(v, -1)
            # A group that a path leaves is in an earlier phase than the next one on the path.
            leaves = j in members and (i not in members or v not in links)
            phases[i] = max(phases[i], phases[j] + leaves if j >= 0 else 0)
        if i in members:
            for v in step.inputs:
                j = makers.get(v, -1)
                if v in links and j in members and phases[j] == phases[i]:
                    roots[root(i)] = root(j)
    groups: dict[int, list[int]] = {}
    for i in sorted(members):
        groups.setdefault(root(i), []).append(i)
    return list(groups.values())


def with_sources(
    steps: Sequence[Numbered], group: Sequence[int], members: Collection[int], outputs: Collection[int]
) -> list[int]:
    """Return a group with the members besides whose results nobody reads but the group."""
    makers = _makers(steps)
    readers: dict[int, set[int]] = {}
    for i, (_, step) in enumerate(steps):
        for v in step.inputs:
            readers.setdefault(v, set()).add(i)
    sources = set(group)
    waiting = list(group)
    while waiting:
        for v in steps[waiting.pop()][1].inputs:
            i = makers.get(v, -1)
            if i not in members or i in sources:
                continue
            made = steps[i][1].outputs
            if all(v not in outputs and readers.get(v, set()) <= sources for v in made):
                sources.add(i)
                waiting.append(i)
    return sorted(sources)


def with_groups(
    steps: Sequence[Numbered],
    groups: Iterable[tuple[Sequence[int], MakeFusion]],
    outputs: Collection[int],
) -> list[Numbered]:
    """Return the steps with groups as fusions, each after its needs, and otherwise in their order.

    Of groups that need each other, the later ones are left as single steps.

    Parameters
    ----------
    steps : sequence of Numbered
    groups : iterable of (positions, callable)
        The steps of each, and the constructor of the fusion.
    outputs : collection of int
        Values that are read when all steps have run.
    """
    candidates = list(groups)
    fusions = _together(steps, candidates, outputs)
    if fusions is not None:
        return fusions
    kept: list[tuple[Sequence[int], MakeFusion]] = []
    fusions = list(steps)
    for group in candidates:
        more = _together(steps, [*kept, group], outputs)
        if more is not None:
            kept.append(group)
            fusions = more
    return fusions


def _together(
    steps: Sequence[Numbered], groups: Iterable[tuple[Sequence[int], MakeFusion]], outputs: Collection[int]
) -> list[Numbered] | None:
    """Return the steps with groups as fusions; None where some need each other."""
    read: dict[int, list[int]] = {}
    for i, (_, step) in enumerate(steps):
        for v in step.inputs:
            read.setdefault(v, []).append(i)
    items: dict[int, Numbered] = dict(enumerate(steps))
    places = list(range(len(steps)))
    for positions, make in groups:
        inside, last = set(positions), positions[-1]
        parts = [steps[i] for i in positions]
        produced = {v for _, step in parts for v in step.outputs}
        inputs = dict.fromkeys(v for _, step in parts for v in step.inputs if v not in produced)
        leaving = sorted(v for v in produced if v in outputs or not inside.issuperset(read.get(v, ())))
        for i in positions:
            places[i] = last
            items.pop(i)
        items[last] = parts[-1][0], Step(make(parts, leaving), tuple(inputs), tuple(leaving))
    return _sorted(items, places, _makers(steps))


def _sorted(items: Mapping[int, Numbered], places: Sequence[int], makers: Mapping[int, int]) -> list[Numbered] | None:
    """Return steps so that each comes after its needs; None where some need each other."""
    needs = {i: {places[makers[v]] for v in step.inputs if v in makers} - {i} for i, (_, step) in items.items()}
    order = ordered(needs)
    return None if order is None else [items[i] for i in order]
