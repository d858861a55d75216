"""Reverse accumulation over a graph. Linear in its size; no recursion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from theano_graph import Apply, Variable, connection_pattern, origin_from, toposort

from .._rules._arrays import total
from .._rules._node import pull_back
from .._rules._types import is_null

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
        Variable -> its complete cotangent. What flows to such a variable from other seeds is not added, unless
        `additive` is set.
    wrt : sequence of Variable
    constants : iterable of Variable
        Nothing flows through these to what they are computed from; their own gradients are known all the same.
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
    terms: dict[Variable, list[Variable]] = {v: [g] for v, g in seeds.items()}
    for node in reversed(order):
        if any(v in active for v in node.outputs):
            cotangents = [None if v in blocked else _summed(v, terms) for v in node.outputs]
            arriving = _through(node, patterns[node], cotangents, {} if additive else seeds, active)
            for i, term in arriving.items():
                if term is not None:
                    terms.setdefault(node.inputs[i], []).append(term)
                elif cuts is not None:
                    cuts.add((node, i))
    return [_summed(v, terms) for v in wrt]


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
    wanted = [
        i
        for i, v in enumerate(node.inputs)
        if v in active
        and v not in seeds
        and any(p and c is not None for p, c in zip(pattern[i], cotangents, strict=True))
    ]
    if not wanted:
        return {}
    found = pull_back(node, cotangents, pattern)
    return {i: found[i] for i in wanted}


def _summed(variable: Variable, terms: dict[Variable, list[Variable]]) -> Variable | None:
    """Return the sum of the terms that have reached `variable`, and keep it in their place."""
    found = terms.get(variable)
    if not found:
        return None
    if len(found) > 1:
        null = next((t for t in found if is_null(t)), None)
        if null is not None:
            found[:] = [null]
        else:
            with origin_from(variable):
                found[:] = [total(found)]
    return found[0]
