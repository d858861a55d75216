"""Random programs of a seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ._operations._memory import begin_memory, draw_memory, write_into_storage
from ._programs._draw import FLOATS, LARGEST, Draw, NoOperands
from ._programs._program import Leaf, Node, Operation, Program, Unbuildable, build, evaluate


@dataclass(slots=True)
class Refusals:
    """What could not be built, and how often: what operations refuse, they are not tested on."""

    counts: Counter[str] = field(default_factory=Counter)

    def note(self, error: Unbuildable) -> None:
        """Count an error."""
        self.counts[str(error)[:150]] += 1


def generate(
    seed: int, operations: Sequence[Operation], *, nodes: int = 8, refusals: Refusals | None = None
) -> Program:
    """Return the random program of a seed.

    Parameters
    ----------
    seed : int
    operations : sequence of Operation
    nodes : int
        The most operations that most have; some have up to twice as many.
    refusals : Refusals, optional
        Notes what was tried and could not be built.

    Examples
    --------
    >>> from theano_testing_workshop.fuzz import Grammar, generate
    >>> program = generate(7, Grammar().operations)
    >>> len(program.outputs) > 0
    True
    """
    notes = Refusals() if refusals is None else refusals
    rng = np.random.default_rng([seed, 0x5EED])
    d = Draw(rng)
    overlaps = begin_memory(d) if d.chance(0.4) else []
    for _ in range(d.between(1, 3)):
        d.leaf(d.any_dtype(), d.any_shape())
    # Small graphs are cheap and show most; large ones show what meets only there.
    _grow(d, _some_of(d, operations), d.between(1, nodes if d.chance(0.6) else 2 * nodes), notes)
    writes = write_into_storage(d, {op.name: op for op in operations}) if d.preferred else []
    program = replace(_finished(d, seed, writes), memory=draw_memory(d, overlaps))
    return _usable(program, notes).pruned()


def _usable(program: Program, notes: Refusals) -> Program:
    """Return the program without gradients that do not exist, and without updates that a second call cannot bear."""
    if program.gradients:
        try:
            build(program)
        except Unbuildable as error:
            notes.note(error)
            program = replace(program, gradients=())
    if program.updates:
        built = build(program)
        values = evaluate(built)
        try:
            later = evaluate(built, {leaf: values[number] for leaf, number in program.updates})
        except Unbuildable as error:
            notes.note(error)
            return replace(program, updates=())
        if any(np.shape(a) != np.shape(b) for a, b in zip(values, later, strict=True)):
            # NumPy broadcasts whatever has length 1 now; graphs broadcast what is declared to have it.
            return replace(program, updates=())
    return program


def _some_of(d: Draw, operations: Sequence[Operation]) -> tuple[Sequence[Operation], Any]:
    """Return operations and their chances: each program knows a part of the language, so that its parts meet often."""
    share = float(d.rng.choice([0.15, 0.4, 1.0]))
    kept = [op for op in operations if d.chance(share)] or list(operations)
    weights = np.array([op.weight for op in kept]) * d.rng.exponential(1.0, len(kept))
    return kept, weights / weights.sum()


def _grow(d: Draw, language: tuple[Sequence[Operation], Any], count: int, notes: Refusals) -> None:
    operations, chances = language
    for number in d.rng.choice(len(operations), size=3 * count, p=chances):
        if sum(isinstance(item, Node) for item in d.items) >= count:
            break
        strange = d.chance(0.12)

        def keep(value: Any, strange: bool = strange) -> bool:
            return value.size <= LARGEST and value.ndim <= 5 and (strange or _is_ordinary(value))

        try:
            operands, options = operations[number].draw(d)
            d.add_node(operations[number], operands, options, keep)
        except NoOperands:
            continue
        except Unbuildable as error:
            notes.note(error)


def _is_ordinary(value: Any) -> bool:
    if value.dtype.kind not in "fc":
        return True
    with np.errstate(all="ignore"):
        return bool(np.all(np.isfinite(value)) and (not value.size or np.abs(value).max() < 1e6))


def _finished(d: Draw, seed: int, writes: Sequence[tuple[int, int]]) -> Program:
    nodes = [i for i, item in enumerate(d.items) if isinstance(item, Node)]
    if not nodes:
        return Program(tuple(d.items), (0,), (), (), seed)
    used = {k for i in nodes for k in d.items[i].operands}  # type: ignore[union-attr]
    updates = _updates(d, nodes, writes)
    stored = {node for _, node in updates if d.chance(0.8)} if writes else set[int]()
    outputs = [i for i in nodes if (d.chance(0.15) if i in used else i not in stored)]
    return Program(tuple(d.items), tuple(outputs), _gradients(d, nodes), updates, seed)


def _gradients(d: Draw, nodes: Sequence[int]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    costs = [i for i in nodes if d.dtype(i) in FLOATS]
    wrt = [
        i
        for i, item in enumerate(d.items)
        if isinstance(item, Leaf) and item.kind != "constant" and item.value.dtype.name in FLOATS
    ]
    if not costs or not wrt or not d.chance(0.4):
        return ()
    return ((d.one_of(costs[-3:]), tuple(wrt[:3])),)


def _updates(d: Draw, nodes: Sequence[int], writes: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    written = {leaf: node for leaf, node in writes if _can_become(d, leaf, node) and d.chance(0.8)}
    found = list(written.items())
    for i, item in enumerate(d.items):
        if isinstance(item, Leaf) and item.kind == "shared" and i not in written and d.chance(0.7):
            fitting = [k for k in nodes if _can_become(d, i, k)]
            if fitting:
                found.append((i, int(d.one_of(fitting))))
    return tuple(found)


def _can_become(d: Draw, leaf: int, number: int) -> bool:
    """Tell whether an item may be the new value of a shared leaf."""
    return (
        d.dtype(number) == d.dtype(leaf)
        and d.shape(number) == d.shape(leaf)
        and d.broadcastable(number) == d.broadcastable(leaf)
        and bool(d.variables[leaf].type.is_super(d.variables[number].type))
    )
