"""Groups of steps that become one: which ones may, and the steps in an order in which the groups can run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from ...region import Fusion, Step

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
            # A group that a path leaves is in an earlier phase than what the path comes to.
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
    found = set(group)
    waiting = list(group)
    while waiting:
        for v in steps[waiting.pop()][1].inputs:
            i = makers.get(v, -1)
            if i not in members or i in found:
                continue
            made = steps[i][1].outputs
            if all(v not in outputs and readers.get(v, set()) <= found for v in made):
                found.add(i)
                waiting.append(i)
    return sorted(found)


def with_groups(
    steps: Sequence[Numbered],
    groups: Iterable[tuple[Sequence[int], MakeFusion]],
    outputs: Collection[int],
) -> list[Numbered]:
    """Return the steps with groups as fusions, each after what it needs, and otherwise as they came before.

    Of groups that would need each other, the last ones stay single steps.

    Parameters
    ----------
    steps : sequence of Numbered
    groups : iterable of (positions, callable)
        Which steps are parts of each, and what makes the fusion of the parts.
    outputs : collection of int
        Values that are read when all steps have run.
    """
    chosen = list(groups)
    while True:
        items, places = _with_fusions(steps, chosen, outputs)
        needs = _needs(items, places, _makers(steps))
        order = _sorted(needs)
        stuck = set(items).difference(order)
        if not stuck:
            return [items[i] for i in order]
        # What only comes after groups that need each other is none of them.
        while after := stuck.difference(*(needs[i] for i in stuck)):
            stuck -= after
        last = max(k for k, (positions, _) in enumerate(chosen) if positions[-1] in stuck)
        chosen.pop(last)


def _with_fusions(
    steps: Sequence[Numbered], groups: Iterable[tuple[Sequence[int], MakeFusion]], outputs: Collection[int]
) -> tuple[dict[int, Numbered], list[int]]:
    """Return steps and fusions by position, and for each step the position of what does its work."""
    read: dict[int, list[int]] = {}
    for i, (_, step) in enumerate(steps):
        for v in step.inputs:
            read.setdefault(v, []).append(i)
    items: dict[int, Numbered] = dict(enumerate(steps))
    places = list(range(len(steps)))
    for positions, make in groups:
        inside, last = set(positions), positions[-1]
        parts = [steps[i] for i in positions]
        made = {v for _, step in parts for v in step.outputs}
        given = dict.fromkeys(v for _, step in parts for v in step.inputs if v not in made)
        leaving = sorted(v for v in made if v in outputs or not inside.issuperset(read.get(v, ())))
        for i in positions:
            places[i] = last
            items.pop(i)
        items[last] = parts[-1][0], Step(make(parts, leaving), tuple(given), tuple(leaving))
    return items, places


def _needs(items: Mapping[int, Numbered], places: Sequence[int], makers: Mapping[int, int]) -> dict[int, set[int]]:
    """Return for each item the ones that make what it reads."""
    return {i: {places[makers[v]] for v in step.inputs if v in makers} - {i} for i, (_, step) in items.items()}


def _sorted(needs: Mapping[int, Collection[int]]) -> list[int]:
    """Return items after those that they need, without those that need each other, and what needs these."""
    readers: dict[int, list[int]] = {i: [] for i in needs}
    for i, found in needs.items():
        for j in found:
            readers[j].append(i)
    missing = {i: len(found) for i, found in needs.items()}
    ready = [i for i, count in missing.items() if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        i = heappop(ready)
        order.append(i)
        for j in readers[i]:
            missing[j] -= 1
            if not missing[j]:
                heappush(ready, j)
    return order
