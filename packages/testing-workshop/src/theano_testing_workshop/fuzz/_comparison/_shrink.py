"""Making a program that fails as small as it can be and still fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .._programs._draw import FLOATS
from .._programs._program import Leaf, Node, Program, Unbuildable, build, evaluate
from ._batch import Failure, compare_batch
from ._judge import Tally
from ._modes import PLAIN, Configuration

Check = Callable[[Program], Failure | None]


def check(program: Program, configuration: Configuration) -> Failure | None:
    """Return how a program fails on a configuration (or on the plain machine); None if it does not."""
    configurations = [] if configuration is PLAIN else [configuration]
    found = compare_batch([program], configurations, Tally(), reference=configuration is PLAIN)
    return next((f for f in found if f.configuration is configuration), None)


def shrink(failure: Failure, *, tries: int = 250, checked: Check | None = None) -> Failure:
    """Return the failure of a smaller program, of the same kind.

    Operations are replaced by an operand or by an argument with their value, outputs are left out, arguments become
    shorter, contiguous, of float64, and of simple numbers, as long as the program fails.

    Parameters
    ----------
    failure : Failure
    tries : int
        The most programs that are tried.
    checked : callable, optional
        Returns the failure of a program, or None; by default :func:`check` on the configuration of `failure`.
    """
    ask: Check = (lambda p: check(p, failure.configuration)) if checked is None else checked
    best = failure
    left = tries
    improved = True
    while improved and left > 0:
        improved = False
        for candidate in _smaller(best.program):
            left -= 1
            found = _same_failure(candidate, best, ask)
            if found is not None:
                best, improved = found, True
                break
            if left <= 0:
                break
    return best


def _same_failure(candidate: Program, failure: Failure, ask: Check) -> Failure | None:
    try:
        evaluate(build(candidate))
    except Unbuildable:
        return None
    found = ask(candidate)
    return found if found is not None and _alike(found, failure) else None


def _alike(found: Failure, failure: Failure) -> bool:
    if found.kind != failure.kind:
        return False
    return found.kind != "error" or found.what.split(":")[:2] == failure.what.split(":")[:2]


def _smaller(program: Program) -> Iterator[Program]:
    """Yield smaller programs, those that are likely to be much smaller first."""
    yield from _with_less_wanted(program)
    for number in range(len(program.items) - 1, -1, -1):
        item = program.items[number]
        if isinstance(item, Node):
            for operand in dict.fromkeys(item.operands):
                yield _merged(program, number, operand)
    yield from _cut(program)
    for number, item in enumerate(program.items):
        if isinstance(item, Leaf):
            for simpler in _simpler(item):
                yield _with_item(program, number, simpler)
    yield from _shorter(program)
    yield from _of_float64(program)


def _with_less_wanted(program: Program) -> Iterator[Program]:
    if len(program.outputs) + len(program.gradients) + len(program.updates) > 1:
        for k in program.outputs:
            yield replace(program, outputs=(k,), gradients=(), updates=()).pruned()
        for pair in program.gradients:
            yield replace(program, outputs=(), gradients=(pair,), updates=()).pruned()
        for update in program.updates:
            yield replace(program, outputs=(), gradients=(), updates=(update,)).pruned()
        for k in program.outputs:
            yield replace(program, outputs=tuple(i for i in program.outputs if i != k)).pruned()
        for update in program.updates:
            yield replace(program, updates=tuple(u for u in program.updates if u != update)).pruned()
    for cost, wrt in program.gradients:
        for leaf in wrt if len(wrt) > 1 else ():
            yield replace(program, gradients=((cost, (leaf,)),)).pruned()


def _merged(program: Program, number: int, operand: int) -> Program:
    """Return the program with an operand in place of an operation."""
    moved = [k if k != number else operand for k in range(len(program.items))]
    items: list[Leaf | Node] = []
    for item in program.items:
        if isinstance(item, Node):
            item = replace(item, operands=tuple(moved[k] for k in item.operands))
        items.append(item)
    return replace(
        program,
        items=tuple(items),
        outputs=tuple(moved[k] for k in program.outputs),
        gradients=tuple((moved[cost], wrt) for cost, wrt in program.gradients),
        updates=tuple((leaf, moved[k]) for leaf, k in program.updates),
    ).pruned()


def _cut(program: Program) -> Iterator[Program]:
    """Yield programs with an argument in place of an operation that others use."""
    built = build(program)
    values = evaluate(built)
    used = {k for item in program.items if isinstance(item, Node) for k in item.operands}
    for number in sorted(used, reverse=True):
        if isinstance(program.items[number], Node):
            shape = tuple(built.variables[number].type.shape)
            yield _with_item(program, number, Leaf(values[number], shape))


def _with_item(program: Program, number: int, item: Leaf | Node) -> Program:
    items = list(program.items)
    items[number] = item
    return replace(program, items=tuple(items)).pruned()


def _simpler(leaf: Leaf) -> Iterator[Leaf]:
    if leaf.layout != "c":
        yield replace(leaf, layout="c")
    if leaf.kind != "input":
        yield replace(leaf, kind="input")
    known = tuple(1 if n == 1 else None for n in leaf.shape)
    if known != leaf.shape:
        yield replace(leaf, shape=known)
    for axis, n in enumerate(leaf.value.shape):
        for short in (1, 2):
            if short < n and leaf.shape[axis] is None:
                yield replace(leaf, value=np.ascontiguousarray(np.take(leaf.value, range(short), axis)))
    yield from _plainer(leaf)


def _plainer(leaf: Leaf) -> Iterator[Leaf]:
    """Yield the leaf with simpler numbers."""
    value = leaf.value
    if value.dtype.kind == "b" or not value.size:
        return
    simple: list[Any] = [np.ones_like(value), (np.arange(value.size).reshape(value.shape) + 1).astype(value.dtype)]
    if value.dtype.kind == "f":
        simple.append(np.round(value))
        simple.append(np.round(value, 1))
    for other in simple:
        if np.abs(_sizes(value) - _sizes(other)).max() > 0 and _plainness(other) < _plainness(value):
            yield replace(leaf, value=np.asarray(other, dtype=value.dtype))


def _sizes(value: Any) -> Any:
    return np.nan_to_num(np.abs(value.astype("complex128")), nan=1e9, posinf=1e10, neginf=1e11)


def _plainness(value: Any) -> int:
    return sum(len(repr(x)) for x in value.reshape(-1).tolist()) + len(set(map(repr, value.reshape(-1).tolist())))


def _shorter(program: Program) -> Iterator[Program]:
    """Yield programs in which all dimensions of one length are shorter."""
    lengths = {n for item in program.items if isinstance(item, Leaf) for n in item.value.shape}
    for n in sorted(lengths, reverse=True):
        for short in (1, 2, 3):
            if short < n:
                yield replace(program, items=tuple(_shortened(item, n, short) for item in program.items))


def _shortened(item: Leaf | Node, length: int, short: int) -> Leaf | Node:
    if isinstance(item, Node) or length not in item.value.shape:
        return item
    index = tuple(slice(0, short) if n == length else slice(None) for n in item.value.shape)
    shape = tuple(short if s == length else s for s in item.shape)
    return replace(item, value=np.ascontiguousarray(item.value[index]), shape=shape)


def _of_float64(program: Program) -> Iterator[Program]:
    for name in (*FLOATS[1:], "complex64", "complex128"):
        if any(isinstance(item, Leaf) and item.value.dtype.name == name for item in program.items):
            yield replace(program, items=tuple(_widened(item, name) for item in program.items))


def _widened(item: Leaf | Node, name: str) -> Leaf | Node:
    if isinstance(item, Node) or item.value.dtype.name != name:
        return item
    return replace(item, value=item.value.real.astype("float64"))
