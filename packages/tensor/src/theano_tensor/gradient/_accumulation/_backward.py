"""Reverse accumulation over a graph. Linear in its size; no recursion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from theano_graph import Apply, Variable, connection_pattern, origin_from, toposort
from theano_linker_c.program import ALWAYS, Calls, branch_of, calls_of

from .._rules._node import pull_back
from ._branches import Branches, Terms, through_choice

Pattern = list[list[bool]]
#: A node and the number of one of its inputs.
Edge = tuple[Apply, int]


def backward(
    seeds: Mapping[Variable, Variable],
    wrt: Sequence[Variable],
    constants: Iterable[Variable] = (),
    cuts: set[Edge] | None = None,
    *,
    additive: bool = False,
) -> list[Variable | None]:
    """Return the gradients with respect to `wrt`.

    Parameters
    ----------
    seeds : mapping
        Variable -> its complete cotangent. Contributions to such a variable from other seeds are not added, unless
        `additive` is set.
    wrt : sequence of Variable
    constants : iterable of Variable
        Nothing flows through these to their ancestors; their own gradients are known all the same.
    cuts : set of (Apply, int), optional
        Gets the node and the number of each input that a gradient rule said does not matter.
    additive : bool
        The seeds belong to several results, of which one may depend on another: all that flows to them counts.

    Returns
    -------
    list of Variable or None
        One for each of `wrt`: None where no seed depends on it.
    """
    blocked = set(constants)
    order = toposort(blocked, list(seeds))
    patterns = {node: connection_pattern(node) for node in order}
    active = _depending_on(order, patterns, wrt, blocked)
    found = _Cotangents(seeds, calls_of(order, list(seeds)))
    for node in reversed(order):
        if any(v in active for v in node.outputs):
            cotangents = [None if v in blocked else found.of(v) for v in node.outputs]
            arriving = _through(node, patterns[node], cotangents, {} if additive else seeds, active)
            found.add(node, arriving)
            if cuts is not None:
                cuts.update((node, i) for i, term in arriving.items() if term is None)
    return [found.result(v) for v in wrt]


class _Cotangents:
    """The cotangents of each variable, by the calls to which it belongs; sums take the place of their terms."""

    def __init__(self, seeds: Mapping[Variable, Variable], calls: Calls) -> None:
        self._terms: dict[Variable, Terms] = {v: {ALWAYS: [g]} for v, g in seeds.items()}
        self._calls = calls
        self._branches = Branches(calls)

    def add(self, node: Apply, arriving: Mapping[int, Variable | None]) -> None:
        """Take in a node's cotangents of its inputs."""
        calls = self._calls.of_inputs(node) if arriving and self._calls.branches else ()
        for i, term in arriving.items():
            if term is not None:
                terms = self._terms.setdefault(node.inputs[i], {})
                terms.setdefault(calls[i] if calls else ALWAYS, []).append(term)

    def of(self, variable: Variable) -> Variable | None:
        """Return the cotangent of a variable, for the calls in which it is computed."""
        terms = self._terms.get(variable)
        if not terms:
            return None
        calls = self._calls.of(variable)
        if len(terms) > 1 or len(terms.get(calls, ())) != 1:
            with origin_from(variable):
                terms = self._terms[variable] = {calls: [self._branches.sum(variable, terms, calls)]}
        return terms[calls][0]

    def result(self, variable: Variable) -> Variable | None:
        """Return the cotangent of a variable for all calls."""
        mine, calls = self.of(variable), self._calls.of(variable)
        if mine is None or calls == ALWAYS:
            return mine
        with origin_from(variable):
            return self._branches.sum(variable, {calls: [mine]}, ALWAYS)


def _depending_on(
    order: list[Apply], patterns: Mapping[Apply, Pattern], wrt: Sequence[Variable], blocked: set[Variable]
) -> set[Variable]:
    """Return the variables that depend differentiably on one of `wrt`, these included."""
    active = set(wrt)
    for node in order:
        inputs = [i for i, v in enumerate(node.inputs) if v in active]
        if not inputs:
            continue
        pattern = patterns[node]
        for o, output in enumerate(node.outputs):
            if output not in blocked and any(pattern[i][o] for i in inputs):
                active.add(output)
    return active


def _through(
    node: Apply,
    pattern: Pattern,
    cotangents: list[Variable | None],
    seeds: Mapping[Variable, Variable],
    active: set[Variable],
) -> dict[int, Variable | None]:
    """Pull the cotangents of the outputs of `node` back to those of its inputs for which it matters."""
    positions = [
        i
        for i, v in enumerate(node.inputs)
        if v in active
        and v not in seeds
        and any(p and c is not None for p, c in zip(pattern[i], cotangents, strict=True))
    ]
    if not positions:
        return {}
    branch = branch_of(node)
    chosen = {} if branch is None else through_choice(node, branch, cotangents)
    others = [None] * len(node.inputs) if all(i in chosen for i in positions) else pull_back(node, cotangents, pattern)
    return {i: chosen.get(i, others[i]) for i in positions}
